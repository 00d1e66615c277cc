"""What missing cells do to a verdict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skilltrial.stats.missing import Attempted, bounds, filled, fisher_exact, must_survive
from skilltrial.stats.words import Bounds, Word, after_missing

HELPS = Word("helps", "excludes_zero: x")


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=4, max_size=4))
def test_fisher_agrees_with_scipy(cells: list[int]) -> None:
    a, b, c, d = cells
    assert fisher_exact(a, b, c, d) == pytest.approx(float(stats.fisher_exact([[a, b], [c, d]])[1]), abs=1e-6)


@pytest.mark.parametrize(
    ("lost_with", "lost_without", "planned", "must"),
    [
        (0, 0, 20, False),
        (2, 2, 20, False),  # 10 % is allowed
        (3, 3, 20, True),
        (1, 0, 20, False),  # 5 points apart is allowed
        (2, 0, 20, True),
        (6, 0, 24, True),
        (30, 12, 1000, True),  # small shares, close together, but no accident (Fisher p 0.008)
    ],
)
def test_bounds_are_needed_when_too_much_is_missing_or_one_arm_lost_more(
    lost_with: int, lost_without: int, planned: int, must: bool
) -> None:
    assert must_survive(Attempted(planned, planned - lost_with), Attempted(planned, planned - lost_without)) is must


def test_missing_cells_are_filled_up_to_the_plan() -> None:
    assert filled([[1.0], []], [2, 1], 0.0) == [[1.0, 0.0], [0.0]]


def test_dropped_cases_take_part_in_the_bounds() -> None:
    worst, best = bounds([[1.0], []], [1, 1], [[0.0], [0.0]], [1, 1])
    assert (worst.lift, best.lift) == (0.5, 1.0)


def test_a_verdict_that_missing_cells_could_turn_is_withdrawn() -> None:
    kept, lost = Bounds(0.5, 0.1, 0.9, 0.2, 0.8), Bounds(0.1, -0.1, 0.3, -0.05, 0.25)
    arms = Attempted(20, 15), Attempted(20, 20)
    assert after_missing(HELPS, *arms, True, kept, kept, 0.1) == HELPS
    word = after_missing(HELPS, *arms, True, lost, kept, 0.1)
    assert (word.verdict, word.code) == ("inconclusive", "missing")
    assert "5 with, 0 without" in word.reason


def test_below_half_coverage_there_is_no_verdict_whatever_the_bounds() -> None:
    kept = Bounds(0.5, 0.1, 0.9, 0.2, 0.8)
    assert after_missing(HELPS, Attempted(20, 9), Attempted(20, 9), False, kept, kept, 0.1).code == "missing"


def test_identical_arms_with_vanishing_failures_never_help() -> None:
    """Failing cells of one arm vanish: complete pairs would say `helps`."""
    a, b = [[1.0] * 2] * 10, [[1.0, 1.0, 0.0, 0.0]] * 10
    worst, best = bounds(a, [4] * 10, b, [4] * 10)
    pack = [Bounds(one.lift, *one.interval(), *one.interval(0.1)) for one in (worst, best)]
    word = after_missing(HELPS, Attempted(40, 20), Attempted(40, 40), True, pack[0], pack[1], 0.1)
    assert word.code == "missing"
