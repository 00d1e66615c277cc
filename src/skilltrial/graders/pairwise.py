"""A judge chooses between the two answers of a block, blind to which arm gave which; close calls are asked the other way round too."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skilltrial.graders._prompt import DATA, answer, asked_json, block
from skilltrial.graders._reply import Unreadable, parsed, text_of
from skilltrial.records.evidence import Usage, summed
from skilltrial.records.grades import Comparison, Winner
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import Case
from skilltrial.seams import Desk, EvidenceView, Question
from skilltrial.wording import words

CLOSE = 1.0
"""Scores from 0 to 10 that differ by no more than this are a close call, and so is a tie."""
PLACES = ("first", "second")
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "winner": {"type": "string", "enum": ["first", "second", "tie"]},
        "score_first": {"type": "number"},
        "score_second": {"type": "number"},
        "evidence": {"type": "string"},
    },
    "required": ["winner", "score_first", "score_second", "evidence"],
    "additionalProperties": False,
}
SYSTEM = f"""\
You compare two answers. You are given a task, the answers two assistants gave to it, and what each left behind. You do not \
know who they are or how they were set up, and it does not matter.
Judge by what the material shows, not by what an answer claims about itself. Substance counts, not length, tone or the order \
in which the answers are shown. Recorded tool calls and files outrank what an answer says about them.
{DATA}"""
ASKED = """\
Which answer serves the task better? If neither is better, it is a tie. Score each from 0 (useless) to 10 (could not be better).
Answer with this JSON object: {"winner": "first", "second" or "tie", "score_first": <0 to 10>, "score_second": <0 to 10>, \
"evidence": <what decided it, with a short literal quote>}. The winner has no lower score than the other."""


class Heard(NamedTuple):
    """What the judge said about one showing."""

    winner: Winner
    score_arm: float | None
    score_baseline: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Pairwise:
    """The Comparer seam."""

    token: Callable[[], str] = field(default=lambda: secrets.token_hex(8))

    def compare(self, case: Case, one: EvidenceView, other: EvidenceView, desk: Desk, seed: int) -> Comparison:
        """`one` is the arm under test, `other` its baseline; both runs ended ok. `seed`: of the block, it draws the order."""
        arm_first = seed % 2 == 0
        usages: list[Usage] = []
        first = self._asked(case, one, other, desk, arm_first, usages)
        second = self._asked(case, one, other, desk, not arm_first, usages) if _close(first) else None
        skill, name, target, arm, repetition = _names(one)
        return Comparison(
            block=f"{skill}/{name}/{target}/{repetition}",
            arm=arm,
            baseline=_names(other)[3],
            judge=desk.judge or "none",
            order="ab" if arm_first else "ba",
            winner=_settled(first, second),
            second=second.winner if second else None,
            score_arm=_mean(first.score_arm, second.score_arm if second else None),
            score_baseline=_mean(first.score_baseline, second.score_baseline if second else None),
            reason=_reason(first, second) or None,
            calls=len(usages),
            usage=summed(usages) if usages else None,
        )

    def _asked(
        self, case: Case, one: EvidenceView, other: EvidenceView, desk: Desk, arm_first: bool, usages: list[Usage]
    ) -> Heard:
        """One showing; a reply that cannot be read is asked for once more, an outage is not: retries are behind the desk."""
        if desk.judge is None:
            return Heard("ungraded", None, None, "no judge")
        trouble: str | None = None
        for _ in range(2):
            shown = (one, other) if arm_first else (other, one)
            reply = desk.ask(question(case, *shown, self.token(), trouble))
            usages.append(reply.usage)
            if reply.outcome != "ok":
                told = words.outcome(reply.outcome)
                why = f"{told}, {reply.reason}" if reply.reason else told
                return Heard("ungraded", None, None, f"the judge could not be reached: {why}")
            try:
                return heard(reply.text, arm_first)
            except Unreadable as error:
                trouble = str(error)
        return Heard("ungraded", None, None, f"the judge's reply could not be used, asked twice: {trouble}")


comparer = Pairwise()


def question(case: Case, first: EvidenceView, second: EvidenceView, token: str, complaint: str | None = None) -> Question:
    """Both answers with what they left behind, in this order, and nothing that tells an arm or a target."""
    parts = [block(token, "task", case.prompt)]
    if case.expected_output:
        parts.append(block(token, "expected output, written by the author of the task", case.expected_output))
    wanted = [check.text for check in case.checks if check.type == "rubric"]
    if wanted:
        parts.append(block(token, "what the author of the task wants of an answer", wanted))
    for place, view in zip(PLACES, (first, second), strict=True):
        parts += answer(view, token, f"the {place} assistant")
    parts.append(ASKED)
    if complaint:
        parts.append(asked_json(complaint))
    return Question(SYSTEM, "\n\n".join(parts), SCHEMA)


def heard(reply: str, arm_first: bool) -> Heard:
    """The judge's choice, turned from places to arms.

    Raises:
        Unreadable: no choice, no scores from 0 to 10, or a winner that has the lower score.
    """
    found = parsed(reply, ("winner",))
    choice = found.get("winner")
    if choice not in ("first", "second", "tie"):
        raise Unreadable(f"'winner' must be first, second or tie, found {str(choice)[:40]!r}")
    scores = tuple(_score(found, f"score_{place}") for place in PLACES)
    if (choice == "first" and scores[0] < scores[1]) or (choice == "second" and scores[1] < scores[0]):
        raise Unreadable(f"the winner '{choice}' has the lower score")
    winner: Winner = "tie" if choice == "tie" else "arm" if (choice == "first") is arm_first else "baseline"
    arm, baseline = scores if arm_first else scores[::-1]
    return Heard(winner, arm, baseline, text_of(found.get("evidence")))


def _score(found: dict[str, Any], name: str) -> float:
    score = found.get(name)
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score) or not 0 <= score <= 10:
        raise Unreadable(f"'{name}' must be a number from 0 to 10")
    return float(score)


def _close(first: Heard) -> bool:
    if first.score_arm is None or first.score_baseline is None:
        return False
    return first.winner == "tie" or abs(first.score_arm - first.score_baseline) <= CLOSE


def _settled(first: Heard, second: Heard | None) -> Winner:
    """A close call stands only when it is made both ways; one that could not be asked again is none."""
    if second is None or second.winner == "ungraded" or first.winner == second.winner:
        return second.winner if second else first.winner
    return "tie"


def _reason(first: Heard, second: Heard | None) -> str:
    if second is None:
        return first.reason
    if second.winner == "ungraded":
        return f"a close call that could not be asked the other way round: {second.reason}"
    agree = "the same was said" if first.winner == second.winner else f"then it said {second.winner}, so it is a tie"
    return f"{first.reason} (a close call, asked the other way round: {agree})".strip()


def _mean(one: float | None, other: float | None) -> float | None:
    known = [score for score in (one, other) if score is not None]
    return sum(known) / len(known) if known else None


def _names(view: EvidenceView) -> tuple[str, str, str, str, str]:
    skill, case, target, arm, repetition = view.record.cell.split("/")
    return skill, case, target, arm, repetition
