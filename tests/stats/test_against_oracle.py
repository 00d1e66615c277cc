"""Hundreds of random suites: the product and the oracle give the same numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats import oracle
from tests.stats.suites import suites

from skilltrial.stats.lift import on_these_cases, pair
from skilltrial.stats.like import on_cases_like_these
from skilltrial.stats.rates import rate_on_cases_like_these, rate_on_these_cases
from skilltrial.stats.ratios import typical_ratio
from skilltrial.stats.repeats import pass_at_k

quiet = settings(max_examples=250, derandomize=True, deadline=None)


@quiet
@given(suites())
def test_on_these_cases_agrees(suite) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, _ = suite
    estimate = on_these_cases(a, b, weights)
    assert (estimate.low, estimate.high) == pytest.approx(oracle.these(a, b, weights), abs=1e-8)
    assert (estimate.low90, estimate.high90) == pytest.approx(oracle.these(a, b, weights, 0.10), abs=1e-8)
    paired = pair(a, b, weights)
    assert (paired.n_with, paired.n_without) == pytest.approx(oracle.effective_sizes(a, b, weights)[1::2])


@settings(max_examples=60, derandomize=True, deadline=None)
@given(suites())
def test_p_values_agree(suite) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, _ = suite
    assert on_these_cases(a, b, weights).p_value == pytest.approx(oracle.these_p(a, b, weights), rel=1e-6, abs=1e-12)


@quiet
@given(suites())
def test_on_cases_like_these_agrees(suite) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, clusters = suite
    differences = [sum(x) / len(x) - sum(y) / len(y) for x, y in zip(a, b, strict=True)]
    wider = on_cases_like_these(differences, weights, clusters)
    low, high, p, units, pseudo = oracle.like(differences, weights, clusters)
    assert (wider.units, wider.pseudo_cases) == (units, pseudo)
    assert wider.p_value == pytest.approx(p)
    assert (wider.low is None) == (low is None)
    if low is not None:
        assert (wider.low, wider.high) == pytest.approx((low, high), abs=1e-8)


@quiet
@given(suites())
def test_rates_agree(suite) -> None:  # type: ignore[no-untyped-def]
    a, _, weights, _ = suite
    assert tuple(rate_on_these_cases(a, weights)) == pytest.approx(oracle.rate_these(a, weights), abs=1e-9)
    means = [sum(x) / len(x) for x in a]
    mine, theirs = rate_on_cases_like_these(means, weights), oracle.rate_like(means, weights)
    assert [x is None for x in mine] == [x is None for x in theirs]
    assert [x for x in mine if x is not None] == pytest.approx([x for x in theirs if x is not None], abs=1e-9)


@quiet
@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_agrees(numbers) -> None:  # type: ignore[no-untyped-def]
    assert pass_at_k(*numbers) == pytest.approx(oracle.at_least_one(*numbers))


@quiet
@given(st.lists(st.tuples(st.floats(0.1, 1e4), st.floats(0.1, 1e4)), min_size=3, max_size=12))
def test_ratios_agree(pairs) -> None:  # type: ignore[no-untyped-def]
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    estimate = typical_ratio(a, b)
    assert (estimate.ratio, estimate.low, estimate.high) == pytest.approx(oracle.ratio(a, b), rel=1e-7)
