"""OpenCode, Gemini, Qwen, Copilot, pi and agy: what is peculiar to each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.backends._running import over_a_cap
from skilltrial.backends.agy import Agy
from skilltrial.backends.copilot import Copilot
from skilltrial.backends.gemini import Gemini
from skilltrial.backends.opencode import OpenCode
from skilltrial.backends.pi import Pi
from skilltrial.backends.qwen import Qwen
from skilltrial.records.evidence import AgentRun
from skilltrial.records.suite import Limits
from skilltrial.seams import Exit

BYE = Exit(0, None, None, 100, b"", 1.0)


def read(backend: Any, *records: Any, exit_: Exit = BYE, skills: tuple[str, ...] = ("demo",)) -> AgentRun:
    reader = backend.reader(skills)
    for record in records:
        reader.feed((record if isinstance(record, str) else json.dumps(record)).encode() + b"\n")
    run: AgentRun = reader.close(exit_)
    return run


# ---------------------------------------------------------------- opencode
def step(reason: str, output: int = 5) -> dict[str, Any]:
    tokens = {"input": 10, "output": output, "reasoning": 2, "cache": {"read": 4, "write": 1}}
    return {"type": "step_finish", "part": {"reason": reason, "tokens": tokens, "cost": 0.25}}


def part(text: str, message: str = "m1") -> dict[str, Any]:
    return {"type": "text", "part": {"messageID": message, "text": text}}


def test_opencode_a_stream_without_the_end_of_its_step_keeps_the_text() -> None:
    """FC-03."""
    run = read(OpenCode(), {"type": "step_start", "part": {}}, part("42"))
    assert (run.outcome, run.text, run.usage.output_tokens) == ("agent_error", "42", None)
    assert "no final record" in run.warnings


def test_opencode_steps_are_added_up() -> None:
    usage = read(OpenCode(), part("a"), step("tool-calls"), part("b", "m2"), step("stop")).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens) == (30, 8, 14, 4)
    assert (usage.cost_usd, usage.cost_source) == (0.5, "cli")


def test_opencode_the_answer_is_all_text_of_the_last_message() -> None:
    run = read(OpenCode(), part("first"), step("tool-calls"), part("one", "m2"), part("two", "m2"), step("stop"))
    assert run.text == "one\ntwo"


def test_opencode_a_sub_agent_leaves_activation_open() -> None:
    task = {
        "type": "tool_use",
        "part": {"tool": "task", "callID": "c", "state": {"status": "completed", "input": {}, "output": "x"}},
    }
    assert read(OpenCode(), task, part("a"), step("stop")).activation == "unknown"


def test_opencode_no_key_is_in_its_configuration(bench: Any) -> None:
    with bench.place() as place:
        env = OpenCode(model="m", base_url="http://127.0.0.1:9").command(bench.job(place)).env
    config = json.loads(env["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"]["endpoint"]["options"] == {
        "baseURL": "http://127.0.0.1:9/v1", "apiKey": "{env:SKILLTRIAL_ENDPOINT_KEY}",
    }  # fmt: skip
    assert env["npm_config_offline"] == "true"


def test_opencode_without_ripgrep_is_told(bench: Any, tmp_path: Any) -> None:
    bench.environ["PATH"] = str(tmp_path / "empty")
    assert any("ripgrep" in text for text in OpenCode().furnish(tmp_path, bench.machine))
    own = tmp_path / "own"
    (own / ".cache/opencode/bin").mkdir(parents=True)
    (own / ".cache/opencode/bin/rg").write_bytes(b"#!")
    bench.environ["HOME"] = str(own)
    assert OpenCode().furnish(tmp_path, bench.machine) == ()
    assert (tmp_path / ".cache/opencode/bin/rg").stat().st_mode & 0o100


# ---------------------------------------------------------------- gemini
def piece(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


GEMINI_OK = {"type": "result", "status": "success", "stats": {"input_tokens": 10, "output_tokens": 3, "total_tokens": 15}}


def test_gemini_pieces_after_the_last_tool_are_the_answer() -> None:
    call = {"type": "tool_use", "tool_name": "ls", "tool_id": "t", "parameters": {}}
    done = {"type": "tool_result", "tool_id": "t", "status": "success", "output": "x"}
    run = read(Gemini(), piece("Let me "), piece("look."), call, done, piece("It is "), piece("fine."), GEMINI_OK)
    assert run.text == "It is fine."
    assert [event.text for event in run.events or () if event.kind == "text"] == ["Let me look.", "It is fine."]


def test_gemini_what_it_thought_is_output_too() -> None:
    usage = read(Gemini(), piece("a"), GEMINI_OK).usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (10, 5, 2)


@pytest.mark.parametrize(("code", "outcome", "setup"), [(41, "infrastructure_error", True), (53, "agent_error", False)])
def test_gemini_its_own_status_tells_where_the_stream_does_not(code: int, outcome: str, setup: bool) -> None:
    run = read(Gemini(), {"type": "init", "model": "x"}, exit_=Exit(code, None, None, 30, b"", 1.0))
    assert (run.outcome, run.setup) == (outcome, setup)


def test_gemini_status_0_with_a_failure_is_a_failure() -> None:
    run = read(
        Gemini(), piece("a"), {"type": "error", "severity": "error", "message": "cut"}, {"type": "result", "status": "error"}
    )
    assert run.outcome == "infrastructure_error"
    assert "cut" in (run.reason or "")


@pytest.mark.parametrize(
    ("source", "way"),
    [("GEMINI_API_KEY", "gemini-api-key"), ("~/.gemini/oauth_creds.json", "oauth-personal"), ("none", "gemini-api-key")],
)
def test_gemini_its_settings_name_the_way_in(source: str, way: str, bench: Any) -> None:
    files = Gemini().login_files(source, Gemini().home_files(bench.job()))
    assert json.loads(files[".gemini/settings.json"])["security"]["auth"]["selectedType"] == way


def test_gemini_a_limit_of_turns_is_a_setting_and_the_users_settings_stay(bench: Any) -> None:
    files = Gemini(settings={"model": {"name": "x"}}).home_files(bench.job(limits=Limits(max_turns=4)))
    assert json.loads(files[".gemini/settings.json"])["model"] == {"maxSessionTurns": 4, "name": "x"}


# ---------------------------------------------------------------- qwen
QWEN_SAID = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "so far"}], "usage": {}}}


@pytest.mark.parametrize(
    "line", ["Reached max session turns for this session.", "Run aborted: wall-clock budget of 6s exceeded (--max-wall-time)."]
)
def test_qwen_limits_stand_on_the_error_stream_only(line: str) -> None:
    run = read(Qwen(), QWEN_SAID, exit_=Exit(53, None, None, 30, f"Warning: running headless\n{line}\n".encode(), 1.0))
    assert (run.outcome, run.text, run.setup) == ("agent_error", "so far", False)
    assert line in (run.reason or "")


def test_qwen_an_api_error_in_the_text_is_no_answer() -> None:
    block = [{"type": "text", "text": "half[API Error: 500 boom]"}]
    result = {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "error": {"message": "[API Error: 500 boom]"},
    }
    run = read(Qwen(), {"type": "assistant", "message": {"id": "m", "content": block}}, result)
    assert (run.outcome, run.text) == ("infrastructure_error", "half")


def test_qwen_memory_is_off(bench: Any) -> None:
    memory = json.loads(Qwen().home_files(bench.job())[".qwen/settings.json"])["memory"]
    assert memory == {"enableManagedAutoMemory": False, "enableManagedAutoDream": False}


# ---------------------------------------------------------------- copilot
def test_copilot_the_usage_file_may_be_missing_or_damaged() -> None:
    for data in (b"", b"{", b"[]", b'{"modelMetrics": {"m": 1}}', b'{"modelMetrics": {"m": {"usage": {"inputTokens": 0}}}}'):
        reader = Copilot().reader()
        reader.feed(b'{"type":"assistant.message","data":{"content":"a"}}')
        reader.feed(b'{"type":"result","exitCode":0}')
        reader.file("usage.json", data)
        run = reader.close(BYE)
        assert (run.outcome, run.usage.output_tokens) == ("ok", None)


def test_copilot_an_error_before_a_later_answer_is_none() -> None:
    error = {"type": "session.error", "data": {"errorType": "query", "message": "x"}}
    answer = {"type": "assistant.message", "data": {"content": "a"}}
    assert read(Copilot(), error, answer, {"type": "result", "exitCode": 0}).outcome == "ok"
    assert read(Copilot(), answer, error, {"type": "result", "exitCode": 0}).outcome == "infrastructure_error"


def test_copilot_works_without_github_at_an_endpoint_of_ones_own(bench: Any) -> None:
    with bench.place() as place:
        env = Copilot(base_url="http://127.0.0.1:9").command(bench.job(place)).env
    assert env["COPILOT_OFFLINE"] == "true"
    assert env["COPILOT_PROVIDER_BASE_URL"] == "http://127.0.0.1:9/v1"


# ---------------------------------------------------------------- pi
def pi_said(text: str, reason: str = "stop", **fields: Any) -> dict[str, Any]:
    usage = {"input": 5, "output": 3, "cacheRead": 2, "cost": {"total": 0.0}}
    content = [{"type": "text", "text": text}] if text else []
    return {
        "type": "message_end",
        "message": {"role": "assistant", "content": content, "usage": usage, "stopReason": reason, **fields},
    }


def test_pi_a_cost_of_nothing_for_tokens_that_were_used_is_unknown() -> None:
    usage = read(Pi(), pi_said("a"), pi_said("b"), {"type": "agent_end"}).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.cost_usd) == (14, 4, 6, None)


def test_pi_status_0_with_a_failed_last_answer_is_a_failure() -> None:
    failed = pi_said("", "error", errorMessage="503 upstream", usage={})
    run = read(Pi(), pi_said("a", "toolUse"), failed, {"type": "agent_end"})
    assert run.outcome == "infrastructure_error"
    assert read(Pi(), failed, {"type": "agent_end"}, {"type": "agent_start"}, pi_said("a"), {"type": "agent_end"}).outcome == "ok"


def test_pi_an_answer_without_usage_where_others_had_theirs_was_cut() -> None:
    cut = pi_said("The notes ar", usage={"input": 0, "output": 0})
    run = read(Pi(base_url="http://127.0.0.1:9"), pi_said("a", "toolUse"), cut, {"type": "agent_end"})
    assert (run.outcome, run.text) == ("infrastructure_error", "The notes ar")
    assert "stream was cut" in (run.reason or "")


@pytest.mark.parametrize(
    ("made", "outcome"),
    [
        (Pi(model="anthropic/claude-sonnet-4-5"), "infrastructure_error"),
        (Pi(model="m", base_url="http://127.0.0.1:9"), "ok"),
        (Pi(model="anthropic/m", base_url="http://127.0.0.1:9"), "ok"),
        (Pi(), "ok"),
    ],
)
def test_pi_an_only_answer_without_usage_was_cut_where_the_provider_always_tells_it(made: Pi, outcome: str) -> None:
    """Another endpoint may tell none at all: the run counts, with a warning."""
    run = read(made, pi_said("The notes ar", usage={"input": 0, "output": 0}), {"type": "agent_end"})
    assert run.outcome == outcome
    assert any("stream was cut" in text for text in run.warnings) == (outcome == "ok")


def test_pi_the_key_of_an_endpoint_is_a_name(bench: Any) -> None:
    made = Pi(model="m", base_url="http://127.0.0.1:9")
    provider = json.loads(made.home_files(bench.job())[".pi/agent/models.json"])["providers"]["endpoint"]
    assert (provider["apiKey"], provider["baseUrl"]) == ("SKILLTRIAL_ENDPOINT_KEY", "http://127.0.0.1:9/v1")


# ---------------------------------------------------------------- agy
def test_agy_what_it_prints_is_the_answer_and_nothing_else_is_known() -> None:
    run = read(Agy(), "Hello,", "world.")
    assert (run.outcome, run.text, run.events, run.activation) == ("ok", "Hello,\nworld.", None, "unknown")
    assert run.usage.output_tokens is None


def test_agy_silence_and_a_bad_status_are_no_answers() -> None:
    assert read(Agy(), exit_=Exit(0, None, None, 0, b"please log in", 1.0)).outcome == "infrastructure_error"
    assert read(Agy(), "half", exit_=Exit(1, None, None, 5, b"", 1.0)).outcome == "agent_error"


def test_agy_asks_for_no_permission_but_as_a_judge(bench: Any) -> None:
    with bench.place() as place:
        assert "--dangerously-skip-permissions" in Agy().command(bench.job(place)).argv
        assert "--dangerously-skip-permissions" not in Agy().command(bench.job(place, judging=True)).argv


# ---------------------------------------------------------------- caps of ours
@pytest.mark.parametrize(
    ("limits", "outcome", "reason"),
    [
        (Limits(max_tokens=20), "budget", "tokens"),
        (Limits(max_requests=1), "budget", "requests"),
        (Limits(max_turns=1), "agent_error", "turn limit"),
        (Limits(max_cost_usd=0.3), "budget", "USD"),
        (Limits(), None, None),
    ],
)
def test_a_program_without_limits_is_held_to_ours(limits: Limits, outcome: str | None, reason: str | None) -> None:
    reader = OpenCode().reader()
    for record in (part("a"), step("tool-calls"), part("b", "m2"), step("tool-calls")):
        reader.feed(json.dumps(record).encode())
    stop = over_a_cap(reader, limits)
    assert (stop.outcome if stop else None) == outcome
    assert stop is None or (reason or "") in stop.reason


def test_every_program_is_a_judge_and_a_target() -> None:
    for name in ("claude-code", "codex", "opencode", "gemini", "qwen", "copilot", "pi", "agy"):
        able = registry.get("backends", name).capabilities
        assert able.judge
        assert able.skills
        assert able.files
        assert able.program
        assert (able.delivery, able.timeout_s) == ("installed", 600.0)
        assert 1 <= able.concurrency <= 4
