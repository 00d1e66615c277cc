"""What a run did to its workspace, told by two listings; only what the second shows as touched is read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from skilltrial.records.evidence import Delta
from skilltrial.records.suite import FileRef
from skilltrial.system.files import UNREAD, Entry, Manifest, digest, inside, manifest, read_capped

LARGEST_FILE = 8 * 1024 * 1024
"""Bytes of a file that is read and stored; a larger one is only listed."""
LARGEST_DELTA = 64 * 1024 * 1024
"""Bytes read and stored of all files together."""
_LONGEST_S = 20.0


class Left(Protocol):
    """A workspace after its run."""

    root: Path
    before: Manifest
    landed: dict[str, FileRef]


def delta(workspace: Left) -> tuple[Delta, Callable[[str], bytes | None]]:
    """What was created, changed and deleted, and a function that reads a file of the workspace as the run left it.

    Every process of the run must be dead. Links are not followed, pipes not opened; what is too large or cannot be read
    is listed with digest `unread`, and the delta says that it is truncated.
    """
    before, after = workspace.before, manifest(workspace.root, workspace.before.skipped)
    reader = _Reader(workspace.root, workspace.landed)
    touched = [path for path, entry in after.files.items() if before.files.get(path) != entry]
    refs = {path: reader.look(path, after.files[path]) for path in touched}
    changed = [refs[path] for path in touched if path in before.files and not _same(refs[path], workspace.landed.get(path))]
    return Delta(
        created=tuple(refs[path] for path in touched if path not in before.files),
        changed=tuple(changed),
        deleted=tuple(path for path in before.files if path not in after.files and _is_gone(workspace.root, path)),
        special=tuple(path for path in after.special if path not in before.special),
        truncated=after.truncated or reader.cut,
    ), reader.read


def _same(now: FileRef, then: FileRef | None) -> bool:
    return then is not None and (now.digest, now.executable) == (then.digest, then.executable)


def _is_gone(root: Path, path: str) -> bool:
    """No regular file lies there any more: a listing that was cut short proves nothing."""
    try:
        return not os.path.isfile(root / path) or os.path.islink(root / path)  # noqa: PTH113, PTH114 - no error for odd paths
    except OSError:
        return True


class _Reader:
    """Reads files of a workspace, careful and with a budget."""

    def __init__(self, root: Path, landed: Mapping[str, FileRef]) -> None:
        self.cut = False
        self._root = root
        self._landed = landed
        self._left = LARGEST_DELTA
        self._ends = time.monotonic() + _LONGEST_S

    def look(self, path: str, entry: Entry) -> FileRef:
        """The file by content; `unread` when that costs too much."""
        allowed = min(LARGEST_FILE, self._left) if time.monotonic() < self._ends else 0
        read = read_capped(self._root / path, allowed, force=True) if entry.size <= allowed else None
        if read is None or read.truncated:
            self.cut = True
            return FileRef(path=path, size=entry.size, digest=UNREAD, executable=entry.executable)
        self._left -= read.size
        return FileRef(path=path, size=read.size, digest=digest(read.data), executable=entry.executable)

    def read(self, path: str) -> bytes | None:
        """At most LARGEST_FILE bytes of a regular file inside the workspace; None: there is none."""
        spot = inside(self._root, path)
        read = read_capped(spot, LARGEST_FILE, force=True) if spot else None
        return read.data if read else None
