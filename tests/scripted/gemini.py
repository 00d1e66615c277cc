"""Gemini generateContent and streamGenerateContent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .asking import Asked, Tool
from .turns import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, REASONING_TOKENS, Frame, Turn

_STATES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}


def asked(body: dict[str, Any], path: str) -> Asked:
    functions = [function for tool in body.get("tools") or () for function in tool.get("functionDeclarations") or ()]
    config = body.get("generationConfig") or {}
    model = re.search(r"models/([^:]+):", path)
    shape = config.get("responseJsonSchema") or config.get("responseSchema") or {}
    return Asked(
        model=model.group(1) if model else "unnamed",
        stream=":streamGenerateContent" in path,
        tools={
            one["name"]: Tool(one["name"], one.get("parametersJsonSchema") or one.get("parameters") or {}) for one in functions
        },
        results=sum("functionResponse" in part for content in body.get("contents") or () for part in content.get("parts") or ()),
        body=body,
        json_schema=shape if config.get("responseMimeType") == "application/json" else None,
    )


def _reply(parts: list[dict[str, Any]], asked: Asked, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    reply: dict[str, Any] = {"candidates": [candidate], "modelVersion": asked.model, "responseId": "scripted"}
    if finish:
        candidate["finishReason"] = finish
        reply["usageMetadata"] = {
            "promptTokenCount": INPUT_TOKENS, "cachedContentTokenCount": CACHED_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS - REASONING_TOKENS, "thoughtsTokenCount": REASONING_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        }  # fmt: skip
    return reply


def _calls(turn: Turn) -> list[dict[str, Any]]:
    return [{"functionCall": {"name": call.tool, "args": dict(call.arguments)}} for call in turn.calls]


def _finish(turn: Turn) -> str:
    return {"end": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[turn.stop]


def whole(turn: Turn, asked: Asked, new_id: str) -> dict[str, Any]:
    return _reply([{"text": turn.text}, *_calls(turn)], asked, _finish(turn))


def frames(turn: Turn, asked: Asked, new_id: str) -> Iterator[Frame]:
    for words in turn.halves():
        yield Frame(_reply([{"text": words}], asked), piece=True)
    for call in _calls(turn):
        yield Frame(_reply([call], asked))
    yield Frame(_reply([{"text": ""}], asked, _finish(turn)))


def error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": _STATES.get(status, "UNAVAILABLE")}}
