"""A judge between two answers: blind, in a drawn order, close calls both ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from skilltrial.graders.pairwise import Pairwise
from skilltrial.records.evidence import Usage
from skilltrial.records.grades import Comparison
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Check
from skilltrial.seams import Place, Question, Reply

FIRST, SECOND = (8, 3), (3, 8)


class Judge:
    """The Desk seam; `answers` are asked in turn with the question's text and give the reply."""

    judge: str | None = "judge-x"

    def __init__(self, *answers: Callable[[str], str] | str) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Reply:
        self.questions.append(question)
        answer = self.answers[min(len(self.questions), len(self.answers)) - 1]
        text = answer if isinstance(answer, str) else answer(question.user)
        outcome = "timeout" if text == "OUTAGE" else "ok"
        return Reply(text, outcome, "late" if outcome != "ok" else None, Usage(input_tokens=10), "m", 0.1)

    def scratch(self, evidence: Any) -> AbstractContextManager[Place]:
        raise AssertionError("pairs need no place")


def says(winner: str, first: float, second: float) -> str:
    return json.dumps({"winner": winner, "score_first": first, "score_second": second, "evidence": "it names the colour"})


def likes(text: str, scores: tuple[float, float] = FIRST) -> Callable[[str], str]:
    """A judge that prefers the answer holding `text` wherever it is shown."""

    def judge(question: str) -> str:
        after = question.split("final answer of the first assistant")[1].split("final answer of the second assistant")[0]
        return says("first", *scores) if text in after else says("second", *scores[::-1])

    return judge


@pytest.fixture
def compared(run: Any) -> Callable[..., Comparison]:
    def view(text: str, arm: str) -> Any:
        made = run.view(text)
        made.record = made.record.model_copy(update={"cell": f"s/c/t/{arm}/2"})
        return made

    def compare(judge: Judge, seed: int = 0, **case: Any) -> Comparison:
        made = Case(
            id="c", prompt="Which colour?", where=Where(file="x"),
            checks=(Check(id="r", type="rubric", text="It names one colour."),), **case,
        )  # fmt: skip
        arm = view("BLUE", "with_skill")
        baseline = view("I do not know", "without_skill")
        return Pairwise(lambda: "token").compare(made, arm, baseline, judge, seed)

    return compare


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_better_answer_wins_wherever_it_is_shown(compared: Callable[..., Comparison], seed: int) -> None:
    judge = Judge(likes("BLUE"))
    told = compared(judge, seed)
    assert (told.winner, told.second, told.score_arm, told.score_baseline) == ("arm", None, 8, 3)
    assert (told.block, told.arm, told.baseline, told.judge) == ("s/c/t/2", "with_skill", "without_skill", "judge-x")
    assert told.order == ("ab" if seed % 2 == 0 else "ba")
    assert (told.calls, told.usage and told.usage.input_tokens) == (1, 10)


def test_both_orders_are_drawn_and_the_question_tells_no_arm_and_no_target(compared: Callable[..., Comparison]) -> None:
    judges = [Judge(likes("BLUE")) for _ in range(2)]
    for seed, judge in enumerate(judges):
        compared(judge, seed)
    ways = [judge.questions[0].user.index("BLUE") < judge.questions[0].user.index("I do not know") for judge in judges]
    assert ways == [True, False]
    for judge in judges:
        asked = judge.questions[0].system + judge.questions[0].user
        assert not any(word in asked for word in ("with_skill", "without_skill", "baseline")) and "s/c/t" not in asked
        assert "It names one colour." in asked


@pytest.mark.parametrize("reply", [says("tie", 5, 5), says("first", 6, 5), says("tie", 9, 2)])
def test_a_close_call_is_asked_the_other_way_round_and_a_choice_by_place_is_a_tie(
    compared: Callable[..., Comparison], reply: str
) -> None:
    judge = Judge(reply)
    told = compared(judge)
    assert (told.winner, told.calls) == ("tie", 2)
    first, second = (question.user for question in judge.questions)
    assert first.index("BLUE") < first.index("I do not know") and second.index("I do not know") < second.index("BLUE")


def test_a_close_call_made_both_ways_stands(compared: Callable[..., Comparison]) -> None:
    told = compared(Judge(likes("BLUE", (6, 5))))
    assert (told.winner, told.second, told.calls) == ("arm", "arm", 2)
    assert (told.score_arm, told.score_baseline) == (6, 5)


def test_a_clear_choice_is_asked_once(compared: Callable[..., Comparison]) -> None:
    assert compared(Judge(says("second", 4, 5.1))).calls == 1


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (("OUTAGE",), "could not be reached: timeout, late"),
        (("no JSON",), "asked twice"),
        ((says("first", 2, 9),), "lower score"),
        ((says("third", 2, 9),), "must be first, second or tie"),
        ((says("first", 11, 9),), "from 0 to 10"),
        ((says("tie", 5, 5), "OUTAGE"), "could not be asked the other way round"),
    ],
)
def test_without_a_usable_choice_nothing_is_decided(
    compared: Callable[..., Comparison], answers: tuple[str, ...], why: str
) -> None:
    told = compared(Judge(*answers))
    assert told.winner == "ungraded" and told.reason is not None and why in told.reason


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(compared: Callable[..., Comparison]) -> None:
    judge = Judge("hmm", likes("BLUE"))
    told = compared(judge)
    assert (told.winner, told.calls) == ("arm", 2)
    assert "could not be used" in judge.questions[1].user
