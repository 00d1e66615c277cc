"""Grades quote the run as it was left, secrets included; what is stored of them is masked here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from skilltrial.records.grades import Comparison, Grade, Grading, JudgeCall
from skilltrial.records.journal import StopLine
from skilltrial.records.plan import Plan

if TYPE_CHECKING:
    from skilltrial.records.record import Record
    from skilltrial.system.redaction import Redactor

T = TypeVar("T", bound="Record")


def masked_grading(grading: Grading, redactor: Redactor | None) -> Grading:
    """The grading with reasons, quotes, votes and the judge's calls masked."""
    if redactor is None or redactor.clean(_texts(grading)):
        return grading
    grades = tuple(_masked(grade, ("reason", "quote"), redactor) for grade in grading.grades)
    grades = tuple(_votes(grade, redactor) if grade.votes else grade for grade in grades)
    return grading.model_copy(update={"grades": grades, "calls": masked_calls(grading.calls, redactor)})


def masked_calls(calls: Iterable[JudgeCall], redactor: Redactor | None) -> tuple[JudgeCall, ...]:
    """Questions to the judge and its replies, masked."""
    return tuple(_masked(call, ("prompt", "reply", "reason"), redactor) if redactor else call for call in calls)


def _texts(grading: Grading) -> Iterator[str]:
    """All that may hold a secret: one look over it is enough where there is none."""
    for grade in grading.grades:
        yield from (grade.reason or "", grade.quote or "", *grade.votes)
    for call in grading.calls:
        yield from (call.prompt, call.reply, call.reason or "")


def masked_comparison(comparison: Comparison, redactor: Redactor | None) -> Comparison:
    return _masked(comparison, ("reason",), redactor) if redactor else comparison


def masked_stop(line: StopLine, redactor: Redactor | None) -> StopLine:
    return _masked(line, ("reason",), redactor) if redactor else line


STRUCTURE = frozenset(
    [
        "schema",
        "experiment",
        "created_at",
        "skilltrial",
        "id",
        "skill",
        "case",
        "target",
        "arm",
        "baseline",
        "check",
        "name",
        "backend",
        "subject",
        "kind",
        "type",
        "digest",
        "inputs",
        "checks",
        "path",
        "file",
        "pointer",
        "dialect",
    ]
)
"""Keys of a plan whose texts hold it together. A key as short as `ollama` must not tear cells from their lines."""


def masked_plan(plan: Plan, redactor: Redactor | None) -> str:
    """The plan as JSON text, masked but for its structure; it says itself in how many places."""
    if redactor is None:
        return plan.to_json(indent=1) + "\n"
    given = plan.model_dump(mode="json")
    stored, hits = redactor.value(given)
    if hits:
        stored, hits = _whole(given, stored)
        stored["redactions"] = hits
    return json.dumps(stored, ensure_ascii=False, indent=1) + "\n"


def _whole(given: Any, masked: Any) -> tuple[Any, int]:
    """The masked value with structure and numbers put back, and how many texts are still masked."""
    if isinstance(given, dict) and isinstance(masked, dict) and len(given) == len(masked):
        pairs = zip(given.items(), masked.values(), strict=True)
        parts = {key: (was, 0) if key in STRUCTURE and isinstance(was, str) else _whole(was, now) for (key, was), now in pairs}
        return {key: part for key, (part, _) in parts.items()}, sum(count for _, count in parts.values())
    if isinstance(given, list) and isinstance(masked, list):
        items = [_whole(was, now) for was, now in zip(given, masked, strict=True)]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(given, str | dict | list) and given != masked:
        return masked, 1
    return given, 0


def _masked(record: T, fields: tuple[str, ...], redactor: Redactor) -> T:
    changed = {}
    for name in fields:
        text = getattr(record, name)
        if text:
            masked, hits = redactor.text(text)
            if hits:
                changed[name] = masked
    return record.model_copy(update=changed) if changed else record


def _votes(grade: Grade, redactor: Redactor) -> Grade:
    return grade.model_copy(update={"votes": tuple(redactor.text(vote)[0] for vote in grade.votes)})
