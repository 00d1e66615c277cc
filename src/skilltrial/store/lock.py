"""One writer per experiment."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from filelock import FileLock, Timeout

from skilltrial.errors import UsageError
from skilltrial.system.files import write_atomic


class WriterLock:
    """A lock that ends with its process, however it ends. `run.owner` says who holds it."""

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / "run.lock", thread_local=False)
        owner = folder / "run.owner"
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise UsageError(
                f"{folder} is being written by {_read(owner)}",
                "wait for it to end, or stop it; `skilltrial status` may read meanwhile",
            ) from None
        except OSError as error:
            raise UsageError(f"{folder}: cannot be locked: {error.strerror or error}") from error
        try:
            write_atomic(owner, json.dumps({"pid": os.getpid(), "host": platform.node()}) + "\n", None)
        except OSError as error:
            self._lock.release()
            raise UsageError(f"{owner}: cannot be written: {error.strerror or error}") from error

    def release(self) -> None:
        self._lock.release()


def _read(owner: Path) -> str:
    try:
        told = json.loads(owner.read_bytes())
        return f"process {told['pid']} on {told['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
