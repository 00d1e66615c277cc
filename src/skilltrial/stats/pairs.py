"""Which of two was chosen more often."""

from __future__ import annotations

from math import comb


def sign_test(wins: int, losses: int) -> float | None:
    """Chance of a split at least this uneven if both were as good; ties are left out. None: nothing was decided.

    Source: the exact two-sided binomial test at 1/2. For 5 to 0 it is 0.0625, for 6 to 0 0.03125.
    """
    decided = wins + losses
    if not decided:
        return None
    tail = sum(comb(decided, count) for count in range(min(wins, losses) + 1))
    return float(min(1.0, 2 * tail / 2**decided))
