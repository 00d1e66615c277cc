"""What a user of skill-ab-eval expects beyond its faults: its options, its judge, and the files it leaves."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..flows.conftest import script
from .test_table import key_paths

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data"
KEY = "sk-test-0123456789abcdef0123"
CHECKED = [{"id": n, "prompt": f"Colour {n}?", "assertions": ["It names a colour.", "It is one word."]} for n in (1, 2)]


def score_or_verdict(request: dict[str, Any]) -> str:
    """What the endpoint says: a word to a task, a verdict on each sentence to the judge's question."""
    if not request.get("response_format"):
        return "BLUE"
    schema = request["response_format"]["json_schema"]["schema"]["properties"]
    if "verdicts" not in schema:
        return json.dumps({"score": 7, "evidence": "seen"})
    ids = schema["verdicts"]["items"]["properties"]["id"]["enum"]
    return json.dumps({"verdicts": [{"id": name, "passed": True, "evidence": "BLUE"} for name in ids]})


# ---------------------------------------------------------------- options
def test_its_options_reach_the_endpoint(
    skilltrial: Any, new_skill: Any, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = serve(score_or_verdict)
    new_skill(CHECKED)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = skilltrial(
        "run", "colours", "--runners", "openai", "--openai-model", "small", "--judge", "openai:large", "--trials", 2,
        "--timeout", 30, "--temperature", "0.3", "--base-url", server.url, "--workspace", "skill-ab-eval-workspace",
        "--format", "json",
    )  # fmt: skip
    assert said.code == 0, said.err
    tasks = [request for request in server.requests if request["model"] == "small"]
    questions = [request for request in server.requests if request["model"] == "large"]
    assert (len(tasks), len(questions)) == (8, 8)
    assert {request["temperature"] for request in tasks} == {0.3}
    assert {request["temperature"] for request in questions} == {0}
    assert (tmp_path / "skill-ab-eval-workspace" / "iteration-1" / "summary.json").is_file()


def test_the_address_may_come_from_the_environment_and_the_model_is_its_own_unless_named(
    skilltrial: Any, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(score_or_verdict)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = skilltrial("task", "Which colour?", "--runners", "openai", "--trials", 1, "--format", "json")
    assert said.code == 0, said.err
    assert {request["model"] for request in server.requests} == {"gpt-4o-mini"}
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}


def test_expected_and_assertions_of_a_task_reach_the_judge_and_not_the_target(
    skilltrial: Any, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(score_or_verdict)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = skilltrial(
        "task", "Which colour?", "--runners", "openai", "--base-url", server.url, "--expected", "A cool colour.",
        "--assert", "It is one word.", "--assert", "It is no number.", "--trials", 1, "--format", "json",
    )  # fmt: skip
    assert said.code == 0, said.err
    task, question = (json.dumps(request["messages"]) for request in server.requests)
    for words in ("A cool colour.", "It is one word.", "It is no number."):
        assert words in question and words not in task


def test_a_list_of_runners_may_hold_scripts_and_backends_with_their_models(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    new_skill([{"id": 1, "prompt": "Colour?", "checks": [{"id": "a", "type": "contains", "value": "BLUE"}]}])
    (tmp_path / "runners").mkdir()
    (tmp_path / "runners" / "mine.sh").write_text('echo "BLUE $OF_THE_USER"\n')
    played = script(tmp_path / "played.json", {"text": "BLUE"})
    said = skilltrial("run", "colours", "--runners", f"mine, fake:{played}", "--gate", "none", "--format", "json")
    assert {rate["target"] for rate in said.summary["rates"]} == {"runner-mine", "fake-played"}


def test_a_runner_keeps_the_users_environment(
    skilltrial: Any, new_skill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_skill([{"id": 1, "prompt": "Colour?", "checks": [{"id": "a", "type": "contains", "value": "of the user"}]}])
    (tmp_path / "runners").mkdir()
    (tmp_path / "runners" / "mine.sh").write_text('echo "$OF_THE_USER"\n')
    monkeypatch.setenv("OF_THE_USER", "of the user")
    assert skilltrial("run", "colours", "--runners", "mine").code == 0


# ---------------------------------------------------------------- who is there
def test_agents_lists_its_runners_and_says_what_is_missing(skilltrial: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    said = skilltrial("agents", "claude", "codex", "gemini", "agy", "openai", "--format", "json")
    rows = {row["backend"]: row for row in json.loads(said.out)}
    assert set(rows) == {"claude-code", "codex", "gemini", "agy", "openai"}
    assert said.code == 1 and "not on PATH" in rows["claude-code"]["reason"] and "not on PATH" in rows["agy"]["reason"]


def test_a_judge_that_is_not_there_is_exit_2_and_nobody_else_judges(
    skilltrial: Any, new_skill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_skill(CHECKED)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    said = skilltrial("run", "colours", "--target", "fake", "--judge", "gemini")
    assert said.code == 2 and "gemini" in said.err
    assert not (tmp_path / "skilltrial-workspace").exists()


@pytest.mark.parametrize(("gate", "code"), [([], 1), (["--gate", "none"], 0)])
def test_exit_0_whatever_the_outcome_has_to_be_asked_for(skilltrial: Any, new_skill: Any, gate: list[str], code: int) -> None:
    new_skill([{"id": 1, "prompt": "Colour?", "checks": [{"id": "a", "type": "contains", "value": "never said"}]}])
    assert skilltrial("run", "colours", "--target", "fake", *gate).code == code


def test_in_a_mixed_suite_a_case_without_any_assertion_counts_by_its_score_and_not_by_a_made_up_list(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    new_skill([*CHECKED[:1], {"id": 2, "prompt": "Explain tides."}])
    judge = script(
        tmp_path / "judge.json", {"when": {"judge": True, "case": "2"}, "score": 8}, {"when": {"judge": True}, "passed": True}
    )
    said = skilltrial("run", "colours", "--target", "fake", "--judge", f"fake:{judge}", "--gate", "none", "--format", "json")
    assert said.summary["metric"] == "checks"
    assert {(rate["pass_rate"], rate["mean_score"]) for rate in said.summary["rates"]} == {((1.0 + 0.8) / 2, 0.8)}


# ---------------------------------------------------------------- files
def keys_of(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.json"):
        keys = {key if ".cells." not in key else "evals[].cells.*" for key in key_paths(json.loads(path.read_text("utf-8")))}
        found.setdefault(path.name, set()).update(keys)
    return found


def test_a_tree_written_in_its_form_has_every_file_and_key_that_its_own_has(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    new_skill(CHECKED)
    judge = script(
        tmp_path / "judge.json",
        {"when": {"judge": True, "contains": "BLUE"}, "passed": True},
        {"when": {"judge": True}, "passed": False},
    )
    played = script(tmp_path / "t.json", {"when": {"arm": "with_skill"}, "text": "BLUE"}, {"text": "no"})
    skilltrial("run", "colours", "--target", f"fake:{played}", "--judge", f"fake:{judge}", "--trials", 2, "--gate", "none")
    assert skilltrial("export", "latest", "--format", "sab", "--output", "out").code == 0
    (own, written) = (DATA / "foreign" / "sab" / "run-two-sides" / "iteration-1", tmp_path / "out")
    ours, theirs = keys_of(written), keys_of(own)
    assert {name: keys - ours[name] for name, keys in theirs.items()} == {name: set() for name in theirs}
    for arm in ("with_skill", "without_skill"):
        for trial in ("trial-1", "trial-2"):
            assert {path.name for path in (written / "1" / "fake-t" / arm / trial).iterdir()} == {"answer.md", "judge.json"}
    told = json.loads((written / "results.json").read_text(encoding="utf-8"))
    assert (told["metric"], told["trials"], told["skill_axis"]) == ("pass_rate", 2, True)
    assert told["skill_lift"] == [
        {"runner": "fake-t", "with_skill": 1.0, "without_skill": 0.0, "lift": 1.0, "verdict": "clear positive"}
    ]


def test_a_report_in_markdown_lies_beside_the_numbers(skilltrial: Any, new_skill: Any, tmp_path: Path, colours: Any) -> None:
    new_skill(colours)
    skilltrial("run", "colours", "--target", "fake", "--gate", "none")
    report = tmp_path / "skilltrial-workspace" / "iteration-1" / "report.md"
    assert "colours" in report.read_text(encoding="utf-8")


def test_its_suite_runs_and_another_run_goes_beside_the_first(skilltrial: Any, tmp_path: Path) -> None:
    shutil.copytree(DATA / "suites" / "skill-ab-eval", tmp_path / "skills")
    for number in (1, 2):
        skilltrial("run", "skills/short-answers", "--target", "fake", "--judge", "fake", "--gate", "none")
        assert (tmp_path / "skilltrial-workspace" / f"iteration-{number}" / "summary.json").is_file()
