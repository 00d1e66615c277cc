"""What a user of the standard's guide and of skill-creator expects: their files read, and trees with their files and keys."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ..flows.conftest import script
from .test_table import key_paths

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"
GUIDE = FOREIGN / "standard" / "changelog-workspace" / "iteration-1"
CREATOR = FOREIGN / "skill-creator" / "iteration-2"
BY_PEOPLE = {"feedback.json"}
BY_SESSIONS = {"claims", "user_notes_summary"}
"""Keys of grading.json that its agents write about their own work."""


def keys_of(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.json"):
        if path.name not in BY_PEOPLE:
            found.setdefault(path.name, set()).update(key_paths(json.loads(path.read_text(encoding="utf-8"))))
    return found


def missing(written: Path, own: Path) -> dict[str, set[str]]:
    """Keys that the tool's own tree has and a tree of ours does not, by file."""
    ours, theirs = keys_of(written), keys_of(own)
    gaps = {name: keys - ours.get(name, set()) for name, keys in theirs.items()}
    return {name: keys for name, keys in gaps.items() if keys}


@pytest.fixture
def trial(skilltrial: Any, new_skill: Any, tmp_path: Path) -> Any:
    """A run of two cases in the standard's form, judged, twice in each arm."""
    new_skill([
        {"id": 1, "prompt": "Name the colour.", "expected_output": "A colour.", "assertions": ["It names a colour.", "It is short."]},
        {"id": 2, "prompt": "Name another.", "expected_output": "A colour.", "expectations": ["It names a colour."]},
    ])  # fmt: skip
    played = script(tmp_path / "t.json", {"when": {"arm": "with_skill"}, "text": "BLUE"}, {"text": "no"})
    judge = script(
        tmp_path / "judge.json",
        {"when": {"judge": True, "contains": "BLUE"}, "passed": True},
        {"when": {"judge": True}, "passed": False},
    )
    said = skilltrial(
        "run", "colours", "--target", f"fake:{played}", "--judge", f"fake:{judge}", "-n", 2, "--gate", "none", "--tree"
    )
    assert said.code == 0, said.err
    return tmp_path / "skilltrial-workspace" / "iteration-1"


def test_the_folder_of_a_run_has_the_guides_files_with_the_guides_keys(trial: Path) -> None:
    for case in ("eval-1", "eval-2"):
        for arm in ("with_skill", "without_skill"):
            (run,) = (trial / "colours" / case).glob(f"*/{arm}/run-1")
            assert (run / "outputs" / "output.txt").is_file()
            assert (run / "grading.json").is_file() and (run / "timing.json").is_file()
    assert missing(trial / "colours", GUIDE) == {}
    told = json.loads((trial / "colours" / "benchmark.json").read_text(encoding="utf-8"))["run_summary"]
    assert told["delta"]["pass_rate"] == 1.0 and told["with_skill"]["pass_rate"]["mean"] == 1.0


def test_a_tree_written_as_the_guide_has_it_holds_every_file_and_key(skilltrial: Any, trial: Path, tmp_path: Path) -> None:
    assert skilltrial("export", "latest", "--format", "standard", "--output", "out").code == 0
    assert missing(tmp_path / "out", GUIDE) == {}
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"benchmark.json", "eval-1", "eval-2"}


def test_a_tree_for_skill_creator_holds_every_file_and_key_but_what_its_sessions_say_of_themselves(
    skilltrial: Any, trial: Path, tmp_path: Path
) -> None:
    assert skilltrial("export", "latest", "--format", "skill-creator", "--output", "out").code == 0
    gaps = missing(tmp_path / "out", CREATOR)
    left_out = {key.partition(".")[0] for key in gaps.pop("grading.json")}
    assert left_out - {"execution_metrics", "timing"} == BY_SESSIONS
    assert set(gaps.pop("timing.json")) <= {"executor_start", "executor_duration_seconds", "total_duration_seconds"}
    assert gaps == {}
    told = json.loads((tmp_path / "out" / "benchmark.json").read_text(encoding="utf-8"))
    assert told["run_summary"]["delta"]["pass_rate"] == "+1.00"


def test_remarks_of_people_lie_beside_a_tree_and_change_no_number(skilltrial: Any, tmp_path: Path) -> None:
    for name, own in (("guide", GUIDE), ("creator", CREATOR)):
        shutil.copytree(own, tmp_path / name / "iteration-1")
        before = skilltrial("report", tmp_path / name / "iteration-1", "--format", "json").summary
        (tmp_path / name / "iteration-1" / "feedback.json").unlink()
        after = skilltrial("report", tmp_path / name / "iteration-1", "--format", "json").summary
        assert (before["rates"], before["lifts"]) == (after["rates"], after["lifts"])


OTHERS = {
    "history.json": {"started_at": "2026-01-01T00:00:00Z", "skill_name": "minutes", "iterations": []},
    "comparison.json": {"winner": "A", "reasoning": "clearer"},
    "analysis.json": {"comparison_summary": "", "winner_strengths": []},
    "benchmark.md": "# Benchmark",
    "eval-0/with_skill/run-1/outputs/metrics.json": {"tool_calls": {"Write": 1}, "total_tool_calls": 1},
    "skill-snapshot/SKILL.md": "---\nname: minutes\n---\nOld.\n",
}


def test_its_other_files_are_stepped_over(skilltrial: Any, tmp_path: Path) -> None:
    shutil.copytree(CREATOR, tmp_path / "tree" / "iteration-2")
    before = skilltrial("report", "tree/iteration-2", "--format", "json").summary
    for name, value in OTHERS.items():
        path = tmp_path / "tree" / "iteration-2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    after = skilltrial("report", "tree/iteration-2", "--format", "json").summary
    assert (before["rates"], before["lifts"], before["warnings"]) == (after["rates"], after["lifts"], after["warnings"])
