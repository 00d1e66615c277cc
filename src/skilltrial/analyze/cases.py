"""Rows per case: rates, squares, and repetitions that do not agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from skilltrial.analyze.states import MEASURED
from skilltrial.analyze.tallies import Tally
from skilltrial.records.summary import CaseRow, StabilityRow


def case_rows(tallies: Iterable[Tally]) -> Iterator[CaseRow]:
    """One row per case, arm and target, in plan order."""
    for tally in tallies:
        key = tally.key
        yield CaseRow(
            skill=key.skill,
            case=key.case,
            target=key.target,
            arm=key.arm,
            rate=tally.mean,
            passes=tally.shown[1],
            measured=tally.measured,
            planned=tally.planned,
            state=tally.state,
            flaky=flaky(tally),
            squares=tally.letters,
        )


def flaky(tally: Tally) -> bool:
    """Some repetitions passed and some failed."""
    return "P" in tally.letters and "F" in tally.letters


def stability_rows(tallies: Iterable[Tally]) -> Iterator[StabilityRow]:
    """Cases whose repetitions do not agree, with the checks that failed and how often."""
    for tally in tallies:
        if flaky(tally):
            key = tally.key
            yield StabilityRow(
                skill=key.skill,
                case=key.case,
                target=key.target,
                arm=key.arm,
                repetitions=tally.measured,
                full_passes=tally.letters.count("P"),
                failures=tally.letters.count("F"),
                flaky=True,
                failed_checks=_failed_checks(tally),
            )


def _failed_checks(tally: Tally) -> dict[str, int]:
    case = tally.group.case
    texts = {check.id: check.text for check in case.checks} if case else {}
    counts: Counter[str] = Counter()
    for cell in tally.group.cells:
        if cell.state == MEASURED:
            counts.update(texts.get(mark.check) or mark.check for mark in cell.sheet if mark.required and mark.passed is False)
    return dict(counts)
