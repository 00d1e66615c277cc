"""`report.md`: compact enough to paste into a pull request; nothing in it that a model wrote comes alive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from skilltrial.records.journal import Result
from skilltrial.records.record import Record
from skilltrial.records.summary import FailureRow, Summary
from skilltrial.reports import _reading
from skilltrial.seams import ExperimentView, Out
from skilltrial.wording import untrusted, verdicts, words

MOST_ROWS = 60
MOST_FAILURES = 20
_SIGNS = str.maketrans({"P": "■", "F": "□", "U": "?", "X": "▨", ".": "·"})


class Markdown(Record):
    """The answer, how sure, whether to trust it, the cases, and the failures folded away."""

    name: ClassVar[str] = "markdown"
    title: str | None = None
    """Heading; None: the skills' names."""

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        out.write("report.md", render(summary, experiment, title=self.title))


plugin = Markdown


def render(summary: Summary, view: ExperimentView | None = None, *, title: str | None = None) -> str:
    """GitHub-flavoured Markdown; ends with a line break."""
    skills = list(dict.fromkeys(lift.skill for lift in summary.lifts)) or list(
        dict.fromkeys(rate.skill for rate in summary.rates)
    )
    heading = title or f"{words.listed(skills, 3)}: does it help?" if skills or title else "Trial"
    blocks = [f"## {untrusted.markdown(heading)}"]
    blocks += _answers(summary)
    blocks.append("\n".join(_trust(summary)))
    blocks += _lifts(summary)
    blocks += _pairs(summary)
    blocks += _leaders(summary)
    blocks += _cases(summary)
    blocks += _failures(summary, view)
    blocks += _errors(summary)
    if summary.warnings:
        blocks.append("\n".join(f"- warning: {untrusted.markdown(text, 400)}" for text in summary.warnings[:MOST_FAILURES]))
    reasons = "; ".join(untrusted.markdown(reason, 200) for reason in summary.gate.reasons[:5])
    blocks.append(f"**{verdicts.gate(summary.gate)}**" + (f": {reasons}" if reasons else ""))
    blocks.append(
        f"<sub>{untrusted.markdown(summary.experiment)} · skilltrial {untrusted.markdown(summary.skilltrial)} · {words.FOOTNOTE}</sub>"
    )
    return "\n\n".join(blocks) + "\n"


def _answers(summary: Summary) -> Iterator[str]:
    targets = {lift.target for lift in summary.lifts}
    skills = {lift.skill for lift in summary.lifts}
    for lift in summary.lifts[:4]:
        where = f" on {lift.target}" if len(targets) > 1 else ""
        first, second = verdicts.sentences(summary, lift, verdicts.subject(lift, len(skills) > 1), where)
        more = [text for text in (second, verdicts.rates(summary, lift), verdicts.costs(lift)) if text]
        yield " ".join([f"**{untrusted.markdown(first)}**", *map(untrusted.markdown, more)])
    if not summary.lifts:
        yield "**No lift: there is no pair of arms to compare.**"
        for rate in summary.rates:
            told = f"{words.percent(rate.pass_rate)} {words.METRICS[summary.metric]}, {words.many(rate.graded, 'graded run')}"
            yield untrusted.markdown(f"{rate.skill} on {rate.target}, {words.arm(rate.arm)}: {told}")


def _trust(summary: Summary) -> Iterator[str]:
    yield f"- baseline {untrusted.markdown(verdicts.isolation(summary).text)}"
    lost = verdicts.not_measured_by_arm(summary)
    yield f"- {verdicts.graded(summary.coverage)}" + (f"; not measured: {untrusted.markdown(lost)}" if lost else "")
    for lift in summary.lifts:
        bounds = verdicts.bounds(lift)
        if bounds:
            yield f"- {untrusted.markdown(lift.target)}: {untrusted.markdown(bounds)}"
    yield f"- sandbox {untrusted.markdown(verdicts.sandboxes(summary))} · judge {untrusted.markdown(verdicts.judges(summary))}"
    for text in verdicts.deliveries(summary):
        yield f"- skill {untrusted.markdown(text)}"
    total = summary.totals
    yield f"- cost {words.usd(total.cost_usd)}, {words.duration(total.wall_s if total.wall_s is not None else total.duration_s)}"


def _lifts(summary: Summary) -> Iterator[str]:
    if len(summary.lifts) < 2:
        return
    lines = ["| skill | target | on these cases | points | 95 % interval | on cases like these |", "|---|---|---|--:|--:|---|"]
    for lift in summary.lifts:
        ends = "" if lift.low is None else f"{words.points(lift.low)} to {words.points(lift.high)}"
        names = f"| {untrusted.markdown(lift.skill)} | {untrusted.markdown(lift.target)} "
        like = verdicts.mark(lift.like_these.verdict).word
        lines.append(f"{names}| {verdicts.mark(lift.verdict).word} | {words.points(lift.lift)} | {ends} | {like} |")
    yield "\n".join(lines)


def _pairs(summary: Summary) -> Iterator[str]:
    if summary.pairwise:
        yield "\n".join(
            ["Blind two-way judgement:\n", *(f"- {untrusted.markdown(text, 400)}" for text in verdicts.pairs(summary))]
        )


def _leaders(summary: Summary) -> Iterator[str]:
    rows = verdicts.leaders(summary)
    if not rows:
        return
    arm = words.arm(summary.leaderboard[0].arm)
    lines = [f"| rank | target, {arm} | rate | 95 % interval | |", "|---|---|--:|--:|---|"]
    lines += [f"| {row.rank} | {untrusted.markdown(row.target)} | {row.rate} | {row.span} | {row.note} |" for row in rows]
    yield "\n".join(lines)


def _cases(summary: Summary) -> Iterator[str]:
    rows = _reading.table(summary)
    if not rows:
        return
    several = len({(row.skill, row.target) for row in rows}) > 1
    lines = ["| case | with skill | without | points |", "|---|---|---|--:|"]
    for row in rows[:MOST_ROWS]:
        name = f"{row.skill}/{row.case} · {row.target}" if several else row.case
        points = "" if row.points is None else words.points(row.points)
        lines.append(f"| {untrusted.markdown(name, 120)} | {_squares(row.arm)} | {_squares(row.baseline)} | {points} |")
    table = "\n".join(lines)
    more = f"\n\n{len(rows) - MOST_ROWS:,} more cases are in the HTML report." if len(rows) > MOST_ROWS else ""
    legend = "■ passed · □ failed · ? not graded · ▨ not measured, outside every rate"
    yield f"<details><summary>{words.many(len(rows), 'case')}</summary>\n\n{table}{more}\n\n{legend}\n\n</details>"


def _squares(row: object) -> str:
    letters = getattr(row, "squares", "")
    return letters[:30].translate(_SIGNS) + ("…" if len(letters) > 30 else "")


def _failures(summary: Summary, view: ExperimentView | None) -> Iterator[str]:
    if not summary.failures:
        return
    shown = summary.failures[:MOST_FAILURES]
    results = _reading.failing(view, frozenset(row.cell for row in shown))
    book = _reading.Book(view.plan) if view else None
    parts = ["\n".join(_failure(row, results.get(row.cell), book)) for row in shown]
    if len(shown) < len(summary.failures):
        parts.append(f"… {len(summary.failures) - len(shown):,} more")
    yield f"<details><summary>{_reading.failed_title(summary)}</summary>\n\n" + "\n\n".join(parts) + "\n\n</details>"


def _failure(row: FailureRow, result: Result | None, book: _reading.Book | None) -> Iterator[str]:
    yield f"**{untrusted.markdown(row.cell)}**"
    yield ""
    told = []
    if result and result.grading and book:
        checks = book.checks(result.cell)
        for grade in result.grading.grades:
            if grade.state == "failed" and grade.required:
                text = checks[grade.check].text if grade.check in checks else grade.check
                told.append((text, grade.reason, grade.quote))
    for text, reason, quote in told or [(row.reason, ", ".join(row.checks), None)]:
        yield f"- {untrusted.markdown(text, 200)}" + (f": {untrusted.markdown(reason, 300)}" if reason else "")
        if quote:
            yield "\n".join(f"  {line}" for line in untrusted.fence(quote, 600).split("\n"))
    yield ""
    yield f"`skilltrial show {untrusted.line(row.cell).replace('`', '')}`"


def _errors(summary: Summary) -> Iterator[str]:
    if not summary.errors:
        return
    lines = [
        f"- {untrusted.markdown(row.cell)}: {untrusted.markdown(words.outcome(row.state))}: {untrusted.markdown(row.reason, 300)}"
        for row in summary.errors[:MOST_FAILURES]
    ]
    if len(summary.errors) > MOST_FAILURES:
        lines.append(f"- … {len(summary.errors) - MOST_FAILURES:,} more")
    title = f"{words.many(len(summary.errors), 'run')} not measured"
    yield f"<details><summary>{title}</summary>\n\n" + "\n".join(lines) + "\n\n</details>"
