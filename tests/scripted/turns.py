"""One reply of the model before it is put into a wire format, and the tokens it says it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

INPUT_TOKENS = 1000
"""Of every reply, whatever was asked: a run's usage is then the number of its requests times these four."""
CACHED_TOKENS = 400
"""The part of INPUT_TOKENS read from a cache."""
OUTPUT_TOKENS = 50
REASONING_TOKENS = 7
"""The part of OUTPUT_TOKENS spent thinking, where the format can say so."""


@dataclass(frozen=True)
class Call:
    """A tool to be called."""

    tool: str
    arguments: Mapping[str, Any]

    @property
    def json(self) -> str:
        return json.dumps(self.arguments)


@dataclass(frozen=True)
class Turn:
    """Text, then calls."""

    text: str
    calls: tuple[Call, ...] = ()
    stop: str = "end"
    """end, length, refusal."""
    final: bool = False
    """The task's last reply: the one that stream faults hit."""

    def halves(self) -> tuple[str, ...]:
        """The text in the pieces it is streamed in."""
        middle = len(self.text) // 2
        return tuple(filter(None, (self.text[:middle], self.text[middle:])))


class Frame(NamedTuple):
    """One server-sent event."""

    data: Any
    event: str | None = None
    piece: bool = False
    """It carries a part of the text."""

    def encoded(self) -> bytes:
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        return (f"event: {self.event}\n" if self.event else "").encode() + f"data: {data}\n\n".encode()

    def broken(self) -> bytes:
        """The same event with its JSON cut in two."""
        whole = json.dumps(self.data)
        return Frame(whole[: len(whole) // 2], self.event).encoded()
