"""Beta, Student t, normal and binomial distributions, to about 1e-10, from `math` alone."""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt

_ENOUGH = 1e-14


@lru_cache(maxsize=8192)
def beta_quantile(p: float, a: float, b: float) -> float:
    """The x at which the regularised incomplete beta function I_x(a, b) is `p`; a, b > 0 and any real.

    Takes 40 us; remembered, since the rows of many small suites share their rates.
    """
    if p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    return 1.0 / (1.0 + exp(min(700.0, -_beta_logit(p, a, b))))


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    return exp(_log_beta_cdf(log(x) - log1p(-x), a, b, _log_beta(a, b))[0])


def student_quantile(p: float, df: float) -> float:
    """Student's t at probability `p`; df > 0 and any real."""
    if p <= 0.0 or p >= 1.0:
        return inf if p >= 1.0 else -inf
    if p < 0.5:
        return -student_quantile(1.0 - p, df)
    tail = 2.0 * (1.0 - p)
    return 0.0 if tail >= 1.0 else sqrt(df * exp(-_beta_logit(tail, df / 2.0, 0.5)))


def student_cdf(t: float, df: float) -> float:
    """Probability that Student's t with `df` degrees of freedom is at most `t`."""
    half_tail = 0.5 * beta_cdf(df / (df + t * t), df / 2.0, 0.5)
    return 1.0 - half_tail if t > 0 else half_tail


def normal_tail(z: float) -> float:
    """Probability that a standard normal exceeds `z`, exact in the far tail too."""
    return 0.5 * erfc(z / sqrt(2.0))


def normal_quantile(p: float) -> float:
    """The standard normal z below which `p` of the mass lies. Newton on the log of the tail, which is concave, from below."""
    if p <= 0.0 or p >= 1.0:
        return inf if p >= 1.0 else -inf
    if p > 0.5:
        return -normal_quantile(1.0 - p)
    z = -sqrt(-2.0 * log(2.0 * p))
    for _ in range(100):
        tail = normal_tail(-z)
        step = (log(p) - log(tail)) * tail * sqrt(2.0 * pi) * exp(z * z / 2.0)
        z += step
        if abs(step) < _ENOUGH * (1.0 + abs(z)):
            break
    return z


def binomial_weights(n: int, p: float) -> list[float]:
    """Probability of 0, 1, …, n passes in `n` runs."""
    if p <= 0.0 or p >= 1.0:
        sure = n if p >= 1.0 else 0
        return [1.0 if x == sure else 0.0 for x in range(n + 1)]
    whole = lgamma(n + 1)
    return [exp(whole - lgamma(x + 1) - lgamma(n - x + 1) + x * log(p) + (n - x) * log1p(-p)) for x in range(n + 1)]


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _softplus(u: float) -> float:
    return u + log1p(exp(-u)) if u > 0 else log1p(exp(u))


def _beta_logit(p: float, a: float, b: float) -> float:
    """log(x / (1 - x)) of the quantile.

    In that scale the density is log-concave, so the log of the distribution function is concave and Newton's steps cannot diverge.
    """
    if p > 0.5:
        return -_beta_logit(1.0 - p, b, a)
    target, log_beta = log(p), _log_beta(a, b)
    u = log(a) - log(b)
    for _ in range(200):
        log_cdf, log_slope = _log_beta_cdf(u, a, b, log_beta)
        step = (target - log_cdf) * exp(log_cdf - log_slope)
        u += step
        if abs(step) < _ENOUGH * (1.0 + abs(u)):
            break
    return u


def _log_beta_cdf(u: float, a: float, b: float, log_beta: float) -> tuple[float, float]:
    """Log of I_x(a, b) and log of its derivative by u, where x = 1 / (1 + exp(-u))."""
    log_x, log_rest = -_softplus(-u), -_softplus(u)
    log_slope = a * log_x + b * log_rest - log_beta
    x = exp(log_x)
    if x <= (a + 1.0) / (a + b + 2.0):
        return log_slope + log(_fraction(x, a, b) / a), log_slope
    upper = exp(min(-1e-300, log_slope + log(_fraction(exp(log_rest), b, a) / b)))
    return log1p(-min(upper, 1.0 - 1e-16)), log_slope


def _fraction(x: float, a: float, b: float) -> float:
    """Continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method; good for x below the mean."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d or tiny)
    h = d
    for m in range(1, 20_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 / ((1.0 + even * d) or tiny)
        c = (1.0 + even / c) or tiny
        h *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 / ((1.0 + odd * d) or tiny)
        c = (1.0 + odd / c) or tiny
        change = d * c
        h *= change
        if -1e-15 < change - 1.0 < 1e-15:
            break
    return h
