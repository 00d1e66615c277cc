"""Claude Code: its command line, and the traps in its stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skilltrial.backends.claude_code import ClaudeCode
from skilltrial.records.evidence import AgentRun
from skilltrial.records.suite import Limits
from skilltrial.seams import Exit

BYE = Exit(0, None, None, 100, b"", 1.0)


def read(*records: Any, skills: tuple[str, ...] = ("demo",), exit_: Exit = BYE) -> AgentRun:
    reader = ClaudeCode().reader(skills)
    for record in records:
        reader.feed((record if isinstance(record, str) else json.dumps(record)).encode() + b"\n")
    return reader.close(exit_)


def said(text: str, message: str = "m1", **usage: int) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": message, "content": [{"type": "text", "text": text}], "usage": usage}}


def calls(name: str, arguments: Any, call: str = "c1") -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": name, "input": arguments}
    return {"type": "assistant", "message": {"id": f"m-{call}", "content": [block]}}


def answers(call: str = "c1", *, error: bool = False, content: Any = "fine") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "is_error": error, "content": content}
    return {"type": "user", "message": {"content": [block]}}


def result(**fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 1000, "output_tokens": 90}
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "ok", "usage": usage, **fields}


# ---------------------------------------------------------------- usage
def test_the_final_record_wins_over_lines_that_repeat_a_message() -> None:
    """FC-05 (a)."""
    lines = [said("x", input_tokens=10, cache_read_input_tokens=1000, output_tokens=n) for n in (5, 40, 90)]
    usage = read(*lines, result()).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (1010, 1000, 90)


def test_without_a_final_record_the_last_line_of_each_message_counts() -> None:
    """FC-05 (a)."""
    lines = [said("x", input_tokens=10, cache_read_input_tokens=1000, output_tokens=n) for n in (5, 40, 90)]
    run = read(*lines, said("y", "m2", input_tokens=20, output_tokens=7))
    assert (run.usage.input_tokens, run.usage.output_tokens) == (1030, 97)
    assert any("lower bound" in warning for warning in run.warnings)


def test_what_sub_agents_used_is_in_the_sum_per_model() -> None:
    models = {"a": {"inputTokens": 5, "cacheReadInputTokens": 2, "outputTokens": 3}, "b": {"inputTokens": 1, "outputTokens": 1}}
    usage = read(said("x"), result(modelUsage=models, total_cost_usd=0.5)).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.cost_usd) == (8, 2, 4, 0.5)
    assert usage.cost_source == "cli"


def test_a_number_that_is_missing_stays_missing() -> None:
    usage = read(said("x"), result(usage={"output_tokens": 3})).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cost_usd, usage.cost_source) == (None, None, None, None)


# ---------------------------------------------------------------- activation
def test_a_look_round_before_the_skill_decides_nothing() -> None:
    """FC-07."""
    run = read(calls("Bash", {"command": "ls"}), answers(), calls("Skill", {"skill": "demo"}, "c2"), answers("c2"), result())
    assert run.activation == "activated"


def test_another_skill_first_decides_nothing() -> None:
    """FC-07."""
    first = (calls("Skill", {"skill": "other"}), answers())
    assert read(*first, result()).activation == "not_seen"
    assert read(*first, calls("Skill", {"skill": "plug:demo"}, "c2"), answers("c2"), result()).activation == "activated"


@pytest.mark.parametrize("failure", [{"error": True}, {}])
def test_a_skill_that_could_not_be_loaded_was_not_activated_and_is_told(failure: Any) -> None:
    told = answers(content="no such skill", **failure)
    told["tool_use_result"] = {"success": False}
    run = read(calls("Skill", {"skill": "demo"}), told, result())
    assert run.activation == "not_seen"
    assert any("could not be loaded: no such skill" in warning for warning in run.warnings)


def test_available_and_unused_differs_from_never_listed() -> None:
    """FC-12: the inventory tells the two apart."""
    listed = read({"type": "system", "subtype": "init", "skills": ["demo"]}, said("x"), result())
    absent = read({"type": "system", "subtype": "init", "skills": []}, said("x"), result())
    silent = read(said("x"), result())
    assert [run.inventory.skills for run in (listed, absent, silent)] == [("demo",), (), None]
    assert {run.activation for run in (listed, absent, silent)} == {"not_seen"}


def test_a_run_cut_short_tells_nothing_about_activation() -> None:
    assert read(said("x"), exit_=Exit(None, 9, None, 10, b"", 1.0)).activation == "unknown"


def test_a_baseline_expects_none() -> None:
    assert read(said("x"), result(), skills=()).activation == "none_expected"


# ---------------------------------------------------------------- verdicts
def test_a_failure_under_the_name_of_success_is_a_failure() -> None:
    run = read(said("x"), result(is_error=True, api_error_status=529, result="Overloaded"))
    assert (run.outcome, run.setup) == ("infrastructure_error", False)
    assert "Overloaded" in (run.reason or "")


def test_a_success_without_one_reply_never_reached_the_model() -> None:
    run = read(result(num_turns=0, result="", usage={"input_tokens": 0, "output_tokens": 0}))
    assert run.outcome == "infrastructure_error"
    assert run.usage.output_tokens is None


def test_an_unknown_model_is_a_failure_of_set_up() -> None:
    text = "There's an issue with the selected model (x). It may not exist or you may not have access. model: x not found"
    run = read(result(is_error=True, api_error_status=404, result=text, usage={}))
    assert (run.outcome, run.setup) == ("infrastructure_error", True)


def test_a_wrong_key_says_what_to_type() -> None:
    run = read(result(is_error=True, api_error_status=401, result="Invalid API key", usage={}))
    assert run.setup
    assert "claude setup-token" in (run.reason or "")


def test_denied_tools_are_told() -> None:
    run = read(said("x"), result(permission_denials=[{"tool_name": "Write"}]))
    assert "tool calls were denied: Write" in run.warnings


@pytest.mark.parametrize(
    "odd",
    [
        "null", "[]", "7", "{", '{"type": 7}', '{"type":"assistant","message":"text"}', '{"type":"assistant","message":{"content":7}}',
        '{"type":"user","message":{"content":[[]]}}', '{"type":"result","usage":[],"num_turns":-1}',
        '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"\\ud800 x"}]}}',
        '{"type":"assistant","message":{"content":[{"type":"tool_use","input":NaN}]}}', '{"a":' * 3000,
        '{"type":"system","subtype":"init","skills":[1,{},"s"],"mcp_servers":{}}',
    ],
)  # fmt: skip
def test_nothing_that_is_printed_raises(odd: str) -> None:
    run = read(odd, said("x"), result())
    assert run.model_dump_json()


# ---------------------------------------------------------------- the command line
def environment(bench: Any, place: Any, **fields: Any) -> dict[str, str]:
    return dict(ClaudeCode(**fields).command(bench.job(place)).env)


def test_it_is_kept_from_trying_for_minutes_and_from_calling_home(bench: Any) -> None:
    with bench.place() as place:
        env = environment(bench, place)
    for name in (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
    ):
        assert env[name] == "1"
    assert env["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert env["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] == "1"
    assert env["CLAUDE_CONFIG_DIR"].startswith(str(place.home))


def test_bundled_skills_are_out_unless_asked_for(bench: Any) -> None:
    with bench.place() as place:
        assert environment(bench, place)["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"] == "1"
        assert "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS" not in environment(bench, place, bundled_skills=True)


def test_root_is_let_skip_permissions(bench: Any, monkeypatch: Any) -> None:
    with bench.place() as place:
        for user, expected in ((0, True), (1000, False)):
            monkeypatch.setattr("os.geteuid", lambda user=user: user)
            assert ("IS_SANDBOX" in environment(bench, place)) is expected


def test_allowed_tools_are_the_only_ones_and_the_skill_tool_stays(bench: Any) -> None:
    with bench.place() as place:
        argv = ClaudeCode(allowed_tools=("Bash(git *)", "Read")).command(bench.job(place)).argv
    assert argv[argv.index("--allowedTools") + 1] == "Skill,Bash(git *),Read"
    assert "--dangerously-skip-permissions" not in argv


def test_limits_it_has_itself_are_passed_on(bench: Any) -> None:
    with bench.place() as place:
        argv = ClaudeCode().command(bench.job(place, limits=Limits(max_turns=7, max_cost_usd=0.5))).argv
    assert argv[argv.index("--max-turns") + 1] == "7"
    assert argv[argv.index("--max-budget-usd") + 1] == "0.5"


def test_a_judge_has_no_tools(bench: Any) -> None:
    with bench.place() as place:
        argv = ClaudeCode().command(bench.job(place, judging=True)).argv
    assert argv[argv.index("--tools") + 1] == ""
