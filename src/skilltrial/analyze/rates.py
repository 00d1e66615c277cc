"""Rates of every arm, and the leaderboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from statistics import median
from typing import Literal

from skilltrial.analyze.states import MEASURED
from skilltrial.analyze.table import Spent, Table
from skilltrial.analyze.tallies import Tally
from skilltrial.records.plan import Arm
from skilltrial.records.summary import Cost, Interval, LeaderRow, Rate, Spread, Tokens
from skilltrial.stats.rates import RateEstimate, rate_on_cases_like_these, rate_on_these_cases
from skilltrial.stats.ratios import cost_per_success
from skilltrial.stats.repeats import over_cases, pass_at_k, pass_hat_k

Delivery = Literal["installed", "injected", "body_only", "forced", "none"]
RowKey = tuple[str, str, str, bool]
"""Skill, target, arm, and whether the cases force the skill."""
_SHOWN_K = (1, 2, 3, 4, 5, 10)


def by_row(tallies: Iterable[Tally]) -> dict[RowKey, list[Tally]]:
    """Tallies of each rate row; natural rows before the forced ones of the same arm."""
    rows: dict[RowKey, list[Tally]] = {}
    for tally in sorted(tallies, key=lambda one: one.group.forced):
        key = tally.key
        rows.setdefault((key.skill, key.target, key.arm, tally.group.forced), []).append(tally)
    order = {key[:3]: place for place, key in reversed(list(enumerate(rows)))}
    return dict(sorted(rows.items(), key=lambda row: (order[row[0][:3]], row[0][3])))


def rate_rows(table: Table, tallies: Iterable[Tally], deliveries: Mapping[str, Delivery]) -> tuple[Rate, ...]:
    """One row per skill, target and arm; None wherever nothing was measured. `deliveries`: by target."""
    arms = {(arm.skill, arm.name): arm for arm in table.plan.arms}
    return tuple(
        _row(table, key, rows, _delivery(arms.get((key[0], key[2])), key, deliveries)) for key, rows in by_row(tallies).items()
    )


def _row(table: Table, key: RowKey, tallies: list[Tally], delivery: Delivery | None) -> Rate:
    skill, target, arm, forced = key
    scored = [tally for tally in tallies if tally.scores]
    these = rate_these(scored)
    states = Counter(state for tally in tallies for state in tally.states)
    planned, graded = sum(tally.planned for tally in tallies), sum(tally.measured for tally in tallies)
    spent = table.spent.get(key, Spent())
    money = cost_of(spent)
    return Rate(
        skill=skill,
        target=target,
        arm=arm,
        activation="forced" if forced else "natural",
        cases=len(scored),
        cells=planned,
        graded=graded,
        ungraded=planned - graded,
        pass_rate=these.rate if these else None,
        low=these.low if these else None,
        high=these.high if these else None,
        like_these=_interval(rate_like(scored)),
        full_pass_rate=_full_pass_rate(tallies),
        any_of_k=_any_of_k(tallies),
        pass_at_k=_over_k(pass_at_k, tallies),
        pass_hat_k=_over_k(pass_hat_k, tallies),
        mean_score=_mean_quality(tallies),
        delivery=delivery,
        time_seconds=spread(spent.seconds),
        tokens=_tokens(spent),
        cost_usd=money,
        cost_per_success=cost_per_success(money.total if money else None, sum(tally.full for tally in tallies)),
        failures={state: number for state, number in states.items() if state != MEASURED},
    )


def rate_these(scored: Sequence[Tally], alpha: float = 0.05) -> RateEstimate | None:
    """On these cases; None without a measured one."""
    if not scored:
        return None
    return rate_on_these_cases([tally.scores for tally in scored], [tally.weight for tally in scored], alpha)


def rate_like(scored: Sequence[Tally], alpha: float = 0.05) -> RateEstimate | None:
    """On cases like these; None without a measured one."""
    if not scored:
        return None
    means = [sum(tally.scores) / len(tally.scores) for tally in scored]
    return rate_on_cases_like_these(means, [tally.weight for tally in scored], alpha)


def _interval(estimate: RateEstimate | None) -> Interval:
    return Interval(value=estimate.rate, low=estimate.low, high=estimate.high) if estimate else Interval()


def _full_pass_rate(tallies: Sequence[Tally]) -> float | None:
    known = [tally for tally in tallies if tally.runs]
    weight = sum(tally.weight for tally in known)
    return sum(tally.weight * tally.full / tally.runs for tally in known) / weight if known else None


def _any_of_k(tallies: Sequence[Tally]) -> float | None:
    known = [tally.full > 0 for tally in tallies if tally.runs]
    return sum(known) / len(known) if known else None


def _over_k(of_case: Callable[[int, int, int], float | None], tallies: Sequence[Tally]) -> dict[str, Interval]:
    known = [tally for tally in tallies if tally.runs]
    counts, weights = [(tally.runs, tally.full) for tally in known], [tally.weight for tally in known]
    most = max((tally.planned for tally in tallies), default=0)
    return {
        str(k): _interval(over_cases(of_case, counts, k, weights)) for k in sorted({*_SHOWN_K, most}) if counts and 1 <= k <= most
    }


def _mean_quality(tallies: Sequence[Tally]) -> float | None:
    known = [tally for tally in tallies if tally.quality]
    weight = sum(tally.weight for tally in known)
    return sum(tally.weight * sum(tally.quality) / len(tally.quality) for tally in known) / weight if known else None


def _delivery(arm: Arm | None, key: RowKey, deliveries: Mapping[str, Delivery]) -> Delivery | None:
    if arm is None:
        return None
    if not arm.trees:
        return "none"
    return "forced" if key[3] or arm.forced else deliveries.get(key[1])


def spread(values: Sequence[float]) -> Spread | None:
    """Mean, sample deviation, median and total; None without a value."""
    if not values:
        return None
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    deviation = sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
    return Spread(mean=mean, stddev=deviation, median=median(values), total=sum(values))


def cost_of(spent: Spent) -> Cost | None:
    """Dollars over all cells that reported a cost; None when none did."""
    if not spent.cost:
        return None
    total = sum(spent.cost)
    return Cost(mean=total / len(spent.cost), median=median(spent.cost), total=total, cells_with_cost=len(spent.cost))


def _tokens(spent: Spent) -> Tokens | None:
    tokens = Tokens(
        input=spent.input.mean,
        cached=spent.cached.mean,
        non_cached_input=spent.fresh.mean,
        output=spent.output.mean,
        reasoning=spent.reasoning.mean,
        total=spent.total.mean,
    )
    return None if tokens == Tokens() else tokens


def leaderboard(tallies: Iterable[Tally], arm: str) -> tuple[LeaderRow, ...]:
    """Targets by their rate over all cases of all skills; targets whose intervals overlap share ranks. Unmeasured ones come last."""
    scored: dict[str, list[Tally]] = {}
    for tally in tallies:
        if tally.key.arm == arm:
            scored.setdefault(tally.key.target, []).extend([tally] if tally.scores else [])
    rows = {target: rate_these(own) for target, own in scored.items()}
    known = [row for row in rows.values() if row is not None]
    return tuple(
        _leader(target, arm, row, known)
        for target, row in sorted(rows.items(), key=lambda item: -item[1].rate if item[1] else 1.0)
    )


def _leader(target: str, arm: str, row: RateEstimate | None, known: Sequence[RateEstimate]) -> LeaderRow:
    if row is None or row.low is None or row.high is None:
        return LeaderRow(target=target, arm=arm)
    surely_better = sum(other.low is not None and other.low > row.high for other in known)
    surely_worse = sum(other.high is not None and other.high < row.low for other in known)
    return LeaderRow(
        target=target,
        arm=arm,
        value=row.rate,
        low=row.low,
        high=row.high,
        rank_low=1 + surely_better,
        rank_high=len(known) - surely_worse,
    )
