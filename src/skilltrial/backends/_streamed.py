"""The adapter protocol, version 2: one JSON object a line, what the adapter can do first, the result last."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

from skilltrial.backends._handbook import Response, Violation, an_object, clean, kind_of, no_more_than, usage_of
from skilltrial.records.evidence import Event, Usage
from skilltrial.records.record import JsonObject
from skilltrial.system.processes import GRACE_S

VERSION = 2
CAPABILITIES = frozenset({"events", "files", "usage", "cancellation"})
"""events: every tool call and skill load is told as it happens. files: the result lists what the run wrote. usage: the result
tells tokens. cancellation: after SIGTERM it still sends its result. Others are left alone: a later version may know them."""
_RESULT = frozenset({"type", "output", "usage", "files"})
_FIELDS = {
    "skill_loaded": frozenset({"type", "name"}),
    "tool_call": frozenset({"type", "name", "id", "arguments"}),
    "tool_result": frozenset({"type", "name", "id", "ok", "text"}),
    "text": frozenset({"type", "text"}),
    "error": frozenset({"type", "text"}),
}
_NEEDS = {"skill_loaded": "name", "tool_call": "name", "text": "text", "error": "text"}
_KINDS: dict[str, Any] = {
    "skill_loaded": "skill",
    "tool_call": "tool_call",
    "tool_result": "tool_result",
    "text": "text",
    "error": "error",
}


def request(first: JsonObject, timeout_s: float | None) -> JsonObject:
    """The request of version 1 with its number raised, and the limits an adapter may want to keep itself."""
    return {**first, "protocol_version": VERSION, "timeout_seconds": timeout_s, "grace_seconds": GRACE_S}


class Reader:
    """Takes the lines as they come. Nothing after a line that breaks the protocol is read."""

    def __init__(self) -> None:
        self.capabilities: frozenset[str] | None = None
        self.events: list[Event] = []
        self.files: tuple[str, ...] = ()
        self.fault: Violation | None = None
        self._output: str | None = None
        self._usage: Usage = Usage()
        self._warnings: tuple[str, ...] = ()
        self._lines = 0

    def feed(self, line: bytes) -> Event | None:
        """The event that the line tells, if it tells one."""
        self._lines += 1
        if self.fault is not None or not line.strip():
            return None
        try:
            return self._line(line)
        except Violation as error:
            self.fault = Violation(f"line {self._lines}: {error}")
            return None

    def _line(self, line: bytes) -> Event | None:
        body = an_object(line, "the line")
        if self.capabilities is None:
            self.capabilities = _hello(body)
            return None
        if self._output is not None:
            raise Violation("nothing may follow the result")
        if body.get("type") == "event":
            no_more_than(frozenset({"type", "event"}), body, "the event line")
            event = _event(body.get("event"))
            self.events.append(event)
            return event
        if body.get("type") == "result":
            self._result(body)
            return None
        raise Violation(f"'type' must be event or result, found {json.dumps(body.get('type'))[:40]}")

    def _result(self, body: dict[str, Any]) -> None:
        no_more_than(_RESULT, body, "the result")
        output = body.get("output")
        if not isinstance(output, str):
            raise Violation(f"'output' must be a string, found {kind_of(output) if 'output' in body else 'none'}")
        self._usage, self._warnings = usage_of(body.get("usage", {}))
        self.files = _files(body.get("files", []))
        self._output = clean(output)

    @property
    def usage(self) -> Usage:
        """As far as a result told it, also one that was sent in the time of grace."""
        return self._usage

    def close(self) -> Response:
        """The whole response.

        Raises:
            Violation: it breaks the protocol, or there is no result.
        """
        if self.fault is not None:
            raise self.fault
        if self.capabilities is None:
            raise Violation("the response is empty: its first line says what the adapter can do")
        if self._output is None:
            raise Violation("there is no result line")
        events = tuple(self.events) if self.events or "events" in self.capabilities else None
        return Response(self._output, events, self._usage, self._warnings)


def _hello(body: dict[str, Any]) -> frozenset[str]:
    version = body.get("protocol_version")
    if version != VERSION or isinstance(version, bool):
        said = "it has none" if "protocol_version" not in body else f"it says {json.dumps(version)[:20]}"
        raise Violation(f"the first line must have protocol_version {VERSION}, {said}; version 1 is --adapter-protocol 1")
    no_more_than(frozenset({"protocol_version", "capabilities"}), body, "the first line")
    names = body.get("capabilities")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Violation("'capabilities' must be a list of strings")
    return frozenset(names)


def _event(row: Any) -> Event:
    if not isinstance(row, dict):
        raise Violation(f"'event' must be an object, found {kind_of(row)}")
    name = row.get("type")
    if not isinstance(name, str) or not name.strip():
        raise Violation("event.type must be a string that is not empty")
    no_more_than(_FIELDS.get(name, frozenset({"type", "name", "text"})), row, "the event")
    for key in ("name", "id", "text"):
        if key in row and not isinstance(row[key], str):
            raise Violation(f"event.{key} must be a string, found {kind_of(row[key])}")
    if "ok" in row and not isinstance(row["ok"], bool):
        raise Violation(f"event.ok must be true or false, found {kind_of(row['ok'])}")
    if (needed := _NEEDS.get(name)) and not row.get(needed):
        raise Violation(f"a {name} event needs '{needed}'")
    told = {key: clean(row[key]) if key in row else None for key in ("name", "id", "text")}
    if name not in _KINDS:
        return Event(kind="other", name=clean(name), text=told["name"] or told["text"])
    return Event(
        kind=_KINDS[name], name=told["name"], call=told["id"], ok=row.get("ok"), arguments=row.get("arguments"), text=told["text"]
    )


def _files(rows: Any) -> tuple[str, ...]:
    if not isinstance(rows, list):
        raise Violation(f"'files' must be a list, found {kind_of(rows)}")
    for row in rows:
        if not isinstance(row, str) or not row or PurePosixPath(row).is_absolute() or ".." in PurePosixPath(row).parts:
            raise Violation(f"files: {json.dumps(row)[:80]} is no path inside the workspace")
    return tuple(clean(row) for row in rows)
