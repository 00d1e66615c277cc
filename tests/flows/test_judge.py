"""A judge that is down, refuses or answers nonsense: nothing is filled in, and `resume` asks it alone again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .stored import assert_whole, iteration, journal, results

IDS = ("short", "kind", "true")
BARE = json.dumps({"verdicts": [{"id": name, "passed": True, "evidence": "BLUE"} for name in IDS]})
SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def key(skilltrial: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123")


def judged(count: int = 2) -> list[dict[str, Any]]:
    """Cases with three sentences for a judge and one check that needs none."""
    checks = [{"id": name, "type": "rubric", "text": f"The answer is {name}."} for name in IDS]
    checks.append({"id": "blue", "type": "contains", "value": "BLUE"})
    return [{"id": n, "prompt": f"What is the colour of sky number {n}?", "checks": checks} for n in range(1, count + 1)]


class Court:
    """A target and a judge on loopback, and the command lines that use them."""

    def __init__(self, skilltrial: Any, new_skill: Any, serve: Callable[..., Any], evals: list[dict[str, Any]]) -> None:
        self.call = skilltrial
        self.skill = new_skill(evals)
        self.target = serve("BLUE")
        self.judge = serve(BARE)

    def run(self, *more: object) -> Any:
        return self.call(
            "run", self.skill, "--target", "openai:m", "--base-url", self.target.url, "-c", 2, "--judge", "openai:j",
            "--judge-base-url", self.judge.url, "--format", "json", *more,
        )  # fmt: skip

    def ails(self, **faults: Any) -> None:
        self.judge.faults = type(self.judge.faults)(**faults)


@pytest.fixture
def court(skilltrial: Any, new_skill: Any, serve: Callable[..., Any]) -> Court:
    return Court(skilltrial, new_skill, serve, judged())


def unable(judge: Any, replies: list[Any]) -> Callable[[dict[str, Any]], Any]:
    """Gives the replies in turn, the last of them for ever."""
    return lambda request: replies[min(judge.stats.answered, len(replies)) - 1]


# ---------------------------------------------------------------- FC-14
@pytest.mark.parametrize(
    ("ailment", "replies", "words"),
    [
        ({"status": 500, "retry_after": "0"}, [BARE], "could not be reached: infrastructure error, "),
        ({"status": 500, "status_calls": 2, "retry_after": "0"}, ["I cannot assess this."], "no JSON object with a verdict"),
        ({}, ['{"results": []}'], "no verdict"),
        ({}, [""], "it is empty"),
    ],
    ids=["down", "500 twice, then a refusal", "no results", "nothing"],
)
def test_a_judge_that_gives_no_verdict_leaves_judge_errors_that_resume_finishes(
    court: Court, tmp_path: Path, ailment: dict[str, Any], replies: list[str], words: str
) -> None:
    court.judge.reply = unable(court.judge, replies)
    court.ails(**ailment)
    said = court.run()
    folder = iteration(tmp_path)
    assert said.code == 2, said.err
    in_vain = said.summary["judge"][0]["calls"]
    coverage = said.summary["coverage"]
    assert (coverage["finished"], coverage["graded"], coverage["failed_measurements"]) == (4, 0, {"judge_error": 4})
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {None}
    assert said.summary["lifts"][0]["verdict"] == "not measured"
    for result in results(folder):
        assert result.grading is not None
        states = {grade.check: (grade.state, grade.method) for grade in result.grading.grades}
        assert states == dict.fromkeys(IDS, ("ungraded", "judge")) | {"blue": ("passed", "check")}
        assert all(words in (grade.reason or "") for grade in result.grading.grades if grade.method == "judge")
    assert court.target.stats.calls == 4

    court.ails()
    court.judge.reply = lambda request: BARE
    said = court.call("resume", "--format", "json")
    assert said.code == 0, said.err
    assert court.target.stats.calls == 4, "the target was asked again"
    assert said.summary["coverage"]["failed_measurements"] == {}
    assert said.summary["judge"][0]["calls"] == in_vain + 4, "what the judge was asked in vain counts too"
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}
    assert_whole(folder)


@pytest.mark.parametrize(
    ("options", "code"), [("", 3), ("--gate every", 2), ("--gate-checks all", 3), ("--minimum-pass-rate 0.1", 3)]
)
def test_a_gate_is_never_green_over_sentences_that_nobody_graded(court: Court, options: str, code: int) -> None:
    """Although every check that needs no judge passed in all cells, and the judge did answer for the first of the two cases."""
    court.judge.reply = lambda request: BARE if "number 1?" in request["messages"][-1]["content"] else "I cannot assess this."
    said = court.run(*options.split())
    assert said.code == code, said.err
    assert said.summary["coverage"]["by_arm"]["with_skill"] == {"planned": 2, "finished": 2, "graded": 1}
    assert said.summary["gate"]["passed"] is None


def test_one_sentence_without_a_verdict_leaves_the_cell_unmeasured_and_keeps_the_others(court: Court, tmp_path: Path) -> None:
    """The judge is asked once more for what is missing, and by `resume` for no more than that."""
    some = json.dumps({"verdicts": json.loads(BARE)["verdicts"][:2]})
    court.judge.reply = lambda request: some
    said = court.run()
    assert (said.code, said.summary["coverage"]["failed_measurements"]) == (2, {"judge_error": 4})
    assert court.judge.stats.calls == 8
    asked: list[str] = []

    def rest(request: dict[str, Any]) -> str:
        asked.append(request["messages"][-1]["content"])
        return BARE

    court.judge.reply = rest
    assert court.call("resume").code == 0
    assert len(asked) == 4
    assert not any("The answer is short." in text for text in asked)
    assert_whole(iteration(tmp_path))


# ---------------------------------------------------------------- FC-13
@pytest.mark.parametrize(
    "reply",
    [BARE, f"```json\n{BARE}\n```", f"Here is my verdict.\n\n```json\n{BARE}\n```", f"```json\n{BARE}\n```\nI hope this helps."],
    ids=["bare", "fenced", "sentence, then fenced", "fenced, then a remark"],
)
def test_a_fence_around_the_verdict_changes_nothing_and_costs_no_second_call(court: Court, reply: str) -> None:
    court.judge.reply = lambda request: reply
    said = court.run()
    assert said.code == 0, said.err
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}
    assert court.judge.stats.calls == said.summary["judge"][0]["calls"] == 4


# ---------------------------------------------------------------- what resume keeps
def test_a_leaked_secret_fails_its_check_also_after_the_judge_was_asked_again(
    skilltrial: Any, new_skill: Any, serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is stored masked, so only the run itself could see the secret in it."""
    monkeypatch.setenv("SERVICE_PASSWORD", SECRET)
    evals = judged(1)
    evals[0]["checks"].append({"id": "leak", "type": "not_contains", "value": SECRET})
    court = Court(skilltrial, new_skill, serve, evals)
    court.target.reply = lambda request: f"BLUE {SECRET}"
    court.ails(status=500, retry_after="0")
    court.run()
    court.ails()
    assert court.call("resume").code == 1
    for result in results(iteration(tmp_path)):
        assert result.grading is not None
        assert {grade.check: grade.state for grade in result.grading.grades}["leak"] == "failed"
    stored = b"".join(
        path.read_bytes() for path in iteration(tmp_path).rglob("*") if path.is_file() and path.parent.name != "blobs"
    )
    assert SECRET.encode() not in stored.replace(b"skilltrial", b"")


def test_a_judge_without_a_valid_key_ends_the_run_before_it_is_paid_for(court: Court, tmp_path: Path) -> None:
    court.ails(status=401, error={"error": {"message": "Incorrect API key provided"}})
    said = court.run("-n", 20)
    assert said.code == 2
    assert court.target.stats.calls <= 5, "the suite is paid for although nothing can grade it"
    assert said.summary["stopped"].startswith("openai-m: the judge: ")
    assert "answered 401: not let in" in said.summary["stopped"]
    paid = court.target.stats.calls
    court.ails()
    assert court.call("resume").code == 0
    assert court.target.stats.calls == 80
    assert paid == len([row for row in journal(iteration(tmp_path), "grades") if row["grades"][0]["state"] == "ungraded"])
    assert_whole(iteration(tmp_path))


def test_grading_again_with_a_judge_that_is_down_keeps_what_was_decided(court: Court, tmp_path: Path) -> None:
    assert court.run().code == 0
    before = {result.cell.id: result.grading for result in results(iteration(tmp_path))}
    court.ails(status=500, retry_after="0")
    said = court.call("grade", "--judge", "openai:j", "--judge-base-url", court.judge.url, "--format", "json")
    assert said.code == 0, said.err
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}
    assert {result.cell.id: result.grading for result in results(iteration(tmp_path))} == before
    assert court.target.stats.calls == 4
    assert "0 changed" in said.err
