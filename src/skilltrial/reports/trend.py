"""A series of experiments, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.table import Table
from rich.text import Text

from skilltrial.records.history import Entry, History
from skilltrial.reports._paper import STYLES, Paper, safe
from skilltrial.wording import verdicts, words

MOST = 30
"""Lines shown per skill and target, the newest ones."""
NOTE = "Two lifts differ only if `compare` says so: overlapping intervals are no trend."


def as_json(found: History) -> str:
    """The record, indented."""
    return found.to_json(indent=2) + "\n"


def as_text(found: History, *, width: int = 80, color: bool = False, verbose: bool = False) -> str:
    """A table per skill and target, oldest first, readable at 80 columns and without colour."""
    paper = Paper(width, color)
    for title, entries in groupby(found.entries, key=_title):
        rows = list(entries)
        shown = rows if verbose else rows[-MOST:]
        more = [Text(f"{len(rows) - len(shown):,} earlier ones", style="dim")] if len(shown) < len(rows) else []
        paper.put(safe(title, "bold"), *more, _table(shown))
    paper.put(Text(NOTE if len(found.entries) > 1 else "One experiment is no trend yet.", style="dim"))
    return paper.text()


def _title(entry: Entry) -> str:
    against = f", {words.arm(entry.arm)} against {words.arm(entry.baseline)}" if entry.baseline else f", {words.arm(entry.arm)}"
    return f"{entry.skill} · {entry.target}{against}{', forced on' if entry.activation == 'forced' else ''}"


def _table(entries: list[Entry]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    with_lift = entries[0].baseline is not None
    for head in ("date", "experiment", "graded", *(("without", "with", "lift on these", "") if with_lift else ("rate",))):
        table.add_column(head, overflow="fold", no_wrap=head != "experiment")
    for entry in entries:
        *cells, last = (safe(cell) for cell in _cells(entry))
        last.stylize(STYLES[verdicts.mark(entry.verdict).tone] if with_lift else "")
        table.add_row(*cells, last)
    return table


def _cells(entry: Entry) -> Iterator[str]:
    yield entry.created_at[:10] or "unknown"
    yield entry.experiment.rpartition("/")[2]
    yield f"{entry.graded}/{entry.planned}"
    if entry.baseline is not None:
        yield _rate(entry.baseline_rate)
    yield _rate(entry.pass_rate)
    if entry.baseline is not None:
        ends = f" ({words.points(entry.low)} to {words.points(entry.high)})" if entry.low is not None else ""
        yield "-" if entry.lift is None else words.points(entry.lift) + ends
        yield verdicts.mark(entry.verdict).word


def _rate(rate: float | None) -> str:
    return "-" if rate is None else words.percent(rate)
