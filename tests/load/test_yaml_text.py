"""YAML of users: JSON-safe data, refusals, places."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skilltrial.load import yaml_text
from skilltrial.load.document import Spot


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("a: &x 1\nb: *x", "yaml-alias", 1),
        ("a: 1\nb: *x", "yaml-alias", 2),
        ("a: 1\na: 2", "duplicate-key", 2),
        ("a:\n  b: 1\n  b: 2", "duplicate-key", 3),
        ("a: .inf", "not-finite", 1),
        ("a: !!python/object:os.x {}", "yaml-tag", 1),
        ("x: !foo 1", "yaml-tag", 1),
        ("? [a]\n: 1", "yaml-key", 1),
        ("a: 1\n---\nb: 2", "several-documents", 2),
        ("- " * 70_000, "too-deep", 1),
        ("[" * 70 + "]" * 70, "too-deep", 1),
        ("[" * 100_000, "invalid-yaml", 1),
        ("a: b: c", "invalid-yaml", 1),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, rule: str, line: int) -> None:
    fault = yaml_text.parse(text).faults[0]
    assert fault.rule == rule
    assert fault.spot is not None
    assert fault.spot.line == line


def test_dates_and_clock_times_stay_text_and_the_rest_is_json() -> None:
    value = yaml_text.parse("d: 2024-01-01\nt: 1:30\nn: no\ni: 0x1F\nf: 1.5\nz: ~\nb: !!binary aGk=\nl: [a, {k: v}]").value
    assert value == {
        "d": "2024-01-01",
        "t": "1:30",
        "n": False,
        "i": 31,
        "f": 1.5,
        "z": None,
        "b": "aGk=",
        "l": ["a", {"k": "v"}],
    }
    json.dumps(value, allow_nan=False)


def test_places_count_from_the_first_line_of_the_file() -> None:
    parsed = yaml_text.parse("a:\n  - x: 1\n    y: 2\n", first_line=2)
    assert parsed.locate(("a", 0, "y")) == Spot(4, 8)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z-]{0,12}", fullmatch=True),
        st.from_regex(r"[A-Za-z][\w ,.;()/'\"?!-]{0,40}", fullmatch=True),
        max_size=5,
    )
)
def test_plain_lines_read_as_the_parser_reads_them(pairs: dict[str, str]) -> None:
    text = "".join(f"{key}: {value}\n" for key, value in pairs.items())
    fast = yaml_text._plain(text)
    if fast is not None:
        assert fast == yaml.safe_load(text)
