"""Files of an experiment that are read piece by piece, each opened once."""

from __future__ import annotations

import os
import threading
from pathlib import Path


class Handles:
    """Reads pieces of files below a folder. Threads may share it; it closes its files when it goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._open: dict[str, int] = {}

    def read(self, name: str, at: int, size: int) -> bytes | None:
        """`size` bytes from `at`, fewer where the file ends; None: there is no such file or place in it, or the disk refused.

        A `size` beyond the file, as in a damaged line, takes no memory.
        """
        try:
            file = self._descriptor(name)
            return os.pread(file, max(0, min(size, os.fstat(file).st_size - at)), at)
        except (OSError, OverflowError):
            return None

    def _descriptor(self, name: str) -> int:
        found = self._open.get(name)
        if found is None:
            with self._lock:
                found = self._open.get(name)
                if found is None:
                    found = self._open[name] = os.open(self._folder / name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        return found

    def close(self) -> None:
        """May be called twice; a later read opens again."""
        with self._lock:
            while self._open:
                os.close(self._open.popitem()[1])

    def __del__(self) -> None:
        self.close()
