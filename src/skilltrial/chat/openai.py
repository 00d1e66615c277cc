"""The chat completions format that OpenAI, OpenRouter, Ollama, vLLM and llama.cpp speak."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from skilltrial.chat.failures import Said
from skilltrial.chat.wire import REQUESTED, Ask, Habits, Heard, NoAnswer, count
from skilltrial.records.evidence import Event, Usage

path = "/chat/completions"
_NEW_NAME = re.compile(r"^(o\d|gpt-5)", re.I)
_REFUSED = re.compile(
    r"unsupported|not supported|unknown (parameter|field|name|argument)|unrecogni[sz]ed|extra (inputs?|fields?)|does not support|"
    r"not permitted|not allowed|unexpected (keyword|field|argument)|deprecated|invalid (parameter|field|value)|cannot be used|only the default",
    re.I,
)
_FIXED = frozenset({"model", "messages", "tools", "tool_choice"})
"""Never left out: without them it would be another question."""


def body(ask: Ask, habits: Habits) -> dict[str, Any]:
    """Model and messages, then params, tools and the wanted shape."""
    user = {"role": "user", "content": ask.user}
    messages = [user] if ask.system is None else [{"role": "system", "content": ask.system}, user]
    request: dict[str, Any] = {"model": ask.model, "messages": messages, **ask.params}
    if ask.tools:
        request["tools"] = list(ask.tools)
        if ask.tool_choice is not None:
            request["tool_choice"] = ask.tool_choice
    if ask.json_schema is not None and "response_format" not in request:
        request["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": ask.json_schema}}
    if "max_tokens" in request and ("max_tokens" in habits.renamed or _NEW_NAME.match(ask.model.rpartition("/")[2])):
        request.setdefault("max_completion_tokens", request.pop("max_tokens"))
    for name in habits.dropped:
        request.pop(name, None)
    return request


def adapt(status: int, error: Said, sent: Mapping[str, Any], habits: Habits) -> bool:
    """Renames max_tokens or leaves out the one parameter that a 400 or 422 names."""
    if status not in (400, 422):
        return False
    text = f"{error.code} {error.message}"
    if "max_tokens" in sent and "max_completion_tokens" in text:
        habits.rename("max_tokens", "max_completion_tokens")
        return True
    if not (_REFUSED.search(text) or error.parameter):
        return False
    name = refused_name(error, sent)
    if name is None:
        return False
    habits.drop(name, error.message)
    return True


def refused_name(error: Said, sent: Mapping[str, Any]) -> str | None:
    """The parameter we sent that the server's refusal is about; None when it is about no optional one."""
    optional = [name for name in sent if name not in _FIXED]
    if error.parameter:
        top = re.split(r"[.\[]", error.parameter, maxsplit=1)[0]
        if top in optional:
            return top if _REFUSED.search(f"{error.code} {error.message}") else None
        if top in sent:
            return None
    named = [name for name in optional if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", error.message)]
    if not named and "response_format" in optional and re.search(r"json[_ ]schema|structured output", error.message, re.I):
        named = ["response_format"]
    return named[0] if named else None


def read(data: Any) -> Heard | NoAnswer:
    """The first choice, its tool calls, and usage."""
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return NoAnswer("infrastructure_error", "an answer without choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return NoAnswer("infrastructure_error", "a choice without a message")
    text, warnings = _text(message)
    warnings += _ending(choices[0].get("finish_reason"), text)
    calls = message.get("tool_calls")
    events = tuple(_event(call) for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()
    if not text and not events and any("filter" in warning or "refused" in warning for warning in warnings):
        return NoAnswer("agent_error", f"no text: {warnings[0]}")
    model = data.get("model")
    return Heard(text, events, usage_of(data.get("usage")), model if isinstance(model, str) else None, tuple(warnings))


def _text(message: Mapping[str, Any]) -> tuple[str, list[str]]:
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str) and content:
        return content, []
    if isinstance(refusal, str) and refusal:
        return refusal, ["the model refused; its refusal stands as the answer"]
    return "", []


def _ending(reason: Any, text: str) -> list[str]:
    if reason == "length":
        return ["the answer was cut off at the token limit" if text else "the token limit was reached before any text"]
    if reason == "content_filter":
        return ["the provider's content filter cut the answer off"]
    return []


def _event(call: Mapping[str, Any]) -> Event:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):  # what is no JSON is kept as the raw text
            arguments = json.loads(arguments, parse_constant=_no_constant) if arguments.strip() else {}
    name, identity = function.get("name"), call.get("id")
    return Event(
        kind="tool_call",
        name=name if isinstance(name, str) else None,
        call=identity if isinstance(identity, str) else None,
        arguments=arguments,
        text=REQUESTED,
    )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def usage_of(data: Any) -> Usage:
    """Token counts and cost as the provider reported them; what is missing stays unknown."""
    if not isinstance(data, dict):
        return Usage()
    prompt, completion = data.get("prompt_tokens_details"), data.get("completion_tokens_details")
    cached = prompt.get("cached_tokens") if isinstance(prompt, dict) else data.get("prompt_cache_hit_tokens")
    cost = data.get("cost")
    known = isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < float("inf")
    return Usage(
        input_tokens=count(data.get("prompt_tokens")),
        cached_tokens=count(cached),
        output_tokens=count(data.get("completion_tokens")),
        reasoning_tokens=count(completion.get("reasoning_tokens")) if isinstance(completion, dict) else None,
        cost_usd=float(cost) if known and cost is not None else None,
        cost_source="provider" if known else None,
    )
