"""What a design can see, before money is spent on it."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from itertools import accumulate
from math import ceil, log, sqrt

from skilltrial.stats.distributions import binomial_weights, student_quantile
from skilltrial.stats.lift import Paired
from skilltrial.stats.limits import TIE, exact_limits, lower_difference

CELLS_FOR_A_WORD = 4
"""Graded cells per arm below which nothing is decided on these cases."""
UNITS_FOR_A_WORD = 6
"""Cases (or clusters) below which nothing is decided on cases like these: the sign-flip test cannot reach 0.05 before."""
UNITS_FOR_NO_EFFECT = 20
"""Units below which `no meaningful effect` is not said on cases like these."""
LIKELY_SPREAD = 0.35
"""Standard deviation of the differences between arms, where no history tells."""
_MOST_CELLS = 1000
"""Larger designs are told what this many cells per arm can see."""


@cache
def smallest_lift_on_these(cells: int, base_rate: float = 0.5, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest lift, in whole points, that `cells` per arm would call `helps` with chance `power`; None: no lift is large enough.

    By exact enumeration of two binomials; blocking by case can only do better. 2 ms at 24 cells, 100 ms at 1000.
    """
    cells = min(cells, _MOST_CELLS)
    if cells < CELLS_FOR_A_WORD:
        return None
    winning = _baselines_beaten(cells, alpha)
    below = [0.0, *accumulate(binomial_weights(cells, base_rate))]
    chance = [below[count] for count in winning]
    for points in range(1, 101):
        rate = base_rate + points / 100.0
        if rate > 1.0 + TIE:
            return None
        if sum(map(float.__mul__, binomial_weights(cells, min(rate, 1.0)), chance)) >= power:
            return points / 100.0
    return None


@cache
def _baselines_beaten(cells: int, alpha: float) -> tuple[int, ...]:
    """For each number of passes with the skill, how many numbers of passes without it (from 0 up) give a lower end above 0."""
    limits = [exact_limits(passed / cells, cells, alpha) for passed in range(cells + 1)]

    def undecided(without: int, with_: int) -> bool:
        return lower_difference(with_ / cells, limits[with_].low, without / cells, limits[without].high) <= TIE

    counts = range(cells + 1)
    return tuple(bisect_left(counts, True, key=lambda without: undecided(without, with_)) for with_ in counts)


def smallest_lift_like_these(units: int, spread: float = LIKELY_SPREAD, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest mean difference that `units` cases would show on cases like these with chance `power`; None below 6."""
    if units < UNITS_FOR_A_WORD:
        return None
    reach = student_quantile(1.0 - alpha / 2.0, units - 1) + student_quantile(power, units - 1)
    return reach * spread / sqrt(units)


@cache
def cells_for_no_effect(rate: float = 1.0, margin: float = 0.10, alpha: float = 0.05) -> int | None:
    """Cells per arm from which two arms with this same rate are called `no meaningful effect`; None above 10,000."""
    low, high = CELLS_FOR_A_WORD, 10_000
    if not _inside(high, rate, margin, alpha):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _inside(middle, rate, margin, alpha) else (middle + 1, high)
    return low


def _inside(cells: int, rate: float, margin: float, alpha: float) -> bool:
    low, high = Paired(0.0, rate, cells, rate, cells, cells, cells).interval(2.0 * alpha)
    return -margin < low and high < margin


def units_for_no_effect(margin: float = 0.10, alpha: float = 0.05) -> int | None:
    """Units from which all-equal differences of 0 are called `no meaningful effect` on cases like these; None above 10,000."""
    for units in range(UNITS_FOR_NO_EFFECT, 10_001):
        size = 1.0 / (units + 2)  # two pseudo-units join
        half = student_quantile(1.0 - alpha / 2.0, units + 1) * sqrt(2.0 * size * size / (1.0 - size))
        if half < margin:
            return units
    return None


def cells_for_a_full_pass_rate(minimum: float, alpha: float = 0.05) -> int | None:
    """Cells that must all pass for the interval to prove a rate of at least `minimum`; None for a minimum of 1."""
    return None if minimum >= 1.0 else 1 if minimum <= 0.0 else ceil(log(alpha / 2.0) / log(minimum) - TIE)
