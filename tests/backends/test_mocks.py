"""The stand-in MCP server over its own protocol, and what becomes of the calls it answered."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skilltrial.backends import _mcp_server, _mocks
from skilltrial.records.evidence import AgentRun, Timing
from skilltrial.records.mocks import MockServer, MockTool

SERVER = MockServer(
    name="tracker",
    tools=(
        MockTool(
            name="show",
            description="Shows an issue.",
            input_schema={"properties": {"id": {"type": "string"}}, "required": ["id"]},
            answer="{{input.id}}: {{ file:{input.id}.txt }} {{input.more.0.deep}} {{input.flag}}",
            expect={"id": "/^plum-\\d+$/i", "more": {"kind": ["a", "b"]}},
        ),
        MockTool(name="close", answer="Not allowed.", error=True),
    ),
    files={"PLUM-7.txt": "The lid is loose."},
)


class Spoken(NamedTuple):
    ask: Callable[..., Any]
    log: Path


@pytest.fixture
def spoken(tmp_path: Path) -> Iterator[Spoken]:
    """A started server: `ask(method, params)` gives the whole reply."""
    spec, log = tmp_path / "tracker.json", tmp_path / "calls.jsonl"
    spec.write_text(SERVER.to_json(), encoding="utf-8")
    command = [sys.executable, "-I", _mcp_server.__file__, str(spec), str(log)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
    assert process.stdin and process.stdout
    sink, source = process.stdin, process.stdout

    def ask(method: str, params: Any = None, **more: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params}), **more}
        sink.write(json.dumps(message).encode() + b"\n")
        sink.flush()
        return json.loads(source.readline())

    yield Spoken(ask, log)
    sink.close()
    assert process.wait(30) == 0
    source.close()


def test_it_introduces_itself_lists_its_tools_and_ends_with_its_client(spoken: Spoken) -> None:
    hello = spoken.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x"}})["result"]
    assert (hello["protocolVersion"], hello["serverInfo"]["name"], "tools" in hello["capabilities"]) == (
        "2024-11-05",
        "tracker",
        True,
    )
    assert spoken.ask("ping")["result"] == {}
    show, close = spoken.ask("tools/list")["result"]["tools"]
    assert show["inputSchema"] == {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    assert (show["description"], close["name"]) == ("Shows an issue.", "close")
    assert spoken.ask("resources/list")["error"]["code"] == -32601
    assert json.loads(spoken.log.read_text().splitlines()[0]) == {"ready": "tracker"}


@pytest.mark.parametrize(
    ("tool", "given", "error", "text"),
    [
        ("show", {"id": "PLUM-7", "more": [{"deep": {"n": 1}}], "flag": True}, True, "more.kind"),
        ("show", {"id": "PLUM-7", "more": {"kind": "b"}, "flag": True}, False, "PLUM-7: The lid is loose.  true"),
        ("show", {"id": "pear", "more": {"kind": "b"}}, True, "does not match"),
        ("show", {"id": "plum-8", "more": {"kind": "b"}}, True, "no file 'plum-8.txt'"),
        ("close", {}, True, "Not allowed."),
        ("delete", {}, True, "no stand-in for tracker/delete"),
    ],
)
def test_a_call_is_answered_as_the_suite_says_and_written_down(
    spoken: Spoken, tool: str, given: dict[str, Any], error: bool, text: str
) -> None:
    reply = spoken.ask("tools/call", {"name": tool, "arguments": given})["result"]
    assert reply["isError"] is error and text in reply["content"][0]["text"]
    call = json.loads(spoken.log.read_text().splitlines()[-1])
    assert (call["tool"], call["input"], call["output"]) == (tool, given, reply["content"][0]["text"])


@pytest.mark.parametrize(
    ("value", "wanted", "fits"),
    [
        (3, 3, True), (3, "3", True), (True, True, True), (True, "true", True), ("3", 3, True), (None, "x", False),
        (3, "number", True), (True, "number", False), (True, "boolean", True), ([1], "array", True), ({}, "object", True),
        ("abc", "/B/", False), ("abc", "/B/i", True), (12, "/^1/", True), ({"a": 1}, "/a/", False), ("b", ["a", "b"], True),
    ],
)  # fmt: skip
def test_arguments_are_held_to_what_the_suite_expects(value: Any, wanted: Any, fits: bool) -> None:
    assert (_mcp_server.unexpected({"x": value}, {"x": wanted}) is None) is fits


def test_an_argument_never_leads_out_of_the_servers_files() -> None:
    spec = {
        "name": "s",
        "tools": [{"name": "t", "answer": "{{file:{input.p}}}", "error": False, "expect": {}}],
        "files": {"a": "A"},
    }
    assert _mcp_server.answer(spec, "t", {"p": "a"}) == ("ok", "A")
    assert _mcp_server.answer(spec, "t", {"p": "../a"})[0] == "tool_error"


# ---------------------------------------------------------------- the run
class Home:
    def __init__(self, home: Path) -> None:
        self.home = self.root = home
        self.level = "none"


def ended(home: Path, *lines: Any, **fields: Any) -> AgentRun:
    (home / _mocks.FOLDER).mkdir()
    (home / _mocks.LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = AgentRun(outcome="ok", timing=Timing(started_at="", duration_s=1.0), **fields)
    return _mocks.told(run, Home(home), (SERVER,))  # type: ignore[arg-type]


READY = {"ready": "tracker"}
CALL = {"server": "tracker", "tool": "show", "input": {"id": "x"}, "output": "X", "verdict": "ok"}


def test_calls_become_events_and_a_log(tmp_path: Path) -> None:
    run = ended(tmp_path, READY, CALL, "half a li")
    assert run.outcome == "ok" and run.events is not None
    (event,) = run.events
    assert (event.kind, event.name, event.arguments, event.text, event.ok) == (
        "mock_call", "mcp__tracker__show", {"id": "x"}, "X", True,
    )  # fmt: skip
    assert run.logs["mock_calls.jsonl"].decode() == json.dumps(CALL) + "\n"


def test_a_call_that_the_suite_does_not_allow_ends_the_run_as_the_agents_error(tmp_path: Path) -> None:
    run = ended(tmp_path, READY, {**CALL, "verdict": "abort", "output": "the call is not the expected one"})
    assert (run.outcome, run.reason) == ("agent_error", "tracker/show: the call is not the expected one")


def test_a_server_that_never_started_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    run = ended(tmp_path)
    assert run.outcome == "harness_error" and "'tracker' was not started" in (run.reason or "")
