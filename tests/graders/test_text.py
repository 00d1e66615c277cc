"""Substrings and patterns in the final text."""

from __future__ import annotations

from typing import Any

import pytest

HANDBOOK = [
    ("contains", {"value": "Required Phrase"}, "the required phrase", "passed"),
    ("contains", {"value": "Required Phrase", "case_sensitive": True}, "the required phrase", "failed"),
    ("contains", {"value": "STRASSE"}, "in der Straße", "passed"),
    ("contains", {"value": "x"}, "", "failed"),
    ("not_contains", {"value": "hunter2"}, "password: Hunter2", "failed"),
    ("not_contains", {"value": "hunter2"}, "all is well", "passed"),
    ("contains_all", {"values": ["alpha", "beta"]}, "Beta and alpha", "passed"),
    ("contains_all", {"values": ["alpha", "beta"]}, "alpha only", "failed"),
    ("contains_any", {"values": ["alpha", "nope"]}, "alpha only", "passed"),
    ("contains_any", {"values": ["yes", "nope"]}, "alpha only", "failed"),
    ("regex", {"pattern": "^required"}, "Required at the start", "passed"),
    ("regex", {"pattern": "^required"}, "first\nrequired later", "failed"),
    ("regex", {"pattern": "^required", "flags": "m"}, "first\nrequired later", "passed"),
    ("not_regex", {"pattern": "TODO", "case_sensitive": True}, "todo", "passed"),
    ("not_regex", {"pattern": "TODO"}, "todo", "failed"),
]


@pytest.mark.parametrize(("type_", "options", "text", "state"), HANDBOOK)
def test_the_handbooks_text_checks_ignore_case_unless_told(
    run: Any, type_: str, options: dict[str, Any], text: str, state: str
) -> None:
    assert run.grade(type_, text, **options).state == state


def test_a_passed_contains_any_says_what_was_found_and_not_what_is_missing(run: Any) -> None:
    grade = run.grade("contains_any", "alpha only", values=["alpha", "nope"])
    assert "found 'alpha'" in grade.reason
    assert "missing" not in grade.reason


def test_a_failed_contains_all_names_each_missing_value(run: Any) -> None:
    grade = run.grade("contains_all", "alpha only", values=["alpha", "beta", "gamma"])
    assert "'beta', 'gamma'" in grade.reason
    assert "'alpha'" not in grade.reason


def test_the_quote_shows_the_match_and_its_surroundings(run: Any) -> None:
    grade = run.grade("contains", f"{'a ' * 200}the NEEDLE here{' b' * 200}", value="needle")
    assert "the NEEDLE here" in grade.quote
    assert len(grade.quote) < 200
    assert grade.quote.startswith("…")


def test_the_quote_is_right_although_folding_makes_letters_longer(run: Any) -> None:
    assert "NEEDLE" in run.grade("contains", "ß" * 300 + " NEEDLE", value="needle").quote


def test_an_empty_answer_is_named_as_such(run: Any) -> None:
    assert "which is empty" in run.grade("contains", " \n", value="x").reason


@pytest.mark.parametrize("type_", ["regex", "not_regex"])
def test_a_pattern_that_takes_too_long_neither_passes_nor_fails(run: Any, type_: str) -> None:
    grade = run.grade(type_, "a" * 60 + "!", pattern=r"^(a|aa)+$")
    assert grade.state == "ungraded"
    assert "took too long" in grade.reason


@pytest.mark.parametrize("type_", ["regex", "not_regex"])
def test_a_pattern_that_does_not_compile_neither_passes_nor_fails(run: Any, type_: str) -> None:
    grade = run.grade(type_, "text", pattern="(")
    assert grade.state == "ungraded"
    assert "does not compile" in grade.reason


def test_a_pattern_may_look_into_a_file(run: Any) -> None:
    view = run.view("nothing here", created={"out.txt": b"total: 7"})
    assert run.grade("regex", view, pattern=r"total: \d", path="out.txt").state == "passed"
    assert run.grade("not_regex", view, pattern="x", path="missing.txt").state == "failed"


def test_options_that_cannot_be_read_give_no_verdict(run: Any) -> None:
    grade = run.grade("contains", "text", valeu="text")
    assert grade.state == "ungraded"
    assert "value" in grade.reason


@pytest.mark.parametrize(("count", "state"), [(2, "passed"), (1, "failed"), (3, "failed")])
def test_a_pattern_may_ask_for_an_exact_number_of_matches(run: Any, count: int, state: str) -> None:
    assert run.grade("regex", "one fish, two fish", pattern="fish", count=count).state == state


def test_no_match_at_all_can_be_asked_for_by_count(run: Any) -> None:
    assert run.grade("regex", "one", pattern="fish", count=0).state == "passed"
    assert run.grade("not_regex", "one", pattern="fish", count=0).state == "failed"
