"""Stand-in MCP servers of `claude plugin eval`: `mocks/<server>/<tool>.md`, and `_tools.json` beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skilltrial.load.beside import Beside, Part
from skilltrial.load.document import Notes, shown
from skilltrial.load.reading import Reading

_LISTING, _SERVER = "_tools.json", "_server.md"
_KEYS = frozenset({"type", "expect", "error", "tools", "abort_when"})


def servers_of(reading: Reading, layers: tuple[str, ...]) -> dict[str, Any] | None:
    """`mocks` of a case in the shared form: those of the suite's folder, with the case's own over them; None: there are none."""
    found: dict[str, Any] = {}
    for layer in layers:
        for name in reading.beside.names(layer):
            if not name.startswith(".") and reading.beside.is_folder(f"{layer}/{name}"):
                _merge(found.setdefault(name, {"tools": {}, "files": {}}), _Server(reading, f"{layer}/{name}"))
    kept = {name: server for name, server in found.items() if server["tools"]}
    for server in kept.values():
        if not server["files"]:
            del server["files"]
    return kept or None


def _merge(into: dict[str, Any], server: _Server) -> None:
    into["tools"] |= dict(server.tools())
    into["files"] |= dict(server.files())


class _Server:
    def __init__(self, reading: Reading, folder: str) -> None:
        self.reading, self.folder = reading, folder
        self.beside: Beside = reading.beside
        self.names = self.beside.names(folder)

    def tools(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Answers by tool. One that a model is to play is told of: there is no such model here."""
        listed = self._listed()
        for name in self.names:
            if not name.endswith(".md") or name.startswith("."):
                continue
            part = self.beside.part(f"{self.folder}/{name}")
            inner = self.reading.of_part(part) if part else None
            if part is None or inner is None or not isinstance(inner.value, dict):
                continue
            tool = name.removesuffix(".md")
            if inner.value.get("type", "fixed") == "agent" or name == _SERVER:
                told = inner.value.get("tools") if name == _SERVER else [tool]
                names = ", ".join(map(str, told)) if isinstance(told, list) and told else tool
                inner.notes.warn(
                    "not-run", f"a model plays {shown(names)} there; here the tool is missing", (), "give a fixed answer"
                )
                continue
            yield tool, {**listed.get(tool, {}), **self._answer(part, inner.value, inner.notes)}

    def _answer(self, part: Part, told: dict[str, Any], notes: Notes) -> dict[str, Any]:
        for key in sorted(map(str, told.keys() - _KEYS)):
            notes.warn("unknown-key", f"the key '{shown(key)}' of a stand-in is not read", (key,))
        return {"answer": part.body, **{key: told[key] for key in ("expect", "error") if told.get(key) is not None}}

    def _listed(self) -> dict[str, dict[str, Any]]:
        """Descriptions and schemas of a saved tools/list response."""
        part = self.beside.part(f"{self.folder}/{_LISTING}") if _LISTING in self.names else None
        inner = self.reading.of_part(part) if part else None
        value = inner.value if inner else None
        value = value.get("result", value) if isinstance(value, dict) else None
        rows = value.get("tools") if isinstance(value, dict) else None
        if inner is not None and not isinstance(rows, list):
            inner.notes.error("mocks-form", 'a saved tools/list response is {"tools": [{"name": …}]}')
        found = {}
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("name"), str):
                made = {"description": row.get("description"), "input_schema": row.get("inputSchema")}
                found[row["name"]] = {key: value for key, value in made.items() if value}
        return found

    def files(self, inner: str = "") -> Iterator[tuple[str, str]]:
        """Texts that answers may quote, by path from the server's folder."""
        folder = f"{self.folder}/{inner}" if inner else self.folder
        for name in self.beside.names(folder):
            path = f"{inner}/{name}" if inner else name
            if name.startswith(".") or (not inner and (name.endswith(".md") or name == _LISTING)):
                continue
            if self.beside.is_folder(f"{self.folder}/{path}"):
                yield from self.files(path)
            elif (text := self.beside.text(f"{self.folder}/{path}")) is not None:
                yield path, text
