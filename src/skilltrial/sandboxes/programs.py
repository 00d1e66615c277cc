"""What has to be seen of a machine for one installed program to start: links, files and folders, and no more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Shown in any case."""
_BESIDE = ("lib", "lib64", "libexec", "pyvenv.cfg")
"""What an interpreter in `bin` looks for in the folder above."""
_LONGEST_TRAIL = 40


def needs(program: Path, path: str) -> tuple[Path, ...]:
    """The links that lead to `program`, where it really lies, and the same of what interprets it.

    Args:
        path: PATH, for interpreters that are called by name and for folders that hold programs.
    """
    found: list[Path] = []
    pending = [program.absolute()]
    seen: set[Path] = set()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        steps = tuple(trail(current))
        found += steps
        if steps and steps[-1].is_file():
            found += _surroundings(current, steps[-1], path)
            pending += _interpreters(steps[-1], path)
    return tuple(dict.fromkeys(step for step in found if not is_system(step)))


def is_system(path: Path) -> bool:
    """Whether it lies in what is shown in any case."""
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def trail(path: Path) -> Iterator[Path]:
    """Every link on the way to where a path really lies, and that place last; nothing for a path that leads nowhere."""
    links: list[Path] = []
    rest = list(path.parts[1:])
    place = Path(path.anchor)
    while rest:
        place = place / rest.pop(0)
        if place.is_symlink() and not is_system(place):
            links.append(place)
            if len(links) > _LONGEST_TRAIL:
                return
            target = Path(os.path.normpath(place.parent / place.readlink()))
            rest = [*target.parts[1:], *rest]
            place = Path(target.anchor)
    if place.exists():
        yield from links
        yield place


def _surroundings(called: Path, real: Path, path: str) -> list[Path]:
    """All of an installation that the file alone is not: its packages, its libraries, the folder of programs it lies in."""
    for parent in real.parents:
        if parent.name in ("node_modules", "site-packages"):
            return [parent]
    if _shebang(real):
        return [real.parent] if _holds_programs(real.parent, path) else []
    places = [place.parent.parent / name for place in (called, real) if place.parent.name == "bin" for name in _BESIDE]
    return [place for place in places if place.exists()]


def _holds_programs(folder: Path, path: str) -> bool:
    """On PATH, and neither a home nor above one."""
    home = Path.home()
    return str(folder) in path.split(os.pathsep) and not home.is_relative_to(folder)


def _interpreters(real: Path, path: str) -> list[Path]:
    words = _shebang(real)
    if not words:
        return []
    found = [words[0]]
    if Path(words[0]).name == "env":
        called = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
        found += [shutil.which(called, path=path) or ""] if called else []
    return [Path(word) for word in found if word.startswith("/")]


def _shebang(file: Path) -> Sequence[str]:
    """The words after `#!`; none for a file that has no such line."""
    try:
        with file.open("rb") as opened:
            first = opened.read(512).split(b"\n")[0]
    except OSError:
        return ()
    return first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else ()
