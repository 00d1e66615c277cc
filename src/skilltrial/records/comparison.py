"""Two experiments side by side. None is unknown, never 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skilltrial.records.record import Record
from skilltrial.records.summary import Interval, Verdict

Change = Literal["better", "worse", "flipped", "same", "not measured", "only in a", "only in b"]
"""better, worse: three or more repetitions on both sides and an interval of the difference that excludes 0. flipped: the
rates differ, which is no evidence."""


class CaseChange(Record):
    """One case in one arm on one target, in both experiments."""

    skill: str
    case: str
    target: str
    """Its name in b; in a where b has none."""
    arm: str
    change: Change
    rate_a: float | None = None
    rate_b: float | None = None
    cells_a: int = 0
    """Measured cells."""
    cells_b: int = 0
    difference: float | None = None
    """Rate in b minus rate in a."""
    low: float | None = None
    high: float | None = None


class RateChange(Record):
    """One arm of one skill on one target: rates on these cases in both experiments."""

    skill: str
    target: str
    arm: str
    activation: Literal["natural", "forced"] = "natural"
    a: Interval = Interval()
    b: Interval = Interval()


class LiftSide(Record):
    """A lift on these cases in one experiment."""

    lift: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "not measured"
    cases: int = 0


class LiftChange(Record):
    """One contrast on one target in both experiments."""

    skill: str
    target: str
    arm: str
    baseline: str
    activation: Literal["natural", "forced"] = "natural"
    a: LiftSide = LiftSide()
    b: LiftSide = LiftSide()


class Compared(Record):
    """What changed from experiment a to experiment b."""

    schema_: str = Field(default="skilltrial.compared/1", alias="schema")
    a: str
    b: str
    metric: Literal["checks", "cases", "score"] = "checks"
    rates: tuple[RateChange, ...] = ()
    lifts: tuple[LiftChange, ...] = ()
    cases: tuple[CaseChange, ...] = ()
    counts: dict[str, int] = {}
    """Cases by change."""
    warnings: tuple[str, ...] = ()
    """What else differs: sandbox level, model, skill, checks, judge."""
    got_worse: bool = False
    """A case got worse in an arm under test."""
