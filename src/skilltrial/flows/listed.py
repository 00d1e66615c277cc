"""Work on a given list of cells, several at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from skilltrial import registry
from skilltrial.records.plan import Cell
from skilltrial.seams import Done


class ListedQueue:
    """The Queue seam over a given list of cells."""

    def __init__(self, cells: Collection[Cell], workers: int) -> None:
        self._left = iter(tuple(cells))
        self._lock = threading.Lock()
        self.workers = workers
        self.closed = False

    def take(self) -> Cell | None:
        with self._lock:
            return None if self.closed else next(self._left, None)

    def tell(self, done: Done) -> None:
        """Nothing depends on a result here."""

    def close(self, reason: str) -> None:
        self.closed = True


def in_threads(work: Callable[[Cell], Done], cells: Collection[Cell], concurrency: int | None) -> None:
    """Calls `work` on each, at most `concurrency` (None: 16) at once."""
    queue = ListedQueue(cells, min(len(cells), concurrency or 16) or 1)
    for _ in registry.get("executors", "threads")().run(queue, work):
        pass
