"""agent-skills-eval's tool assertions on calls that real agents made: names, arguments and paths are as the program has them."""

from __future__ import annotations

import re
from typing import Any

import pytest

import skilltrial
from skilltrial.records.evidence import Event

from .test_recordings import WORKED, replayed

PROGRAMS = sorted({folder.split("/")[0] for folder, _ in WORKED})


def calls_of(program: str) -> list[Event]:
    """The calls of its first recording that has one with a text among its arguments."""
    for folder, scenario in WORKED:
        if folder.split("/")[0] == program:
            calls = [event for event in replayed(folder, scenario).events or () if event.kind == "tool_call"]
            if any(text_in(call) for call in calls):
                return calls
    raise AssertionError(f"no recording of {program} has a tool call with arguments")


def text_in(call: Event) -> tuple[str, str] | None:
    """Path and value of the first text among a call's arguments."""
    found = call.arguments.items() if isinstance(call.arguments, dict) else ()
    return next(((key, value) for key, value in found if isinstance(value, str) and value and key.isidentifier()), None)


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_six_hold_on_what_the_agent_did_and_fail_on_what_it_did_not(program: str) -> None:
    calls = calls_of(program)
    call = next(call for call in calls if text_in(call))
    path, value = text_in(call) or ("", "")
    named = sum(other.name == call.name for other in calls)
    true: list[dict[str, Any]] = [
        {"type": "tool-called", "name": call.name},
        {"type": "tool-not-called", "name": "tool_never_there"},
        {"type": "tool-arg-equals", "name": call.name, "path": path, "value": value},
        {"type": "tool-arg-contains", "name": call.name, "path": path, "value": value[:3]},
        {"type": "tool-arg-matches", "name": call.name, "path": path, "pattern": f"^{re.escape(value[:8])}"},
        {"type": "tool-call-count", "name": call.name, "min": named, "max": named},
    ]
    false = [
        {"type": "tool-called", "name": "tool_never_there"},
        {"type": "tool-not-called", "name": call.name},
        {"type": "tool-arg-equals", "name": call.name, "path": path, "value": value + "x"},
        {"type": "tool-arg-contains", "name": call.name, "path": path, "value": "no such text"},
        {"type": "tool-arg-matches", "name": call.name, "path": "no.such[0]", "pattern": "."},
        {"type": "tool-call-count", "name": call.name, "min": named + 1},
    ]
    made = [(one.name or "", one.arguments) for one in calls]
    assert [grade.state for grade in skilltrial.grade(true, "", tool_calls=made)] == ["passed"] * 6
    assert [grade.state for grade in skilltrial.grade(false, "", tool_calls=made)] == ["failed"] * 6
