"""What must hold for every suite."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats.suites import suites

from skilltrial.stats.lift import Rates, on_these_cases, p_equivalence, pair, shares, weighted
from skilltrial.stats.like import on_cases_like_these
from skilltrial.stats.signflip import _drawn, sign_flip
from skilltrial.stats.words import of_these

quiet = settings(max_examples=150, derandomize=True, deadline=None)


def differences(a: Rates, b: Rates) -> list[float]:
    return [sum(x) / len(x) - sum(y) / len(y) for x, y in zip(a, b, strict=True)]


@quiet
@given(suites())
def test_swapping_the_arms_mirrors_ends_and_words(suite) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, clusters = suite
    one, other = on_these_cases(a, b, weights), on_these_cases(b, a, weights)
    assert (one.low, one.high, one.p_value) == pytest.approx((-other.high, -other.low, other.p_value))
    cells = sum(map(len, a)), sum(map(len, b))
    mirror = {"helps": "hurts", "hurts": "helps"}
    word, mirrored = of_these(one, *cells, 0.1).verdict, of_these(other, *cells[::-1], 0.1).verdict
    assert mirrored == mirror.get(word, word)
    near = on_cases_like_these(differences(a, b), weights, clusters)
    far = on_cases_like_these(differences(b, a), weights, clusters)
    assert near.p_value == pytest.approx(far.p_value)
    if near.low is not None and near.high is not None:
        assert (far.low, far.high) == pytest.approx((-near.high, -near.low), abs=1e-9)


@quiet
@given(suites(), st.randoms(use_true_random=False))
def test_the_order_of_cases_is_irrelevant(suite, shuffler: random.Random) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, clusters = suite
    order = list(range(len(a)))
    shuffler.shuffle(order)
    moved = [[x[i] for i in order] if x else None for x in (a, b, weights, clusters)]
    assert on_these_cases(*moved[:3]) == pytest.approx(on_these_cases(a, b, weights), abs=1e-9)
    one = on_cases_like_these(differences(a, b), weights, clusters)
    other = on_cases_like_these(differences(*moved[:2]), *moved[2:])
    assert [one.p_value, one.low or 0, one.high or 0] == pytest.approx([other.p_value, other.low or 0, other.high or 0], abs=1e-9)


@quiet
@given(suites())
def test_repeating_every_cell_narrows_these_and_leaves_the_differences(suite) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, _ = suite
    twice_a, twice_b = [x * 2 for x in a], [x * 2 for x in b]
    once, twice = on_these_cases(a, b, weights), on_these_cases(twice_a, twice_b, weights)
    assert twice.lift == pytest.approx(once.lift)
    if max(map(len, a)) > 1 and max(map(len, b)) > 1:  # without repetitions the spread of differences stands in
        assert twice.high - twice.low < once.high - once.low
    assert differences(twice_a, twice_b) == pytest.approx(differences(a, b))


@quiet
@given(suites())
def test_ends_lie_within_one_and_around_the_lift(suite) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, clusters = suite
    estimate = on_these_cases(a, b, weights)
    assert -1 <= estimate.low <= estimate.lift <= estimate.high <= 1
    assert estimate.low <= estimate.low90 <= estimate.high90 <= estimate.high
    assert estimate.high - estimate.low > 0
    wider = on_cases_like_these(differences(a, b), weights, clusters)
    if wider.low is not None and wider.high is not None:
        assert -1 <= wider.low <= estimate.lift + 1e-9
        assert estimate.lift - 1e-9 <= wider.high <= 1


@quiet
@given(suites())
def test_the_p_value_is_where_the_interval_touches_zero(suite) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, _ = suite
    paired, p = pair(a, b, weights), on_these_cases(a, b, weights).p_value
    if 1e-10 < p < 0.99:
        end = paired.low(p) if paired.lift > 0 else -paired.mirrored().low(p)
        assert end == pytest.approx(0, abs=1e-8)


@quiet
@given(suites(), st.sampled_from([0.05, 0.1, 0.3]))
def test_the_equivalence_p_is_where_the_interval_enters_the_margin(suite, margin: float) -> None:  # type: ignore[no-untyped-def]
    a, b, weights, _ = suite
    paired = pair(a, b, weights)
    p = p_equivalence(paired, margin)
    if 1e-10 < p < 0.49:
        low, high = paired.interval(2 * p)
        assert min(low + margin, margin - high) == pytest.approx(0, abs=1e-8)
    low, high = paired.interval(0.10)
    assert (p < 0.05) == (-margin < low and high < margin)


@pytest.mark.parametrize("size", [17, 40, 120])
def test_many_sign_flips_are_counted_exactly_where_random_ones_only_come_near(size: int) -> None:
    chooser = random.Random(size)
    values = [chooser.choice([1, 2, 3]) / 3 / size * chooser.choice([1, 1, -1]) for _ in range(size)]
    exact = sign_flip(values)
    drawn = _drawn(sorted(map(abs, values)), abs(sum(values)) - 1e-9, random.Random(1))
    assert drawn == pytest.approx(exact, abs=0.006)


def test_sign_flips_without_a_common_step_are_drawn_with_the_seed() -> None:
    chooser = random.Random(5)
    values = [chooser.random() for _ in range(30)]
    assert sign_flip(values, "iteration-1") == sign_flip(values, "iteration-1") == 1e-5


def test_the_order_of_twenty_equal_wins_is_one_in_half_a_million() -> None:
    assert sign_flip([0.05] * 20) == pytest.approx(2**-19)


def test_the_mean_of_equal_values_is_that_value_for_any_number_of_cases() -> None:
    assert all(weighted(shares(None, count), [1.0] * count) == 1.0 for count in range(1, 300))
    assert all(weighted(shares(list(range(1, count + 1)), count), [1.0] * count) == 1.0 for count in range(1, 300))
