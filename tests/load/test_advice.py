"""What a valid suite lacks is told, and stops `validate --level strict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skilltrial.cli import exit_code_of
from skilltrial.load.validate import examine

HOLDS = {"type": "contains", "value": "x"}
GOOD: tuple[dict[str, Any], ...] = ({"assertions": [HOLDS]}, {"assertions": [HOLDS], "should_trigger": False})
CONTRACT = {"side_effect_level": "live-external"}


def advised(folder: Path, *cases: dict[str, Any], level: Any = "standard") -> dict[str, str]:
    skill = folder / "demo"
    (skill / "evals").mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text("---\nname: demo\ndescription: Does it. Use when it is to be done.\n---\nDo it.\n")
    evals = [
        {"id": f"c{n}", "prompt": f"Task {n} of its own kind.", "expected_output": "x", **case} for n, case in enumerate(cases)
    ]
    (skill / "evals/evals.json").write_text(json.dumps({"skill_name": "demo", "evals": evals}))
    return {problem.rule: problem.severity for problem in examine(("demo",), folder, level).advice}


@pytest.mark.parametrize(
    ("cases", "rules"),
    [
        (GOOD, set()),
        (({}, {"should_trigger": False}), {"no-check"}),
        (({"assertions": ["It reads well."]}, {"should_trigger": False}), {"only-judged"}),
        (({"assertions": [HOLDS], "force_skill_invocation": True}, {"id": "no-go"}), set()),
        (({"assertions": [HOLDS, {"type": "not_contains", "value": "y"}], "force_skill_invocation": True},), {"always-forced"}),
        (({"assertions": [HOLDS], "should_trigger": False},), {"no-natural-case"}),
        (({"assertions": [HOLDS]}, {}), {"no-negative-control"}),
        (tuple({**case, **CONTRACT} for case in GOOD), {"only-live"}),
    ],
)
def test_each_lack_is_found_and_no_other(cases: tuple[dict[str, Any], ...], rules: set[str], tmp_path: Path) -> None:
    assert set(advised(tmp_path, *cases)) == rules


@pytest.mark.parametrize(
    "control",
    [
        {"id": "missing-file"},
        {"name": "invalid date"},
        {"assertions": [{"type": "command_not_ran", "command": "rm"}]},
        {"assertions": [{"type": "file_unchanged", "path": "a"}]},
        {"assertions": ["It does not guess the owner."]},
    ],
)
def test_a_negative_control_is_known_by_its_id_its_name_or_its_checks(control: dict[str, Any], tmp_path: Path) -> None:
    assert "no-negative-control" not in advised(tmp_path, {"assertions": [HOLDS]}, control)


def test_it_is_told_by_default_and_an_error_when_strict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert advised(tmp_path, *GOOD[:1]) == {"no-negative-control": "info"}
    assert advised(tmp_path, *GOOD[:1], level="strict") == {"no-negative-control": "error"}
    assert advised(tmp_path, *GOOD[:1], level="load") == {}
    monkeypatch.chdir(tmp_path)
    assert exit_code_of(["validate", "demo"]) == 0
    assert "info: demo/evals/evals.json: no case where the skill should do nothing" in capsys.readouterr().out
    assert exit_code_of(["validate", "demo", "--strict"]) == 1
    assert "1 error" in capsys.readouterr().out
    assert exit_code_of(["validate", "demo", "-q"]) == 0
    assert "no case where" not in capsys.readouterr().out


def test_a_trigger_list_is_no_suite_that_lacks_anything(tmp_path: Path) -> None:
    advised(tmp_path, *GOOD)
    queries = [{"query": "do it now please", "should_trigger": True}, {"query": "do it again please", "should_trigger": True}]
    (tmp_path / "demo/evals/evals.json").write_text(json.dumps(queries))
    assert examine(("demo",), tmp_path, "strict").advice == ()


def test_sentences_for_a_judge_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    advised(tmp_path, {"assertions": [HOLDS, "A new commit was created.", "It is warm."], "stage_files": True}, GOOD[1])
    monkeypatch.chdir(tmp_path)
    exit_code_of(["validate", "demo"])
    said = capsys.readouterr().out
    assert "1 check will need a judge:\n  demo::c0 It is warm.\n" in said
    assert "A new commit was created" in said.partition("will need a judge")[0], "the routing of the other is told"
