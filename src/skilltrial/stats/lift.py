"""The lift on these cases: cases fixed, repetitions the sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erfc, fsum, sqrt
from operator import mul
from typing import NamedTuple

from skilltrial.errors import NotMeasured
from skilltrial.stats.limits import TIE, Limits, lower_difference, lower_limit, upper_limit

Rates = Sequence[Sequence[float]]
"""One row per case, one score from 0 to 1 per measured repetition."""

PRIOR = 4.0
"""Observations by which the gain from blocking by case is held back."""
SMALLEST_P = 1e-12
_FARTHEST_Z = 7.130502
"""Where the two-sided normal tail is SMALLEST_P."""


class Paired(NamedTuple):
    """Two arms over the same cases, brought down to a rate and an effective number of runs each."""

    lift: float
    rate_with: float
    n_with: float
    rate_without: float
    n_without: float
    cells_with: int
    cells_without: int

    def low(self, alpha: float) -> float:
        """Lower end of the lift."""
        return lower_difference(
            self.rate_with,
            lower_limit(self.rate_with, self.n_with, alpha),
            self.rate_without,
            upper_limit(self.rate_without, self.n_without, alpha),
        )

    def mirrored(self) -> Paired:
        """The same with the arms swapped."""
        return Paired(
            -self.lift, self.rate_without, self.n_without, self.rate_with, self.n_with, self.cells_without, self.cells_with
        )

    def interval(self, alpha: float = 0.05) -> Limits:
        """Both ends of the lift."""
        return Limits(self.low(alpha), -self.mirrored().low(alpha))


class Estimate(NamedTuple):
    """A lift on these cases in pass-rate points from -1 to 1."""

    lift: float
    low: float
    high: float
    low90: float
    high90: float
    p_value: float


class Arm(NamedTuple):
    """One arm over its cases."""

    rate: float
    n: float
    """Runs that an unweighted arm of the same precision would have."""
    spread: float
    """Sum of squares of cells around their own case's mean."""
    freedom: int
    """Repetitions beyond the first."""
    means: tuple[float, ...]
    cells: int

    @property
    def coin(self) -> float:
        """Variance of a coin with this rate."""
        return self.rate * (1.0 - self.rate)


def shares(weights: Sequence[float] | None, count: int) -> list[float]:
    """Weights that sum to 1; equal ones when none are given.

    Raises:
        ValueError: a weight is not above 0, or there are more or fewer than `count`.
    """
    if weights is None:
        return [1.0 / count] * count
    if len(weights) != count or min(weights) <= 0:
        raise ValueError("one weight above 0 per case is needed")
    total = sum(weights)
    return [weight / total for weight in weights]


def weighted(share: Sequence[float], values: Sequence[float]) -> float:
    """The weighted mean, exact where all values are equal: seven cases at 1 are 1, not 0.9999999999999998."""
    return fsum(map(mul, share, values)) / fsum(share)


def arm_of(scores: Rates, share: Sequence[float]) -> Arm:
    """Rate, effective n and spread of one arm; every case has at least one score."""
    means = tuple(sum(row) / len(row) for row in scores)
    spread = sum((score - mean) ** 2 for row, mean in zip(scores, means, strict=True) if len(row) > 1 for score in row)
    cells = sum(map(len, scores))
    n = 1.0 / sum(weight * weight / len(row) for weight, row in zip(share, scores, strict=True))
    rate = min(1.0, max(0.0, weighted(share, means)))
    return Arm(rate, n, spread, cells - len(means), means, cells)


def shrink(spread: float, coin: float, freedom: float, prior: float = PRIOR) -> float:
    """How much less than a coin the arm varies, from 0 to 1: what blocking by case gives back.

    Unlike cells spread less than a binomial with the same mean (Hoeffding 1956), so 1 is always safe.
    """
    if coin <= TIE or freedom == 0:
        return 1.0
    return min(1.0, (spread / coin + prior) / (freedom + prior))


def pair(with_skill: Rates, without_skill: Rates, weights: Sequence[float] | None = None) -> Paired:
    """Brings two arms over the same cases down to what intervals are made of.

    Raises:
        NotMeasured: there is no case.
    """
    if not with_skill:
        raise NotMeasured("no case has a measured cell in both arms")
    share = shares(weights, len(with_skill))
    a, b = arm_of(with_skill, share), arm_of(without_skill, share)
    if a.freedom == b.freedom == 0 and len(share) > 1:
        shrink_a = shrink_b = _shrink_of_single_runs(a, b)
    else:
        shrink_a, shrink_b = shrink(a.spread, a.coin, a.freedom), shrink(b.spread, b.coin, b.freedom)
    return Paired(a.rate - b.rate, a.rate, a.n / shrink_a, b.rate, b.n / shrink_b, a.cells, b.cells)


def _shrink_of_single_runs(a: Arm, b: Arm) -> float:
    """Without repetitions the spread of the differences stands in for that inside cases."""
    differences = [x - y for x, y in zip(a.means, b.means, strict=True)]
    mean = sum(differences) / len(differences)
    spread = sum((difference - mean) ** 2 for difference in differences)
    return shrink(spread, a.coin + b.coin, len(differences) - 1)


def on_these_cases(
    with_skill: Rates, without_skill: Rates, weights: Sequence[float] | None = None, alpha: float = 0.05
) -> Estimate:
    """Mean gain in pass rate from the skill, paired by case, with an interval that never has zero width.

    The cases are fixed and repetitions are the sample, so this speaks of a rerun of the same suite, not of new cases.

    Args:
        with_skill: one row per case, one score from 0 to 1 per repetition; only measured cells.
        without_skill: the same cases in the same order; repetitions may differ in number.
        weights: one above 0 per case; equal when None. The lift is never weighted by the number of repetitions.
    Returns:
        The lift with its 1 - alpha interval, the 1 - 2 alpha interval, and the smallest alpha whose interval excludes 0.
    Raises:
        NotMeasured: no case has a cell in both arms.
    Accuracy: in simulation the interval holds the truth in at least 94.6 % (92 % at 6 cells per arm, 0.95 against 0.05).
    Source: exact limits (Clopper-Pearson 1934) at a stratified effective size, difference by Newcombe 1998.
    """
    paired = pair(with_skill, without_skill, weights)
    low, high = paired.interval(alpha)
    low90, high90 = paired.interval(2.0 * alpha)
    return Estimate(paired.lift, low, high, low90, high90, p_value(paired))


def p_value(paired: Paired) -> float:
    """The smallest alpha whose interval excludes 0; 1 for no lift, never below 1e-12."""
    if abs(paired.lift) <= TIE:
        return 1.0
    side = paired if paired.lift > 0 else paired.mirrored()
    return _smallest_alpha(side.low)


def p_equivalence(paired: Paired, margin: float) -> float:
    """The smallest a whose 1 - 2a interval lies inside the margin (two one-sided tests, Schuirmann 1987); 1 when none does."""
    other = paired.mirrored()
    alpha = _smallest_alpha(lambda level: margin + min(paired.low(level), other.low(level)))
    return 1.0 if alpha >= 1.0 else alpha / 2.0


def _smallest_alpha(distance: Callable[[float], float]) -> float:
    """The alpha at which `distance`, rising with alpha, crosses 0.

    In the scale of normal quantiles an end moves nearly in a straight line, so a guarded secant needs few steps.
    """

    def at(z: float) -> float:
        return distance(max(SMALLEST_P, erfc(z / sqrt(2.0))))

    near, far = 1e-12, _FARTHEST_Z
    at_near, at_far = at(near), at(far)
    if at_near <= 0:
        return 1.0
    if at_far > 0:
        return SMALLEST_P
    kept = ""
    for _ in range(100):
        z = (near * at_far - far * at_near) / (at_far - at_near)
        if not near < z < far:
            z = (near + far) / 2.0
        value = at(z)
        if value > 0:
            near, at_near, at_far = z, value, at_far / 2.0 if kept == "far" else at_far
            kept = "far"  # Illinois: an end that stays twice counts half, so that it cannot stay for ever
        else:
            far, at_far, at_near = z, value, at_near / 2.0 if kept == "near" else at_near
            kept = "near"
        if far - near < 1e-11 or abs(value) < 1e-15:
            break
    return max(SMALLEST_P, erfc(z / sqrt(2.0)))
