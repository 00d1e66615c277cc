"""OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .asking import Asked, Tool
from .turns import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, REASONING_TOKENS, Frame, Turn

_CODES = {400: "context_length_exceeded", 401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error"}


def asked(body: dict[str, Any], path: str) -> Asked:
    functions = [tool["function"] for tool in body.get("tools") or () if tool.get("function")]
    form = body.get("response_format") or {}
    return Asked(
        model=str(body.get("model")),
        stream=bool(body.get("stream")),
        tools={function["name"]: Tool(function["name"], function.get("parameters") or {}) for function in functions},
        results=sum(message.get("role") == "tool" for message in body.get("messages") or ()),
        body=body,
        json_schema=(form.get("json_schema") or {}).get("schema") if form.get("type") == "json_schema" else None,
    )


def _usage() -> dict[str, Any]:
    return {
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS}, "completion_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
    }  # fmt: skip


def _calls(turn: Turn, new_id: str) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{new_id}{number}", "type": "function", "function": {"name": call.tool, "arguments": call.json}}
        for number, call in enumerate(turn.calls)
    ]


def _reason(turn: Turn) -> str:
    return "tool_calls" if turn.calls else {"end": "stop", "length": "length", "refusal": "content_filter"}[turn.stop]


def whole(turn: Turn, asked: Asked, new_id: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = _calls(turn, new_id)
    choice = {"index": 0, "message": message, "finish_reason": _reason(turn)}
    return {"id": new_id, "object": "chat.completion", "created": 1, "model": asked.model, "choices": [choice], "usage": _usage()}


def frames(turn: Turn, asked: Asked, new_id: str) -> Iterator[Frame]:
    head = {"id": new_id, "object": "chat.completion.chunk", "created": 1, "model": asked.model}

    def chunk(delta: dict[str, Any], finish: str | None = None, *, piece: bool = False) -> Frame:
        return Frame({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, piece=piece)

    yield chunk({"role": "assistant", "content": ""})
    for words in turn.halves():
        yield chunk({"content": words}, piece=True)
    for number, call in enumerate(_calls(turn, new_id)):
        yield chunk({"tool_calls": [{"index": number, **call}]})
    yield chunk({}, _reason(turn))
    yield Frame({**head, "choices": [], "usage": _usage()})
    yield Frame("[DONE]")


def error(status: int, message: str) -> dict[str, Any]:
    code = _CODES.get(status, "error")
    return {"error": {"message": message, "type": code, "param": None, "code": code}}
