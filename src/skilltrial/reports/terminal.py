"""The report on a terminal: the answer first, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skilltrial.records.grades import Grade
from skilltrial.records.journal import Result
from skilltrial.records.record import Record
from skilltrial.records.summary import FailureRow, Summary
from skilltrial.reports import _reading
from skilltrial.reports._paper import STYLES, Paper, copyable, safe
from skilltrial.seams import ExperimentView, Out
from skilltrial.wording import untrusted, verdicts, words

SIGNS = {"P": ("■", "green"), "F": ("□", "red"), "U": ("?", "yellow"), "X": ("▨", "yellow"), ".": ("·", "dim")}
MOST_ROWS = 40
MOST_FAILURES = 20
MOST_SENTENCES = 4


class Terminal(Record):
    """Text for a terminal of 80 columns, without colour when it goes to a file."""

    name: ClassVar[str] = "terminal"

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        out.write("report.txt", render(summary, experiment, width=80, color=False))


plugin = Terminal


def render(
    summary: Summary,
    view: ExperimentView | None,
    *,
    width: int = 80,
    color: bool = False,
    failures_only: bool = False,
    show_evidence: bool = False,
    verbose: bool = False,
) -> str:
    """The whole report as text; ends with a line break.

    Args:
        view: where reasons and quotes of failures come from; None: the Summary's own reasons are all there is.
        failures_only: nothing but failures, failed measurements and the gate.
        show_evidence: the excerpt behind each failing check.
        verbose: no list is cut.
    """
    page = Paper(width, color)
    if not failures_only:
        page.put(*_answer(summary))
        page.put(_trust(summary))
        if len(summary.lifts) > MOST_SENTENCES:
            page.put(_lifts(summary))
        page.put(*_pairs(summary))
        page.put(*_leaders(summary))
        page.put(*_cases(summary, verbose))
    page.put(*_failures(summary, view, show_evidence, verbose))
    page.put(*_errors(summary, verbose))
    if not failures_only:
        page.put(*_warnings(summary, verbose))
        page.put(_totals(summary))
    page.put(*_gate(summary))
    return page.text()


def _answer(summary: Summary) -> Iterator[Text]:
    skills = {lift.skill for lift in summary.lifts}
    targets = {lift.target for lift in summary.lifts}
    yield safe(f"{', '.join(sorted(skills)) if 0 < len(skills) < 4 else 'Trial'} · {summary.experiment}", "dim")
    if not summary.lifts:
        yield from _no_lift(summary)
    for lift in summary.lifts[:MOST_SENTENCES]:
        where = f" on {lift.target}" if len(targets) > 1 else ""
        tone = verdicts.mark(verdicts.leading(summary, lift)).tone
        first, second = verdicts.sentences(summary, lift, verdicts.subject(lift, len(skills) > 1), where)
        yield safe(first, f"bold {STYLES[tone]}".strip())
        yield safe(second)
        rates = verdicts.rates(summary, lift)
        more = [part for part in (rates, verdicts.costs(lift)) if part]
        if more:
            yield safe(" ".join(more), "dim")
    if len(summary.lifts) > MOST_SENTENCES:
        yield Text(f"{len(summary.lifts) - MOST_SENTENCES} more in the table below.", style="dim")


def _no_lift(summary: Summary) -> Iterator[Text]:
    yield Text(
        "No lift: this experiment has no baseline to compare with." if summary.rates else "Nothing was measured.", style="bold"
    )
    for rate in summary.rates:
        told = (
            f"{words.percent(rate.pass_rate)} {words.METRICS[summary.metric]}" if rate.pass_rate is not None else "not measured"
        )
        ends = f" (95 % interval {words.percent(rate.low)} to {words.percent(rate.high)})" if rate.low is not None else ""
        yield safe(f"{rate.skill} on {rate.target}, {words.arm(rate.arm)}: {told}{ends}, {words.many(rate.graded, 'graded run')}")


def _grid(rows: Sequence[tuple[str, Text]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(Text(label, style="dim"), text)
    return grid


def _trust(summary: Summary) -> Table:
    clean = verdicts.isolation(summary)
    rows = [
        ("Baseline", safe(clean.text, STYLES[clean.tone])),
        ("Measured", safe(verdicts.graded(summary.coverage))),
    ]
    lost = verdicts.not_measured_by_arm(summary)
    if lost:
        rows.append(("Not measured", safe(lost, STYLES["warn"])))
    for lift in summary.lifts[:MOST_SENTENCES]:
        bounds = verdicts.bounds(lift)
        if bounds:
            rows.append(("", safe(f"{lift.target}: {bounds}" if len(summary.lifts) > 1 else bounds, STYLES["warn"])))
    rows.append(("Sandbox", safe(verdicts.sandboxes(summary))))
    rows.append(("Judge", safe(verdicts.judges(summary))))
    rows += [("Skill", safe(text)) for text in verdicts.deliveries(summary)]
    rows += [("Activation", safe(text)) for text in verdicts.activation(summary)[:MOST_SENTENCES]]
    if summary.reused:
        rows.append(("Reused", Text(f"{words.many(summary.reused, 'baseline run')} from earlier experiments")))
    return _grid(rows)


def _columns(*titles: tuple[str, str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for title, justify in titles:
        table.add_column(title, justify="right" if justify == "right" else "left", overflow="fold")
    return table


def _lifts(summary: Summary) -> Table:
    table = _columns(
        ("skill", ""), ("target", ""), ("verdict on these cases", ""), ("points", "right"), ("95 % interval", "right")
    )
    for lift in summary.lifts:
        mark = verdicts.mark(lift.verdict)
        ends = "" if lift.low is None else f"{words.points(lift.low)} to {words.points(lift.high)}"
        table.add_row(
            safe(lift.skill),
            safe(lift.target),
            Text(mark.word, style=STYLES[mark.tone]),
            Text(words.points(lift.lift)),
            Text(ends),
        )
    return table


def _pairs(summary: Summary) -> Iterator[RenderableType]:
    if summary.pairwise:
        yield Text("Blind two-way judgement", style="bold")
        for text in verdicts.pairs(summary):
            yield Padding(safe(text), (0, 0, 0, 2))


def _leaders(summary: Summary) -> Iterator[RenderableType]:
    rows = verdicts.leaders(summary)
    if not rows:
        return
    noted = any(row.note for row in rows)
    table = _columns(
        ("rank", ""), (f"target, {words.arm(summary.leaderboard[0].arm)}", ""), ("rate", "right"),
        ("95 % interval", "right"), *([("note", "")] if noted else []),
    )  # fmt: skip
    for row in rows:
        cells = (Text(row.rank), safe(row.target), Text(row.rate), Text(row.span))
        table.add_row(*cells, *([Text(row.note)] if noted else []))
    yield table


def _squares(letters: str) -> Text:
    text = Text()
    for letter in letters[:30]:
        sign, style = SIGNS.get(letter, ("?", ""))
        text.append(sign, style=style)
    return text.append("…") if len(letters) > 30 else text


def _cases(summary: Summary, verbose: bool) -> Iterator[RenderableType]:
    rows = _reading.table(summary)
    if not rows:
        return
    shown = rows if verbose else _worst_first(rows)
    wide = len({(row.skill, row.target) for row in rows}) > 1
    table = _columns(("case", ""), ("with skill", ""), ("without", ""), ("points", "right"))
    for row in shown:
        name = f"{row.skill}/{row.case} · {row.target}" if wide else row.case
        table.add_row(
            safe(name),
            _squares(row.arm.squares if row.arm else ""),
            _squares(row.baseline.squares if row.baseline else ""),
            Text("" if row.points is None else words.points(row.points)),
        )
    yield table
    if len(shown) < len(rows):
        yield Text(f"… {len(rows) - len(shown):,} more cases; --verbose shows all", style="dim")
    yield _legend("".join(row.squares for row in shown))


def _worst_first(rows: list[_reading.Row]) -> list[_reading.Row]:
    """All rows when few, else those that passed least with the skill, in their order."""
    if len(rows) <= MOST_ROWS:
        return rows
    ranked = sorted(range(len(rows)), key=lambda place: (rows[place].points if rows[place].points is not None else 2.0, place))
    return [rows[place] for place in sorted(ranked[:MOST_ROWS])]


def _legend(letters: str) -> Text:
    text = Text(style="dim")
    for letter, (sign, _) in SIGNS.items():
        if letter in letters:
            text.append(f"{sign} {words.SQUARES[letter]}   ")
    return text


def _failures(summary: Summary, view: ExperimentView | None, show_evidence: bool, verbose: bool) -> Iterator[RenderableType]:
    if not summary.failures:
        return
    shown = summary.failures if verbose else summary.failures[:MOST_FAILURES]
    results = _reading.failing(view, frozenset(row.cell for row in shown))
    book = _reading.Book(view.plan) if view else None
    yield Text(_reading.failed_title(summary), style="bold")
    for row in shown:
        yield from _failure(row, results.get(row.cell), book, show_evidence)
    if len(shown) < len(summary.failures):
        yield Text(f"… {len(summary.failures) - len(shown):,} more; --verbose shows all", style="dim")


def _failure(row: FailureRow, result: Result | None, book: _reading.Book | None, show_evidence: bool) -> Iterator[RenderableType]:
    yield copyable(f"✗ {row.cell}", STYLES["bad"])
    told = 0
    if result is not None and result.grading is not None and book is not None:
        checks = book.checks(result.cell)
        for grade in result.grading.grades:
            if grade.state == "failed" and grade.required:
                title = checks[grade.check].text if grade.check in checks else grade.check
                yield from _check(title, grade, show_evidence)
                told += 1
    if not told:
        yield Padding(safe(f"{row.reason}: {', '.join(row.checks)}" if row.checks else row.reason), (0, 0, 0, 4))
    yield copyable(f"    skilltrial show {row.cell}")


def _check(title: str, grade: Grade, show_evidence: bool) -> Iterator[RenderableType]:
    reason = f": {untrusted.line(grade.reason, 300)}" if grade.reason else ""
    yield Padding(Text(f"{untrusted.line(title, 200)}{reason}"), (0, 0, 0, 4))
    if show_evidence and grade.quote:
        yield Padding(Text(untrusted.clip(grade.quote, 800), style="dim"), (0, 0, 0, 8))


def _errors(summary: Summary, verbose: bool) -> Iterator[RenderableType]:
    if not summary.errors:
        return
    yield Text(f"{words.many(len(summary.errors), 'run')} not measured, outside every rate", style="bold")
    shown = summary.errors if verbose else summary.errors[:MOST_FAILURES]
    for row in shown:
        yield copyable(f"▨ {row.cell}", STYLES["warn"])
        yield Padding(safe(f"{words.outcome(row.state)}: {untrusted.line(row.reason, 300)}"), (0, 0, 0, 4))
        yield copyable(f"    skilltrial show {row.cell}")
    if len(shown) < len(summary.errors):
        yield Text(f"… {len(summary.errors) - len(shown):,} more; --verbose shows all", style="dim")


def _warnings(summary: Summary, verbose: bool) -> Iterator[RenderableType]:
    texts = list(summary.warnings)
    if summary.stopped:
        texts.insert(0, f"stopped before its plan: {summary.stopped}")
    flaky = [f"{row.case} ({words.arm(row.arm)}, {row.target})" for row in summary.stability if row.flaky]
    if flaky:
        texts.append(f"repetitions disagree: {words.listed(flaky, len(flaky) if verbose else 5)}")
    aside = [f"{row.cell} ({row.reason})" for row in summary.set_aside]
    if aside:
        texts.append(f"set aside, counted in nothing: {words.listed(aside, len(aside) if verbose else 3)}")
    shown = texts if verbose else texts[:MOST_FAILURES]
    for text in shown:
        yield safe(f"warning: {text}", STYLES["warn"])
    if len(shown) < len(texts):
        yield Text(f"… {len(texts) - len(shown)} more warnings; --verbose shows all", style="dim")


def _totals(summary: Summary) -> Text:
    total = summary.totals
    parts = [words.many(total.cells or summary.coverage.finished, "run")]
    if total.wall_s is not None or total.duration_s is not None:
        parts.append(words.duration(total.wall_s if total.wall_s is not None else total.duration_s))
    if total.input_tokens is not None or total.output_tokens is not None:
        cached = f" ({total.cached_pct:.0f} % cached)" if total.cached_pct else ""
        parts.append(f"{words.count(total.input_tokens)} tokens in{cached}, {words.count(total.output_tokens)} out")
    parts.append(f"cost {words.usd(total.cost_usd)}" + _partly(total.cells_with_cost, total.cells))
    if total.judge_cost_usd is not None:
        parts.append(f"judge {words.usd(total.judge_cost_usd)}")
    return Text("Total: " + " · ".join(parts))


def _partly(known: int, cells: int) -> str:
    return f" over {known:,} of {cells:,} runs that reported one" if 0 < known < cells else ""


def _gate(summary: Summary) -> Iterator[RenderableType]:
    gate = summary.gate
    style = {True: STYLES["good"], False: STYLES["bad"], None: STYLES["warn"]}[gate.passed]
    yield Text(verdicts.gate(gate), style=f"bold {style}")
    for reason in gate.reasons[:MOST_FAILURES]:
        yield Padding(safe(reason), (0, 0, 0, 2))
