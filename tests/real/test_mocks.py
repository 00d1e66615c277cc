"""Stand-in MCP servers, started by the real programs: the model gets their answers, and the calls are on record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scripted import Scene
from scripted.programs import missing
from skilltrial.records.mocks import MockServer, MockTool

pytestmark = pytest.mark.real

TRACKER = MockServer(
    name="tracker",
    tools=(
        MockTool(
            name="list_issues",
            description="Lists the issues of the tracker.",
            input_schema={"properties": {"state": {"type": "string"}}},
            answer="Issue PLUM-7 is {{input.state}}.",
            expect={"state": ["open", "closed"]},
        ),
    ),
)
PROGRAMS = ("claude-code", "codex", "gemini", "opencode", "copilot")


@pytest.mark.parametrize("level", ["none", "bwrap"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_asks_a_stand_in_and_tells_what_it_said(program: str, level: str, run_once: Callable[..., Any]) -> None:
    if reason := missing(program):
        pytest.skip(reason)
    scene = Scene("tracker", learns=r"Issue (PLUM-7 is open)", answer="{learned}")
    ended = run_once(program, scene, level=level, mocks=(TRACKER,))
    assert (ended.run.outcome, ended.run.reason) == ("ok", None), ended.run.logs.get("stderr.log")
    assert ended.run.text.strip() == "PLUM-7 is open"
    (call,) = [event for event in ended.run.events if event.kind == "mock_call"]
    assert (call.name, call.arguments, call.text) == ("mcp__tracker__list_issues", {"state": "open"}, "Issue PLUM-7 is open.")
    assert any(event.kind == "tool_call" and "list_issues" in f"{event.name} {event.arguments}" for event in ended.run.events)


def test_qwen_starts_them_and_has_its_model_search_for_their_tools(run_once: Callable[..., Any]) -> None:
    if reason := missing("qwen"):
        pytest.skip(reason)
    ended = run_once("qwen", Scene("answer"), mocks=(TRACKER,))
    assert (ended.run.outcome, ended.run.reason) == ("ok", None)
    assert ended.run.inventory.mcp_servers == ("tracker",)
