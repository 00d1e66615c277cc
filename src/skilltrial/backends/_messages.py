"""Streams of messages with content blocks, as Claude Code prints them and Qwen Code does after it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from skilltrial.backends._json_line import added, amount_at, at, count_at, name_at, names_at, prose, rows_at, text_at
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Kind, Trouble
from skilltrial.records.evidence import Inventory, Usage


class MessagesReader(Reader):
    """`system`, `assistant` and `user` lines, and one `result` at the end whose numbers count."""

    version_key: ClassVar[str]
    skill_tool: ClassVar[str]
    limits: ClassVar[dict[str, Kind]] = {}
    """Kind of failure by `subtype`, `terminal_reason` or `api_error` of the result."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._messages: dict[str, Usage] = {}
        """Usage by message: each of its lines repeats it, and the last one holds."""

    def _take(self, record: dict[str, Any]) -> None:
        kind, parent = text_at(record, "type"), name_at(record, "parent_tool_use_id")
        if kind == "system":
            self._system(record)
        elif kind == "assistant":
            self._assistant(record, parent)
        elif kind == "user":
            self._user(record, parent)
        elif kind == "result":
            self._end(record)

    # ------------------------------------------------------------ lines
    def _system(self, record: dict[str, Any]) -> None:
        what = text_at(record, "subtype")
        if what == "init":
            self.model = name_at(record, "model") or self.model
            self.version = name_at(record, self.version_key) or self.version
            self.inventory = self._inventory(record)
        elif what == "api_retry":
            self._fail(Trouble(f"{text_at(record, 'error')} (it tries again)", count_at(record, "error_status")))

    def _inventory(self, record: dict[str, Any]) -> Inventory:
        return Inventory(
            skills=names_at(record, "skills"),
            plugins=names_at(record, "plugins"),
            mcp_servers=names_at(record, "mcp_servers"),
        )

    def _assistant(self, record: dict[str, Any], parent: str | None) -> None:
        message = at(record, "message")
        if text_at(message, "model") == "<synthetic>" or at(record, "is_api_error_message") is True:
            self._fail(Trouble(prose(at(message, "content"))))
            return
        if name := name_at(message, "model"):
            self.model = name
        usage, told = self._counts(at(message, "usage")), text_at(message, "id")
        if told and usage.output_tokens:
            self._messages[told] = usage
            self.requests = len(self._messages)
            self.usage = total(self._messages.values())
        for block in rows_at(message, "content"):
            self._block(block, parent)

    def _block(self, block: dict[str, Any], parent: str | None) -> None:
        kind = text_at(block, "type")
        if kind == "text":
            self._say(text_at(block, "text"), parent)
        elif kind == "thinking":
            self._show("thinking", text_at(block, "thinking"), parent)
        elif kind == "tool_use":
            self._call(name_at(block, "name"), name_at(block, "id"), at(block, "input"), parent)

    def _user(self, record: dict[str, Any], parent: str | None) -> None:
        for block in rows_at(record, "message", "content"):
            if text_at(block, "type") == "tool_result":
                self._ended(record, block, parent)
            elif text_at(block, "type") == "text":
                self._show("user", text_at(block, "text"), parent)

    def _ended(self, record: dict[str, Any], block: dict[str, Any], parent: str | None) -> None:
        call = name_at(block, "tool_use_id")
        ok = at(block, "is_error") is not True and at(record, "tool_use_result", "success") is not False
        text = prose(at(block, "content"))
        self._result(call, ok, text, parent)
        self._skill_result(self.skill_tool, "skill", call, ok, text, parent)

    # ------------------------------------------------------------ the final record
    def _end(self, record: dict[str, Any]) -> None:
        self.ended = True
        self.turns = count_at(record, "num_turns")
        self._totals(record)
        denied = sorted({text_at(row, "tool_name") for row in rows_at(record, "permission_denials")})
        if denied:
            self._warn(f"tool calls were denied: {', '.join(denied)}")
        self.failure = self._failure(record)
        if self.failure is None:
            self.answer = text_at(record, "result") or self.answer

    def _totals(self, record: dict[str, Any]) -> None:
        usage = self._counts(at(record, "usage"))
        if usage.output_tokens:
            self.reached = True
        cost = amount_at(record, "total_cost_usd")
        if not usage.output_tokens and not usage.input_tokens:
            return  # the model was not reached: these zeros are no numbers
        self.usage = usage.model_copy(update={"cost_usd": cost, "cost_source": None if cost is None else "cli"})

    def _failure(self, record: dict[str, Any]) -> Trouble | None:
        what = text_at(record, "subtype")
        if at(record, "is_error") is not True and not what.startswith("error"):
            return None
        errors = at(record, "errors")
        said = [text_at(record, "result"), text_at(record, "error", "message")]
        said += [str(item) for item in errors] if isinstance(errors, list) else []
        words = (what, text_at(record, "terminal_reason"), text_at(record, "api_error"))
        kind = next((self.limits[word] for word in words if word in self.limits), None)
        return Trouble("; ".join(filter(None, said)) or what, count_at(record, "api_error_status"), kind)

    def _counts(self, counts: Any) -> Usage:
        """Token counts of one message or of all: what was read from and written to a cache is input too."""
        cached, written = count_at(counts, "cache_read_input_tokens"), count_at(counts, "cache_creation_input_tokens")
        return Usage(
            input_tokens=added(count_at(counts, "input_tokens"), cached, written),
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=count_at(counts, "output_tokens"),
            reasoning_tokens=count_at(counts, "output_tokens_details", "thinking_tokens"),
        )


def total(rows: Collection[Usage]) -> Usage:
    """All together; what none of them tells stays unknown."""
    return Usage(
        input_tokens=added(*(row.input_tokens for row in rows)),
        cached_tokens=added(*(row.cached_tokens for row in rows)),
        cache_write_tokens=added(*(row.cache_write_tokens for row in rows)),
        output_tokens=added(*(row.output_tokens for row in rows)),
        reasoning_tokens=added(*(row.reasoning_tokens for row in rows)),
    )
