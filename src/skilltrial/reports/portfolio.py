"""Skills with their newest results, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from skilltrial.records.history import Portfolio, PortfolioRow
from skilltrial.reports._paper import STYLES, Paper, safe
from skilltrial.wording import verdicts, words


def as_json(found: Portfolio) -> str:
    """The record, indented."""
    return found.to_json(indent=2) + "\n"


def as_text(found: Portfolio, *, width: int = 80, color: bool = False) -> str:
    """One line per skill and target, readable without colour."""
    paper = Paper(width, color)
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    for head in ("skill", "target", "age", "rate", "lift on these", "", "gate"):
        table.add_column(head, overflow="fold", no_wrap=head not in ("skill", "target"))
    for row in found.rows:
        cells = [safe(cell) for cell in _cells(row)]
        if row.last is not None:
            cells[5].stylize(STYLES[verdicts.mark(row.last.verdict).tone])
        table.add_row(*cells)
    paper.put(table)
    return paper.text()


def _cells(row: PortfolioRow) -> Iterator[str]:
    yield row.skill
    last = row.last
    if last is None:
        yield from ("-", "-", "-", "-", "never run" if row.suites else "no suite", "-")
        return
    yield last.target
    yield _age(row.age_days)
    yield "-" if last.pass_rate is None else words.percent(last.pass_rate)
    ends = f" ({words.points(last.low)} to {words.points(last.high)})" if last.low is not None else ""
    yield "-" if last.lift is None else words.points(last.lift) + ends
    yield verdicts.mark(last.verdict).word if last.baseline is not None else "no baseline"
    yield last.gate or "-"


def _age(days: float | None) -> str:
    if days is None:
        return "-"
    return "today" if days < 1 else words.many(int(days), "day")
