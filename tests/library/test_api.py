"""The library: answers graded without a run, skills read, reports of stored experiments, reporters."""

from __future__ import annotations

import gc
import io
import json
import weakref
from pathlib import Path
from typing import Any

import pytest

import skilltrial
from skilltrial.errors import UsageError

DATA = Path(__file__).parents[1] / "data" / "foreign"
CALL = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"opts": {"a": 1, "b": [2]}, "files": ["x"]}'}}


@pytest.fixture
def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "greeting"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greeting\ndescription: Greets.\n---\nSay BLUE.\n")
    case = {"id": 1, "prompt": "Greet me.", "assertions": ["It is kind."], "checks": [{"type": "contains", "value": "BLUE"}]}
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "greeting", "evals": [case]}))
    return folder


# ---------------------------------------------------------------- one answer
def states(grades: Any) -> list[str]:
    return [grade.state for grade in grades]


def test_an_answer_is_graded_without_a_run() -> None:
    grades = skilltrial.grade(
        ["It is kind.", {"type": "contains", "value": "blue"}, {"type": "regex", "pattern": "^red"}], "BLUE"
    )
    assert states(grades) == ["ungraded", "passed", "failed"]
    assert grades[0].reason == "there is no judge"


@pytest.mark.parametrize("calls", [[CALL], [("bash", {"opts": {"b": [2], "a": 1}, "files": ["x"]})]])
def test_all_six_tool_assertions_read_calls_in_either_form(calls: Any) -> None:
    assertions = [
        {"type": "tool-called", "name": "bash"},
        {"type": "tool-not-called", "name": "rm"},
        {"type": "tool-arg-equals", "name": "bash", "path": "opts", "value": {"b": [2], "a": 1}},
        {"type": "tool-arg-contains", "name": "bash", "path": "files[0]", "value": "x"},
        {"type": "tool-arg-matches", "name": "bash", "path": "files[0]", "pattern": "^X$", "flags": "i"},
        {"type": "tool-call-count", "name": "bash", "min": 1, "max": 1},
    ]
    assert states(skilltrial.grade(assertions, "", tool_calls=calls)) == ["passed"] * 6
    assert states(skilltrial.grade(assertions, "", tool_calls=[])) == ["failed", "passed", "failed", "failed", "failed", "failed"]
    assert states(skilltrial.grade(assertions, "")) == ["ungraded"] * 6, "without a record of calls there is no verdict"


def test_files_are_graded_and_commands_run_beside_them() -> None:
    checks = [{"type": "file_contains", "path": "a/b.txt", "contains": "x"}, {"type": "command", "shell": "grep -q x a/b.txt"}]
    assert states(skilltrial.grade(checks, "", files={"a/b.txt": "xyz"})) == ["passed", "passed"]
    assert states(skilltrial.grade(checks, "", files={"a/b.txt": b"yz"})) == ["failed", "failed"]


def test_a_judge_is_a_function_too_and_sees_task_and_expected_output() -> None:
    seen: list[str] = []

    def judge(prompt: str) -> str:
        seen.append(prompt)
        return json.dumps({"verdicts": [{"id": "check-1", "passed": True, "evidence": "hello"}]})

    assert states(skilltrial.grade(["It greets."], "hello", prompt="GREET ME", expected_output="A GREETING", judge=judge)) == [
        "passed"
    ]
    assert "GREET ME" in seen[0] and "A GREETING" in seen[0] and "hello" in seen[0]


def test_a_judge_that_is_down_gives_no_verdict() -> None:
    def judge(prompt: str) -> str:
        raise OSError("down")

    (grade,) = skilltrial.grade(["It greets."], "hello", judge=judge)
    assert grade.state == "ungraded" and "down" in (grade.reason or "")


def test_checks_that_cannot_be_read_are_told_together() -> None:
    with pytest.raises(UsageError) as caught:
        skilltrial.grade([{"type": "contians", "value": "x"}, {"type": "regex", "pattern": "("}], "x")
    assert "did you mean 'contains'" in str(caught.value) and "regular expression" in str(caught.value)


# ---------------------------------------------------------------- reading, reporting
def test_skills_and_suites_are_read_with_every_problem(skill: Path) -> None:
    found = skilltrial.read(skill)
    assert [one.name for one in found.skills] == ["greeting"]
    assert [case.prompt for suite in found.suites for case in suite.cases] == ["Greet me."]
    assert found.errors == ()
    (skill / "evals" / "evals.json").write_text("{")
    assert skilltrial.read(skill).errors


def test_a_report_is_written_anew_from_what_is_stored(skill: Path, tmp_path: Path) -> None:
    summary = skilltrial.evaluate(skill, targets=[lambda prompt: prompt], judge="none")
    again = skilltrial.report(f"skilltrial-workspace/{summary.experiment}", tmp_path / "out.md", tmp_path / "out.html")
    assert again.rates == summary.rates and again.lifts == summary.lifts
    assert (tmp_path / "out.md").is_file() and (tmp_path / "out.html").is_file()
    assert skilltrial.report(DATA / "ase-npm" / "iteration-single").rates
    with pytest.raises(UsageError):
        skilltrial.report(tmp_path / "nothing")


# ---------------------------------------------------------------- reporters
def test_several_hearers_are_told_in_turn_and_nothing_is_printed(skill: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, rows, types = io.StringIO(), io.StringIO(), []
    hearers = [skilltrial.console_reporter(out=lines), skilltrial.jsonl_reporter(out=rows), lambda news: types.append(news.type)]
    skilltrial.evaluate(skill, targets=[lambda prompt: "BLUE"], judge="none", on_event=hearers)
    assert capsys.readouterr() == ("", "")
    assert types == [json.loads(row)["type"] for row in rows.getvalue().splitlines()]
    assert "greeting/1/lambda/with_skill/1" in lines.getvalue()


def test_a_verbose_console_shows_what_was_said(skill: Path) -> None:
    verbose, short, plain = io.StringIO(), io.StringIO(), io.StringIO()
    hearers = [
        skilltrial.console_reporter(out=verbose, verbose=True),
        skilltrial.console_reporter(out=short, snippet_length=8),
        skilltrial.console_reporter(out=plain),
    ]
    skilltrial.evaluate(skill, targets=[lambda prompt: "BLUE is my answer"], judge="none", on_event=hearers)
    assert "Greet me." in verbose.getvalue() and "BLUE is my answer" in verbose.getvalue() and "Say BLUE." in verbose.getvalue()
    assert "BLUE is" in short.getvalue() and "answer" not in short.getvalue()
    assert "BLUE" not in plain.getvalue()


def test_a_target_of_settings_needs_no_registration(skill: Path, serve: Any) -> None:
    server = serve("BLUE")
    target = skilltrial.TargetConfig(
        backend="openai", model="m", base_url=server.url, headers={"user-AGENT": "mine/1"}, params={"temperature": 0.5}
    )
    summary = skilltrial.evaluate(skill, target, "none", arms=["with_skill"], environ={"OPENAI_API_KEY": "k"})
    assert summary.rates[0].pass_rate == 1.0
    assert server.headers[0]["user-agent"] == "mine/1" and server.requests[0]["temperature"] == 0.5


def test_an_object_is_let_go_of_when_its_trial_is_over(skill: Path) -> None:
    class Echo:
        name = "echo"

        def complete(self, prompt: str) -> str:
            return prompt

    names = []
    for _ in range(2):
        echo = Echo()
        seen = weakref.ref(echo)
        names.append(skilltrial.evaluate(skill, echo, "none", arms=["with_skill"]).rates[0].target)
        del echo
        gc.collect()
        assert seen() is None
    assert names == ["echo", "echo"]


def test_what_is_not_said_is_as_the_settings_have_it(skill: Path, tmp_path: Path, serve: Any) -> None:
    settings = {"root": "greeting", "target": "m", "baseUrl": serve("BLUE").url, "judge": "j"}
    (tmp_path / "agent-skills-eval.yaml").write_text(json.dumps(settings))
    config = skilltrial.load_config("agent-skills-eval.yaml")
    environ = {"OPENAI_API_KEY": "k"}
    summary = skilltrial.evaluate(config=config, judge="none", environ=environ)
    assert {rate.arm for rate in summary.rates} == {"with_skill"}
    assert (tmp_path / "agent-skills-workspace" / summary.experiment).is_dir()
    both = skilltrial.evaluate(config=config, judge="none", arms=["with_skill", "without_skill"], environ=environ)
    assert {rate.arm for rate in both.rates} == {"with_skill", "without_skill"}
