"""A fast, seeded cut of the simulations behind the rules: coverage, and claims about arms that do not differ."""

import random
from math import sqrt

import pytest

from skilltrial.stats.lift import pair
from skilltrial.stats.like import on_cases_like_these

SUITES = 250


def run(chooser: random.Random, rates: list[float], repetitions: int) -> list[list[float]]:
    return [[float(chooser.random() < rate) for _ in range(repetitions)] for rate in rates]


def three_sigma(share: float) -> float:
    """Room for chance in a share of this many suites."""
    return 3.0 * sqrt(share * (1.0 - share) / SUITES)


WORLDS = {
    "equal": ([0.5] * 6, [0.5] * 6),
    "mixed cases": ([0.05, 0.3, 0.6, 0.9, 0.95, 0.5], [0.05, 0.3, 0.6, 0.9, 0.95, 0.5]),
    "ceiling": ([0.95] * 6, [0.95] * 6),
    "strong skill": ([0.9] * 6, [0.1] * 6),
    "effect in few cases": ([0.5] * 9 + [0.95], [0.5] * 9 + [0.1]),
    "mixed signs": ([0.2, 0.8, 0.5, 0.4], [0.5, 0.5, 0.3, 0.6]),
}


@pytest.mark.parametrize("repetitions", [1, 3])
@pytest.mark.parametrize("world", WORLDS)
def test_the_interval_on_these_cases_holds_the_truth(world: str, repetitions: int) -> None:
    chooser = random.Random(f"{world} {repetitions}")
    with_skill, without_skill = WORLDS[world]
    truth = (sum(with_skill) - sum(without_skill)) / len(with_skill)
    held = claimed = 0
    for _ in range(SUITES):
        low, high = pair(run(chooser, with_skill, repetitions), run(chooser, without_skill, repetitions)).interval()
        held += low <= truth <= high
        claimed += low > 0 or high < 0
    assert held / SUITES >= 0.93 - three_sigma(0.93)
    if with_skill == without_skill:
        assert claimed / SUITES <= 0.05 + three_sigma(0.05)


@pytest.mark.parametrize("cases", [6, 12])
def test_on_cases_like_these_equal_arms_are_rarely_told_apart(cases: int) -> None:
    chooser = random.Random(cases)
    held = claimed = 0
    for _ in range(SUITES):
        rates = [chooser.choice([0.1, 0.5, 0.9]) for _ in range(cases)]
        gains = [sum(a) - sum(b) for a, b in zip(run(chooser, rates, 1), run(chooser, rates, 1), strict=True)]
        wider = on_cases_like_these(gains)
        assert wider.low is not None
        assert wider.high is not None
        held += wider.low <= 0 <= wider.high
        claimed += wider.low > 0 or wider.high < 0
    assert held / SUITES >= 0.93 - three_sigma(0.93)
    assert claimed / SUITES <= 0.05 + three_sigma(0.05)
