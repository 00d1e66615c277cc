"""Worked numbers of the rules of inference, to the digits they are given with."""

from typing import NamedTuple

import pytest

from skilltrial.stats import words
from skilltrial.stats.lift import Rates, on_these_cases, pair
from skilltrial.stats.like import on_cases_like_these
from skilltrial.stats.limits import Limits
from skilltrial.stats.missing import Attempted, bounds, must_survive
from skilltrial.stats.rates import rate_on_cases_like_these, rate_on_these_cases
from skilltrial.stats.ratios import typical_ratio
from skilltrial.stats.repeats import over_cases, pass_at_k, pass_hat_k
from skilltrial.stats.several import benjamini_hochberg, holm
from skilltrial.stats.signflip import sign_flip

MARGIN = 0.10


def passes(runs: int, *counts: int) -> list[list[float]]:
    return [[1.0] * count + [0.0] * (runs - count) for count in counts]


def close(*expected: float) -> object:
    return pytest.approx(expected, abs=6e-5)


class Both(NamedTuple):
    these: words.Word
    like: words.Word


def verdicts(a: Rates, b: Rates, weights: list[float] | None = None, clusters: str | None = None) -> Both:
    these = words.of_these(on_these_cases(a, b, weights), sum(map(len, a)), sum(map(len, b)), MARGIN)
    return Both(these, words.of_like(wider(a, b, weights, clusters), these, MARGIN))


def wider(a: Rates, b: Rates, weights: list[float] | None = None, clusters: str | None = None):  # type: ignore[no-untyped-def]
    differences = [sum(x) / len(x) - sum(y) / len(y) for x, y in zip(a, b, strict=True)]
    return on_cases_like_these(differences, weights, clusters)


A6, B6 = passes(3, 3, 3, 2, 3, 1), passes(3, 0, 1, 2, 0, 1)
A9, B9 = passes(3, 3, 2, 3, 3, 1, 2, 3, 0), passes(3, 1, 1, 0, 2, 1, 0, 2, 0)
A11 = [[1, 1, 0.75], [0.5, 0.75], [1], [0.25, 0.5, 0.5, 0.25]]
B11 = [[0.5, 0.5, 0.25], [0.5, 0.5, 0.25], [0.25, 0.5], [0.25, 0.25]]
A12 = [[x] for x in (0.9, 0.8, 0.7, 0.9, 0.6, 0.8, 0.7, 1.0, 0.9, 0.6)]
B12 = [[x] for x in (0.5, 0.5, 0.4, 0.7, 0.5, 0.3, 0.6, 0.4, 0.5, 0.5)]


def test_v1_four_cases_won_help_on_these_and_stay_open_for_others() -> None:
    a, b = passes(1, 1, 1, 1, 1), passes(1, 0, 0, 0, 0)
    assert on_these_cases(a, b) == close(1, 0.1481, 1, 0.2545, 1, 0.01472)
    assert wider(a, b)[:5] == (4, pytest.approx(-0.1902, abs=6e-5), 1.0, 0.125, True)
    both = verdicts(a, b)
    assert both.these.verdict == "helps"
    assert (both.like.verdict, both.like.code) == ("inconclusive", "too_few_cases")


def test_v2_three_cells_per_arm_decide_nothing() -> None:
    a, b = passes(1, 1, 1, 1), passes(1, 0, 0, 0)
    estimate = on_these_cases(a, b)
    assert (estimate.low, estimate.high, estimate.p_value) == close(-0.0007, 1, 0.05025)
    assert wider(a, b)[1:4] == (pytest.approx(-0.5106, abs=6e-5), 1.0, 0.25)
    assert verdicts(a, b).these == ("inconclusive", "too_few_cells: 3 cells in an arm; 4 are needed")


def test_v3_six_cases_won_help_in_both_scopes() -> None:
    a, b = passes(1, *[1] * 6), passes(1, *[0] * 6)
    estimate = on_these_cases(a, b)
    assert (estimate.low, estimate.high, estimate.p_value) == close(0.3505, 1, 0.001263)
    assert wider(a, b) == (6, pytest.approx(0.1588, abs=6e-5), 1.0, 0.03125, True, False)
    assert [word.verdict for word in verdicts(a, b)] == ["helps", "helps"]


def test_v4_one_case_speaks_for_itself_alone() -> None:
    a, b = passes(5, 5), passes(5, 0)
    estimate = on_these_cases(a, b)
    assert (estimate.low, estimate.high, estimate.p_value) == close(0.2620, 1, 0.004311)
    assert wider(a, b)[:4] == (1, None, None, 1.0)
    both = verdicts(a, b)
    assert (both.these.verdict, both.like.verdict, both.like.code) == ("helps", "inconclusive", "one_case")


def test_v5_two_cases_have_no_interval_for_others() -> None:
    a, b = passes(3, 3, 3), passes(3, 0, 1)
    estimate = on_these_cases(a, b)
    assert (estimate.lift, estimate.low, estimate.high, estimate.p_value) == close(0.8333, 0.1729, 0.9958, 0.00901)
    assert wider(a, b)[:4] == (2, None, None, 0.5)
    assert verdicts(a, b).like.code == "two_cases"


def test_v6_repetitions_narrow_by_what_blocking_gives_back() -> None:
    paired = pair(A6, B6)
    assert (paired.n_with, paired.n_without) == close(17.0270, 15)
    assert on_these_cases(A6, B6) == close(0.5333, 0.1477, 0.7748, 0.2035, 0.7515, 0.004866)
    assert wider(A6, B6)[:5] == (5, pytest.approx(-0.0944, abs=6e-5), 1.0, 0.25, False)
    assert verdicts(A6, B6).these.verdict == "helps"


def test_v7_equal_results_have_a_width() -> None:
    a = passes(1, *[1] * 8)
    estimate = on_these_cases(a, a)
    assert (estimate.low, estimate.high, estimate.p_value) == close(-0.3694, 0.3694, 1)
    assert wider(a, a)[1:5] == (pytest.approx(-0.3372, abs=6e-5), pytest.approx(0.3372, abs=6e-5), 1.0, True)
    assert verdicts(a, a).these.code == "includes_zero"


def test_v8_no_meaningful_effect_is_earned_by_many_equal_cells() -> None:
    a = passes(3, *[3] * 10)
    assert on_these_cases(a, a) == close(0, -0.1157, 0.1157, -0.0950, 0.0950, 1)
    assert wider(a, a)[1:3] == (pytest.approx(-0.2709, abs=6e-5), pytest.approx(0.2709, abs=6e-5))
    assert [word.verdict for word in verdicts(a, a)] == ["no meaningful effect", "inconclusive"]
    many = passes(1, *[1] * 30)
    assert wider(many, many)[1:3] == (pytest.approx(-0.0916, abs=6e-5), pytest.approx(0.0916, abs=6e-5))
    assert [word.verdict for word in verdicts(many, many)] == ["no meaningful effect", "no meaningful effect"]


def test_v9_a_mixed_suite_helps_in_both_scopes() -> None:
    paired = pair(A9, B9)
    assert (paired.n_with, paired.n_without) == close(35.0860, 24)
    estimate = on_these_cases(A9, B9)
    assert (estimate.lift, estimate.low, estimate.high, estimate.p_value) == close(0.4167, 0.1346, 0.6338, 0.002805)
    assert wider(A9, B9)[1:4] == (pytest.approx(0.1282, abs=6e-5), pytest.approx(0.7051, abs=6e-5), 0.03125)
    assert [word.verdict for word in verdicts(A9, B9)] == ["helps", "helps"]


def test_v10_single_runs_borrow_the_spread_of_the_differences() -> None:
    a, b = passes(1, 1, 1, 1, 1, 1, 1, 1, 0), passes(1, 1, 1, 1, 0, 0, 0, 0, 0)
    assert pair(a, b).n_with == pytest.approx(8.9630, abs=6e-5)
    assert on_these_cases(a, b)[1:] == close(-0.0198, 0.8038, 0.0487, 0.7781, 0.06178)
    assert wider(a, b)[1:4] == (pytest.approx(-0.1002, abs=6e-5), pytest.approx(0.9002, abs=6e-5), 0.125)
    assert verdicts(a, b).these.verdict == "inconclusive"


def test_v11_weights_and_partial_scores() -> None:
    paired = pair(A11, B11, [2, 1, 1, 2])
    assert (paired.lift, paired.n_with, paired.n_without) == close(0.3472, 20.2113, 19.1960)
    estimate = on_these_cases(A11, B11, [2, 1, 1, 2])
    assert (estimate.low, estimate.high, estimate.p_value) == close(0.0016, 0.6167, 0.04879)
    assert wider(A11, B11, [2, 1, 1, 2])[1:4] == (pytest.approx(-0.0773, abs=6e-5), pytest.approx(0.7718, abs=6e-5), 0.125)
    assert verdicts(A11, B11, [2, 1, 1, 2]).these.verdict == "helps"
    assert words.points(estimate.low) == "+0.2"


def test_v12_clusters_are_the_units() -> None:
    estimate = on_these_cases(A12, B12)
    assert (estimate.low, estimate.high, estimate.p_value) == close(0.0237, 0.5328, 0.03179)
    clustered, single = wider(A12, B12, None, "aabbccddef"), wider(A12, B12)
    assert clustered[:4] == (6, pytest.approx(0.2173, abs=6e-5), pytest.approx(0.3827, abs=6e-5), 0.03125)
    assert single[1:4] == close(0.1738, 0.4262, 0.001953)


def test_v13_missing_cells_bring_bounds_that_the_verdict_survives() -> None:
    a, b = [*passes(3, 3, 3), *passes(2, 2), *passes(3, 3), *passes(2, 2), *passes(3, 3)], passes(3, 1, 0, 1, 1, 2, 0)
    estimate = on_these_cases(a, b)
    assert (estimate.lift, estimate.low, estimate.high) == close(0.7222, 0.3886, 0.9031)
    worst, best = bounds(a, [3] * 6, b, [3] * 6)
    assert (worst.lift, *worst.interval()) == close(0.6111, 0.2622, 0.8165)
    assert (best.lift, *best.interval()) == close(0.7222, 0.4054, 0.9031)
    planned = Attempted(18, 16), Attempted(18, 18)
    assert must_survive(*planned)
    word = words.of_these(estimate, 16, 18, MARGIN)
    ends = Limits(*worst.interval()), Limits(*best.interval())
    assert ends[0].low > 0
    full = [words.Bounds(one.lift, *one.interval(), *one.interval(0.10)) for one in (worst, best)]
    assert words.after_missing(word, *planned, True, full[0], full[1], MARGIN).verdict == "helps"
    assert wider(a, b)[1] == pytest.approx(-0.0144, abs=6e-5)


def test_v15_sign_flips_and_several_rows() -> None:
    assert sign_flip([0.5, 0.25, -0.25, 0.75, 0, 0.5]) == 0.1875
    assert sign_flip([0.2] * 5) == 0.0625
    assert holm([0.01, 0.04, 0.03, 0.2]) == close(0.04, 0.09, 0.09, 0.2)
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.2]) == close(0.04, 0.0533, 0.0533, 0.2)


def test_v16_pass_at_k_and_pass_hat_k() -> None:
    assert [pass_at_k(5, passed, 3) for passed in (0, 1, 3, 5)] == pytest.approx([0, 0.6, 1, 1])
    assert [pass_hat_k(5, passed, 3) for passed in (0, 1, 3, 5)] == pytest.approx([0, 0, 0.1, 1])
    assert pass_at_k(5, 3, 6) is None
    assert pass_hat_k(5, 3, 6) is None
    counts = [(5, passed) for passed in (5, 3, 0, 1, 5, 4)]
    assert over_cases(pass_at_k, counts, 3) == close(0.7667, 0.3117, 0.9834)
    assert over_cases(pass_hat_k, counts, 3) == close(0.4167, 0.0822, 0.8246)
    assert over_cases(pass_at_k, [*counts, (2, 1)], 3) is None


def test_v17_rates_in_both_scopes() -> None:
    assert rate_on_these_cases(A6) == close(0.8, 0.5395, 0.9506)
    assert rate_on_cases_like_these([1, 1, 2 / 3, 1, 1 / 3]) == close(0.8, 0.3690, 0.9869)
    assert rate_on_these_cases(passes(3, *[3] * 8)) == close(1, 0.8575, 1)
    assert rate_on_cases_like_these([1.0] * 8) == close(1, 0.6306, 1)
    assert rate_on_cases_like_these([1.0, 0.0]) == (0.5, None, None)


def test_v18_tokens_as_a_typical_ratio() -> None:
    estimate = typical_ratio([1200, 900, 2100, 1500, 800], [1000, 800, 1500, 1600, 500])
    assert estimate[:4] == close(1.2317, 0.9548, 1.5889, 1.2037)
    assert typical_ratio([1.0, 2.0, None, 0.0], [1.0, 1.0, 1.0, 1.0])[1:] == (None, None, 1.5, 2, 2)
