"""What is wrong with an input, and where."""

from __future__ import annotations

import re
from typing import Literal

from skilltrial.records.record import Record

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def _one_line(text: str) -> str:
    """Control characters written out: a name with a line break could start a line of its own, one with an escape paint it."""
    return text if text.isprintable() else _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Where(Record):
    """A place in a user's file. Lines and columns count from 1; None where the format has none."""

    file: str
    line: int | None = None
    column: int | None = None
    pointer: str | None = None
    """Path inside the document, as `evals[2].checks[0].type`."""

    def __str__(self) -> str:
        spot = _one_line(self.file)
        if self.line is not None:
            spot += f":{self.line}"
            if self.column is not None:
                spot += f":{self.column}"
        return spot


class Problem(Record):
    """One finding about one place: what was found, and what would be right."""

    where: Where
    severity: Literal["error", "warning", "info"]
    rule: str
    """Short stable name, as `unknown-check-type`; used by SARIF and for filtering."""
    found: str
    hint: str | None = None

    def __str__(self) -> str:
        pointer = f" {_one_line(self.where.pointer)}:" if self.where.pointer else ""
        text = f"{self.where}:{pointer} {_one_line(self.found)}"
        return f"{text}\nhint: {self.hint}" if self.hint else text
