"""Codex: its command line, and the traps in its stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skilltrial.backends.codex import Codex
from skilltrial.records.evidence import AgentRun
from skilltrial.seams import Exit

BYE = Exit(0, None, None, 100, b"", 1.0)


def read(*records: dict[str, Any], exit_: Exit = BYE) -> AgentRun:
    reader = Codex().reader(("demo",))
    for record in records:
        reader.feed(json.dumps(record).encode())
    return reader.close(exit_)


def done(input_tokens: int, cached: int, output: int) -> dict[str, Any]:
    usage = {"input_tokens": input_tokens, "cached_input_tokens": cached, "output_tokens": output}
    return {"type": "turn.completed", "usage": usage}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": fields.pop("id", "i1"), "type": kind, **fields}}


def shell(command: str, output: str = "", code: int = 0) -> dict[str, Any]:
    status = "completed" if code == 0 else "failed"
    return item("command_execution", command=command, aggregated_output=output, exit_code=code, status=status)


SKILL_TEXT = "---\nname: demo\ndescription: d\n---\nbody"


def test_running_totals_are_not_added_up() -> None:
    """FC-05 (b)."""
    usage = read(item("agent_message", text="a"), done(1000, 700, 60), {"type": "turn.started"}, done(1800, 1400, 125)).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (1800, 1400, 125)


def test_a_warning_that_looks_like_an_error_is_none() -> None:
    run = read(item("error", message="Model metadata for `x` not found."), item("agent_message", text="a"), done(1, 0, 1))
    assert (run.outcome, run.text) == ("ok", "a")
    assert not [event for event in run.events or () if event.kind == "error"]


def test_a_reconnect_that_worked_is_no_failure() -> None:
    run = read({"type": "error", "message": "Reconnecting... 1/1"}, item("agent_message", text="a"), done(1, 0, 1))
    assert run.outcome == "ok"


def test_the_last_turn_decides() -> None:
    failed = {"type": "turn.failed", "error": {"message": "boom"}}
    assert read(item("agent_message", text="a"), failed, {"type": "turn.started"}, done(1, 0, 1)).outcome == "ok"
    assert read(done(1, 0, 1), {"type": "turn.started"}, failed).outcome == "infrastructure_error"


@pytest.mark.parametrize(
    ("command", "output", "code", "activation"),
    [
        ("cat /w/.agents/skills/demo/SKILL.md", SKILL_TEXT, 0, "read"),
        ("sed -n 1,40p .agents/skills/demo/SKILL.md", "", 0, "read"),
        ("cd .agents/skills/demo && cat SKILL.md", SKILL_TEXT, 0, "read"),
        ("cat .agents/skills/*/SKILL.md", SKILL_TEXT, 0, "read"),
        ("cat .agents/skills/demo/SKILL.md", "No such file", 1, "not_seen"),
        ("cat .agents/skills/other/SKILL.md", SKILL_TEXT.replace("demo", "other"), 0, "not_seen"),
        ("ls -R .agents", "demo/SKILL.md", 0, "not_seen"),
        ("echo demo", "demo", 0, "not_seen"),
    ],
)
def test_a_skill_counts_as_read_when_its_file_was(command: str, output: str, code: int, activation: str) -> None:
    assert read(shell(command, output, code), item("agent_message", text="a"), done(1, 0, 1)).activation == activation


def test_its_own_sandbox_stays_on_where_there_are_no_walls(bench: Any) -> None:
    with bench.place() as place:
        argv = Codex().command(bench.job(place)).argv
        assert argv[argv.index("-s") + 1] == "workspace-write"
        walled = place._replace(level="bwrap")
        assert "--dangerously-bypass-approvals-and-sandbox" in Codex().command(bench.job(walled)).argv


def test_an_endpoint_is_a_provider_of_its_own_whose_key_is_named_only(bench: Any) -> None:
    with bench.place() as place:
        argv = Codex(base_url="http://127.0.0.1:9").command(bench.job(place)).argv
    assert 'model_providers.endpoint.base_url="http://127.0.0.1:9/v1"' in argv
    assert 'model_providers.endpoint.env_key="SKILLTRIAL_ENDPOINT_KEY"' in argv
    assert 'model_providers.endpoint.wire_api="responses"' in argv
    assert "model_providers.endpoint.request_max_retries=1" in argv


def test_settings_are_dotted_keys(bench: Any) -> None:
    with bench.place() as place:
        argv = Codex(settings={"mcp_servers": {"docs": {"command": "x", "args": ["a"]}}}).command(bench.job(place)).argv
    assert 'mcp_servers.docs.command="x"' in argv
    assert 'mcp_servers.docs.args=["a"]' in argv


def test_waiting_for_the_network_without_end_is_ended() -> None:
    reader = Codex().reader()
    for _ in range(3):
        assert reader.doom is None
        reader.feed(b'{"type":"error","message":"Reconnecting... waiting for network (Connection failed)"}')
    assert reader.doom is not None
    assert reader.doom.outcome == "infrastructure_error"
