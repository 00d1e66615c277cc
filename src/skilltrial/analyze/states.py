"""The state of a cell, derived from its lines and never stored, and what its grades say."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from skilltrial.records.grades import Grade
from skilltrial.records.hooks import HOOK_FAILED
from skilltrial.records.journal import Result

MEASURED = "measured"
NOT_RUN = "not_run"
WAITING = "waiting"
CONTAMINATED = "contaminated"
JUDGE_ERROR = "judge_error"
BY_PEOPLE_OR_MODELS = frozenset({"judge", "human"})
"""Methods that are no deterministic check."""


class Mark(NamedTuple):
    """What one grade says, its words left out."""

    check: str
    passed: bool | None
    """None: ungraded."""
    required: bool
    scored: bool
    judged: bool
    weight: float
    score: float | None
    """Of a quality check, 0 to 1; it neither passes nor fails."""
    guard: bool = False
    """There only where it failed (a limit per case, a hook's exit status), so it counts in whichever arm it is."""

    @property
    def decides(self) -> bool:
        """It can make a cell pass or fail."""
        return self.required and self.score is None

    @property
    def counts(self) -> bool:
        """It can enter a rate."""
        return self.required and self.scored and self.passed is not None

    @property
    def value(self) -> float:
        """1 passed, 0 failed, between them a quality score."""
        return float(bool(self.passed)) if self.score is None else self.score


Sheet = tuple[Mark, ...]
"""All marks of a cell. Cells that were graded alike share one."""


def sheet_of(grades: Iterable[Grade], aside: Container[str], quality: Container[str]) -> Sheet:
    """The marks of a cell without the checks set aside; `quality`: ids of checks that give a score and no verdict."""
    return tuple(
        Mark(
            grade.check,
            None if grade.state == "ungraded" else grade.state == "passed",
            grade.required,
            grade.scored,
            grade.method in BY_PEOPLE_OR_MODELS,
            grade.weight,
            grade.score if grade.check in quality else None,
            grade.method == "budget" or (grade.method == "hook" and grade.check.startswith(HOOK_FAILED)),
        )
        for grade in grades
        if grade.check not in aside
    )


def state_of(result: Result, sheet: Sheet, *, answered_later: bool = False, judged_later: bool = False) -> str:
    """measured, not_run, waiting, contaminated, judge_error, or the outcome of a run that failed.

    Measured: the run was ok and every required check passed or failed, of which there is at least one. Waiting: a packet, of
    the run or to the judge, has no answer yet; `answered_later`, `judged_later` say whose answers come so.
    """
    evidence = result.evidence
    if evidence is None:
        return WAITING if answered_later else NOT_RUN
    if evidence.outcome != "ok":
        return evidence.outcome
    if evidence.clean is False:
        return CONTAMINATED
    required = [mark for mark in sheet if mark.required]
    if required and all(mark.passed is not None for mark in required):
        return MEASURED
    return WAITING if judged_later and all(mark.judged for mark in required if mark.passed is None) else JUDGE_ERROR


def passed_required(sheet: Sheet, *, judged: bool, indicators: bool) -> bool | None:
    """Whether every check that gates passed; None: there is none.

    `judged`: rubric sentences gate too. `indicators`: facts that only the arm under test can have gate too.
    """
    gating = [mark.passed for mark in sheet if mark.decides and (judged or not mark.judged) and (indicators or mark.scored)]
    return all(gating) if gating else None
