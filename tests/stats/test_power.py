"""What `plan` prints about a design."""

import pytest

from skilltrial.stats import power


@pytest.mark.parametrize(
    ("cells", "at_fifth", "at_half"),
    [
        (4, None, None),
        (6, 0.78, None),
        (9, 0.65, None),
        (12, 0.60, 0.50),
        (15, 0.54, 0.46),
        (24, 0.42, 0.39),
        (36, 0.33, 0.33),
        (60, 0.25, 0.26),
        (90, 0.20, 0.21),
        (150, 0.15, 0.17),
    ],
)
def test_smallest_lift_on_these_cases(cells: int, at_fifth: float | None, at_half: float | None) -> None:
    assert power.smallest_lift_on_these(cells, 0.2) == at_fifth
    assert power.smallest_lift_on_these(cells) == at_half


@pytest.mark.parametrize(("units", "lift"), [(6, 0.4987), (8, 0.4035), (12, 0.3108), (20, 0.2312), (30, 0.1853)])
def test_smallest_lift_on_cases_like_these(units: int, lift: float) -> None:
    assert power.smallest_lift_like_these(units) == pytest.approx(lift, abs=6e-5)


def test_five_cases_can_say_nothing_about_others() -> None:
    assert power.smallest_lift_like_these(5) is None


@pytest.mark.parametrize(("rate", "cells"), [(1.0, 29), (0.95, 45), (0.8, 100), (0.5, 148)])
def test_cells_for_no_meaningful_effect(rate: float, cells: int) -> None:
    assert power.cells_for_no_effect(rate) == cells


def test_cases_for_no_meaningful_effect_on_others() -> None:
    assert power.units_for_no_effect() == 28


@pytest.mark.parametrize(("minimum", "cells"), [(0.80, 17), (0.90, 36), (0.95, 72), (1.0, None), (0.0, 1)])
def test_cells_that_prove_a_minimum_pass_rate(minimum: float, cells: int | None) -> None:
    assert power.cells_for_a_full_pass_rate(minimum) == cells
