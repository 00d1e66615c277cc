"""A case with a stand-in MCP server, from the suite to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from . import agents

ASKS = """
import subprocess
told = sys.argv[sys.argv.index("--mcp-config") + 1]
(name, server), = json.loads(told)["mcpServers"].items()
with subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
    def ask(method, **params):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())["result"]
    ask("initialize", protocolVersion="2025-06-18")
    tool = ask("tools/list")["tools"][0]["name"]
    given = {"state": "open" if found else "all"}
    said = ask("tools/call", name=tool, arguments=given)["content"][0]["text"]
    process.stdin.close()
answers(said, (f"mcp__{name}__{tool}", given))
"""
CASE = {
    "id": 1,
    "prompt": "Which issues are open?",
    "mocks": {
        "tracker": {"tools": {"list_issues": {"answer": "{{input.state}}: {{file:all.txt}}"}}, "files": {"all.txt": "PLUM-7"}}
    },
    "checks": [
        {"id": "told", "type": "contains", "value": "open: PLUM-7"},
        {"id": "asked", "type": "tool_used", "tool": "mcp__tracker__list_issues", "input_match": "open"},
        {"id": "seen", "type": "regex", "mock_calls": True, "pattern": '"state": "open"', "case_sensitive": True},
    ],
}


@pytest.fixture
def claude(skilltrial: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.install(tmp_path, "claude", agents.CLAUDE + ASKS, monkeypatch)


@pytest.mark.usefixtures("claude")
def test_the_stand_in_answers_in_both_arms_and_its_calls_are_graded(skilltrial: Any, new_skill: Any) -> None:
    said = skilltrial(
        "run", new_skill([CASE]), "--target", "claude-code", "--sandbox", "none", "--no-certify", "--format", "json"
    )  # fmt: skip
    assert said.out, said.err
    rates = {row["arm"]: row["pass_rate"] for row in said.summary["rates"]}
    assert rates == {"with_skill": 1.0, "without_skill": 0.0}, said.err
    shown = skilltrial("show", "colours/1/without_skill").out
    assert "mcp__tracker__list_issues" in shown and "all: PLUM-7" in shown
    logs = [path.read_text() for path in Path("skilltrial-workspace").rglob("mock_calls.jsonl")]
    assert sorted(json.loads(text)["input"]["state"] for text in logs) == ["all", "open"]
    again = skilltrial("grade", "--format", "json")
    assert {row["arm"]: row["pass_rate"] for row in again.summary["rates"]} == rates


@pytest.mark.usefixtures("claude")
def test_a_call_that_the_suite_does_not_allow_is_told_as_such(skilltrial: Any, new_skill: Any) -> None:
    tool = {"answer": "PLUM-7", "expect": {"state": "open"}}
    case = {**CASE, "mocks": {"tracker": {"tools": {"list_issues": tool}}}, "checks": CASE["checks"][1:2]}
    said = skilltrial(
        "run", new_skill([case]), "--target", "claude-code", "--sandbox", "none", "--no-certify", "--format", "json"
    )  # fmt: skip
    assert said.summary["coverage"]["failed_measurements"] == {"agent_error": 1}, said.err
    assert 'state = "all" is not "open"' in said.summary["errors"][0]["reason"]


def test_a_target_without_mcp_says_so_before_it_runs_and_sets_aside_what_it_cannot_be_asked(
    skilltrial: Any, new_skill: Any
) -> None:
    plan = skilltrial("plan", new_skill([CASE]), "--target", "fake")
    assert "fake cannot be given MCP servers: the stand-ins of colours::1 are not started there" in plan.out + plan.err
    assert "seen" in plan.out and "this target cannot be given MCP servers" in plan.out
