"""The keys of JSON files, by which trees are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def key_paths(value: Any, at: str = "") -> Iterator[str]:
    """`a.b[].c` for each mapping key in a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{at}.{key}" if at else str(key)
            yield path
            yield from key_paths(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from key_paths(inner, f"{at}[]")
