"""The lift on cases like these: cases random."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from math import sqrt
from typing import NamedTuple

from skilltrial.stats.distributions import student_quantile
from skilltrial.stats.lift import shares, weighted
from skilltrial.stats.limits import TIE
from skilltrial.stats.signflip import sign_flip


class Wider(NamedTuple):
    """A lift on cases like these. Ends are None below 3 units."""

    units: int
    """Clusters, or cases where none are declared."""
    low: float | None
    high: float | None
    p_value: float | None
    """Of the exact sign-flip test; None without a unit."""
    pseudo_cases: bool
    """Half of the units or more are equal, so two opposite ones were added."""
    held_back: bool
    """The sign-flip test did not agree, so the near end was moved to 0."""


NO_UNITS = Wider(0, None, None, None, False, False)


def on_cases_like_these(
    differences: Sequence[float],
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
    seed: str | int = 0,
) -> Wider:
    """The mean difference with an interval that speaks of new cases of the same kinds.

    Args:
        differences: per case, rate with the skill minus rate without; however many repetitions stand behind it.
        weights: one above 0 per case; equal when None.
        clusters: one label per case; cases of one cluster are one unit. None: every case is one.
        alpha: 1 - confidence.
        seed: for the sign-flip test where it has to draw.
    Accuracy: in simulation 94 % or more on pass or fail, 89 % where fine scores fall far in one case of ten.
    Source: t by effective units; two pseudo-units (Agresti-Min 2005, Bonett-Price 2012) where units tie.
    """
    if not differences:
        return NO_UNITS
    share = shares(weights, len(differences))
    lift = weighted(share, differences)
    size, gain = _units(differences, share, clusters)
    p = sign_flip([weight * value for weight, value in zip(size, gain, strict=True)], seed)
    count = len(gain)
    if count < 3:
        return Wider(count, None, None, p, False, False)
    pseudo = tie_share(gain) >= 0.5 - TIE
    if pseudo:
        size, gain = shares([*size, 1.0 / count, 1.0 / count], count + 2), [*gain, 1.0, -1.0]
    middle, half = _student(size, gain, alpha)
    low, high = max(-1.0, min(middle - half, lift)), min(1.0, max(middle + half, lift))
    held_back = p > alpha and (low > 0.0 or high < 0.0)
    if held_back:
        low, high = min(low, 0.0), max(high, 0.0)
    return Wider(count, low, high, p, pseudo, held_back)


def tie_share(values: Sequence[float]) -> float:
    """Largest share of values that are equal to one of them."""
    ordered = sorted(values)
    most = max(bisect_left(ordered, value + TIE) - bisect_right(ordered, value - TIE) for value in ordered)
    return most / len(ordered)


def _units(
    differences: Sequence[float], share: Sequence[float], clusters: Sequence[Hashable] | None
) -> tuple[list[float], list[float]]:
    """Weight and mean difference of each unit."""
    if clusters is None:
        return list(share), list(differences)
    size: dict[Hashable, float] = {}
    total: dict[Hashable, float] = {}
    for cluster, weight, difference in zip(clusters, share, differences, strict=True):
        size[cluster] = size.get(cluster, 0.0) + weight
        total[cluster] = total.get(cluster, 0.0) + weight * difference
    return list(size.values()), [total[cluster] / size[cluster] for cluster in size]


def _student(size: Sequence[float], gain: Sequence[float], alpha: float) -> tuple[float, float]:
    """Middle and half-width of the weighted t interval."""
    squares = sum(weight * weight for weight in size)
    middle = sum(weight * value for weight, value in zip(size, gain, strict=True))
    variance = sum((weight * (value - middle)) ** 2 for weight, value in zip(size, gain, strict=True)) / (1.0 - squares)
    return middle, student_quantile(1.0 - alpha / 2.0, 1.0 / squares - 1.0) * sqrt(variance)
