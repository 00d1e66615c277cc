"""Anthropic's Messages format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from skilltrial.chat import openai
from skilltrial.chat.failures import Said
from skilltrial.chat.wire import REQUESTED, Ask, Habits, Heard, NoAnswer, count
from skilltrial.records.evidence import Event, Usage

path = "/v1/messages"
VERSION_HEADER = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096
_THEIR_NAMES = {"max_completion_tokens": "max_tokens", "stop": "stop_sequences"}
_EXTRA = re.compile(r"^([\w-]+)(?:[.:][\w.\d]*)?: .*(extra inputs|not permitted|not supported|unsupported|deprecated)", re.I)
_FIXED = frozenset({"model", "messages", "max_tokens", "system", "tools", "tool_choice"})


def body(ask: Ask, habits: Habits) -> dict[str, Any]:
    """System apart from the messages; `max_tokens` is a must there; tools in their own form."""
    request: dict[str, Any] = {
        "model": ask.model,
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": ask.user}],
    }
    if ask.system is not None:
        request["system"] = ask.system
    for name, value in ask.params.items():
        name = _THEIR_NAMES.get(name, name)
        request[name] = [value] if name == "stop_sequences" and isinstance(value, str) else value
    if ask.tools:
        request["tools"] = [_tool(tool) for tool in ask.tools]
        choice = _choice(ask.tool_choice)
        if choice is not None:
            request["tool_choice"] = choice
    for name in habits.dropped:
        request.pop(name, None)
    return request


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """An OpenAI tool in Anthropic's form; any other is passed on as it is."""
    function = tool.get("function")
    if not isinstance(function, dict):
        return dict(tool)
    mapped = {"name": function.get("name"), "input_schema": function.get("parameters") or {"type": "object", "properties": {}}}
    if function.get("description"):
        mapped["description"] = function["description"]
    return mapped


def _choice(choice: Any) -> Any:
    words = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
    if isinstance(choice, str):
        return words.get(choice)
    if isinstance(choice, dict) and isinstance(choice.get("function"), dict):
        return {"type": "tool", "name": choice["function"].get("name")}
    return choice


def adapt(status: int, error: Said, sent: Mapping[str, Any], habits: Habits) -> bool:
    """Leaves out the one parameter that a 400 names, as in "seed: Extra inputs are not permitted"."""
    if status != 400:
        return False
    found = _EXTRA.match(error.message)
    name = (
        found.group(1) if found else openai.refused_name(error, {key: value for key, value in sent.items() if key not in _FIXED})
    )
    if name is None or name in _FIXED or name not in sent:
        return False
    habits.drop(name, error.message)
    return True


def read(data: Any) -> Heard | NoAnswer:
    """Text blocks joined, tool_use blocks as events."""
    blocks = data.get("content") if isinstance(data, dict) else None
    if not isinstance(blocks, list):
        return NoAnswer("infrastructure_error", "an answer without content")
    blocks = [block for block in blocks if isinstance(block, dict)]
    text = "".join(block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str))
    events = tuple(_event(block) for block in blocks if block.get("type") == "tool_use")
    reason, warnings = data.get("stop_reason"), []
    if reason in ("max_tokens", "model_context_window_exceeded"):
        warnings.append("the answer was cut off at the token limit" if text else "the token limit was reached before any text")
    if reason == "refusal":
        if not text and not events:
            return NoAnswer("agent_error", "no text: the model refused")
        warnings.append("the model refused; its refusal stands as the answer")
    if reason == "pause_turn":
        warnings.append("the provider paused the turn; what had been written stands as the answer")
    usage = _usage(data.get("usage"))
    model = data.get("model")
    return Heard(text, events, usage, model if isinstance(model, str) else None, tuple(warnings))


def _event(block: Mapping[str, Any]) -> Event:
    name, identity = block.get("name"), block.get("id")
    return Event(
        kind="tool_call",
        name=name if isinstance(name, str) else None,
        call=identity if isinstance(identity, str) else None,
        arguments=block.get("input"),
        text=REQUESTED,
    )


def _usage(data: Any) -> Usage:
    """Anthropic counts cache reads and writes apart from `input_tokens`; ours holds all three."""
    if not isinstance(data, dict):
        return Usage()
    plain = count(data.get("input_tokens"))
    read_, written = count(data.get("cache_read_input_tokens")), count(data.get("cache_creation_input_tokens"))
    total = None if plain is None else plain + (read_ or 0) + (written or 0)
    output = count(data.get("output_tokens"))
    return Usage(input_tokens=total, cached_tokens=read_, cache_write_tokens=written, output_tokens=output)
