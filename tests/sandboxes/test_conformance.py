"""What every level promises: a hostile program gets hold of nothing but what the level is known not to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import IMAGE

LEVELS = ["none", "bwrap", pytest.param("docker", marks=pytest.mark.real), pytest.param("podman", marks=pytest.mark.real)]


@pytest.mark.parametrize("name", LEVELS)
def test_a_hostile_program_gets_hold_of_exactly_what_the_level_does_not_stop(
    name: str, conformance: Any, needs_level: Callable[[str], Any]
) -> None:
    needs_level(name)
    got = conformance.attempts(conformance.Level(name, IMAGE))
    unsure = {attempt for level, attempt in conformance.NO_PROMISE if level == name}
    fallen = {attempt: what for attempt, what in got.items() if what and attempt not in unsure}
    assert len(got) >= 26
    assert fallen.keys() == conformance.FALLS[name] - set(conformance.LIVES) - unsure, fallen


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "attempt", ["outlives_its_end", "outlives_the_time_limit", "outlives_a_flood", "outlives_a_storm_of_forks"]
)
@pytest.mark.parametrize("name", LEVELS)
def test_nothing_outlives_its_run(name: str, attempt: str, conformance: Any, needs_level: Callable[[str], Any]) -> None:
    if (name, attempt) in conformance.NO_PROMISE:
        pytest.skip("no promise is made")
    needs_level(name)
    assert conformance.life(conformance.Level(name, IMAGE), attempt) is None


@pytest.mark.parametrize("name", LEVELS)
def test_what_outlives_us_when_we_are_killed(name: str, conformance: Any, needs_level: Callable[[str], Any]) -> None:
    """Behind bwrap nothing does; elsewhere it is known that something does."""
    needs_level(name)
    left = conformance.life(conformance.Level(name, IMAGE), "outlives_us")
    assert (left is not None) == ("outlives_us" in conformance.FALLS[name])
