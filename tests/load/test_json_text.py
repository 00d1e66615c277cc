"""JSON of users: refusals and places."""

import pytest

from skilltrial.load import json_text
from skilltrial.load.document import Spot


@pytest.mark.parametrize(
    ("text", "rule", "spot"),
    [
        ('{"a": 1,\n "a": 2}', "duplicate-key", Spot(2, 7)),
        ('{"b": [1, {"c": 1, "c": [2]}]}', "duplicate-key", Spot(1, 25)),
        ('["NaN",\n NaN]', "not-finite", Spot(2, 2)),
        ("[1e999]", "not-finite", Spot(1, 2)),
        ('["\\ud800"]', "lone-surrogate", Spot(1, 3)),
        ('{"a": 1,}', "invalid-json", Spot(1, 9)),
        ("", "invalid-json", Spot(1, 1)),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, rule: str, spot: Spot) -> None:
    (fault,) = json_text.parse(text).faults
    assert fault.rule == rule
    assert fault.spot is not None
    assert fault.spot.line == spot.line


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 70 + "]" * 70, '{"a":' * 200 + "1" + "}" * 200, "[1" + "2" * 5000 + "]"])
def test_depth_and_size_end_in_a_fault(text: str) -> None:
    parsed = json_text.parse(text)
    assert parsed.broken
    assert len(parsed.faults) == 1


def test_a_place_is_found_for_any_pointer() -> None:
    parsed = json_text.parse('{\n "evals": [\n  {"id": 1},\n  {"id": "zwei", "x": {"y": [true, null]}}\n ]\n}')
    assert parsed.locate(("evals", 1, "id")) == Spot(4, 10)
    assert parsed.locate(("evals", 1, "x", "y", 1)) == Spot(4, 36)
    assert parsed.locate(("evals", 2)) is None
    assert parsed.locate(("evals", 0, "id", "deeper")) is None


def test_paired_surrogates_are_one_character() -> None:
    assert json_text.parse('["\\ud83d\\ude00"]').value == ["\U0001f600"]
