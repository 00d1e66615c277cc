"""A user's text file: read as UTF-8 whatever the machine says, parsed once, with places found when they are needed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from skilltrial.records.problems import Problem, Where

Pointer = tuple[str | int, ...]
Level = Literal["load", "standard", "strict"]
Severity = Literal["error", "warning", "info"]
_LEVELS: dict[str, int] = {"load": 0, "standard": 1, "strict": 2}
_SEVERITIES: dict[str, Severity] = {"e": "error", "w": "warning", "i": "info"}


class Spot(NamedTuple):
    """A place in a text, both counted from 1."""

    line: int
    column: int


class Fault(NamedTuple):
    """What a parser found wrong. `pointer` is None where the text could not be parsed at all."""

    rule: str
    found: str
    spot: Spot | None
    hint: str | None = None
    pointer: Pointer | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. `value` is plain JSON data; None with a fatal fault where nothing could be parsed."""

    value: Any
    faults: tuple[Fault, ...] = ()
    broken: bool = False
    """True: the faults left no value to use."""
    locate: Callable[[Pointer], Spot | None] = lambda _: None
    """Place of the value at a pointer; None when it is not in the text. Slow: only for reporting."""


def pointer_text(pointer: Pointer) -> str | None:
    """`("evals", 2, "checks", 0)` as `evals[2].checks[0]`; None for the whole document."""
    text = ""
    for part in pointer:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return printable(text) or None


def printable(text: str) -> str:
    """`text` without lone surrogates, which no file or terminal can take."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


@dataclass(slots=True)
class Notes:
    """Collects the problems of one file at one level of strictness.

    `say` takes a severity for each of the levels load, standard and strict: `wee` is a warning, then an error twice;
    `-` says nothing at that level.
    """

    file: str
    level: Level = "standard"
    locate: Callable[[Pointer], Spot | None] = lambda _: None
    problems: list[Problem] = field(default_factory=list)

    def say(
        self, severities: str, rule: str, found: str, at: Pointer = (), hint: str | None = None, spot: Spot | None = None
    ) -> None:
        letter = severities[_LEVELS[self.level]]
        if letter == "-":
            return
        place = spot
        if place is None:
            # A missing key has no place of its own: its parent has.
            for cut in range(len(at), -1, -1):
                place = self.locate(at[:cut])
                if place:
                    break
        where = Where(
            file=self.file, line=place.line if place else None, column=place.column if place else None, pointer=pointer_text(at)
        )
        hint = printable(hint) if hint else None
        self.problems.append(Problem(where=where, severity=_SEVERITIES[letter], rule=rule, found=printable(found), hint=hint))

    def error(self, rule: str, found: str, at: Pointer = (), hint: str | None = None, spot: Spot | None = None) -> None:
        self.say("eee", rule, found, at, hint, spot)

    def warn(self, rule: str, found: str, at: Pointer = (), hint: str | None = None, spot: Spot | None = None) -> None:
        self.say("www", rule, found, at, hint, spot)

    def info(self, rule: str, found: str, at: Pointer = (), hint: str | None = None, spot: Spot | None = None) -> None:
        self.say("iii", rule, found, at, hint, spot)

    @property
    def failed(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)


def shown(text: str, limit: int = 80) -> str:
    """`text` on one line and cut, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def name_text(name: str) -> str:
    """A file name or path from the system as proper text, also under an ASCII locale."""
    if name.isascii():
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def system_path(text: str) -> str:
    """A path written in a file as the system calls take it, also under an ASCII locale. Raises ValueError: not possible."""
    return text if text.isascii() else os.fsdecode(text.encode("utf-8"))


def read_bytes(path: Path | str, cap: int) -> bytes | Fault:
    """The bytes of a regular file, or why not: absent, a folder or device, unreadable, over `cap` bytes."""
    try:
        # O_NONBLOCK: opening a FIFO must not wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return Fault("missing-file", "there is no such file", None)
    except OSError as error:
        return Fault("unreadable", f"cannot be read: {error.strerror or error}", None)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            return Fault("not-a-file", "is not a regular file", None)
        if state.st_size > cap:
            return Fault("too-large", f"{state.st_size:,} bytes; at most {cap:,} are read", None)
        data = os.read(handle, state.st_size + 1)
        while len(data) != state.st_size and (part := os.read(handle, 65536)):
            data += part
            if len(data) > cap:
                return Fault("too-large", f"more than {cap:,} bytes", None)
        return data
    except OSError as error:
        return Fault("unreadable", f"cannot be read: {error.strerror or error}", None)
    finally:
        os.close(handle)


def decode(data: bytes) -> str | Fault:
    """Bytes as text: UTF-8, a byte-order mark dropped, line ends as they are. Anything else is a Fault with its place."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Fault("not-utf8", "the file is UTF-16", Spot(1, 1), "save it as UTF-8")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Fault(
            "not-utf8", f"byte 0x{data[error.start]:02x} in line {line} is not UTF-8", Spot(line, 1), "save the file as UTF-8"
        )
    if "\0" in text:
        at = text.index("\0")
        return Fault("not-text", "the file holds a NUL character", Spot(text.count("\n", 0, at) + 1, 1))
    return text


def spot_of(text: str, index: int) -> Spot:
    """Line and column of a character."""
    return Spot(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


def too_deep(value: Any, limit: int) -> bool:
    """Whether lists and objects nest deeper than `limit`; never recurses."""
    layer = [value]
    for _ in range(limit + 1):
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
        if not layer:
            return False
    return True
