"""What a request asks and offers, the same for all wire formats, and what its text says of skills and folders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_FOLDER = re.compile(
    r"(?:working directory: |<cwd>|Workspace Directories:\*\*\n\s*- |working in the directory: )(/[^\n<]+)", re.I
)
_XML_SKILL = re.compile(
    r"<skill>\s*<name>\s*([^<]+?)\s*</name>(?:(?!</skill>).)*?(?:<location>\s*([^<]+?)\s*</location>)?\s*</skill>", re.S
)
_CLAUDE_LIST = re.compile(r"skills are available for use with the Skill tool:\n+(.*?)</system-reminder>", re.S)
_CLAUDE_SKILL = re.compile(r"^- ([\w.:-]+?)(?::\s|$)", re.M)
_CODEX_SKILL = re.compile(r"^- ([\w.:-]+?): .*\(file: ([^)]+)\)$", re.M)
_CODEX_ROOT = re.compile(r"^- `(r\d+)` = `([^`]+)`", re.M)
_TITLE = re.compile(
    r"title generator|generate a (?:brief |short |concise )?title|new conversation topic|memory (?:extraction|consolidation)",
    re.I,
)


@dataclass(frozen=True)
class Tool:
    """A tool a request offers."""

    name: str
    schema: Mapping[str, Any]

    def properties(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.schema.get("properties") or {}
        return found

    def fitted(self, **wanted: Any) -> dict[str, Any]:
        """Arguments in the tool's own names: each wish is `first_name__other_name=value`; what else it requires is made up."""
        given: dict[str, Any] = {}
        for names, value in wanted.items():
            for name in names.split("__"):
                if name in self.properties():
                    as_list = self.properties()[name].get("type") == "array" and isinstance(value, str)
                    given[name] = ["bash", "-lc", value] if as_list else value
                    break
        for name in self.schema.get("required") or ():
            if name not in given:
                given[name] = made_up(self.properties().get(name) or {}, name)
        return given


def made_up(schema: Mapping[str, Any], name: str = "value") -> Any:
    """The plainest value a schema allows."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if str(kind).lower() == "object":
        properties = schema.get("properties") or {}
        return {key: made_up(properties.get(key) or {}, key) for key in schema.get("required") or properties}
    plain = {"number": 1, "integer": 1, "boolean": False, "array": []}
    return plain.get(str(kind).lower(), f"some {name}")


@dataclass(frozen=True)
class Asked:
    """One request for one reply."""

    model: str
    stream: bool
    tools: Mapping[str, Tool]
    results: int
    """Tool results it brings along: how many steps were taken."""
    body: Any = field(repr=False)
    json_schema: Mapping[str, Any] | None = None
    """The reply must be JSON of this shape."""

    @cached_property
    def text(self) -> str:
        """Every string of the request, tools' descriptions included."""
        return "\n".join(strings(self.body))

    @property
    def side(self) -> bool:
        """A call beside the task: a title, a topic, a memory, a router. Such a call never moves a scene on."""
        return not self.tools and (self.json_schema is not None or bool(_TITLE.search(self.text)))

    def tool(self, *names: str) -> Tool | None:
        """The first of these tools that is offered."""
        return next((self.tools[name] for name in names if name in self.tools), None)

    @cached_property
    def folder(self) -> str | None:
        """The workspace, as the program described it; None when it did not."""
        found = _FOLDER.search(self.text)
        return found.group(1).strip().rstrip("/") if found else None

    @cached_property
    def skills(self) -> Mapping[str, str | None]:
        """The skills that the program lists for its model, by name, with the path of their SKILL.md where it tells one."""
        listed: dict[str, str | None] = {}
        for block in _CLAUDE_LIST.findall(self.text):
            listed.update(dict.fromkeys(_CLAUDE_SKILL.findall(block)))
        roots = dict(_CODEX_ROOT.findall(self.text))
        for name, path in _CODEX_SKILL.findall(self.text):
            root, _, rest = path.partition("/")
            listed[name] = f"{roots[root]}/{rest}" if root in roots else path
        for name, place in _XML_SKILL.findall(self.text):
            listed.setdefault(name, place if place.startswith("/") else None)
        return listed


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, in order, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
