"""OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .asking import Asked, Tool
from .chat import error
from .turns import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, REASONING_TOKENS, Frame, Turn

__all__ = ["asked", "error", "frames", "whole"]


def asked(body: dict[str, Any], path: str) -> Asked:
    items = body["input"] if isinstance(body.get("input"), list) else []
    form = (body.get("text") or {}).get("format") or {}
    return Asked(
        model=str(body.get("model")),
        stream=bool(body.get("stream")),
        tools={tool.name: tool for tool in _tools(body.get("tools") or ())},
        results=sum(str(item.get("type", "")).endswith("_output") for item in items if isinstance(item, dict)),
        body=body,
        json_schema=form.get("schema") if form.get("type") == "json_schema" else None,
    )


def _tools(offered: Any) -> Iterator[Tool]:
    """Functions; those of a namespace too, built-in ones by their type."""
    for tool in offered:
        if tool.get("type") == "namespace":
            server = f"{tool['name']}::" if str(tool.get("name")).startswith("mcp__") else ""
            yield from (Tool(f"{server}{one.name}", one.schema) for one in _tools(tool.get("tools") or ()))
        else:
            yield Tool(tool.get("name") or tool["type"], tool.get("parameters") or {})


def whole(turn: Turn, asked: Asked, new_id: str) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    if turn.text or not turn.calls:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.append({"type": "message", "id": f"msg_{new_id}", "status": "completed", "role": "assistant", "content": content})
    for number, call in enumerate(turn.calls):
        server, _, name = call.tool.rpartition("::")
        items.append(
            {"type": "function_call", "id": f"fc_{new_id}{number}", "call_id": f"call_{new_id}{number}", "name": name,
             **({"namespace": server} if server else {}), "arguments": call.json, "status": "completed"}
        )  # fmt: skip
    usage = {
        "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": CACHED_TOKENS}, "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": REASONING_TOKENS}, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }  # fmt: skip
    reply = {
        "id": f"resp_{new_id}", "object": "response", "created_at": 1, "model": asked.model,
        "status": "completed" if turn.stop == "end" else "incomplete", "output": items, "usage": usage,
    }  # fmt: skip
    if turn.stop != "end":
        reply["incomplete_details"] = {"reason": "max_output_tokens" if turn.stop == "length" else "content_filter"}
    return reply


def frames(turn: Turn, asked: Asked, new_id: str) -> Iterator[Frame]:
    for number, frame in enumerate(_frames(turn, whole(turn, asked, new_id))):
        yield frame._replace(data={**frame.data, "sequence_number": number})


def _frames(turn: Turn, reply: dict[str, Any]) -> Iterator[Frame]:
    yield _frame("response.created", response={**reply, "status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(reply["output"]):
        at = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield _frame("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []})
            part = {"type": "output_text", "text": "", "annotations": []}
            yield _frame("response.content_part.added", **at, content_index=0, part=part)
            for words in turn.halves():
                yield _frame("response.output_text.delta", piece=True, **at, content_index=0, delta=words)
            yield _frame("response.output_text.done", **at, content_index=0, text=turn.text)
        else:
            yield _frame(
                "response.output_item.added", output_index=index, item={**item, "status": "in_progress", "arguments": ""}
            )
            yield _frame("response.function_call_arguments.delta", **at, delta=item["arguments"])
            yield _frame("response.function_call_arguments.done", **at, arguments=item["arguments"])
        yield _frame("response.output_item.done", output_index=index, item=item)
    yield _frame(f"response.{reply['status']}", response=reply)


def _frame(kind: str, *, piece: bool = False, **fields: Any) -> Frame:
    return Frame({"type": kind, **fields}, kind, piece)
