"""Recorded tool calls, commands, test runs and skill loads."""

from __future__ import annotations

from typing import Any

import pytest

from skilltrial.records.evidence import Event


def call(name: str, arguments: Any = None, id_: str | None = None) -> Event:
    return Event(kind="tool_call", name=name, arguments=arguments, call=id_)


def result(id_: str, text: str, ok: bool | None = None) -> Event:
    return Event(kind="tool_result", call=id_, text=text, ok=ok)


CALLS = (
    call("search", {"input": {"files": ["a.txt", "b.txt"], "n": 1}, "deep": [{"x": {"y": "Zed"}}]}),
    call("search", "{broken"),
    call("write", {"path": "out/Report.md", "flag": True}),
)
ASSERTIONS = [
    ("tool_called", {"name": "search"}, "passed"),
    ("tool_called", {"name": "Search"}, "failed"),
    ("tool_not_called", {"name": "delete"}, "passed"),
    ("tool_not_called", {"name": "write"}, "failed"),
    ("tool_arg_equals", {"name": "search", "path": "input.files[1]", "value": "b.txt"}, "passed"),
    ("tool_arg_equals", {"name": "search", "path": "input", "value": {"n": 1, "files": ["a.txt", "b.txt"]}}, "passed"),
    ("tool_arg_equals", {"name": "search", "path": "input.files", "value": ["b.txt", "a.txt"]}, "failed"),
    ("tool_arg_equals", {"name": "search", "path": "input.n", "value": True}, "failed"),
    ("tool_arg_equals", {"name": "write", "path": "flag", "value": 1}, "failed"),
    ("tool_arg_equals", {"name": "search", "path": "missing[0]", "value": None}, "failed"),
    ("tool_arg_contains", {"name": "write", "path": "path", "value": "Report"}, "passed"),
    ("tool_arg_contains", {"name": "write", "path": "path", "value": "report"}, "failed"),
    ("tool_arg_contains", {"name": "search", "path": "input.n", "value": "1"}, "failed"),
    ("tool_arg_matches", {"name": "search", "path": "deep[0].x.y", "pattern": "^z", "flags": "gi"}, "passed"),
    ("tool_arg_matches", {"name": "search", "path": "deep[0].x.y", "pattern": "^z"}, "failed"),
    ("tool_arg_matches", {"name": "search", "path": "deep[0].x.y", "pattern": "("}, "ungraded"),
    ("tool_call_count", {"name": "search", "min": 2, "max": 2}, "passed"),
    ("tool_call_count", {"max": 2}, "failed"),
    ("tool_call_count", {"min": 3}, "passed"),
    ("tool_used", {"name": "search"}, "passed"),
    ("tool_used", {"name": "delete"}, "failed"),
    ("tool_used", {"name": "delete", "min": 0, "max": 0}, "passed"),
    ("tool_used", {"name": "search", "input_match": '"n":1'}, "passed"),
    ("tool_used", {"name": "search", "input_match": "broken", "min": 1, "max": 1}, "passed"),
    ("tool_used", {"name": "search", "input_match": '"n":2'}, "failed"),
    ("tool_used", {"name": "search", "max": 1}, "failed"),
    ("tool_used", {"name": "search", "input_match": "("}, "ungraded"),
    ("tool_order", {"before": {"name": "search"}, "after": {"name": "write"}}, "passed"),
    ("tool_order", {"before": {"name": "write"}, "after": {"name": "search"}}, "failed"),
    ("tool_order", {"before": {"name": "write"}, "after": {"name": "search", "input_match": "broken"}}, "failed"),
    (
        "tool_order",
        {"before": {"name": "search", "input_match": "files"}, "after": {"name": "search", "input_match": "broken"}},
        "passed",
    ),
    ("tool_order", {"before": {"name": "search"}, "after": {"name": "delete"}}, "failed"),
    ("tool_order", {"before": {"name": "search", "input_match": "("}, "after": {"name": "write"}}, "ungraded"),
    ("command_order", {"commands": ["a.txt", "report"]}, "passed"),
    ("command_order", {"commands": ["report", "a.txt"]}, "failed"),
]


@pytest.mark.parametrize(("type_", "options", "state"), ASSERTIONS)
def test_tool_assertions_are_about_any_call_of_that_name(run: Any, type_: str, options: dict[str, Any], state: str) -> None:
    assert run.grade(type_, run.view(events=CALLS), **options).state == state


NEEDING_A_RECORD = [
    ("tool_called", {"name": "x"}),
    ("tool_not_called", {"name": "x"}),
    ("tool_arg_equals", {"name": "x", "path": "a", "value": 1}),
    ("tool_call_count", {"max": 0}),
    ("tool_used", {"name": "x"}),
    ("tool_order", {"before": {"name": "x"}, "after": {"name": "y"}}),
    ("command_order", {"commands": ["npm"]}),
    ("command_ran", {"command": "npm"}),
    ("command_not_ran", {"command": "rm -rf"}),
    ("tests_pass", {}),
    ("loaded_skill", {}),
]


@pytest.mark.parametrize(("type_", "options"), NEEDING_A_RECORD)
def test_without_a_record_of_events_there_is_no_verdict_whatever_the_prose_says(
    run: Any, type_: str, options: dict[str, Any]
) -> None:
    view = run.view("I ran npm test, 3 passed, and loaded the skill; rm -rf x", events=None)
    assert run.grade(type_, view, **options).state == "ungraded"


@pytest.mark.parametrize(("type_", "state"), [("tool_called", "failed"), ("tool_not_called", "passed")])
def test_an_empty_record_is_a_record(run: Any, type_: str, state: str) -> None:
    assert run.grade(type_, run.view(events=()), name="x").state == state


def test_a_command_is_found_in_recorded_calls_only(run: Any) -> None:
    events = (call("Bash", {"command": "cd app && NPM run build"}), call("exec", {"command": ["git", "status"]}))
    view = run.view("then I ran cargo build", events=events)
    assert run.grade("command_ran", view, command="npm run").state == "passed"
    assert run.grade("command_ran", view, command="git status").state == "passed"
    assert run.grade("command_ran", view, command="cargo").state == "failed"
    assert run.grade("command_not_ran", view, command="cargo").state == "passed"
    assert run.grade("command_not_ran", view, command="git").state == "failed"


TEST_RUNS = [
    ("3 passed, 0 failed", True, "passed"),
    ("3 passed, 0 failed", None, "passed"),
    ("2 passed, 1 failed", True, "failed"),
    ("boom", False, "failed"),
    ("Ran 3 tests in 0.01s\n\nOK", None, "passed"),
    ("FAILED (failures=2)", None, "failed"),
    ("1 passed, 1 xfailed", None, "passed"),
    ("handled the error: fine\n4 passed", True, "passed"),
    ("Failed: 0, Passed: 3", True, "passed"),
    ("something", None, "ungraded"),
]


@pytest.mark.parametrize(("output", "ok", "state"), TEST_RUNS)
def test_a_test_run_is_judged_by_its_result_and_its_counts(run: Any, output: str, ok: bool | None, state: str) -> None:
    events = (call("Bash", {"command": "python -m pytest -q"}, "1"), result("1", output, ok))
    assert run.grade("tests_pass", run.view(events=events)).state == state


def test_the_last_test_run_counts(run: Any) -> None:
    events = (
        call("Bash", {"command": "npm test"}, "1"),
        result("1", "1 failed", False),
        call("Bash", {"command": "npm test"}, "2"),
        result("2", "5 passed", True),
        call("Bash", {"command": "ls"}, "3"),
        result("3", "", True),
    )
    assert run.grade("tests_pass", run.view(events=events)).state == "passed"
    assert run.grade("tests_pass", run.view(events=events), command="ls").state == "passed"


def test_no_test_command_in_the_record_fails(run: Any) -> None:
    assert run.grade("tests_pass", run.view("all tests pass", events=(call("Bash", {"command": "ls"}),))).state == "failed"


def test_a_test_command_without_its_result_gives_no_verdict(run: Any) -> None:
    assert run.grade("tests_pass", run.view(events=(call("Bash", {"command": "go test ./..."}, "1"),))).state == "ungraded"


LOADS = [
    ("activated", (Event(kind="skill", name="demo"),), {}, "passed"),
    ("read", (), {}, "passed"),
    ("forced", None, {}, "passed"),
    ("not_seen", (), {}, "failed"),
    ("none_expected", (), {}, "failed"),
    ("unknown", (), {}, "ungraded"),
    ("unknown", (Event(kind="other", name="activation_telemetry_unavailable"),), {}, "ungraded"),
    ("activated", (Event(kind="skill", name="demo"),), {"skill": "demo"}, "passed"),
    ("activated", (Event(kind="skill", name="demo"),), {"skill": "Demo"}, "failed"),
    ("activated", (Event(kind="skill", name="demo"),), {"skill": "other"}, "failed"),
    ("not_seen", (Event(kind="skill", name="plugin:other"),), {"skill": "other"}, "passed"),
    ("not_seen", (), {"loaded": False}, "passed"),
    ("activated", (Event(kind="skill", name="demo"),), {"loaded": False}, "failed"),
    ("unknown", (), {"loaded": False}, "ungraded"),
]


@pytest.mark.parametrize(("activation", "events", "options", "state"), LOADS)
def test_a_skill_load_needs_an_event(run: Any, activation: str, events: Any, options: dict[str, str], state: str) -> None:
    assert run.grade("loaded_skill", run.view(events=events, activation=activation), **options).state == state
