"""pass@k and pass^k: what k tries at a case would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from skilltrial.stats.rates import RateEstimate, rate_on_cases_like_these


def pass_at_k(runs: int, passed: int, k: int) -> float | None:
    """Chance that at least one of k runs passes, without bias from `passed` of `runs`; None when k > runs. Source: Chen 2021."""
    return None if k > runs else 1.0 - comb(runs - passed, k) / comb(runs, k)


def pass_hat_k(runs: int, passed: int, k: int) -> float | None:
    """Chance that all of k runs pass; None when k > runs. Source: tau-bench 2024."""
    return None if k > runs else comb(passed, k) / comb(runs, k)


def over_cases(
    of_case: Callable[[int, int, int], float | None],
    counts: Sequence[tuple[int, int]],
    k: int,
    weights: Sequence[float] | None = None,
) -> RateEstimate | None:
    """Mean over cases of pass@k or pass^k from (runs, passed) per case; None unless every case has a value."""
    values = [of_case(runs, passed, k) for runs, passed in counts]
    known = [value for value in values if value is not None]
    return rate_on_cases_like_these(known, weights) if known and len(known) == len(values) else None
