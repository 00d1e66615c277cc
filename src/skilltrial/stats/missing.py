"""What missing measurements could hide."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma
from typing import NamedTuple

from skilltrial.stats.lift import Paired, Rates, pair

SHARE = 0.10
"""Missing share of an arm above which the verdict must survive the bounds."""
IMBALANCE = 0.05
"""Difference of the two missing shares above which it must."""
LEAST_COVERAGE = 0.5
"""Below this graded share of an arm there is no verdict."""


class Attempted(NamedTuple):
    """One arm: cells planned, and cells with a grade."""

    planned: int
    graded: int

    @property
    def missing(self) -> float:
        """Share without a grade; 0 when nothing was planned."""
        return 1.0 - self.coverage

    @property
    def coverage(self) -> float:
        """Share with a grade; 1 when nothing was planned."""
        return self.graded / self.planned if self.planned else 1.0


def must_survive(one: Attempted, other: Attempted) -> bool:
    """The verdict must hold however the missing cells would have ended."""
    if one.graded == one.planned and other.graded == other.planned:
        return False
    if max(one.missing, other.missing) > SHARE + 1e-12 or abs(one.missing - other.missing) > IMBALANCE + 1e-12:
        return True
    return fisher_exact(one.planned - one.graded, one.graded, other.planned - other.graded, other.graded) < 0.05


def fisher_exact(a: int, b: int, c: int, d: int) -> float:
    """Two-sided p of the table ((a, b), (c, d)): all tables with the same margins that are no likelier. Source: Fisher 1935."""
    row, column, total = a + b, a + c, a + b + c + d

    def chance(x: int) -> float:
        return (
            _log_choose(row, x) + _log_choose(total - row, column - x) - _log_choose(total, column)
        )  # log of the hypergeometric probability

    seen = chance(a) + 1e-7
    return min(
        1.0, sum(exp(log_p) for x in range(max(0, column + row - total), min(row, column) + 1) if (log_p := chance(x)) <= seen)
    )


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def filled(scores: Rates, planned: Sequence[int], value: float) -> list[list[float]]:
    """Every case's scores, with `value` for each planned repetition that has none."""
    return [[*row, *[value] * (count - len(row))] for row, count in zip(scores, planned, strict=True)]


def bounds(
    with_skill: Rates,
    planned_with: Sequence[int],
    without_skill: Rates,
    planned_without: Sequence[int],
    weights: Sequence[float] | None = None,
) -> tuple[Paired, Paired]:
    """The lift when each missing cell ends worst for the skill, and when each ends best (Horowitz-Manski 2000).

    All planned cases take part, those without a single grade included.
    """
    worst = pair(filled(with_skill, planned_with, 0.0), filled(without_skill, planned_without, 1.0), weights)
    best = pair(filled(with_skill, planned_with, 1.0), filled(without_skill, planned_without, 0.0), weights)
    return worst, best
