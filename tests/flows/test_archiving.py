"""An archive is small, complete by its own list, and tells the same as the experiment."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import HELPFUL, script


@pytest.fixture
def ran(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> Any:
    """The Summary of an experiment with a judge."""
    new_skill([*colours, {"id": "warm", "prompt": "Is it warm?", "assertions": ["It is polite."]}])
    rules = script(tmp_path / "s.json", {"when": {"judge": True}}, *HELPFUL)
    said = skilltrial(
        "run", "colours", "--target", f"fake:{rules}", "--judge", f"fake:{rules}", "-n", 2, "--tree",
        "--post-run-command", "true", "--format", "json",
    )  # fmt: skip
    return said.summary


def manifest(folder: Path) -> Any:
    return json.loads((folder / "archive-manifest.json").read_text())


def test_it_tells_the_same_when_the_experiment_is_gone(ran: Any, skilltrial: Any, tmp_path: Path) -> None:
    said = skilltrial("export", "--format", "archive", "--output", "kept")
    assert said.code == 0 and said.out.strip() == str(tmp_path / "kept")
    shutil.rmtree(tmp_path / "skilltrial-workspace")
    assert skilltrial("report", "kept", "--format", "json").summary == ran
    assert skilltrial("report", "kept", "--show-evidence").code == 0
    for command in ("grade", "resume"):
        refused = skilltrial(command, "kept")
        assert refused.code == 2 and "--include-output" in refused.err
    assert skilltrial("status", "kept").code == 0
    assert "iteration-1" in skilltrial("history", "kept").out


def test_it_holds_the_plan_the_journal_the_report_and_three_files_per_run(ran: Any, skilltrial: Any, tmp_path: Path) -> None:
    skilltrial("export", "-f", "archive", "-o", "kept")
    listed = manifest(tmp_path / "kept")
    found = sorted(path.relative_to(tmp_path / "kept").as_posix() for path in (tmp_path / "kept").rglob("*") if path.is_file())
    assert found == sorted(["archive-manifest.json", *listed["copied_files"]])
    top = {path for path in found if "/" not in path}
    assert top == {"archive-manifest.json", "experiment.json", "results.jsonl", "hooks.jsonl", "summary.json", "report.md"}
    cells = {Path(path).parent.as_posix(): set() for path in found if "/run-" in path}
    for path in found:
        if "/run-" in path:
            cells[Path(path).parent.as_posix()].add(Path(path).name)
    assert len(cells) == 20
    assert {frozenset(names) for names in cells.values()} == {frozenset({"grading.json", "timing.json", "run_meta.json"})}
    for file in listed["files"]:
        data = (tmp_path / "kept" / file["path"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["size"], file["sha256"])


def test_with_the_output_it_can_be_graded_again(ran: Any, skilltrial: Any, tmp_path: Path) -> None:
    skilltrial("export", "-f", "archive", "-o", "kept", "--include-output")
    assert manifest(tmp_path / "kept")["include_output"] is True
    assert (tmp_path / "kept/colours/eval-1/fake-s/with_skill/run-1/outputs/output.txt").read_text() == "BLUE"
    shutil.rmtree(tmp_path / "skilltrial-workspace")
    again = skilltrial("grade", "kept", "--judge", "none", "--stored-checks", "--format", "json")
    assert again.summary["coverage"]["finished"] == 20, again.err
    assert "BLUE" in skilltrial("show", "colours/1/fake-s/with_skill/1", "kept").out


def test_nothing_is_overwritten_unless_it_is_an_archive_and_that_was_said(ran: Any, skilltrial: Any, tmp_path: Path) -> None:
    assert skilltrial("export", "-f", "archive").out.strip().endswith("iteration-1/export/archive")
    first = skilltrial("export", "-f", "archive", "-o", "kept", "--include-output")
    (tmp_path / "kept/mine.txt").write_text("mine")
    assert first.code == 0 and skilltrial("export", "-f", "archive", "-o", "kept").code == 2
    assert skilltrial("export", "-f", "archive", "-o", "kept", "--force").code == 0
    assert not (tmp_path / "kept/blobs").exists() or not any((tmp_path / "kept/blobs").iterdir())
    assert (tmp_path / "kept/mine.txt").read_text() == "mine"
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").touch()
    refused = skilltrial("export", "-f", "archive", "-o", "other", "--force")
    assert refused.code == 2 and "no archive" in refused.err
    assert skilltrial("export", "-f", "csv", "--force").code == 2


def test_another_tools_run_is_archived_in_our_form(skilltrial: Any, tmp_path: Path) -> None:
    tree = Path(__file__).parents[1] / "data/foreign/ase-py/three-agents-single-run/iteration-1"
    assert skilltrial("export", tree, "-f", "archive", "-o", "kept").code == 0
    names = manifest(tmp_path / "kept")["copied_files"]
    assert "summary.json" in names and "report.md" in names
    assert any(name.endswith("grading.json") for name in names)
