"""Stand-in MCP servers of a case: tools that answer with what the suite says."""

from __future__ import annotations

from skilltrial.records.record import JsonObject, Record


class MockTool(Record):
    """One tool and its one answer."""

    name: str
    description: str = ""
    input_schema: JsonObject = {}
    """JSON Schema of the arguments; {} takes any."""
    answer: str
    """Text that the tool returns. `{{input.path}}` stands for an argument, `{{file:name}}` for a file of the server."""
    error: bool = False
    """The answer is returned as an error."""
    expect: JsonObject = {}
    """What the arguments must be, by dotted path: a value, a list of allowed values, `/pattern/`, or the name of a type."""


class MockServer(Record):
    """A server that an agent program is given in both arms; its tools are called `mcp__<name>__<tool>`."""

    name: str
    tools: tuple[MockTool, ...]
    files: dict[str, str] = {}
    """Texts that answers may quote, by path."""
