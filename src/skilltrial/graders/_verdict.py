"""The shape all deterministic graders share: a function from options and a scene to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import ValidationError

from skilltrial.records.checks import CHECKS
from skilltrial.records.grades import Grade, State
from skilltrial.records.record import Record
from skilltrial.records.suite import Case, Check
from skilltrial.seams import Desk, EvidenceView

QUOTE = 400
"""Longest quote of a deterministic check, in characters."""


class Scene(NamedTuple):
    """All that a rule may look at."""

    case: Case
    check: Check
    view: EvidenceView
    desk: Desk


class Verdict(NamedTuple):
    """A state and its ground, before the check's own weight and flags are put to it."""

    state: State
    reason: str
    quote: str | None = None
    masked: bool = False
    """The input held a secret and is stored masked."""

    @classmethod
    def passed(cls, reason: str, quote: str | None = None, *, masked: bool = False) -> Self:
        return cls("passed", reason, quote, masked)

    @classmethod
    def failed(cls, reason: str, quote: str | None = None, *, masked: bool = False) -> Self:
        return cls("failed", reason, quote, masked)

    @classmethod
    def ungraded(cls, reason: str, *, masked: bool = False) -> Self:
        return cls("ungraded", reason, None, masked)

    def turned(self) -> Self:
        """The verdict on the opposite claim: passed and failed change places, ungraded stays."""
        opposite: dict[State, State] = {"passed": "failed", "failed": "passed", "ungraded": "ungraded"}
        return self._replace(state=opposite[self.state])


Rule = Callable[[Any, Scene], Verdict]
"""From a check type's options and the scene to a verdict."""


class ByType:
    """A grader of one rule per check type; every check is looked at alone."""

    rules: ClassVar[Mapping[str, Rule]]
    types: ClassVar[Mapping[str, type[Record]]]

    def __init_subclass__(cls) -> None:
        cls.types = {name: CHECKS[name] for name in cls.rules}

    def grade(self, case: Case, checks: Sequence[Check], evidence: EvidenceView, desk: Desk) -> tuple[Grade, ...]:
        return tuple(grade_of(check, self._verdict(Scene(case, check, evidence, desk))) for check in checks)

    def _verdict(self, scene: Scene) -> Verdict:
        try:
            options = self.types[scene.check.type].model_validate(scene.check.options)
        except ValidationError as error:
            first = error.errors()[0]
            spot = ".".join(str(part) for part in first["loc"])
            return Verdict.ungraded(f"the check's options cannot be read: {spot}: {first['msg']}")
        return self.rules[scene.check.type](options, scene)


def grade_of(check: Check, verdict: Verdict, method: Literal["check", "judge"] = "check", score: float | None = None) -> Grade:
    """The verdict as a Grade of this check."""
    return Grade(
        check=check.id,
        state=verdict.state,
        reason=verdict.reason or None,
        quote=verdict.quote,
        method=method,
        score=score,
        required=check.required,
        scored=check.scored,
        weight=check.weight,
        redacted_input=verdict.masked,
    )


def excerpt(text: str, start: int, end: int, around: int = 60) -> str:
    """The found part with a little of what stands around it, on one line."""
    end = min(end, start + QUOTE - 2 * around)
    left, right = max(0, start - around), min(len(text), end + around)
    part = " ".join(text[left:right].split())
    return f"{'…' if left else ''}{part}{'…' if right < len(text) else ''}"
