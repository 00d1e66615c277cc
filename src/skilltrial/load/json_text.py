"""JSON as users write it: duplicates, NaN, infinities, lone surrogates and great depth are refused, with their place.

The parse itself is the standard library's C scanner. Places are looked up only when something has to be reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json import decoder
from typing import Any, Never

from skilltrial.load.document import Document, Fault, Pointer, Spot, spot_of, too_deep

SIZE_CAP = 4_000_000
"""Bytes of one file."""
DEPTH_CAP = 64
_scan_string: Any = vars(decoder)["scanstring"]
_scan_value: Any = vars(json.JSONDecoder())["scan_once"]
_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


class _RefusedError(ValueError):
    """A number that is not finite."""


def parse(text: str) -> Document:
    """The text as plain data, with every duplicate key reported."""
    duplicates = False

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal duplicates
        made = dict(found)
        if len(made) != len(found):
            duplicates = True
        return made

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_constant, parse_float=_float)
    except json.JSONDecodeError as error:
        return _broken(
            "invalid-json",
            f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}",
            Spot(error.lineno, error.colno),
            _hint(text, error),
        )
    except _RefusedError as error:
        at = _outside_strings(text, str(error))
        return _broken("not-finite", f"{error} is not a JSON number", spot_of(text, at) if at is not None else None)
    except RecursionError:
        return _broken("too-deep", f"nested deeper than {DEPTH_CAP} levels", None)
    except ValueError as error:
        return _broken("invalid-json", f"not valid JSON: {error}", None)
    if text.count("[") + text.count("{") > DEPTH_CAP and too_deep(value, DEPTH_CAP):
        return _broken("too-deep", f"nested deeper than {DEPTH_CAP} levels", None)
    if _SURROGATE.search(text) and (half := _half_surrogate(value, text)):
        return Document(None, (half,), broken=True)
    faults = tuple(_duplicates(text)) if duplicates else ()
    return Document(value, faults, locate=lambda pointer: locate(text, pointer))


def locate(text: str, pointer: Pointer) -> Spot | None:
    """Line and column where the value at `pointer` starts; of repeated keys the last, which is the one that counts."""
    index = _skip(text, 0)
    try:
        for part in pointer:
            found = None
            for key, start in _members(text, index):
                if key == part:
                    found = start
                    if isinstance(part, int):
                        break
            if found is None:
                return None
            index = found
    except (ValueError, IndexError, StopIteration, RecursionError):
        return None
    return spot_of(text, index)


def _members(text: str, index: int) -> Iterator[tuple[str | int, int]]:
    """Key (or position) and start of every member of the list or object that starts at `index`."""
    opening = text[index]
    if opening not in "[{":
        return
    index = _skip(text, index + 1)
    position = 0
    while text[index] not in "]}":
        key: str | int = position
        if opening == "{":
            key, index = _scan_string(text, index + 1)
            index = _skip(text, _skip(text, index) + 1)
        yield key, index
        _, end = _scan_value(text, index)
        index = _skip(text, end)
        if text[index] == ",":
            index = _skip(text, index + 1)
        position += 1


def _duplicates(text: str) -> Iterator[Fault]:
    waiting: list[tuple[Pointer, int]] = [((), _skip(text, 0))]
    while waiting:
        pointer, index = waiting.pop()
        seen: set[str | int] = set()
        for key, start in _members(text, index):
            if key in seen:
                yield Fault(
                    "duplicate-key", f"the key '{key}' is given twice", spot_of(text, start), "keep one of them", (*pointer, key)
                )
            seen.add(key)
            if text[start] in "[{":
                waiting.append(((*pointer, key), start))


def _half_surrogate(value: Any, text: str) -> Fault | None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        found = _SURROGATE.search(text)
        return Fault(
            "lone-surrogate", r"half of a \u surrogate pair stands alone", spot_of(text, found.start()) if found else None
        )
    return None


def _skip(text: str, index: int) -> int:
    found = _SPACE.match(text, index)
    return found.end() if found else index


def _broken(rule: str, found: str, spot: Spot | None, hint: str | None = None) -> Document:
    return Document(None, (Fault(rule, found, spot, hint),), broken=True)


def _constant(name: str) -> Never:
    raise _RefusedError(name)


def _float(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise _RefusedError(text)
    return number


def _outside_strings(text: str, word: str) -> int | None:
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|' + re.escape(word), text):
        if not found[0].startswith('"'):
            return found.start()
    return None


def _hint(text: str, error: json.JSONDecodeError) -> str | None:
    before = text[: error.pos].rstrip()
    if not text.strip():
        return "the file is empty"
    if before.endswith(",") and text[error.pos : error.pos + 1] in ("}", "]"):
        return "drop the comma before the closing bracket"
    if text[error.pos : error.pos + 2] in ("//", "/*"):
        return "JSON has no comments"
    if text[error.pos : error.pos + 1] == "'":
        return "JSON strings stand in double quotes"
    return None
