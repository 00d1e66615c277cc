"""`mocks` of a case: stand-in MCP servers as `{server: {"tools": {tool: answer}, "files": {path: text}}}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from skilltrial.load.document import Notes, Pointer, shown
from skilltrial.records.mocks import MockServer, MockTool

NAME = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
"""Of a server or a tool: `__` parts the two."""
_TOOL_KEYS = frozenset({"answer", "error", "expect", "description", "input_schema"})


def read(raw: Any, at: Pointer, notes: Notes) -> tuple[MockServer, ...]:
    """The servers; every problem of them is told."""
    if not isinstance(raw, dict):
        notes.error("mocks-form", "'mocks' is an object: server -> tools", at)
        return ()
    return tuple(server for name, value in raw.items() if (server := _server(str(name), value, (*at, name), notes)) is not None)


def _server(name: str, raw: Any, at: Pointer, notes: Notes) -> MockServer | None:
    if not NAME.fullmatch(name):
        notes.error("mocks-name", f"a server is named by letters, digits, '-' and single '_', not '{shown(name)}'", at)
        return None
    tools, files = (raw.get("tools"), raw.get("files", {})) if isinstance(raw, dict) else (None, {})
    if not isinstance(tools, dict) or not tools:
        notes.error("mocks-form", "a server has 'tools', an object: tool -> answer", at)
        return None
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        notes.error("mocks-form", "'files' of a server is an object: path -> text", (*at, "files"))
        return None
    if unknown := sorted(map(str, raw.keys() - {"tools", "files"})):
        notes.error("mocks-form", f"unknown key '{shown(unknown[0])}'", (*at, unknown[0]), "keys: tools, files")
    found = tuple(_tools(tools, (*at, "tools"), notes))
    return MockServer(name=name, tools=found, files={str(path): text for path, text in files.items()}) if found else None


def _tools(raw: Mapping[Any, Any], at: Pointer, notes: Notes) -> Iterator[MockTool]:
    for name, value in raw.items():
        told = {"answer": value} if isinstance(value, str) else value
        where = (*at, name)
        if not NAME.fullmatch(str(name)):
            notes.error("mocks-name", f"a tool is named by letters, digits, '-' and single '_', not '{shown(str(name))}'", where)
        elif not isinstance(told, dict) or not isinstance(told.get("answer"), str):
            notes.error("mocks-form", "a tool is its answer, or an object with 'answer'", where)
        elif unknown := sorted(map(str, told.keys() - _TOOL_KEYS)):
            notes.error(
                "mocks-form", f"unknown key '{shown(unknown[0])}'", (*where, unknown[0]), f"keys: {', '.join(sorted(_TOOL_KEYS))}"
            )
        elif why := _guard_fault(told.get("expect", {})):
            notes.error("mocks-expect", why, (*where, "expect"))
        else:
            try:
                yield MockTool.model_validate({"name": str(name), **told})
            except ValidationError as error:
                fault = error.errors()[0]
                notes.error("mocks-form", fault["msg"], (*where, *fault["loc"]))


def _guard_fault(expect: Any, above: str = "") -> str | None:
    """Why no call could be held to this; None: it can."""
    if not isinstance(expect, dict):
        return "'expect' is an object: argument -> value, list of values, /pattern/ or type"
    for key, wanted in expect.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(wanted, dict):
            if why := _guard_fault(wanted, path):
                return why
        elif isinstance(wanted, list) and not wanted:
            return f"'{shown(path)}' has an empty list, which no value is in"
        elif isinstance(wanted, str) and (pattern := re.fullmatch(r"/(.+)/([a-z]*)", wanted, re.DOTALL)):
            try:
                re.compile(pattern[1])
            except re.error as error:
                return f"'{shown(path)}': {shown(wanted)} is no pattern: {error}"
            if set(pattern[2]) - set("is"):
                return f"'{shown(path)}': a pattern has the flags i and s only"
        elif not isinstance(wanted, str | int | float | bool | list):
            return f"'{shown(path)}' is a value, a list of values, a /pattern/ or a type"
    return None
