"""A number with a tolerance."""

from __future__ import annotations

from typing import Any

import pytest

FOUND = [
    ("It is 42.", {"value": 42}, "passed"),
    ("First 7, then 42", {"value": 42}, "passed"),
    ("(3,4)", {"value": 4}, "passed"),
    ("1,234.5 euros", {"value": 1234.5}, "passed"),
    ("minus −3.5", {"value": -3.5}, "passed"),
    ("5-3", {"value": 3}, "passed"),
    ("about 6.02e23", {"value": 6.02e23, "relative": 0.01}, "passed"),
    ("0.4", {"value": 0.3, "tolerance": 0.1}, "passed"),
    ("0.41", {"value": 0.3, "tolerance": 0.1}, "failed"),
    ("95", {"value": 100, "relative": 0.05}, "passed"),
    ("version v1.2", {"value": 1.2}, "failed"),
    ("none", {"value": 0}, "failed"),
    ("total: 10\nunits: 3", {"value": 10, "pattern": r"^total: (\d+)"}, "passed"),
    ("total: ten", {"value": 10, "pattern": r"total: (\w+)"}, "failed"),
    ("x", {"value": 10, "pattern": "("}, "ungraded"),
]


@pytest.mark.parametrize(("text", "options", "state"), FOUND)
def test_the_number_found_lies_within_the_tolerance(run: Any, text: str, options: dict[str, Any], state: str) -> None:
    assert run.grade("number", text, **options).state == state


def test_the_reason_has_both_numbers(run: Any) -> None:
    assert run.grade("number", "12345678", value=12345679, tolerance=0.5).reason == "found 12345678, expected 12345679 within 0.5"
