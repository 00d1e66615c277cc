"""Limits of one rate, and of the difference of two."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from skilltrial.stats.distributions import beta_quantile

TIE = 1e-9
"""Two numbers closer than this are equal."""


class Limits(NamedTuple):
    """Ends of an interval."""

    low: float
    high: float


def exact_limits(rate: float, n: float, alpha: float = 0.05) -> Limits:
    """Limits of a rate seen in `n` runs; `n` may be any real number above 0.

    Source: Clopper-Pearson 1934; at an effective n Korn-Graubard 1998.
    """
    return Limits(lower_limit(rate, n, alpha), upper_limit(rate, n, alpha))


def lower_limit(rate: float, n: float, alpha: float) -> float:
    """The lower of the exact limits; 0 when nothing passed."""
    passed = rate * n
    return 0.0 if passed <= TIE else beta_quantile(alpha / 2.0, passed, n - passed + 1.0)


def upper_limit(rate: float, n: float, alpha: float) -> float:
    """The upper of the exact limits; 1 when everything passed."""
    failed = n - rate * n
    return 1.0 if failed <= TIE else 1.0 - beta_quantile(alpha / 2.0, failed, n - failed + 1.0)


def difference(one: float, one_limits: Limits, other: float, other_limits: Limits) -> Limits:
    """Limits of `one - other` from the limits of each: inside [-1, 1], and never of zero width for finite n.

    Source: Newcombe 1998; MOVER of Zou-Donner 2008.
    """
    return Limits(
        lower_difference(one, one_limits.low, other, other_limits.high),
        -lower_difference(other, other_limits.low, one, one_limits.high),
    )


def lower_difference(one: float, one_low: float, other: float, other_high: float) -> float:
    """Lower end of `one - other`."""
    below, above = one - one_low, other_high - other
    return max(-1.0, one - other - sqrt(below * below + above * above))
