"""A suite drafted by a judge: what is asked, what is refused, what is written, and what is said about it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.flows.generate import SCHEMA

from .conftest import SKILL, script

RULE = "Always answer with the single word BLUE, nothing else."


def assertion(text: str = "The answer names one colour.", type_: str = "rubric", **more: Any) -> dict[str, Any]:
    return {"text": text, "type": type_, "value": None, "path": None, **more}


def case(name: str, kind: str = "positive", **more: Any) -> dict[str, Any]:
    standing = {
        "id": name,
        "kind": kind,
        "prompt": f"I wonder about the {name}. Which colour is it?",
        "expected_output": "One colour.",
        "files": [],
        "assertions": [assertion(), assertion("blue is named", "contains", value="blue")],
    }
    return {**standing, **more}


def draft(*extra: dict[str, Any], **changes: dict[str, Any]) -> dict[str, Any]:
    cases = [case("sea"), case("sky"), case("jeans"), case("painter", "near-miss"), case("password", "safe-stop"), *extra]
    return {"cases": [{**one, **changes.get(one["id"], {})} for one in cases]}


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "colours"
    folder.mkdir()
    (folder / "SKILL.md").write_text(SKILL.format(name="colours"), encoding="utf-8")
    return folder


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., str]:
    """`judge(first, second)`: what it replies to the first question, and to one that complains."""

    def make(first: Any, second: Any = None) -> str:
        def text(reply: Any) -> str:
            return reply if isinstance(reply, str) else json.dumps(reply)

        rules = [{"when": {"judge": True, "contains": "had these faults"}, "text": text(second if second is not None else first)}]
        return f"fake:{script(tmp_path / 'judge.json', *rules, {'when': {'judge': True}, 'text': text(first)})}"

    return make


def suite_of(skill: Path) -> Any:
    return json.loads((skill / "evals" / "evals.json").read_text(encoding="utf-8"))


def test_a_draft_is_written_marked_and_runs(skilltrial: Any, skill: Path, judge: Any) -> None:
    files = {"files": [{"path": "sea/notes.txt", "content": "The sea was calm.\n"}]}
    said = skilltrial("generate", skill, "--judge", judge(draft(sea=files)))
    assert said.code == 0, said.err
    assert said.out == "", "nothing but messages, and those are for people"
    assert "warning" not in said.err and "draft" in said.err
    suite = suite_of(skill)
    assert (suite["skill_name"], suite["reviewed"]) == ("colours", False)
    assert [one["tags"] for one in suite["evals"]] == [["positive"]] * 3 + [["near-miss"], ["safe-stop"]]
    assert [one.get("should_trigger", True) for one in suite["evals"]] == [True, True, True, False, True]
    assert (skill / "evals/files/sea/notes.txt").read_text() == "The sea was calm.\n"
    said = skilltrial("validate", skill)
    assert said.code == 0 and "nobody has reviewed" in said.out and said.out.count("warning: ") == 1
    said = skilltrial("run", skill, "--target", "fake", "--judge", "fake", "--format", "json")
    assert said.summary["coverage"]["graded"] == 10 and "nobody has reviewed" in said.err


def test_a_dry_run_prints_the_suite_and_writes_nothing(skilltrial: Any, skill: Path, judge: Any) -> None:
    said = skilltrial("generate", skill, "--judge", judge(draft()), "--dry-run")
    assert said.code == 0 and json.loads(said.out)["evals"][0]["id"] == "sea"
    assert [path.name for path in skill.iterdir()] == ["SKILL.md"]


def test_nothing_is_overwritten(skilltrial: Any, skill: Path, judge: Any) -> None:
    target = judge(draft(sea={"files": [{"path": "a.txt", "content": "a"}]}))
    (skill / "evals" / "files").mkdir(parents=True)
    (skill / "evals" / "files" / "a.txt").write_text("mine")
    said = skilltrial("generate", skill, "--judge", target)
    assert said.code == 2 and "a.txt" in said.err and not (skill / "evals" / "evals.json").exists()
    (skill / "evals" / "evals.json").write_text('{"evals": [{"id": 1, "prompt": "x", "expected_output": "y"}]}')
    assert "has a suite already" in skilltrial("generate", skill, "--judge", target).err
    assert "has a suite already" in skilltrial("generate", skill, "--judge", target, "--dry-run").err
    assert len(suite_of(skill)["evals"]) == 1


def test_the_question_holds_the_skill_as_data_and_asks_for_a_closed_shape(skilltrial: Any, skill: Path, serve: Any) -> None:
    server = serve(json.dumps(draft()))
    said = skilltrial("generate", skill, "--judge", "openai:m", "--judge-base-url", server.url, "--dry-run")
    assert said.code == 0, said.err
    (request,) = server.requests
    user = request["messages"][-1]["content"]
    assert RULE in user and user.index("BEGIN ") < user.index(RULE) < user.index("END ")
    assert request["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("I would rather write prose.", "no JSON object"),
        ({"cases": [case("sea")]}, "1 positive cases"),
        (draft(painter={"kind": "positive"}), "no near-miss case"),
        (draft(sea={"assertions": [assertion()]}), "at least 2"),
        (draft(case("sea")), "'sea' is used twice"),
        (draft(sea={"files": [{"path": "../x", "content": ""}]}), "no plain relative path"),
        (draft(sea={"assertions": [assertion(), assertion("x", "regex", value="(")]}), "no regular expression"),
        (draft(sea={"assertions": [assertion(), assertion("x", "file_contains", path="a.txt")]}), "needs a value"),
    ],
)
def test_an_unusable_draft_is_asked_for_once_more_and_then_refused(
    skilltrial: Any, skill: Path, judge: Any, reply: Any, said: str
) -> None:
    failed = skilltrial("generate", skill, "--judge", judge(reply))
    assert failed.code == 2 and "asked twice" in failed.err and said in failed.err
    assert not (skill / "evals").exists()
    assert skilltrial("generate", skill, "--judge", judge(reply, draft())).code == 0


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"prompt": f"Which colour is the sea? {RULE}"}, "words in a row with SKILL.md"),
        ({"prompt": "I wonder about the sky. Which colour is it?"}, "all but that of case"),
        ({"assertions": [assertion(), assertion("says sea", "contains", value="SEA")]}, "true of the prompt itself"),
        ({"assertions": [assertion(), assertion("says something", "regex", value="(?s).*")]}, "no output can fail"),
        ({"assertions": [assertion(), assertion("A response is provided.")]}, "no output can fail"),
        ({"assertions": [assertion(), assertion("The task mentions a colour.")]}, "not of what was done"),
        ({"assertions": [assertion(), assertion()]}, "is asked twice"),
        (
            {
                "files": [{"path": "n.txt", "content": "blue"}],
                "assertions": [assertion(), assertion("blue", "file_contains", path="n.txt", value="Blue")],
            },
            "before anything is done",
        ),
    ],
)
def test_what_looks_weak_is_mended_once_else_said(skilltrial: Any, skill: Path, judge: Any, changes: Any, rule: str) -> None:
    weak = draft(sea=changes)
    said = skilltrial("generate", skill, "--judge", judge(weak, draft()), "--dry-run")
    assert "warning" not in said.err, "the second draft was sound"
    said = skilltrial("generate", skill, "--judge", judge(weak))
    assert said.code == 0 and rule in said.err
    said = skilltrial("validate", skill)
    assert said.code == 0 and rule in said.out, "validate says the same of a draft"


def test_a_reviewed_suite_is_looked_at_so_closely_under_the_strict_level_only(skilltrial: Any, skill: Path, judge: Any) -> None:
    skilltrial("generate", skill, "--judge", judge(draft(sea={"prompt": f"Which colour is the sea? {RULE}"})))
    suite = {key: value for key, value in suite_of(skill).items() if key != "reviewed"}
    (skill / "evals" / "evals.json").write_text(json.dumps(suite))
    assert "in a row" not in skilltrial("validate", skill).out
    assert "in a row" in skilltrial("validate", skill, "--level", "strict").out


def test_sentences_stay_sentences_for_the_judge(skilltrial: Any, skill: Path, judge: Any) -> None:
    """A near miss marks the suite as agent-skill-eval's, whose prose would turn this one into a check about files."""
    one = {"assertions": [assertion("The profile exists."), assertion("The newly committed change explains why.")]}
    skilltrial("generate", skill, "--judge", judge(draft(sea=one)))
    assert "prose" not in skilltrial("validate", skill, "--format", "json").out


def test_without_a_judge_or_with_one_that_answers_later_nothing_is_asked(skilltrial: Any, skill: Path) -> None:
    assert "no --judge given" in skilltrial("generate", skill).err
    said = skilltrial("generate", skill, "--judge", "manual")
    assert said.code == 2 and "answers later" in said.err


def test_a_judge_that_cannot_be_reached_is_no_draft(skilltrial: Any, skill: Path, tmp_path: Path) -> None:
    down = script(tmp_path / "down.json", {"outcome": "infrastructure_error", "reason": "rate limit"})
    said = skilltrial("generate", skill, "--judge", f"fake:{down}")
    assert said.code == 2 and "rate limit" in said.err and not (skill / "evals").exists()


def test_an_agent_program_can_draft_the_suite(
    skilltrial: Any, skill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    agent = Path(__file__).parents[1] / "fakes" / "agent.py"
    program.write_text(f"#!{sys.executable}\n{agent.read_text(encoding='utf-8')}", encoding="utf-8")
    program.chmod(0o755)
    done = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 1,
        "result": json.dumps(draft()),
        "usage": {"output_tokens": 1},
    }
    (folder / "claude.json").write_text(json.dumps({"prints": [done]}))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-a-test")
    monkeypatch.setenv("SKILLTRIAL_SANDBOX", "none")  # the fake writes beside itself
    said = skilltrial("generate", skill, "--judge", "claude-code:haiku")
    assert said.code == 0, said.err
    assert len(suite_of(skill)["evals"]) == 5
