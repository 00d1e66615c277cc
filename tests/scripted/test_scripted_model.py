"""The scripted model by itself: one play in four wire formats, its faults, and what it understands of a request."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from .asking import Tool
from .scenes import Scene
from .server import Server, serving
from .turns import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS

WRITE = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}
SKILL = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = {"write_file": WRITE, "activate_skill": SKILL}
LISTED = "<available_skills><skill><name>notes</name><location>/s/notes/SKILL.md</location></skill></available_skills>"
PROMPT = "Current working directory: /ws\nWrite the notes."


def messages(text: str, tools: dict[str, Any], results: list[str], stream: bool) -> tuple[str, dict[str, Any]]:
    turns = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": result}]} for result in results]
    offered = [{"name": name, "input_schema": schema} for name, schema in tools.items()]
    return "/v1/messages?beta=true", {
        "model": "m",
        "messages": [{"role": "user", "content": text}, *turns],
        "tools": offered,
        "stream": stream,
    }


def responses(text: str, tools: dict[str, Any], results: list[str], stream: bool) -> tuple[str, dict[str, Any]]:
    items = [{"type": "function_call_output", "call_id": "c", "output": result} for result in results]
    offered = [{"type": "function", "name": name, "parameters": schema} for name, schema in tools.items()]
    return "/v1/responses", {
        "model": "m",
        "input": [{"role": "user", "content": text}, *items],
        "tools": offered,
        "stream": stream,
    }


def chat(text: str, tools: dict[str, Any], results: list[str], stream: bool) -> tuple[str, dict[str, Any]]:
    turns = [{"role": "tool", "tool_call_id": "c", "content": result} for result in results]
    offered = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in tools.items()]
    return "/v1/chat/completions", {
        "model": "m",
        "messages": [{"role": "user", "content": text}, *turns],
        "tools": offered,
        "stream": stream,
    }


def gemini(text: str, tools: dict[str, Any], results: list[str], stream: bool) -> tuple[str, dict[str, Any]]:
    parts = [{"text": text}, *({"functionResponse": {"name": "f", "response": {"output": result}}} for result in results)]
    offered = [{"functionDeclarations": [{"name": name, "parameters": schema} for name, schema in tools.items()]}]
    path = "/v1beta/models/m:streamGenerateContent?alt=sse" if stream else "/v1beta/models/m:generateContent"
    return path, {"contents": [{"role": "user", "parts": parts}], "tools": offered}


Format = Callable[[str, dict[str, Any], list[str], bool], tuple[str, dict[str, Any]]]
FORMATS: list[Format] = [messages, responses, chat, gemini]


@pytest.fixture(params=FORMATS, ids=lambda one: one.__name__)
def speak(request: pytest.FixtureRequest) -> Format:
    chosen: Format = request.param
    return chosen


def post(server: Server, path: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return str(reply.read().decode())


def status(server: Server, path: str, body: dict[str, Any]) -> int:
    try:
        post(server, path, body)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    return 200


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_skill_that_is_offered_is_activated_then_followed_then_reported(speak: Format, stream: bool) -> None:
    with serving(Scene("skill", skill="notes", answer="All done.")) as server:
        first = post(server, *speak(PROMPT + LISTED, TOOLS, [], stream))
        second = post(server, *speak(PROMPT + LISTED, TOOLS, ["WRITE: by the book"], stream))
        last = post(server, *speak(PROMPT + LISTED, TOOLS, ["WRITE: by the book", "written"], stream))
    assert "activate_skill" in first and "write_file" not in first
    assert "write_file" in second and "by the book" in second and "/ws/out.txt" in second
    assert "All " in last and "activate_skill" not in last
    assert [seen.asked.results for seen in server.main if seen.asked] == [0, 1, 2]


def test_an_agent_that_is_offered_no_skill_gets_no_call_of_one(speak: Format) -> None:
    with serving(Scene("skill", skill="notes", content="a guess")) as server:
        first = post(server, *speak(PROMPT, TOOLS, [], True))
    assert "activate_skill" not in first and "a guess" in first


def test_a_skill_without_a_tool_for_it_is_read_by_the_shell(speak: Format) -> None:
    shell = {"bash": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}
    with serving(Scene("skill", skill="notes")) as server:
        first = post(server, *speak(PROMPT + LISTED, shell, [], True))
    assert "cat /s/notes/SKILL.md" in first


def test_every_reply_reports_the_same_tokens(speak: Format) -> None:
    with serving(Scene()) as server:
        reply = json.loads(post(server, *speak(PROMPT, TOOLS, [], False)))
    usage = reply.get("usage") or reply["usageMetadata"]
    numbers = json.dumps(usage)
    assert str(CACHED_TOKENS) in numbers and str(OUTPUT_TOKENS - 7 if "promptTokenCount" in usage else OUTPUT_TOKENS) in numbers
    assert str(INPUT_TOKENS) in numbers or usage["input_tokens"] + usage["cache_read_input_tokens"] == INPUT_TOKENS


@pytest.mark.parametrize("code", [401, 429, 500])
def test_an_error_is_the_answer_to_every_call_or_to_the_first(speak: Format, code: int) -> None:
    ask = speak(PROMPT, TOOLS, [], True)
    with serving(Scene(f"error{code}")) as always, serving(Scene(f"error{code}once")) as once:
        assert [status(always, *ask), status(always, *ask)] == [code, code]
        assert [status(once, *ask), status(once, *ask)] == [code, 200]


def test_a_cut_stream_ends_within_the_last_text(speak: Format) -> None:
    with serving(Scene("truncated", answer="abcdefgh")) as server:
        reply = post(server, *speak(PROMPT, TOOLS, [], True))
    assert "abcd" in reply and "efgh" not in reply


def test_a_malformed_stream_has_one_line_that_is_no_json(speak: Format) -> None:
    with serving(Scene("malformed", answer="abcdefgh")) as server:
        lines = [line[6:] for line in post(server, *speak(PROMPT, TOOLS, [], True)).splitlines() if line.startswith("data: {")]
    assert sum(not _is_json(line) for line in lines) == 1


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("play", "mark"), [("maxtok", ("max_tokens", "incomplete", "length", "MAX_TOKENS")), ("html", ("<html>",) * 4)]
)
def test_other_ends(speak: Format, play: str, mark: tuple[str, ...]) -> None:
    with serving(Scene(play)) as server:
        assert mark[FORMATS.index(speak)] in post(server, *speak(PROMPT, TOOLS, [], True))


def test_a_call_for_a_title_is_a_side_call_and_takes_no_fault() -> None:
    with serving(Scene("error500once")) as server:
        path, body = chat("Generate a title for this conversation: write notes", {}, [], True)
        assert status(server, path, body) == 200
        assert server.seen[0].side and not server.main
        assert status(server, *chat(PROMPT, TOOLS, [], True)) == 500


def test_the_scene_is_chosen_by_a_word_of_the_prompt() -> None:
    with serving({"alpha": Scene(answer="first"), "beta": Scene(answer="other")}) as server:
        assert "other" in post(server, *chat("do beta", TOOLS, [], False))


def test_a_request_for_json_of_a_shape_gets_json_of_that_shape() -> None:
    shape = {
        "type": "object",
        "properties": {"passed": {"type": "boolean"}, "why": {"enum": ["because"]}},
        "required": ["passed", "why"],
    }
    path, body = chat(PROMPT, {}, [], False)
    body["response_format"] = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": shape}}
    with serving(Scene()) as server:
        reply = json.loads(post(server, path, body))
    assert json.loads(reply["choices"][0]["message"]["content"]) == {"passed": False, "why": "because"}


def test_a_hanging_call_ends_with_the_server() -> None:
    with serving(Scene("hang")) as server, pytest.raises(TimeoutError):
        path, body = chat(PROMPT, TOOLS, [], True)
        urllib.request.urlopen(server.url + path, json.dumps(body).encode(), timeout=0.2)


def test_arguments_take_the_names_and_the_required_rest_of_the_tools_own_schema() -> None:
    schema = {"properties": {"cmd": {"type": "array"}, "tries": {"type": "integer"}}, "required": ["cmd", "tries"]}
    assert Tool("run", schema).fitted(command__cmd="ls") == {"cmd": ["bash", "-lc", "ls"], "tries": 1}


@pytest.mark.parametrize(
    ("text", "skills"),
    [
        (
            "<system-reminder>\nThe following skills are available for use with the Skill tool:\n\n- notes: N: it\n- a:b: c\n</system-reminder>",
            {"notes": None, "a:b": None},
        ),
        (
            "- `r0` = `/ws/.agents/skills`\n### Available\n- notes: Write. (file: r0/notes/SKILL.md)\n",
            {"notes": "/ws/.agents/skills/notes/SKILL.md"},
        ),
        (LISTED, {"notes": "/s/notes/SKILL.md"}),
        (
            "<skill>\n<name>\nnotes\n</name>\n<description>d</description>\n<location>\nproject\n</location>\n</skill>",
            {"notes": None},
        ),
        ("The prompt merely mentions notes and SKILL.md.", {}),
    ],
)
def test_a_skill_is_one_that_the_program_lists(text: str, skills: dict[str, str | None]) -> None:
    with serving(Scene()) as server:
        post(server, *chat(text, TOOLS, [], False))
    assert server.main[0].asked is not None and server.main[0].asked.skills == skills
