"""Cells on this machine, one daemon thread per running cell."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import ClassVar

from skilltrial.errors import Interrupted, UsageError
from skilltrial.records.evidence import Usage
from skilltrial.records.plan import Cell
from skilltrial.records.record import Record
from skilltrial.seams import Done, Queue

_LOOK_UP_S = 0.2
"""How often the main thread looks up while it waits, so that Ctrl-C is heard on every system."""


class Threads(Record):
    """Threads of our own, not a pool: a pool's are joined at exit, and Ctrl-C would wait for reads in flight."""

    name: ClassVar[str] = "threads"
    grace_s: float = 1.5
    """Seconds that running cells get to end, and kill what they started, after an interruption."""

    def run(self, queue: Queue, work: Callable[[Cell], Done]) -> Iterator[Done]:
        """Yields each cell as it ends. The queue is told in the cell's own thread, before it is yielded here.

        An exception in `work` is a Done with outcome `harness_error` and its traceback; Interrupted leaves the cell
        planned. When the caller stops listening (Ctrl-C, an error), the queue is closed and running cells get `grace_s`.

        Raises:
            UsageError: raised in `work`: the user must mend something before anything can go on, a full disk for instance.
        """
        ended: SimpleQueue[Done | UsageError | None] = SimpleQueue()
        threads = [
            threading.Thread(target=_serve, args=(queue, work, ended), name=f"skilltrial-{number}", daemon=True)
            for number in range(queue.workers)
        ]
        for thread in threads:
            thread.start()
        finished = False
        try:
            yield from _listen(ended, len(threads))
            finished = True
        finally:
            if not finished:
                queue.close("interrupted")
                _join(threads, self.grace_s)


def _listen(ended: SimpleQueue[Done | UsageError | None], threads: int) -> Iterator[Done]:
    while threads:
        try:
            told = ended.get(timeout=_LOOK_UP_S)
        except Empty:
            continue
        if told is None:
            threads -= 1
        elif isinstance(told, UsageError):
            raise told
        else:
            yield told


def _serve(queue: Queue, work: Callable[[Cell], Done], ended: SimpleQueue[Done | UsageError | None]) -> None:
    try:
        while (cell := queue.take()) is not None:
            done = _one(cell, work)
            if isinstance(done, UsageError):
                queue.close(f"stopped: {done.message}")
                ended.put(done)
                return
            queue.tell(done)
            ended.put(done)
    finally:
        ended.put(None)


def _one(cell: Cell, work: Callable[[Cell], Done]) -> Done | UsageError:
    try:
        return work(cell)
    except UsageError as error:
        return error
    except Interrupted as error:
        return _broken(cell, str(error), resting=True)
    except BaseException as error:
        told = traceback.format_exception_only(error)[-1].strip()
        return _broken(cell, f"{told} (a fault of skilltrial's own)", trace=traceback.format_exc())


def _broken(cell: Cell, reason: str, *, resting: bool = False, trace: str | None = None) -> Done:
    return Done(cell, "harness_error", reason, Usage(), None, 0, resting=resting, traceback=trace)


def _join(threads: list[threading.Thread], grace_s: float) -> None:
    deadline = time.monotonic() + grace_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


plugin = Threads
