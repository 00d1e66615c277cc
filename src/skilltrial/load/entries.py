"""What an entry of a folder is, when links lead in a circle or vanish meanwhile."""

from __future__ import annotations

import os


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a regular file or a link to one; False for a link that leads nowhere or back to itself."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder or a link to one; False for a link that leads nowhere or back to itself."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def real_path(path: str) -> str:
    """`os.path.realpath`; the path itself where a link on the way cannot be read, as those of /proc of a process that ended."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)  # noqa: PTH100
