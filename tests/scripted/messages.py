"""Anthropic Messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .asking import Asked, Tool
from .turns import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Frame, Turn

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def asked(body: dict[str, Any], path: str) -> Asked:
    blocks = [block for message in body.get("messages") or () for block in _blocks(message)]
    return Asked(
        model=str(body.get("model")),
        stream=bool(body.get("stream")),
        tools={
            tool["name"]: Tool(tool["name"], tool.get("input_schema") or {}) for tool in body.get("tools") or () if "name" in tool
        },
        results=sum(block.get("type") == "tool_result" for block in blocks),
        body=body,
        json_schema=((body.get("output_config") or {}).get("format") or {}).get("schema"),
    )


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def whole(turn: Turn, asked: Asked, new_id: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    for number, call in enumerate(turn.calls):
        content.append({"type": "tool_use", "id": f"toolu_{new_id}{number}", "name": call.tool, "input": dict(call.arguments)})
    stop = "tool_use" if turn.calls else {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}[turn.stop]
    usage = {
        "input_tokens": INPUT_TOKENS - CACHED_TOKENS, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED_TOKENS, "output_tokens": OUTPUT_TOKENS,
    }  # fmt: skip
    return {
        "id": f"msg_{new_id}", "type": "message", "role": "assistant", "model": asked.model, "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def frames(turn: Turn, asked: Asked, new_id: str) -> Iterator[Frame]:
    message = whole(turn, asked, new_id)
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield _frame("message_start", message=start)
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            yield _frame("content_block_start", index=index, content_block={"type": "text", "text": ""})
            for part in turn.halves():
                yield _frame("content_block_delta", piece=True, index=index, delta={"type": "text_delta", "text": part})
        else:
            yield _frame("content_block_start", index=index, content_block={**block, "input": {}})
            delta = {"type": "input_json_delta", "partial_json": turn.calls[int(block["id"][-1])].json}
            yield _frame("content_block_delta", index=index, delta=delta)
        yield _frame("content_block_stop", index=index)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _frame("message_delta", delta=stop, usage={"output_tokens": OUTPUT_TOKENS})
    yield _frame("message_stop")


def _frame(kind: str, *, piece: bool = False, **fields: Any) -> Frame:
    return Frame({"type": kind, **fields}, kind, piece)


def error(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": _KINDS.get(status, "api_error"), "message": message}, "request_id": "req_scripted"}
