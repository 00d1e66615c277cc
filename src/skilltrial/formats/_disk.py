"""Reads foreign trees: bounded, without following links, and telling what cannot be read."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from skilltrial.system.files import read_capped

MOST_BYTES = 64 * 1024 * 1024
"""Of one JSON file."""
TEXT_BYTES = 4 * 1024 * 1024
DEPTH = 9
MOST_FOLDERS = 50_000
"""Looked into for one tree."""
OURS = "experiment.json"
"""What an experiment of ours holds, and no other tool's tree."""
_NEVER = frozenset({"outputs", "inputs", "node_modules", "skill-snapshot", "target", ".git", ".history", "__pycache__"})
"""Folders that hold what runs left or were given, never results."""


def json_at(path: Path) -> Any:
    """The value in a JSON file; None when it is absent, too large or no JSON. NaN and infinities become None."""
    read = read_capped(path, MOST_BYTES)
    if read is None or read.truncated:
        return None
    try:
        return json.loads(read.data.decode("utf-8-sig"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def object_at(path: Path) -> dict[str, Any]:
    """The JSON object in a file; {} for anything else."""
    value = json_at(path)
    return value if isinstance(value, dict) else {}


def text_at(*paths: Path) -> str | None:
    """The text of the first of these files that is there, cut at 4 MiB; None: none is."""
    for path in paths:
        read = read_capped(path, TEXT_BYTES)
        if read is not None:
            return read.data.decode("utf-8", errors="replace")
    return None


def folders(root: Path, names: Collection[str] = ("grading.json",)) -> Iterator[Path]:
    """Every folder below (or at) `root` that holds a file or folder of one of these names, in order of path.

    Experiments of ours below `root` are passed over: the folders of their cells are our view of them, no other tool's runs.
    """
    wanted = frozenset(names)
    waiting = [(root, 0)]
    for _ in range(MOST_FOLDERS):
        if not waiting:
            return
        folder, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: in_order(entry.name), reverse=True)
        except OSError:
            continue
        if depth and any(entry.name == OURS for entry in entries):
            continue
        if any(entry.name in wanted for entry in entries):
            yield folder
        if depth < DEPTH:
            waiting += [
                (Path(entry.path), depth + 1)
                for entry in entries
                if entry.name not in _NEVER and entry.is_dir(follow_symlinks=False)
            ]


def children(folder: Path) -> list[Path]:
    """The folders in a folder, in natural order; [] when it cannot be read."""
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names, key=in_order)]


def in_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that puts run-2 before run-10."""
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for letter in f"{name}\0":
        if letter.isascii() and letter.isdigit():
            digits += letter
            continue
        if digits:
            parts.append((0, int(digits[:18]), digits))
            digits = ""
        parts.append((1, 0, letter))
    return tuple(parts)


def numbered(name: str, prefix: str) -> int | None:
    """N of `<prefix>N`; None when the name is another."""
    tail = name.removeprefix(prefix)
    return int(tail) if tail != name and tail.isascii() and tail.isdigit() and len(tail) < 9 else None


def number(value: Any) -> float | None:
    """A finite number; None for anything else, true and false too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def count(value: Any) -> int | None:
    """A whole number of at least 0; None for anything else."""
    found = number(value)
    return int(found) if found is not None and found >= 0 else None


def words(value: Any) -> str | None:
    """A text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; [] for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
