"""One row per planned cell, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import ClassVar

from skilltrial.records.evidence import Usage
from skilltrial.records.journal import Result
from skilltrial.records.record import Record
from skilltrial.records.summary import Summary
from skilltrial.reports import _reading
from skilltrial.seams import ExperimentView, Out
from skilltrial.wording import untrusted

COLUMNS = (
    "skill", "case", "target", "arm", "repetition", "state", "outcome", "reason", "checks_passed", "checks_total", "failed_checks",
    "ungraded_checks", "duration_s", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost_usd", "cost_source",
    "judge_calls", "tool_calls", "activation", "clean", "model", "source", "attempt", "started_at", "inputs",
)  # fmt: skip


class Csv(Record):
    """Cells as rows; empty means unknown, never 0."""

    name: ClassVar[str] = "csv"

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        out.write("report.csv", render(summary, experiment))


plugin = Csv


def render(summary: Summary, view: ExperimentView) -> str:
    """Header and rows; text that looks like a formula carries a leading apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    letters, book = _reading.Letters(summary), _reading.Book(view.plan)
    for result in view.results():
        writer.writerow([untrusted.csv_cell(value) for value in _row(result, letters.of(result), book)])
    return file.getvalue()


def _row(result: Result, letter: str, book: _reading.Book) -> Iterator[object]:
    cell, line, grading = result.cell, result.evidence, result.grading
    usage = line.usage if line else Usage()
    grades = grading.grades if grading else ()
    passed, total = _reading.score(grades, book.set_aside(cell))
    yield from (cell.skill, cell.case, cell.target, cell.arm, cell.repetition, _reading.ending(result, letter).split(":")[0])
    yield from (line.outcome, line.reason) if line else ("not_run", None)
    yield from (passed, total) if total else (None, None)
    yield _titles(result, "failed", book)
    yield _titles(result, "ungraded", book)
    yield from (line.duration_s if line else None, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    yield from (usage.reasoning_tokens, usage.cost_usd, usage.cost_source, grading.judge_calls if grading else None)
    if line:
        yield from (
            line.tool_calls,
            line.activation,
            line.clean,
            line.model,
            line.source,
            line.attempt,
            line.started_at,
            cell.inputs,
        )
    else:
        yield from (None, None, None, None, None, None, None, cell.inputs)


def _titles(result: Result, state: str, book: _reading.Book) -> str | None:
    checks = book.checks(result.cell)
    aside = book.set_aside(result.cell)
    grades = [grade for grade in result.grading.grades if grade.check not in aside] if result.grading else []
    return " | ".join(checks[g.check].text if g.check in checks else g.check for g in grades if g.state == state) or None
