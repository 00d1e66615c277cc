"""Verdicts as sentences. Every sentence names its scope: these cases, or cases like these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from skilltrial.records.plan import WITH_SKILL
from skilltrial.records.summary import Coverage, GateResult, LeaderRow, Lift, Rate, Summary
from skilltrial.wording import words

NEEDED_UNITS = 6
"""Cases that `on cases like these` needs before it can say helps or hurts."""

REASONS: Mapping[str, str] = {
    "too_few_cells": "fewer than 4 graded runs in an arm",
    "too_few_cases": "too few cases",
    "one_case": "1 case",
    "two_cases": "2 cases",
    "includes_zero": "the interval includes zero",
    "exact_test": "the exact test does not exclude zero",
    "missing": "failed measurements could turn the answer",
    "below_margin": "real but smaller than the margin",
    "multiplicity": "not after allowing for several comparisons",
    "narrower_scope": "what holds on these cases is not shown beyond them",
    "futility": "stopped early, an answer was out of reach",
    "budget": "stopped by a budget",
    "no_pair": "no case has a graded run in both arms",
    "excludes_zero": "the interval excludes zero",
    "inside_margin": "the interval lies inside the margin",
}
_CODE = re.compile(r"([a-z]+(?:_[a-z]+)*)(?:\s*[:;,.(-]\s*|\s+|$)")


class Mark(NamedTuple):
    """A verdict as one word for a table, and its colour class."""

    word: str
    tone: str
    """good, bad or quiet."""


def mark(verdict: str) -> Mark:
    """The verdict as it stands in tables: inconclusive reads `not decided`."""
    tone = {"helps": "good", "hurts": "bad"}.get(verdict, "quiet")
    return Mark("not decided" if verdict == "inconclusive" else verdict, tone)


def why(reason: str) -> str:
    """The sentence of a reason; its code alone becomes the standing sentence for it."""
    found = _CODE.match(reason)
    if found and found[1] in REASONS:
        return reason[found.end() :].strip().rstrip(".)") or REASONS[found[1]]
    return reason.strip().rstrip(".")


def subject(lift: Lift, several_skills: bool = False) -> str:
    """Who the sentence is about."""
    name = lift.skill if several_skills else "the skill"
    if lift.activation == "forced":
        name += ", forced on,"
    return name if lift.arm == WITH_SKILL else f"{name} (arm {words.arm(lift.arm)})"


def these(lift: Lift, who: str = "the skill", where: str = "") -> str:
    """On these 4 cases the skill helps: +100 points (95 % interval +15 to +100)."""
    scope = "On this case" if lift.cases == 1 else f"On these {lift.cases} cases"
    return _sentence(scope, lift, _Scope(lift.verdict, lift.low, lift.high, lift.reason), who, where)


def like(lift: Lift) -> str:
    """On cases like these: not decided, 4 cases, 6 are needed."""
    return _short("On cases like these", _like(lift))


class _Scope(NamedTuple):
    verdict: str
    low: float | None
    high: float | None
    reason: str


def _like(lift: Lift) -> _Scope:
    row = lift.like_these
    needed = f"{words.many(row.units, 'case')}, {NEEDED_UNITS} are needed"
    few = row.units < NEEDED_UNITS and row.verdict == "inconclusive"
    return _Scope(row.verdict, row.low, row.high, needed if few else row.reason)


def leading(summary: Summary, lift: Lift) -> str:
    """The verdict of the scope that leads in this Summary."""
    return lift.like_these.verdict if summary.scope == "like" else lift.verdict


def sentences(summary: Summary, lift: Lift, who: str = "the skill", where: str = "") -> tuple[str, str]:
    """Both scopes, the leading one in full and first."""
    if summary.scope == "these":
        return these(lift, who, where), like(lift)
    scope = "On this case" if lift.cases == 1 else f"On these {lift.cases} cases"
    second = _short(scope, _Scope(lift.verdict, lift.low, lift.high, lift.reason))
    return _sentence("On cases like these", lift, _like(lift), who, where), second


def _opening(who: str) -> str:
    """What is spoken of as the first word of a sentence; the name of a skill keeps its letters."""
    return f"T{who[1:]}" if who.startswith("the ") else who


def _sentence(scope: str, lift: Lift, told: _Scope, who: str, where: str) -> str:
    if told.verdict == "not measured":
        return f"{_opening(who)} was not measured{where}: {why(told.reason) or REASONS['no_pair']}."
    size = f"{words.points_words(lift.lift)} ({words.span(told.low, told.high)})"
    if told.verdict in ("helps", "hurts"):
        return f"{scope} {who} {told.verdict}{where}: {size}."
    if told.verdict == "no meaningful effect":
        return f"{scope} {who} has no meaningful effect{where}: {size}, margin ±{lift.margin * 100:.0f}."
    tail = f"; {why(told.reason)}" if told.reason else ""
    return f"{scope} it is not decided whether {who} helps{where}: {size}{tail}."


def _short(scope: str, told: _Scope) -> str:
    ends = "" if told.low is None or told.high is None else f", {words.span(told.low, told.high)}"
    if told.verdict != "inconclusive":
        return f"{scope}: {told.verdict}{'' if told.verdict == 'not measured' else ends}."
    tail = f", {why(told.reason)}" if told.reason else ""
    return f"{scope}: not decided{tail}{ends}."


def rate_of(summary: Summary, skill: str, target: str, arm: str, activation: str = "natural") -> Rate | None:
    """The rates row of one arm, or None."""
    for rate in summary.rates:
        if (rate.skill, rate.target, rate.arm, rate.activation) == (skill, target, arm, activation):
            return rate
    return None


def rates(summary: Summary, lift: Lift) -> str | None:
    """42 % of checks pass without the skill, 88 % with it. None when an arm has no rate."""
    arm = rate_of(summary, lift.skill, lift.target, lift.arm, lift.activation)
    base = rate_of(summary, lift.skill, lift.target, lift.baseline, lift.activation)
    if arm is None or base is None or arm.pass_rate is None or base.pass_rate is None:
        return None
    what = words.METRICS[summary.metric]
    if (lift.arm, lift.baseline) == (WITH_SKILL, "without_skill"):
        return f"{words.percent(base.pass_rate)} {what} without the skill, {words.percent(arm.pass_rate)} with it."
    return (
        f"{words.percent(base.pass_rate)} {what} in {words.arm(lift.baseline)}, "
        f"{words.percent(arm.pass_rate)} in {words.arm(lift.arm)}."
    )


def costs(lift: Lift) -> str | None:
    """What the skill costs per run: time, tokens, dollars, as far as they were reported."""
    parts = []
    if lift.time_delta is not None:
        parts.append(f"{words.duration(abs(lift.time_delta))} {'more' if lift.time_delta >= 0 else 'less'}")
    if lift.token_delta is not None:
        parts.append(f"{words.count(abs(lift.token_delta))} tokens {'more' if lift.token_delta >= 0 else 'less'}")
    if lift.cost_delta is not None:
        parts.append(f"{words.usd(abs(lift.cost_delta))} {'more' if lift.cost_delta >= 0 else 'less'}")
    if not parts:
        return None
    listing = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Per run with the skill: {listing}."


def bounds(lift: Lift) -> str | None:
    """How far failed measurements could move the lift. None when nothing is missing."""
    if lift.worst.lift is None or lift.best.lift is None or lift.worst.lift == lift.best.lift:
        return None
    return f"lift {words.points(lift.worst.lift)} to {words.points(lift.best.lift)} if they had all gone one way"


def not_measured_by_arm(summary: Summary) -> str:
    """2 timeout with skill, 1 timeout without skill; empty when nothing failed."""
    by_arm: dict[str, dict[str, int]] = {}
    for rate in summary.rates:
        row = by_arm.setdefault(rate.arm, {})
        for state, number in rate.failures.items():
            row[state] = row.get(state, 0) + number
    parts = [f"{words.counted(states)} {words.arm(arm)}" for arm, states in by_arm.items() if any(states.values())]
    return "; ".join(parts) or words.counted(summary.coverage.failed_measurements)


def graded(coverage: Coverage) -> str:
    """286 of 288 runs graded."""
    text = f"{coverage.graded:,} of {words.many(coverage.planned, 'run')} graded"
    return f"{text}, {words.many(coverage.set_aside, 'check')} set aside" if coverage.set_aside else text


class Isolation(NamedTuple):
    """The baseline's state over all targets."""

    tone: str
    """good, bad, quiet."""
    text: str


def isolation(summary: Summary) -> Isolation:
    """Whether the baseline was free of the skill, in words."""
    rows = summary.isolation
    if not rows:
        return Isolation("quiet", "not recorded")
    dirty = [row for row in rows if row.clean is False]
    clean = [row for row in rows if row.clean]
    if dirty:
        told = "; ".join(f"{row.target}: {row.reason or 'not clean'}" for row in dirty[:3])
        return Isolation("bad", f"not clean on {len(dirty)} of {words.many(len(rows), 'target')} ({told})")
    if len(clean) == len(rows):
        return Isolation("good", f"clean on {len(clean)} of {words.many(len(rows), 'target')}")
    unknown = len(rows) - len(clean)
    reasons = words.listed(tuple(dict.fromkeys(row.reason for row in rows if row.clean is None and row.reason)), 2)
    return Isolation(
        "quiet", f"cannot be told on {unknown} of {words.many(len(rows), 'target')}" + (f" ({reasons})" if reasons else "")
    )


def sandboxes(summary: Summary) -> str:
    """Levels of isolation that were used."""
    return ", ".join(dict.fromkeys(row.level for row in summary.isolation)) or "not recorded"


def judges(summary: Summary) -> str:
    """Who judged, how often, and whether it judged its own work."""
    texts = []
    for row in summary.judge:
        name = f"{row.backend}:{row.model}" if row.model else row.backend
        text = f"{name}, {words.many(row.calls, 'call')}"
        texts.append(f"{text}, home field: it judges work of its own model or maker" if row.home_field else text)
    return "; ".join(texts) or "none"


def pairs(summary: Summary) -> tuple[str, ...]:
    """What two-way judging came to, one sentence a row."""
    several = len({(row.skill, row.target) for row in summary.pairwise}) > 1
    told = []
    for row in summary.pairwise:
        where = f"{row.skill} on {row.target}: " if several else ""
        lost = f"; {words.many(row.not_judged, 'pair')} not judged" if row.not_judged else ""
        if row.win_rate is None:
            told.append(f"{where}no pair was judged{lost}")
            continue
        count = f"{row.wins} won, {row.losses} lost, {row.ties} tied {words.arm(row.arm)} against {words.arm(row.baseline)}"
        ends = f"win rate {words.percent(row.win_rate)}, ties as halves (95 % interval {words.percent(row.low)} to {words.percent(row.high)}"
        chance = f", sign test p = {row.p_value:.3f})" if row.p_value is not None else ")"
        told.append(f"{where}{count}; {ends}{chance}{lost}")
    return tuple(told)


class Leader(NamedTuple):
    """A row of the leaderboard in words."""

    rank: str
    target: str
    rate: str
    span: str
    note: str


def leaders(summary: Summary) -> tuple[Leader, ...]:
    """Targets by rate; () for fewer than two. Those whose intervals overlap share ranks and are called tied."""
    rows = summary.leaderboard
    if len(rows) < 2:
        return ()
    return tuple(
        Leader(
            _rank(row),
            row.target,
            "not measured" if row.value is None else words.percent(row.value),
            "" if row.low is None else f"{words.percent(row.low)} to {words.percent(row.high)}",
            row.note,
        )
        for row in rows
    )


def _rank(row: LeaderRow) -> str:
    if row.rank_low is None or row.rank_high is None:
        return ""
    return str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}-{row.rank_high} (tied)"


def deliveries(summary: Summary) -> tuple[str, ...]:
    """How the skill reached the targets, one sentence for each way."""
    ways: dict[str, list[str]] = {}
    for rate in summary.rates:
        if rate.delivery and rate.delivery != "none":
            ways.setdefault(rate.delivery, []).append(rate.target)
    return tuple(f"{words.DELIVERIES[way]} ({words.listed(tuple(dict.fromkeys(targets)))})" for way, targets in ways.items())


def activation(summary: Summary) -> tuple[str, ...]:
    """How often the skill was seen to be used, one line a row that can tell."""
    lines = []
    for row in summary.activation:
        seen = row.activated + row.read
        known = seen + row.not_seen
        if row.forced and not known:
            lines.append(f"{row.skill} on {row.target}: in the prompt of all {words.many(row.forced, 'run')}")
        elif known:
            lines.append(f"{row.skill} on {row.target}: used in {seen} of {words.many(known, 'run')}")
        if row.indicators_passed + row.indicators_failed:
            total = row.indicators_passed + row.indicators_failed
            lines.append(f"{row.skill} on {row.target}: {row.indicators_passed} of {words.many(total, 'indicator')} passed")
    return tuple(lines)


def gate(result: GateResult) -> str:
    """Gate passed (exit code 0)."""
    word = {True: "passed", False: "failed", None: "open"}[result.passed]
    if result.exit_code == 2:
        word = "nothing decided"
    return f"Gate {word} (exit code {result.exit_code})"


class Headline(NamedTuple):
    """One sentence in three parts; the middle one carries the colour."""

    before: str
    word: str
    after: str
    tone: str

    def __str__(self) -> str:
        return self.before + self.word + self.after


def headline(summary: Summary) -> Headline:
    """The answer in one sentence: of the only comparison, or counted over all of them."""
    if not summary.lifts:
        return Headline("", "Nothing to compare", ": there is no pair of arms with graded runs.", "quiet")
    if len(summary.lifts) == 1:
        return _single(summary, summary.lifts[0])
    return _counted(summary)


def _single(summary: Summary, lift: Lift) -> Headline:
    who = subject(lift)
    verdict = leading(summary, lift)
    tone = mark(verdict).tone
    told = rates(summary, lift)
    tail = f" on {lift.target}: {told}" if told else f" on {lift.target}."
    tail = tail.replace("without the skill", "without it") if lift.arm == WITH_SKILL else tail
    if verdict in ("helps", "hurts"):
        return Headline(f"{_opening(who)} ", verdict, tail, tone)
    if verdict == "no meaningful effect":
        return Headline(f"{_opening(who)} has ", verdict, tail, tone)
    if verdict == "not measured":
        return Headline(f"{_opening(who)} was ", "not measured", f" on {lift.target}: {why(lift.reason)}.", tone)
    return Headline("It is ", "not decided", f" whether {who} helps{tail}", tone)


def _counted(summary: Summary) -> Headline:
    lifts = summary.lifts
    skills, targets = {lift.skill for lift in lifts}, {lift.target for lift in lifts}
    counts: dict[str, int] = {}
    for lift in lifts:
        word = mark(leading(summary, lift)).word
        counts[word] = counts.get(word, 0) + 1
    what = "target" if len(skills) == 1 else "skill" if len(targets) == 1 else "comparison"
    lead = "helps" if counts.get("helps") else "hurts" if counts.get("hurts") else next(iter(counts))
    number = f" {counts[lead]} of {words.many(len(lifts), what)}"
    rest = "".join(f"; {word}: {count}" for word, count in counts.items() if word != lead)
    tone = {"helps": "good", "hurts": "bad"}.get(lead, "quiet")
    if len(skills) == 1 and lead in ("helps", "hurts"):
        return Headline("The skill ", lead, f" on{number}{rest}.", tone)
    verb = lead.removesuffix("s") if lead in ("helps", "hurts") and counts[lead] != 1 else lead
    return Headline(f"{number.strip()}: ", verb, f"{rest}.", tone)
