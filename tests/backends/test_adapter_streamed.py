"""The adapter protocol, version 2: what it can do first, events as they come, the result last."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skilltrial.backends._handbook import Violation
from skilltrial.backends._streamed import Reader
from skilltrial.backends.adapter import Adapter, plugin
from skilltrial.records.plan import Target
from skilltrial.seams import Stop

HELLO = '{"protocol_version": 2, "capabilities": ["events", "usage"]}'
RESULT = '{"type": "result", "output": "done", "usage": {"input_tokens": 7}}'
LOADED = '{"type": "event", "event": {"type": "skill_loaded", "name": "sample-skill"}}'
CALL = '{"type": "event", "event": {"type": "tool_call", "name": "read", "id": "1", "arguments": {"path": "a.txt"}}}'
REPLY = '{"type": "event", "event": {"type": "tool_result", "id": "1", "ok": true, "text": "hello"}}'


def printing(bench: Any, *lines: str, after: str = "") -> Adapter:
    text = "\n".join(lines) + "\n"
    python = f"import sys\nsys.stdin.read()\nsys.stdout.write({text!r})\nsys.stdout.flush()\n{after}"
    return Adapter(path=str(bench.executable("adapter", python)), protocol=2)


class Listening:
    """The Watch seam: keeps what it hears and stops at the second tool call."""

    deadline = float("inf")

    def __init__(self) -> None:
        self.heard_of: list[str] = []

    def heard(self, event: Any) -> Stop | None:
        if event is None:
            return None
        self.heard_of.append(event.kind)
        return Stop("budget", "two tool calls") if self.heard_of.count("tool_call") == 2 else None


def test_the_request_says_2_and_the_limits_and_is_else_that_of_version_1(bench: Any) -> None:
    echo = bench.executable(
        "adapter",
        'import json, sys\nrequest = json.load(sys.stdin)\nprint(\'{"protocol_version": 2, "capabilities": []}\')\n'
        'print(json.dumps({"type": "result", "output": json.dumps(request)}))',
    )
    second = json.loads(bench.run(Adapter(path=str(echo), protocol=2)).text)
    assert (second.pop("timeout_seconds"), second.pop("grace_seconds")) == (20.0, 3.0)
    assert second.pop("protocol_version") == 2
    assert list(second) == ["mode", "skill", "prompt", "files", "workspace"]


def test_events_are_heard_in_order_and_kept_with_the_result(bench: Any) -> None:
    watch = Listening()
    run = bench.run(printing(bench, HELLO, LOADED, CALL, REPLY, RESULT), watch, with_skill=True)
    assert (run.outcome, run.text, run.activation, run.usage.input_tokens) == ("ok", "done", "activated", 7)
    assert watch.heard_of == [event.kind for event in run.events] == ["skill", "tool_call", "tool_result"]
    assert run.events[1].arguments == {"path": "a.txt"} and run.events[2].call == "1"
    assert b"tool_call" in run.logs["response.jsonl"]


def test_a_cap_ends_the_run_while_it_streams_and_what_was_told_is_kept(bench: Any) -> None:
    endless = "import time\nwhile True: time.sleep(60)"
    run = bench.run(printing(bench, HELLO, CALL, CALL, after=endless), Listening())
    assert (run.outcome, len(run.events)) == ("budget", 2)


def test_after_sigterm_the_usage_of_a_late_result_counts(bench: Any) -> None:
    late = (
        "import os, signal\n"
        f"def end(*_):\n    os.write(1, {RESULT!r}.encode() + bytes([10]))\n    os._exit(0)\n"  # the signal may come within a print
        f"signal.signal(signal.SIGTERM, end)\nprint({CALL!r}, flush=True)\nprint({CALL!r}, flush=True)\n"
        "while True: signal.pause()"
    )
    run = bench.run(printing(bench, HELLO, after=late), Listening())
    assert (run.outcome, run.text, run.usage.input_tokens) == ("budget", "", 7)


def test_an_adapter_that_promised_events_and_told_none_did_not_load_the_skill(bench: Any) -> None:
    assert bench.run(printing(bench, HELLO, RESULT), with_skill=True).activation == "not_seen"
    silent = '{"protocol_version": 2, "capabilities": []}'
    run = bench.run(printing(bench, silent, RESULT), with_skill=True)
    assert (run.activation, run.events) == ("unknown", None)


def test_files_that_are_not_there_are_a_warning(bench: Any) -> None:
    result = '{"type": "result", "output": "", "files": ["a.txt", "gone.txt"]}'
    run = bench.run(printing(bench, HELLO, result, after="open('a.txt', 'w').close()"))
    assert run.outcome == "ok" and run.warnings == ("files: 'gone.txt' is not there",)


def test_only_version_2_makes_tool_calls_gradable() -> None:
    first, second = (
        plugin.from_target(Target(name="a", backend="adapter", value="./a", options={"protocol": version})) for version in (1, 2)
    )
    assert (first.capabilities.tools, second.capabilities.tools) == (False, True)


BROKEN = [
    ([], "the response is empty"),
    ([RESULT], "line 1: the first line must have protocol_version 2, it has none"),
    (['{"protocol_version": 1, "capabilities": []}'], "it says 1"),
    (['{"protocol_version": 2}'], "'capabilities' must be a list"),
    (['{"protocol_version": 2, "capabilities": [1]}'], "'capabilities' must be a list"),
    ([HELLO], "there is no result line"),
    ([HELLO, "hello"], "line 2: the line is no JSON"),
    ([HELLO, '{"type": "log"}'], "'type' must be event or result"),
    ([HELLO, '{"type": "event", "event": {"type": "tool_call"}}'], "a tool_call event needs 'name'"),
    ([HELLO, '{"type": "event", "event": {"type": "text", "text": 1}}'], "event.text must be a string"),
    ([HELLO, '{"type": "event", "event": {"type": "tool_result", "ok": 1}}'], "event.ok must be true or false"),
    ([HELLO, '{"type": "event", "event": {"type": "tool_call", "name": "a", "at": 1}}'], "unknown key 'at'"),
    ([HELLO, '{"type": "event"}'], "'event' must be an object"),
    ([HELLO, '{"type": "result"}'], "'output' must be a string"),
    ([HELLO, '{"type": "result", "output": "", "events": []}'], "unknown key 'events'"),
    ([HELLO, '{"type": "result", "output": "", "files": ["../a"]}'], "no path inside the workspace"),
    ([HELLO, '{"type": "result", "output": "", "usage": {"n": true}}'], "must be a number"),
    ([HELLO, RESULT, CALL], "nothing may follow the result"),
]


@pytest.mark.parametrize(("lines", "reason"), BROKEN)
def test_a_stream_that_breaks_the_protocol_is_refused_with_its_line(lines: list[str], reason: str) -> None:
    reader = Reader()
    for line in lines:
        reader.feed(line.encode())
    with pytest.raises(Violation, match=reason.replace("[", r"\[")) as caught:
        reader.close()
    assert reason in str(caught.value)


def test_a_version_1_adapter_that_is_asked_for_2_is_no_measurement_and_the_reason_says_so(bench: Any) -> None:
    run = bench.run(printing(bench, '{"output": "hello"}'))
    assert run.outcome == "infrastructure_error" and "--adapter-protocol 1" in run.reason


def test_a_version_2_adapter_that_is_asked_for_1_is_told_apart_from_a_broken_one(bench: Any) -> None:
    run = bench.run(printing(bench, HELLO, RESULT).model_copy(update={"protocol": 1}))
    assert run.outcome == "infrastructure_error" and "--adapter-protocol 2" in run.reason
