"""The distributions against scipy, far tails included."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skilltrial.stats import distributions

quiet = settings(max_examples=300, derandomize=True, deadline=None)
exponents = st.floats(-2.0, 4.0)


@quiet
@given(st.floats(-12.0, 0.0), st.booleans(), exponents, exponents)
def test_beta_quantiles_agree_with_scipy(log_p: float, upper: bool, log_a: float, log_b: float) -> None:
    p, a, b = 10.0**log_p, 10.0**log_a, 10.0**log_b
    if upper:
        p = 1.0 - p
    assert distributions.beta_quantile(p, a, b) == pytest.approx(float(stats.beta.ppf(p, a, b)), abs=1e-10)


@quiet
@given(st.floats(0.0, 1.0), exponents, exponents)
def test_beta_probabilities_agree_with_scipy(x: float, log_a: float, log_b: float) -> None:
    a, b = 10.0**log_a, 10.0**log_b
    assert distributions.beta_cdf(x, a, b) == pytest.approx(float(stats.beta.cdf(x, a, b)), abs=1e-10)


@quiet
@given(st.floats(1e-6, 1.0 - 1e-6), st.floats(0.5, 1e5))
def test_student_agrees_with_scipy(p: float, df: float) -> None:
    expected = float(stats.t.ppf(p, df))
    assert distributions.student_quantile(p, df) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert distributions.student_cdf(expected, df) == pytest.approx(p, abs=1e-10)


@quiet
@given(st.floats(-14.0, -0.01), st.booleans())
def test_normal_quantiles_agree_with_scipy(log_p: float, upper: bool) -> None:
    p = 10.0**log_p
    p = 1.0 - p if upper else p
    assert distributions.normal_quantile(p) == pytest.approx(float(stats.norm.ppf(p)), abs=1e-9)


@pytest.mark.parametrize(("p", "z"), [(0.0, -math.inf), (0.5, 0.0), (1.0, math.inf)])
def test_the_ends_of_a_quantile_are_the_ends_of_the_line(p: float, z: float) -> None:
    assert distributions.normal_quantile(p) == pytest.approx(z, abs=1e-12)
    assert distributions.student_quantile(p, 3.0) == pytest.approx(z, abs=1e-12)
    assert distributions.beta_quantile(p, 2.0, 2.0) == pytest.approx(p)


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_binomial_weights_agree_with_scipy(p: float) -> None:
    assert distributions.binomial_weights(12, p) == pytest.approx(list(stats.binom.pmf(range(13), 12, p)), abs=1e-12)
