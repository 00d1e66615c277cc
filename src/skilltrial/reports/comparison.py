"""Two experiments side by side, as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from skilltrial.records.comparison import CaseChange, Compared, LiftSide
from skilltrial.records.summary import Interval
from skilltrial.reports._paper import STYLES, Paper, safe
from skilltrial.wording import untrusted, verdicts, words

ORDER = ("worse", "better", "flipped", "not measured", "only in a", "only in b", "same")
TONES = {"worse": "bad", "better": "good", "flipped": "warn", "not measured": "warn"}
MOST_ROWS = 60
NOTE = (
    "A case counts as better or worse only with three or more measured repetitions on both sides and an interval of the "
    "difference that excludes zero; flipped rates are no evidence of a change."
)
_HEADS = ("skill · target", "what", "a", "b")
_CASE_HEADS = ("change", "case", "a", "b", "difference")


def as_json(found: Compared) -> str:
    """The record, indented."""
    return found.to_json(indent=2) + "\n"


def as_text(found: Compared, *, width: int = 80, color: bool = False, verbose: bool = False) -> str:
    """Readable at 80 columns and without colour."""
    paper = Paper(width, color)
    paper.put(safe(f"a {found.a} → b {found.b}", "dim"), safe(_answer(found), f"bold {STYLES[_tone(found)]}".strip()))
    sums = list(_sums(found))
    if sums:
        paper.put(_table(_HEADS, sums))
    changed = [row for row in _ordered(found) if verbose or row.change != "same"]
    shown = changed if verbose else changed[:MOST_ROWS]
    if shown:
        more = [Text(f"… {len(changed) - len(shown):,} more", style="dim")] if len(shown) < len(changed) else []
        paper.put(_table(_CASE_HEADS, [_case(row) for row in shown], [TONES.get(row.change, "quiet") for row in shown]), *more)
    if found.warnings:
        paper.put(*(safe(f"warning: {text}", STYLES["warn"]) for text in found.warnings))
    paper.put(Text(NOTE, style="dim"))
    return paper.text()


def as_markdown(found: Compared) -> str:
    """GitHub-flavoured; hostile names stay names."""
    blocks = [f"## {untrusted.markdown(found.a)} → {untrusted.markdown(found.b)}", f"**{untrusted.markdown(_answer(found))}**"]
    blocks += _markdown_table(_HEADS, list(_sums(found)))
    blocks += _markdown_table(_CASE_HEADS, [_case(row) for row in _ordered(found) if row.change != "same"][:MOST_ROWS])
    if found.warnings:
        blocks.append("\n".join(f"- warning: {untrusted.markdown(text, 400)}" for text in found.warnings))
    blocks.append(f"<sub>{NOTE}</sub>")
    return "\n\n".join(blocks) + "\n"


def _answer(found: Compared) -> str:
    counts = [f"{found.counts[change]} {change}" for change in ORDER if found.counts.get(change)]
    total = words.many(len(found.cases), "row")
    return f"{total} of cases and arms: {', '.join(counts)}." if counts else "No case is in either experiment."


def _tone(found: Compared) -> str:
    return "bad" if found.got_worse else "good" if found.counts.get("better") else "quiet"


def _ordered(found: Compared) -> list[CaseChange]:
    return sorted(found.cases, key=lambda row: ORDER.index(row.change))


def _sums(found: Compared) -> Iterator[tuple[str, ...]]:
    for lift in found.lifts:
        forced = ", forced" if lift.activation == "forced" else ""
        yield f"{lift.skill} · {lift.target}", f"lift on these cases, {words.arm(lift.arm)}{forced}", _lift(lift.a), _lift(lift.b)
    for rate in found.rates:
        forced = ", forced" if rate.activation == "forced" else ""
        yield f"{rate.skill} · {rate.target}", f"pass rate, {words.arm(rate.arm)}{forced}", _rate(rate.a), _rate(rate.b)


def _lift(side: LiftSide) -> str:
    if side.lift is None:
        return "not measured"
    ends = "" if side.low is None else f" ({words.points(side.low)} to {words.points(side.high)})"
    return f"{words.points(side.lift)}{ends}, {verdicts.mark(side.verdict).word}"


def _rate(interval: Interval) -> str:
    if interval.value is None:
        return "not measured"
    ends = "" if interval.low is None else f" ({words.percent(interval.low)} to {words.percent(interval.high)})"
    return words.percent(interval.value) + ends


def _case(row: CaseChange) -> tuple[str, ...]:
    difference = "" if row.difference is None else words.points(row.difference)
    if row.low is not None and row.difference:
        difference += f" ({words.points(row.low)} to {words.points(row.high)})"
    name = f"{row.skill}/{row.case} · {row.target} · {words.arm(row.arm)}"
    return row.change, name, _side(row.rate_a, row.cells_a), _side(row.rate_b, row.cells_b), difference


def _side(rate: float | None, cells: int) -> str:
    return "" if rate is None else f"{words.percent(rate)} of {cells}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], tones: Sequence[str] = ()) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for head in heads:
        table.add_column(head, overflow="fold")
    for place, row in enumerate(rows):
        first, *rest = (safe(cell) for cell in row)
        first.stylize(STYLES[tones[place]] if tones else "")
        table.add_row(first, *rest)
    return table


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        lines += [f"| {' | '.join(untrusted.markdown(cell, 160) for cell in row)} |" for row in rows]
        yield "\n".join(lines)
