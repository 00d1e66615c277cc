"""p values of several rows read together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted so that one false claim among all rows stays unlikely, in the order given. Source: Holm 1979."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(_by_size(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """p values adjusted so that few of the claims are false, in the order given. Source: Benjamini-Hochberg 1995."""
    adjusted = [0.0] * len(p_values)
    smallest, count = 1.0, len(p_values)
    for rank, index in reversed(list(enumerate(_by_size(p_values), start=1))):
        smallest = min(smallest, p_values[index] * count / rank)
        adjusted[index] = smallest
    return adjusted


def _by_size(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)
