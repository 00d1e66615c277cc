"""The rules of inference once more, written for clarity with numpy and scipy: what `skilltrial.stats` has to agree with."""

from math import comb, exp, log, sqrt

import numpy as np
from scipy import stats

EQUAL = 1e-9


def clopper_pearson(p, n, alpha=0.05):
    x = p * n
    low = stats.beta.ppf(alpha / 2, x, n - x + 1) if x > EQUAL else 0.0
    high = stats.beta.ppf(1 - alpha / 2, x + 1, n - x) if x < n - EQUAL else 1.0
    return float(low), float(high)


def normalised(weights, count):
    w = np.full(count, 1.0) if weights is None else np.array(weights, dtype=float)
    return w / np.sum(w)


def one_arm(rows, w):
    """rate, plain n, coin variance, within-case sum of squares, within-case freedom, case means"""
    means = np.array([np.mean(row) for row in rows])
    sizes = np.array([len(row) for row in rows], dtype=float)
    rate = float(w @ means)
    within = float(sum(np.var(row) * len(row) for row in rows))
    return rate, float(1 / np.sum(w**2 / sizes)), rate * (1 - rate), within, float(np.sum(sizes - 1)), means


def factor(squares, coin, freedom, prior=4.0):
    return 1.0 if coin <= EQUAL or freedom == 0 else min(1.0, (squares / coin + prior) / (freedom + prior))


def effective_sizes(with_rows, without_rows, weights=None):
    w = normalised(weights, len(with_rows))
    pa, na, ta, sa, fa, ma = one_arm(with_rows, w)
    pb, nb, tb, sb, fb, mb = one_arm(without_rows, w)
    if fa == 0 and fb == 0 and len(with_rows) >= 2:
        gaps = ma - mb
        ra = rb = factor(float(np.sum((gaps - np.mean(gaps)) ** 2)), ta + tb, len(gaps) - 1)
    else:
        ra, rb = factor(sa, ta, fa), factor(sb, tb, fb)
    return pa, na / ra, pb, nb / rb


def these(with_rows, without_rows, weights=None, alpha=0.05):
    pa, na, pb, nb = effective_sizes(with_rows, without_rows, weights)
    la, ua = clopper_pearson(pa, na, alpha)
    lb, ub = clopper_pearson(pb, nb, alpha)
    return pa - pb - sqrt((pa - la) ** 2 + (ub - pb) ** 2), pa - pb + sqrt((ua - pa) ** 2 + (pb - lb) ** 2)


def these_p(with_rows, without_rows, weights=None):
    pa, _, pb, _ = effective_sizes(with_rows, without_rows, weights)
    if abs(pa - pb) <= EQUAL:
        return 1.0

    def excludes_zero(log_alpha):
        low, high = these(with_rows, without_rows, weights, exp(log_alpha))
        return low > 0 or high < 0

    small, large = log(1e-12), log(1 - 1e-12)
    if not excludes_zero(large):
        return 1.0
    if excludes_zero(small):
        return 1e-12
    for _ in range(45):
        middle = (small + large) / 2
        small, large = (small, middle) if excludes_zero(middle) else (middle, large)
    return exp(large)


def flips(contributions):
    c = np.array([x for x in contributions if abs(x) > EQUAL])
    if len(c) == 0:
        return 1.0
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(c))).reshape(len(c), -1)
    return float(np.mean(np.abs(c @ signs) >= abs(c.sum()) - EQUAL))


def like(differences, weights=None, clusters=None, alpha=0.05):
    d, w = np.array(differences, dtype=float), normalised(weights, len(differences))
    labels = list(range(len(d))) if clusters is None else list(clusters)
    names = sorted(set(labels), key=labels.index)
    member = np.array([[label == name for label in labels] for name in names])
    size = member @ w
    gain = (member @ (w * d)) / size
    units, p, lift = len(names), flips(size * gain), float(w @ d)
    if units < 3:
        return None, None, p, units, False
    pseudo = np.max(np.sum(np.abs(gain[:, None] - gain[None, :]) < EQUAL, axis=0)) / units >= 0.5 - EQUAL
    if pseudo:
        gain, size = np.concatenate([gain, [1, -1]]), np.concatenate([size, [1 / units] * 2])
        size = size / size.sum()
    middle, squares = float(size @ gain), float(size @ size)
    variance = float(np.sum((size * (gain - middle)) ** 2)) / (1 - squares)
    half = float(stats.t.ppf(1 - alpha / 2, 1 / squares - 1)) * sqrt(variance)
    low, high = max(-1.0, min(middle - half, lift)), min(1.0, max(middle + half, lift))
    if p > alpha:
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high, p, units, bool(pseudo)


def rate_these(rows, weights=None, alpha=0.05):
    rate, n, coin, within, freedom, _ = one_arm(rows, normalised(weights, len(rows)))
    return rate, *clopper_pearson(rate, n / factor(within, coin, freedom), alpha)


def rate_like(values, weights=None, alpha=0.05):
    v, w = np.array(values, dtype=float), normalised(weights, len(values))
    p = float(w @ v)
    if len(v) < 3:
        return p, None, None
    m = 1 / float(w @ w)
    return p, *clopper_pearson(p, m / factor(m * float(w @ (v - p) ** 2), p * (1 - p), m - 1, 2.0), alpha)


def at_least_one(n, c, k):
    return 1 - comb(n - c, k) / comb(n, k)


def ratio(a, b, alpha=0.05):
    g = np.log(np.array(a, dtype=float) / np.array(b, dtype=float))
    half = float(stats.t.ppf(1 - alpha / 2, len(g) - 1) * stats.sem(g))
    return tuple(float(np.exp(x)) for x in (np.mean(g), np.mean(g) - half, np.mean(g) + half))
