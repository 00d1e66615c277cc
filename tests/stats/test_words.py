"""Verdict words, reason codes and sentences."""

import pytest

from skilltrial.stats import words
from skilltrial.stats.lift import Estimate
from skilltrial.stats.like import NO_UNITS, Wider
from skilltrial.stats.words import Word


def these(low: float, high: float, low90: float, high90: float) -> Word:
    return words.of_these(Estimate((low + high) / 2, low, high, low90, high90, 0.5), 20, 20, 0.10)


@pytest.mark.parametrize(
    ("ends", "verdict", "code"),
    [
        ((0.1, 0.5, 0.15, 0.45), "helps", "excludes_zero"),
        ((-0.5, -0.1, -0.45, -0.15), "hurts", "excludes_zero"),
        ((-0.1, 0.5, 0.0, 0.45), "inconclusive", "includes_zero"),
        ((-0.11, 0.11, -0.09, 0.09), "no meaningful effect", "inside_margin"),
        ((0.01, 0.09, 0.02, 0.08), "no meaningful effect", "below_margin"),
        ((0.0, 0.5, 0.1, 0.45), "inconclusive", "includes_zero"),
    ],
)
def test_the_word_on_these_cases(ends: tuple[float, float, float, float], verdict: str, code: str) -> None:
    word = these(*ends)
    assert (word.verdict, word.code) == (verdict, code)


def test_no_pair_is_not_measured_in_both_scopes() -> None:
    word = words.of_these(None, 0, 0, 0.1)
    assert (word.verdict, word.code) == ("not measured", "no_pair")
    assert words.of_like(NO_UNITS, word, 0.1).verdict == "not measured"


@pytest.mark.parametrize(
    ("wider", "verdict", "code"),
    [
        (Wider(8, 0.1, 0.5, 0.01, False, False), "helps", "excludes_zero"),
        (Wider(5, 0.1, 0.5, 0.06, False, False), "inconclusive", "too_few_cases"),
        (Wider(8, 0.0, 0.5, 0.06, False, True), "inconclusive", "exact_test"),
        (Wider(8, -0.1, 0.5, 0.2, False, False), "inconclusive", "includes_zero"),
        (Wider(8, -0.5, -0.1, 0.01, False, False), "inconclusive", "narrower_scope"),
        (Wider(20, -0.05, 0.05, 1.0, True, False), "inconclusive", "narrower_scope"),
    ],
)
def test_the_wider_claim_needs_the_narrower_one(wider: Wider, verdict: str, code: str) -> None:
    word = words.of_like(wider, Word("helps", "excludes_zero: x"), 0.10)
    assert (word.verdict, word.code) == (verdict, code)


def test_twenty_units_are_needed_to_say_no_meaningful_effect_of_others() -> None:
    no_effect = Word("no meaningful effect", "inside_margin: x")
    assert words.of_like(Wider(19, -0.05, 0.05, 1.0, True, False), no_effect, 0.1).verdict == "inconclusive"
    assert words.of_like(Wider(20, -0.05, 0.05, 1.0, True, False), no_effect, 0.1).verdict == "no meaningful effect"


def test_a_claim_that_does_not_hold_among_many_rows_is_withdrawn() -> None:
    helps = Word("helps", "excludes_zero: x")
    assert words.after_several(helps, 0.05, 3) == helps
    assert words.after_several(helps, 0.06, 3).code == "multiplicity"
    open_ = Word("inconclusive", "includes_zero: x")
    assert words.after_several(open_, 1.0, 3) == open_


@pytest.mark.parametrize(
    ("lift", "label"),
    [
        (0.30 - 0.10, "clear positive"),
        (0.05, "marginal"),
        (0.15 - 0.10, "marginal"),
        (0.049, "no measurable effect"),
        (-0.049, "no measurable effect"),
        (0.10 - 0.15, "negative"),
    ],
)
def test_point_labels_keep_their_thresholds_despite_binary_fractions(lift: float, label: str) -> None:
    assert words.point_label(lift) == label


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "+100"), (-0.125, "-12"), (0.0016, "+0.2"), (0.0, "0"), (-0.004, "-0.4"), (1e-12, "0")]
)
def test_points_never_round_a_difference_away(share: float, text: str) -> None:
    assert words.points(share) == text
