"""Dispatch: every check gets one grade, in order, and only a measured run earns a verdict."""

from __future__ import annotations

from typing import Any

import pytest

from skilltrial import graders
from skilltrial.records.checks import CHECKS
from skilltrial.records.suite import Check
from skilltrial.seams import Capabilities

AGENT = Capabilities(skills=True, activation=True, tools=True, files=True, judge=True)
CHAT = Capabilities(skills=True, tools=True, tools_executed=False)
ADAPTER = Capabilities(skills=True, activation=True, files=True)


def test_every_type_we_ship_has_a_grader_with_its_options() -> None:
    found = graders.graders()
    assert found.keys() >= CHECKS.keys()
    assert all(found[name].types[name] is options for name, options in CHECKS.items())


def test_grades_come_in_the_order_of_the_checks_with_their_flags(run: Any) -> None:
    checks = [
        Check(id="r", type="rubric", text="good", weight=3),
        Check(id="c", type="contains", text="x", required=False, options={"value": "x"}),
        Check(id="s", type="loaded_skill", text="loaded", scored=False),
        Check(id="d", type="contains", text="y", options={"value": "y"}),
    ]
    desk = run.desk('{"verdicts": [{"id": "r", "passed": true, "evidence": "q"}]}')
    grades = run.grades(checks, run.view("x", events=(), activation="not_seen"), desk)
    assert [(g.check, g.state, g.required, g.scored, g.weight) for g in grades] == [
        ("r", "passed", True, True, 3.0),
        ("c", "passed", False, True, 1.0),
        ("s", "failed", True, False, 1.0),
        ("d", "failed", True, True, 1.0),
    ]


def test_a_type_nobody_grades_gives_no_verdict(run: Any) -> None:
    (grade,) = run.grades([run.check("telepathy")], run.view("x"))
    assert grade.state == "ungraded"
    assert "'telepathy'" in grade.reason


@pytest.mark.parametrize("outcome", ["agent_error", "infrastructure_error", "timeout", "budget", "harness_error"])
def test_a_crash_passes_no_must_not_check(run: Any, outcome: str) -> None:
    checks = [
        run.check("not_contains", value="password"),
        run.check("file_not_exists", path="secrets.txt"),
        run.check("loaded_skill", skill="demo"),
    ]
    grades = run.grades(checks, run.view("", outcome=outcome, reason="rate limit", events=()))
    assert {grade.state for grade in grades} == {"ungraded"}
    assert all("rate limit" in (grade.reason or "") for grade in grades)


def test_graders_see_the_text_before_it_is_masked(run: Any) -> None:
    (grade,) = run.grades([run.check("not_contains", value="hunter2")], run.view("password: hunter2", masks=[None]))
    assert grade.state == "failed"
    assert grade.redacted_input


def test_only_checks_whose_own_input_is_masked_say_so(run: Any) -> None:
    view = run.view("fine", created={"a.txt": b"key", "b.txt": b"x"}, masks=["a.txt"])
    checks = [
        run.check("contains", value="fine"),
        run.check("file_contains", path="a.txt", contains="key"),
        run.check("regex", path="b.txt", pattern="x"),
    ]
    assert [grade.redacted_input for grade in run.grades(checks, view)] == [False, True, False]


@pytest.mark.parametrize(
    ("type_", "value", "state"),
    [
        ("not_contains", "hunter2", "ungraded"),
        ("contains", "hunter2", "ungraded"),
        ("contains", "alpha", "passed"),
        ("not_contains", "alpha", "failed"),
    ],
)
def test_stored_masked_text_proves_presence_but_never_absence(run: Any, type_: str, value: str, state: str) -> None:
    view = run.view("alpha [REDACTED]", masks=[None], stored=True)
    assert run.grade(type_, view, value=value).state == state


SET_ASIDE = [
    ("rubric", {}, AGENT, False, "no judge"),
    ("rubric", {}, CHAT, True, None),
    ("contains", {"value": "x"}, Capabilities(), False, None),
    ("file_contains", {"contains": "x"}, CHAT, False, None),
    ("file_contains", {"contains": "x", "path": "a"}, CHAT, False, "this target works in no folder"),
    ("regex", {"pattern": "x", "path": "a"}, CHAT, False, "this target works in no folder"),
    ("file_exists", {"path": "a"}, CHAT, False, "this target works in no folder"),
    ("file_exists", {"path": "a"}, ADAPTER, False, None),
    ("command", {"shell": "x"}, ADAPTER, False, None),
    ("tool_called", {"name": "x"}, ADAPTER, False, "this target keeps no record of tool calls"),
    ("tool_called", {"name": "x"}, CHAT, False, None),
    ("tool_arg_equals", {"name": "x", "path": "a", "value": 1}, CHAT, False, None),
    ("command_ran", {"command": "x"}, CHAT, False, "this target's tool calls are only requested, never executed"),
    ("loaded_skill", {}, CHAT, False, "this target cannot tell which skills were loaded"),
    ("loaded_skill", {}, ADAPTER, False, None),
    ("telepathy", {}, AGENT, True, "no grader knows the check type 'telepathy'"),
]


@pytest.mark.parametrize(("type_", "options", "capabilities", "has_judge", "reason"), SET_ASIDE)
def test_what_cannot_be_graded_here_is_known_before_anything_runs(
    run: Any, type_: str, options: dict[str, Any], capabilities: Capabilities, has_judge: bool, reason: str | None
) -> None:
    assert graders.cannot_grade(run.check(type_, **options), capabilities, has_judge) == reason
