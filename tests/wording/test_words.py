"""Numbers as words."""

import pytest

from skilltrial.wording import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.46, "+46"),
        (-0.02, "-2"),
        (0.0016, "+0.2"),
        (-0.004, "-0.4"),
        (0.0, "0"),
        (1.0, "+100"),
        (0.154, "+15"),
        (0.01, "+1"),
        (None, "unknown"),
    ],
)
def test_points_carry_a_sign_and_a_decimal_only_below_one_point(value: float | None, text: str) -> None:
    assert words.points(value) == text


def test_an_interval_names_its_level_or_says_there_is_none() -> None:
    assert words.span(0.15, 1.0) == "95 % interval +15 to +100"
    assert words.span(None, 1.0) == "no interval"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.88, "88 %"), (1.0, "100 %"), (0.0, "0 %"), (0.9999, "99.9 %"), (0.0001, "0.1 %"), (None, "unknown")],
)
def test_a_share_never_rounds_to_all_or_none(value: float | None, text: str) -> None:
    assert words.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.94, "1.94 USD"),
        (0.0016, "0.0016 USD"),
        (0.57, "0.57 USD"),
        (0.999, "1.00 USD"),
        (0, "0 USD"),
        (None, "unavailable"),
        (1234.5, "1,234.50 USD"),
    ],
)
def test_dollars_keep_two_digits(value: float | None, text: str) -> None:
    assert words.usd(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.23, "1.2 s"),
        (9.97, "10 s"),
        (41.0, "41 s"),
        (2460.0, "41 min"),
        (7500.0, "2 h 5 min"),
        (7200.0, "2 h"),
        (None, "unknown"),
    ],
)
def test_durations_in_the_unit_people_use(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


def test_counts_of_states_are_words() -> None:
    assert words.counted({"timeout": 2, "judge_error": 1, "budget": 0}) == "2 timeouts, 1 not graded"
    assert words.counted({}) == ""
