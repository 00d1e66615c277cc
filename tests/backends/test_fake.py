"""The scripted backend: the same job gets the same answer, and a script can play any run there is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from skilltrial.backends.fake import Fake
from skilltrial.errors import CellError, UsageError
from skilltrial.records.plan import Target
from skilltrial.seams import Stop

RULES: dict[str, Any] = {
    "rules": [
        {"when": {"arm": "with_skill", "contains": "TASK"}, "text": "with: {prompt}"},
        {"when": {"arm": "without_skill", "repetition": 2}, "outcome": "timeout", "reason": "too slow"},
        {"when": {"case": "1"}, "text": "plain", "files": {"out/a.txt": "made"}, "usage": {"input_tokens": 9}},
    ]
}


def test_the_first_rule_that_fits_decides(bench: Any) -> None:
    fake = Fake(script=RULES)
    assert bench.run(fake, with_skill=True).text == "with: Perform the task."
    run = bench.run(fake)
    assert (run.text, run.usage.input_tokens) == ("plain", 9)
    assert (bench.root / "out/a.txt").read_text() == "made"
    late = bench.run(fake, cell="sample-skill/1/t/without_skill/2")
    assert (late.outcome, late.reason, late.text) == ("timeout", "too slow", "")


def test_without_a_rule_it_echoes(bench: Any) -> None:
    run = bench.run(Fake(), with_skill=True)
    assert (run.outcome, run.text, run.activation) == ("ok", "Perform the task.", "activated")
    assert run.inventory.skills == ("sample-skill",)
    assert (run.usage.input_tokens, run.usage.cost_usd) == (1, 0.0)


@pytest.mark.parametrize(
    ("reply", "text"), [("skill", "Say the required phrase."), ("empty", ""), ("ase", "This is the fake agent's answer.")]
)
def test_it_has_other_habits(bench: Any, reply: str, text: str) -> None:
    assert bench.run(Fake(reply=reply), with_skill=True).text == text


def test_a_file_is_made_when_the_prompt_says_so(bench: Any) -> None:
    bench.run(Fake(), prompt="fake-create-file: notes/new.md please")
    assert (bench.root / "notes/new.md").is_file()


def test_no_script_reaches_outside_the_workspace(bench: Any) -> None:
    with pytest.raises(CellError, match="outside the workspace"):
        bench.run(Fake(), prompt="fake-create-file: ../escape.md")


def test_chances_are_drawn_by_the_seed(bench: Any) -> None:
    fake = Fake(p_with=0.9, p_without=0.1)

    def rate(with_skill: bool) -> float:
        jobs = [replace(bench.job(with_skill=with_skill), seed=seed) for seed in range(300)]
        with fake.open(bench.machine) as runner:
            return sum(runner.run(job, bench.patient).text == "pass" for job in jobs) / 300

    assert rate(True) > 0.8
    assert rate(False) < 0.2
    assert rate(True) == rate(True)


def test_a_chance_of_one_always_passes_and_of_zero_never(bench: Any) -> None:
    fake = Fake(p_with=1, p_without=0, pass_text="good", fail_text="bad")
    assert bench.run(fake, with_skill=True).text == "good"
    assert bench.run(fake).text == "bad"


def test_a_run_that_takes_long_is_ended_by_the_watch(bench: Any, stopped: Any) -> None:
    run = bench.run(Fake(script={"rules": [{"sleep": 600}]}), watch=stopped("timeout"))
    assert (run.outcome, run.text) == ("timeout", "")


SCHEMA: dict[str, Any] = {
    "properties": {
        "verdicts": {"items": {"properties": {"id": {"enum": ["a", "b"]}}}},
        "score": {"type": "number"},
    }
}


def test_as_a_judge_it_answers_in_the_shape_asked_for(bench: Any) -> None:
    fake = Fake(script={"rules": [{"when": {"judge": True, "arm": "with_skill"}, "passed": {"a": False}, "score": 8}]})
    job = bench.job(cell="judge:sample-skill/1/t/with_skill/1", json_schema=SCHEMA)
    with fake.open(bench.machine) as runner:
        scripted = json.loads(runner.run(job, bench.patient).text)
        plain = json.loads(runner.run(replace(job, cell="judge:sample-skill/1/t/without_skill/1"), bench.patient).text)
    assert [(row["id"], row["passed"]) for row in scripted["verdicts"]] == [("a", False)]
    assert scripted["score"] == 8
    assert [(row["id"], row["passed"]) for row in plain["verdicts"]] == [("a", True), ("b", True)]


def test_a_script_may_lie_in_a_file(bench: Any) -> None:
    file = bench.base / "script.yaml"
    file.write_text("rules:\n  - when: {arm: with_skill}\n    text: from the file\n")
    fake = Fake.from_target(Target(name="f", backend="fake", value=str(file)))
    assert bench.run(fake, with_skill=True).text == "from the file"


@pytest.mark.parametrize("source", ["absent.yaml", '{"rules": [{"txt": "x"}]}', "[1]", "{broken"])
def test_a_script_that_cannot_be_played_is_named_before_anything_runs(bench: Any, source: str) -> None:
    with pytest.raises(UsageError):
        Fake(script=source).probe(bench.machine)


def test_commands_are_really_run_and_told_as_tool_calls_with_their_results(bench: Any) -> None:
    rule = {
        "files": {"a.txt": "one\n"},
        "run": ["cat a.txt > b.txt; cat b.txt", "ls nothing-there", "echo two"],
        "text": "{output}!",
    }
    run = bench.run(Fake(script={"rules": [rule]}), with_skill=True)
    assert (bench.root / "b.txt").read_text() == "one\n"
    assert run.text == "two!"
    assert [(event.kind, event.ok) for event in run.events] == [
        ("skill", None), ("tool_call", None), ("tool_result", True), ("tool_call", None), ("tool_result", False),
        ("tool_call", None), ("tool_result", True),
    ]  # fmt: skip
    assert run.events[1].arguments == {"command": rule["run"][0]}
    assert run.events[2].text == "one\n"
    assert "nothing-there" in run.events[4].text


@pytest.mark.parametrize(("with_skill", "said"), [(True, ".fake/skills/sample-skill"), (False, "none")])
def test_a_command_knows_where_the_skill_is(bench: Any, with_skill: bool, said: str) -> None:
    fake = Fake(script={"rules": [{"run": ["echo ${SKILL:-none}"], "text": "{output}"}]})
    assert bench.run(fake, with_skill=with_skill).text == said


def test_a_command_that_takes_long_is_ended_by_the_watch(bench: Any) -> None:
    class Late(type(bench.patient)):  # type: ignore[misc]
        def heard(self, event: Any) -> Stop | None:
            return None if event is not None else Stop("timeout", "time is over")

    run = bench.run(Fake(script={"rules": [{"run": ["sleep 60"]}]}), watch=Late())
    assert (run.outcome, run.text) == ("timeout", "")
    assert [event.kind for event in run.events] == ["tool_call"]


def test_commands_without_a_folder_are_a_broken_cell(bench: Any) -> None:
    job = replace(bench.job(), place=None)
    with Fake(script={"rules": [{"run": ["true"]}]}).open(bench.machine) as runner, pytest.raises(CellError, match="no folder"):
        runner.run(job, bench.patient)
