"""What was decided about a run, and on what ground."""

from __future__ import annotations

from typing import Any, Literal, Self

from skilltrial.records.evidence import Usage
from skilltrial.records.record import Record
from skilltrial.records.suite import Check

State = Literal["passed", "failed", "ungraded"]
Winner = Literal["arm", "baseline", "tie", "ungraded"]


class Grade(Record):
    """The verdict on one check. `ungraded` is a third outcome: neither passed nor failed, outside every rate."""

    check: str
    state: State
    reason: str | None = None
    """Why, in words a person can check: what was looked for and what was found."""
    quote: str | None = None
    """The evidence itself, a short excerpt."""
    method: Literal["check", "judge", "hook", "budget", "contract", "human"] = "check"
    score: float | None = None
    """0 to 1 where the method gives more than yes or no."""
    required: bool = True
    scored: bool = True
    weight: float = 1.0
    votes: tuple[str, ...] = ()
    usage: Usage | None = None
    redacted_input: bool = False
    """The check saw text that is stored masked; `grade` keeps this verdict."""

    @classmethod
    def about(cls, check: Check, state: State, reason: str, quote: str | None = None, **fields: Any) -> Self:
        """The verdict on a check, with the check's own weight and flags."""
        own = {"required": check.required, "scored": check.scored, "weight": check.weight}
        return cls(check=check.id, state=state, reason=reason, quote=quote, **own, **fields)


class JudgeCall(Record):
    """One question to the judge and its reply, redacted."""

    prompt: str
    reply: str
    model: str | None = None
    outcome: str = "ok"
    reason: str | None = None
    usage: Usage = Usage()
    duration_s: float | None = None
    warnings: tuple[str, ...] = ()
    """What the judge was asked for and does not have, and what else was odd about the call."""


class JudgedBy(Record):
    """A judge that `grade` was given, in place of the plan's."""

    backend: str
    model: str | None = None
    home_field: bool = False


class Grading(Record):
    """All grades of one cell, given together."""

    cell: str
    evidence: str
    """Digest of the evidence line they are about."""
    checks: str
    """Digest of the checks asked."""
    number: int
    """1 at the run, 2 and up by `grade`."""
    grades: tuple[Grade, ...]
    calls: tuple[JudgeCall, ...] = ()
    """Stored in the pack beside the evidence, not in the journal."""
    judge: JudgedBy | None = None
    """Who was asked, where that is not the plan's judge."""


class Comparison(Record):
    """A judge's choice between two arms of one block."""

    block: str
    arm: str
    baseline: str
    judge: str
    order: Literal["ab", "ba"]
    """Which answer was shown first: `ab` the arm's, `ba` the baseline's."""
    winner: Winner
    second: Winner | None = None
    """A close call is asked again in the other order, and this was said then; where the two disagree it is a tie."""
    score_arm: float | None = None
    score_baseline: float | None = None
    reason: str | None = None
    calls: int = 0
    """Questions to the judge."""
    usage: Usage | None = None
