"""Every skill with its newest results: what was measured, how long ago, and whether the gate held."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skilltrial.flows.portfolio import portfolio
from skilltrial.system.redaction import Redactor

from .conftest import HELPFUL, script


@pytest.fixture
def three(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> Path:
    """`helped` was run twice on one target and once on another, `idle` never, `bare` has no suite."""
    for name in ("bare", "helped", "idle"):
        new_skill(colours, name=name)
    shutil.rmtree(tmp_path / "bare/evals")
    good, echo = script(tmp_path / "good.json", *HELPFUL), script(tmp_path / "echo.json")
    for path, name, repetitions in ((echo, "one", 1), (good, "one", 3), (echo, "two", 1)):
        (tmp_path / "skilltrial.yaml").write_text(f"targets: [{{backend: fake, model: {path}, name: {name}}}]\n")
        skilltrial("run", "helped", "-n", repetitions)
    (tmp_path / "skilltrial.yaml").unlink()
    return tmp_path


def test_each_skill_has_the_newest_result_of_every_target(three: Path, skilltrial: Any) -> None:
    said = skilltrial("list", ".", "--portfolio", "--format", "json")
    rows = [(row["skill"], row["last"] and (row["last"]["target"], row["last"]["experiment"])) for row in said.summary["rows"]]
    assert rows == [("bare", None), ("helped", ("one", "iteration-2")), ("helped", ("two", "iteration-3")), ("idle", None)]
    one, two = (row["last"] for row in said.summary["rows"] if row["skill"] == "helped")
    assert (one["lift"], one["pass_rate"], one["verdict"], one["gate"]) == (1.0, 1.0, "helps", "passed")
    assert one["low"] > 0.5 and one["high"] == 1.0
    assert (two["lift"], two["pass_rate"], two["gate"]) == (0.0, 0.0, "failed")
    assert [row["cases"] for row in said.summary["rows"]] == [None, 4, 4, 4]


def test_the_table_says_it_in_words(three: Path, skilltrial: Any) -> None:
    lines = skilltrial("list", ".", "--portfolio").out.splitlines()
    bare, one, two, idle = lines[1:]
    assert "no suite" in bare and "never run" in idle
    assert one.split()[:2] == ["helped", "one"] and "today" in one and "100" in one and one.rstrip().endswith("passed")
    assert two.rstrip().endswith("failed")


def test_the_age_counts_from_when_it_was_made(three: Path) -> None:
    later = datetime.now(UTC) + timedelta(days=40)
    found = portfolio(("helped",), three, three / "skilltrial-workspace", Redactor(), now=later)
    assert [round(row.age_days or 0) for row in found.rows] == [40, 40]


def test_a_workspace_that_is_not_there_leaves_every_skill_unrun(three: Path, skilltrial: Any) -> None:
    said = skilltrial("list", ".", "--portfolio", "-w", "elsewhere", "--format", "json")
    assert {row["last"] for row in said.summary["rows"]} == {None}


def test_another_tools_results_count_and_have_no_gate_of_ours(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    new_skill(colours, name="real")
    data = Path(__file__).parents[1] / "data/foreign/ase-py/three-agents-single-run"
    said = skilltrial("list", "real", "--portfolio", "-w", data, "--format", "json")
    rows = {row["last"]["target"]: row["last"] for row in said.summary["rows"]}
    assert set(rows) == {"claude-code", "codex", "opencode"}
    assert {(row["gate"], row["format"]) for row in rows.values()} == {(None, "ase-py")}


def test_the_gate_is_in_the_history_too(three: Path, skilltrial: Any) -> None:
    entries = json.loads(skilltrial("history", "--format", "json").out)["entries"]
    assert [(entry["experiment"], entry["gate"]) for entry in entries if entry["target"] == "one"] == [
        ("iteration-1", "failed"), ("iteration-2", "passed"),
    ]  # fmt: skip
