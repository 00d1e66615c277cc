"""Blocks of text for a terminal, collected as a string."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from skilltrial.wording import untrusted

STYLES = {"good": "green", "bad": "red", "quiet": "", "warn": "yellow", "soft": "dim"}

_ANY = 10_000
"""Columns; more than any table needs."""


class Paper:
    """Blocks with a blank line between them; colour only when asked for."""

    def __init__(self, width: int, color: bool) -> None:
        self._file = io.StringIO()
        self._width = max(40, width)
        self._console = Console(
            file=self._file,
            width=self._width,
            force_terminal=color,
            no_color=not color,
            color_system="standard" if color else None,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def put(self, *parts: RenderableType, wrap: bool = True) -> None:
        """One block; `wrap=False` leaves long lines to the terminal, so that they can be copied."""
        if not parts:
            return
        if self._file.tell():
            self._console.print()
        for part in parts:
            whole = not wrap or (isinstance(part, Text) and part.no_wrap is True)  # print() joins texts and forgets their no_wrap
            self._console.width = max(self._width, self._needed(part))
            self._console.print(part, crop=False, soft_wrap=whole)
        self._console.width = self._width

    def _needed(self, part: RenderableType) -> int:
        """Columns of a table that would be cut, for a number that is cut reads as another; 0: it fits, or can be wrapped."""
        if not isinstance(part, Table):
            return 0
        wide = part.__rich_measure__(self._console, self._console.options.update(width=_ANY))
        return wide.maximum + len(part.columns) if wide.minimum + len(part.columns) > self._width else 0

    def text(self) -> str:
        """What was put so far; no line ends in blanks."""
        return "\n".join(line.rstrip() for line in self._file.getvalue().split("\n")).rstrip("\n") + "\n"


def safe(text: str, style: str = "") -> Text:
    """One line of untrusted text as it is: no markup, no control characters."""
    return Text(untrusted.line(text), style=style)


def copyable(text: str, style: str = "dim") -> Text:
    """A line that is never wrapped."""
    return Text(untrusted.plain(text).replace("\n", " "), style=style, no_wrap=True, overflow="ignore")
