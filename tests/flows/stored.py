"""What an experiment left on disk, as tests look at it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from skilltrial import store
from skilltrial.records.journal import Result


def iteration(tmp_path: Path, number: int = 1) -> Path:
    """The folder of an experiment made in `tmp_path`."""
    return tmp_path / "skilltrial-workspace" / f"iteration-{number}"


def journal(folder: Path, kind: str) -> list[dict[str, Any]]:
    """All lines of one kind, in order."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["kind"] == kind]


def results(folder: Path) -> list[Result]:
    """Every planned cell."""
    return list(store.open_(folder).results())


def packed(folder: Path) -> list[dict[str, Any]]:
    """Every Evidence in the packs, superseded attempts included."""
    rows = [json.loads(line) for pack in (folder / "evidence").glob("*.jsonl") for line in pack.read_text("utf-8").splitlines()]
    return [row for row in rows if isinstance(row, dict)]


def assert_sound(folder: Path) -> None:
    """Each cell has at most one counted run; only runs that ended ok are graded; no failure left a text to grade."""
    counted = Counter(row["cell"] for row in journal(folder, "evidence") if row["counted"])
    ok = {row["digest"] for row in journal(folder, "evidence") if row["outcome"] == "ok"}
    again = {row["cell"] for row in journal(folder, "evidence") if row["outcome"] != "ok"}
    assert all(number == 1 or cell in again for cell, number in counted.items())
    assert {row["evidence"] for row in journal(folder, "grades")} <= ok
    assert {row["text"] for row in packed(folder) if row["outcome"] != "ok"} <= {""}


def assert_whole(folder: Path) -> None:
    """Sound, and every planned cell has one run that ended ok and one complete grading."""
    assert_sound(folder)
    found = results(folder)
    assert [result.cell.id for result in found if result.evidence is None or result.evidence.outcome != "ok"] == []
    assert [result.cell.id for result in found if result.grading is None] == []
    assert not list(store.open_(folder).remaining())
    ran = Counter(row["cell"] for row in journal(folder, "evidence") if row["outcome"] == "ok")
    assert ran == Counter(result.cell.id for result in found)
