"""One line of a program's output as JSON, and careful looks into it: nothing here raises for what a program printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object on a line; None for anything else: a half line, prose, a number, nesting without end."""
    text = line.strip().decode("utf-8", "replace")
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text, parse_constant=lambda name: None)
        if "\\ud" in text or "\\uD" in text:  # halves of surrogate pairs, which UTF-8 cannot carry
            found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def at(data: Any, *path: str) -> Any:
    """What lies at a path of keys; None where the shape is another one."""
    for key in path:
        if not isinstance(data, dict):
            return None
        data = data.get(key)
    return data


def text_at(data: Any, *path: str) -> str:
    """The string there; empty when there is none."""
    found = at(data, *path)
    return found if isinstance(found, str) else ""


def name_at(data: Any, *path: str) -> str | None:
    """The string there; None when there is none or it is empty."""
    return text_at(data, *path) or None


def count_at(data: Any, *path: str) -> int | None:
    """The whole number there, 0 or more; None for anything else."""
    found = at(data, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return int(found) if 0 <= found < 1 << 53 and found == int(found) else None


def amount_at(data: Any, *path: str) -> float | None:
    """The number there, 0 or more; None for anything else."""
    found = at(data, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if 0 <= found < 1e12 else None


def rows_at(data: Any, *path: str) -> Iterator[dict[str, Any]]:
    """The objects of the list there."""
    found = at(data, *path)
    for row in found if isinstance(found, list) else ():
        if isinstance(row, dict):
            yield row


def names_at(data: Any, *path: str) -> tuple[str, ...] | None:
    """Names in the list there, given as strings or as objects with a `name`; None when there is no list."""
    found = at(data, *path)
    if not isinstance(found, list):
        return None
    given = (row if isinstance(row, str) else text_at(row, "name") for row in found)
    return tuple(name for name in given if name)


def prose(content: Any) -> str:
    """The text in a message's content: a string, or blocks of which some have `text`."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return prose(content.get("content")) or text_at(content, "text")
    if isinstance(content, list):
        return "\n".join(part for part in map(prose, content) if part)
    return ""


def added(*numbers: int | None) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
