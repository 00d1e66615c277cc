"""The sign-flip test: were the signs of the differences between arms a matter of chance?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from random import Random

from skilltrial.stats.limits import TIE

ALL_PATTERNS = 16
"""Up to this many differences every pattern of signs is looked at."""
DRAWS = 99_999
_BIT_STEPS = 1_500_000_000
"""Product of bits and steps, per different size, up to which counting on a lattice (60 billion a second) beats drawing."""
_MOST_SIZES = 20
"""From here on drawing takes no longer."""


def sign_flip(contributions: Sequence[float], seed: str | int = 0) -> float:
    """Share of sign patterns whose sum is at least as far from 0 as the one seen.

    Exact up to 16 differences that are not 0, and beyond wherever they are multiples of one step, as rates over repetitions
    are; else from 99,999 random patterns and never below 1e-5. 1 when all differences are 0.
    """
    sizes = sorted(abs(value) for value in contributions if abs(value) > TIE)
    seen = abs(sum(contributions)) - TIE
    if not sizes or seen <= 0:
        return 1.0
    if len(sizes) <= ALL_PATTERNS:
        return _all_patterns(sizes, seen)
    steps = _lattice(sizes)
    return _drawn(sizes, seen, Random(seed)) if steps is None else _counted(steps, seen * sum(steps) / sum(sizes))


def _all_patterns(sizes: list[float], seen: float) -> float:
    """Every pattern, as a pair of half patterns: 2 * 2^8 sums stand for 2^16."""
    half = len(sizes) // 2
    left, right = _sums(sizes[:half]), sorted(_sums(sizes[half:]))
    hits = sum(len(right) - bisect_left(right, seen - one) + bisect_right(right, -seen - one) for one in left)
    return float(hits / (len(left) * len(right)))


def _sums(sizes: list[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [one + size for one in sums] + [one - size for one in sums]
    return sums


def _lattice(sizes: list[float]) -> list[int] | None:
    """The sizes as whole multiples of one step; None when there is no common step coarse enough to count on."""
    parts = {size: Fraction(size / sizes[0]).limit_denominator(10_000) for size in set(sizes)}
    if any(abs(float(part) * sizes[0] - size) > TIE / len(sizes) for size, part in parts.items()):
        return None
    scale = lcm(*(part.denominator for part in parts.values()))
    steps = [int(parts[size] * scale) for size in sizes]
    return steps if sum(steps) * len(steps) ** 2 <= _BIT_STEPS * min(len(parts), _MOST_SIZES) else None


def _counted(steps: list[int], seen: float) -> float:
    """Counts patterns by their sum in one long number: `width` bits hold how many patterns reach each sum of pluses."""
    count, total, width = len(steps), sum(steps), len(steps) + 1
    reached = 1
    for step in steps:
        reached += reached << (step * width)
    first = -int(-(total + seen) // 2)  # pluses needed for a sum of at least `seen`
    upper = (reached >> (first * width)) % ((1 << width) - 1)  # the sum of the digits
    return min(1.0, float(Fraction(2 * upper, 1 << count)))


def _drawn(sizes: list[float], seen: float, random: Random) -> float:
    """Random patterns, from whichever way of drawing is shorter."""
    groups = Counter(round(size / sizes[-1], 9) for size in sizes)
    draw = _by_number(groups, sizes[-1], random) if 8 * len(groups) <= len(sizes) else _by_table(sizes, random)
    return (sum(abs(draw()) >= seen for _ in range(DRAWS)) + 1) / (DRAWS + 1)


def _by_number(groups: Mapping[float, int], unit: float, random: Random) -> Callable[[], float]:
    """Of equal sizes only the number of pluses matters."""
    bits, counts = random.getrandbits, [(size * unit, many) for size, many in groups.items()]
    return lambda: sum(size * (2 * bits(many).bit_count() - many) for size, many in counts)


def _by_table(sizes: list[float], random: Random) -> Callable[[], float]:
    """A byte of chance picks the signs of eight differences at once."""
    tables = [_sums(sizes[first : first + 8]) for first in range(0, len(sizes), 8)]
    tables[-1] *= 256 // len(tables[-1])
    return lambda: sum(map(list.__getitem__, tables, random.randbytes(len(tables))))
