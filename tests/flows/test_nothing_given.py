"""A check that compares with a file that was never there: known before the first run, so nobody pays for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .git_agent import agent, states
from .stored import iteration

BLUE = {"id": "blue", "type": "contains", "value": "BLUE"}
LOST = {"id": "same", "type": "file_unchanged", "path": "note.txt"}
KEPT = {"id": "kept", "type": "file_unchanged", "path": "notes.txt"}


def test_it_is_set_aside_and_the_case_is_measured_by_its_other_checks(skilltrial: Any, new_skill: Any) -> None:
    case = {"id": 1, "prompt": "p", "files": ["evals/files/notes.txt"], "checks": [BLUE, LOST, KEPT]}
    new_skill([case], files={"evals/files/notes.txt": "n"})
    said = skilltrial("run", "colours", "--target", "fake", "-n", 1, "--format", "json")
    (row,) = said.summary["set_aside"]
    assert row["checks"] == ["same"]
    assert "'note.txt' is no fixture of this case" in row["reason"]
    assert said.summary["coverage"]["graded"] == said.summary["coverage"]["planned"] == 2
    assert not said.summary["errors"]


def test_a_case_with_nothing_else_stops_the_run_with_the_reason(skilltrial: Any, new_skill: Any) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [LOST]}])
    said = skilltrial("run", "colours", "--target", "fake")
    assert said.code == 2
    assert "'note.txt' is no fixture of this case" in said.err


def test_a_fixture_may_be_named_as_an_adapter_gets_it(skilltrial: Any, new_skill: Any) -> None:
    case = {
        "id": 1,
        "prompt": "p",
        "files": ["evals/files/notes.txt"],
        "checks": [{**KEPT, "path": "inputs/evals/files/notes.txt"}],
    }
    new_skill([case], files={"evals/files/notes.txt": "n"})
    assert not skilltrial("plan", "colours", "--target", "fake", "--format", "json").summary["set_aside"]


def test_a_checked_draft_is_told_of_it(skilltrial: Any, new_skill: Any) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [BLUE, LOST]}])
    assert "names no file of this case" in skilltrial("validate", "colours", "--level", "strict").out


def test_one_suite_holds_for_an_adapter_too(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    case = {"id": 1, "prompt": "p", "files": ["evals/files/notes.txt", "evals/files/log.txt"],
            "checks": [KEPT, {"id": "log", "type": "file_contains", "path": "log.txt", "contains": "new"},
                       {"id": "only", "type": "only_changed", "paths": ["log.txt"]}]}  # fmt: skip
    new_skill([case], files={"evals/files/notes.txt": "n", "evals/files/log.txt": "old"})
    adapter = agent(tmp_path, "[ $ARM_HAS_SKILL = 0 ] || echo new > inputs/evals/files/log.txt")
    assert skilltrial("run", "colours", "--adapter", adapter, "-n", 1).code in (0, 1, 3)
    by_arm = {cell.split("/")[3]: found for cell, found in states(iteration(tmp_path)).items()}
    assert by_arm == {
        "with_skill": {"kept": "passed", "log": "passed", "only": "passed"},
        "without_skill": {"kept": "passed", "log": "failed", "only": "passed"},
    }
