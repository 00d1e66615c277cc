"""What stands on the first page: numbers and words from the Summary, ready for the template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup

from skilltrial.records.plan import WITH_SKILL
from skilltrial.records.summary import CaseRow, Lift, Rate, Summary
from skilltrial.reports import _reading
from skilltrial.reports.html.plot import Scale, scale
from skilltrial.wording import untrusted, verdicts, words

MOST_LIFTS = 150
MOST_NOTES = 50
LEGEND = (("p", "passed"), ("f", "failed"), ("u", "not graded"), ("x", "not measured, outside every rate"), ("n", "not run"))
_MARKS = {"P": "p", "F": "f", "U": "u", "X": "x"}


class Fact(NamedTuple):
    """One item of the strip that says whether to trust the measurement."""

    tone: str
    label: str
    strong: str
    rest: str


class LiftRow(NamedTuple):
    name: str
    verdict: str
    tone: str
    like_word: str
    without: str
    with_: str
    points: str
    label: str
    at: str | None
    ends: tuple[str, str] | None
    like: tuple[str, str] | None


class TableRow(NamedTuple):
    name: str
    title: str
    target: str
    href: str
    states: str
    differ: int
    arm: Markup
    baseline: Markup
    points: str


class ArmRow(NamedTuple):
    skill: str
    target: str
    arm: str
    rate: str
    span: str
    graded: str
    time: str
    tokens: str
    cost: str
    lost: str


def context(summary: Summary, heading_: str) -> dict[str, Any]:
    """Everything but the case table and the sections."""
    drawn = _drawn(summary)
    size = scale(drawn)
    several = len({lift.skill for lift in summary.lifts}) > 1
    marks = {_MARKS.get(letter, "n") for letter in set("".join({row.squares for row in summary.cases}))}
    return {
        "title": untrusted.line(f"{heading_}: {verdicts.headline(summary)}", 200),
        "heading": untrusted.line(heading_, 300),
        "headline": _safe_headline(summary),
        "sure": tuple(untrusted.line(text) for text in _sure(summary)),
        "facts": tuple(_facts(summary)),
        "lifts": tuple(_lift_row(summary, lift, size, several) for lift in drawn),
        "lift_column": "skill · target" if several else "target",
        "more_lifts": max(0, len(summary.lifts) - MOST_LIFTS),
        "scale": size,
        "legend": tuple(item for item in LEGEND if item[0] in marks),
        "pairs": tuple(untrusted.line(text, 400) for text in verdicts.pairs(summary)),
        "leaders": tuple(row._replace(target=untrusted.line(row.target, 160)) for row in verdicts.leaders(summary)),
        "leaders_noted": any(row.note for row in summary.leaderboard),
        "leaders_arm": words.arm(summary.leaderboard[0].arm) if summary.leaderboard else "",
        "gate": _gate(summary),
        "warnings": tuple(_warnings(summary)),
        "arms": tuple(_arm_row(rate) for rate in summary.rates[: 2 * MOST_LIFTS]),
        "footnotes": tuple(_footnotes(summary)),
        "arm_name": words.arm(summary.lifts[0].arm if summary.lifts else WITH_SKILL),
        "baseline_name": words.arm(summary.lifts[0].baseline if summary.lifts else "without_skill"),
    }


def heading(summary: Summary) -> str:
    """release-notes · iteration-7."""
    skills = list(dict.fromkeys(rate.skill for rate in summary.rates)) or ["skilltrial"]
    return f"{words.listed(skills, 3)} · {summary.experiment}"


def _drawn(summary: Summary) -> tuple[Lift, ...]:
    return summary.lifts[:MOST_LIFTS]


def _safe_headline(summary: Summary) -> verdicts.Headline:
    line = verdicts.headline(summary)
    before, after = (untrusted.plain(text).replace(" %", "\u00a0%") for text in (line.before, line.after))
    return verdicts.Headline(before, line.word, after, line.tone)


def _sure(summary: Summary) -> Iterator[str]:
    targets = {lift.target for lift in summary.lifts}
    skills = {lift.skill for lift in summary.lifts}
    for lift in summary.lifts[:3]:
        where = f" on {lift.target}" if len(targets) > 1 else ""
        both = verdicts.sentences(summary, lift, verdicts.subject(lift, len(skills) > 1), where)
        yield from both if len(summary.lifts) == 1 else (" ".join(both),)
    told = list(verdicts.activation(summary)[:3])
    if len(summary.lifts) == 1:
        told = [text for text in (verdicts.costs(summary.lifts[0]), *(f"{text}." for text in told)) if text]
        if told:
            yield " ".join(told)
    elif len(summary.lifts) > 3:
        more = len(summary.lifts) - 3
        yield f"{words.many(more, 'more comparison')} {'is' if more == 1 else 'are'} below, each with its own interval."


def _facts(summary: Summary) -> Iterator[Fact]:
    clean = verdicts.isolation(summary)
    strong, _, rest = clean.text.partition(" on ")
    yield Fact(clean.tone, "Baseline", untrusted.line(strong), untrusted.line_keeping(f" on {rest}") if rest else "")
    cover = summary.coverage
    lost = verdicts.not_measured_by_arm(summary)
    rest = " graded" + (f", {words.many(cover.set_aside, 'check')} set aside" if cover.set_aside else "")
    rest += f"; {lost}" if lost else ""
    if len(summary.lifts) == 1 and (bounds := verdicts.bounds(summary.lifts[0])):
        rest += f" ({bounds})"
    yield Fact(
        "warn" if lost else "quiet", "", f"{cover.graded:,} of {words.many(cover.planned, 'run')}", untrusted.line_keeping(rest)
    )
    yield Fact("quiet", "sandbox", untrusted.line(verdicts.sandboxes(summary)), "")
    judge, _, rest = verdicts.judges(summary).partition(",")
    yield Fact("quiet", "judge", untrusted.line(judge), untrusted.line_keeping(f",{rest}") if rest else "")
    for text in verdicts.deliveries(summary):
        strong, _, rest = text.partition(" ")
        yield Fact("quiet", "skill", strong, untrusted.line_keeping(f" {rest}"))
    total = summary.totals
    yield Fact("quiet", "cost", words.usd(total.cost_usd), _known(total.cells_with_cost, total.cells))
    yield Fact("quiet", "time", words.duration(total.wall_s if total.wall_s is not None else total.duration_s), "")
    if summary.reused:
        yield Fact("warn", "reused", words.many(summary.reused, "baseline run"), " of earlier experiments")


def _known(known: int, cells: int) -> str:
    return f" over {known:,} of {cells:,} runs" if 0 < known < cells else ""


def _lift_row(summary: Summary, lift: Lift, size: Scale, several: bool) -> LiftRow:
    mark = verdicts.mark(lift.verdict)
    arm, base = (verdicts.rate_of(summary, lift.skill, lift.target, name, lift.activation) for name in (lift.arm, lift.baseline))
    name = f"{lift.skill} · {lift.target}" if several else lift.target
    if lift.arm != WITH_SKILL:
        name += f" · {words.arm(lift.arm)}"
    if lift.activation == "forced":
        name += " · forced"
    return LiftRow(
        name=untrusted.line(name, 160),
        verdict=mark.word,
        tone=mark.tone,
        like_word=verdicts.mark(lift.like_these.verdict).word,
        without="" if base is None or base.pass_rate is None else words.percent(base.pass_rate),
        with_="" if arm is None or arm.pass_rate is None else words.percent(arm.pass_rate),
        points="" if lift.lift is None else words.points(lift.lift),
        label=untrusted.line(f"{name}: {verdicts.these(lift)} {verdicts.like(lift)}"),
        at=None if lift.lift is None else size.x(lift.lift),
        ends=size.ends(lift.low, lift.high),
        like=size.ends(lift.like_these.low, lift.like_these.high),
    )


@lru_cache(maxsize=4096)
def squares(letters: str, arm: str) -> Markup:
    """The runs of one arm as squares, read out as one sentence."""
    told = ", ".join(words.SQUARES.get(letter, "unknown") for letter in letters) or "not run"
    inside = "".join(
        f'<i class="q {_MARKS.get(letter, "n")}" title="{number}: {words.SQUARES.get(letter, "unknown")}"></i>'
        for number, letter in enumerate(letters, 1)
    )
    return Markup('<span role="img" aria-label="{}: {}">{}</span>').format(words.arm(arm), told, Markup(inside))


def table_rows(rows: Sequence[_reading.Row], hrefs: Mapping[tuple[str, str], str]) -> Iterator[TableRow]:
    """Rows of the case table; `hrefs` says where a case can be read."""
    several = len({row.skill for row in rows}) > 1
    for row in rows:
        title = f"{row.skill}/{row.case}" if several else row.case
        yield TableRow(
            name=untrusted.line(f"{row.skill} {row.case} {row.target}", 300),
            title=untrusted.line(title, 160),
            target=untrusted.line(row.target, 100),
            href=hrefs.get((row.skill, row.case), ""),
            states="".join(sorted(set(row.squares))),
            differ=int(bool(row.points)),
            arm=_squares(row.arm),
            baseline=_squares(row.baseline),
            points="" if row.points is None else words.points(row.points),
        )


def _squares(row: CaseRow | None) -> Markup:
    return squares(row.squares, row.arm) if row else Markup("")


def _gate(summary: Summary) -> dict[str, Any]:
    tone = {True: "good", False: "bad", None: "warn"}[summary.gate.passed]
    reasons = tuple(untrusted.line(reason, 400) for reason in summary.gate.reasons[:MOST_NOTES])
    return {"text": verdicts.gate(summary.gate), "tone": tone, "reasons": reasons}


def _warnings(summary: Summary) -> Iterator[str]:
    if summary.stopped:
        yield untrusted.line(f"stopped before its plan: {summary.stopped}", 400)
    for text in summary.warnings[:MOST_NOTES]:
        yield untrusted.line(text, 400)
    aside = [f"{row.cell} ({row.reason})" for row in summary.set_aside]
    if aside:
        yield untrusted.line(f"set aside, counted in nothing: {words.listed(aside, 10)}")


def _arm_row(rate: Rate) -> ArmRow:
    time, cost = rate.time_seconds, rate.cost_usd
    tokens = rate.tokens.total if rate.tokens else None
    ends = f"{words.percent(rate.low)} to {words.percent(rate.high)}" if rate.low is not None else ""
    return ArmRow(
        skill=untrusted.line(rate.skill, 100),
        target=untrusted.line(rate.target, 100),
        arm=words.arm(rate.arm) + (", forced" if rate.activation == "forced" else ""),
        rate=words.percent(rate.pass_rate) if rate.pass_rate is not None else "not measured",
        span=ends,
        graded=f"{rate.graded:,}",
        time=words.duration(time.mean) if time and time.mean is not None else "",
        tokens=words.count(tokens) if tokens is not None else "",
        cost=words.usd(cost.mean) if cost and cost.mean is not None else "",
        lost=words.counted(rate.failures),
    )


def _footnotes(summary: Summary) -> Iterator[str]:
    yield words.FOOTNOTE
    labels = dict.fromkeys(lift.point_label for lift in summary.lifts if lift.point_label)
    if labels:
        told = words.listed([f"{lift.target}: {lift.point_label}" for lift in summary.lifts if lift.point_label], 6)
        yield untrusted.line(f"By the estimate alone, interval left aside: {told}.")
    yield untrusted.line(f"Made by skilltrial {summary.skilltrial} from {summary.experiment} {summary.created_at}".rstrip() + ".")
