"""Cells on this machine, one daemon thread per running cell."""

from __future__ import annotations

import _thread
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

Ended = SimpleQueue[Done | UsageError | None]
"""What threads report: a cell that ended, what ends everything, or None: this thread is done."""
_LOOK_UP_S = 0.02
"""How often the main thread looks what has come. It does not wait for each cell: waking it every time would cost as much as a call."""


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
        ended: Ended = SimpleQueue()
        running = [queue.workers]
        finished = False
        try:
            # Thread.start waits with a lock of Python's own in hand, and Ctrl-C there breaks it; this call does not wait
            _thread.start_new_thread(_start, (running[0], queue, work, ended))
            yield from _listen(ended, running)
            finished = True
        finally:
            if not finished:
                queue.close("interrupted")
                _wait(ended, running, self.grace_s)


def _start(count: int, queue: Queue, work: Callable[[Cell], Done], ended: Ended) -> None:
    """Starts the threads; with fewer than asked for the work goes on, with none it cannot."""
    for number in range(count):
        thread = threading.Thread(target=_serve, args=(queue, work, ended), name=f"skilltrial-{number}", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no more
            if number == 0:
                ended.put(UsageError("this machine lets no thread be started", "run fewer things at once, or raise the limit"))
            for _ in range(number, count):
                ended.put(None)
            return


def _listen(ended: Ended, running: list[int]) -> Iterator[Done]:
    while running[0]:
        try:
            told = ended.get_nowait()
        except Empty:
            time.sleep(_LOOK_UP_S)
            continue
        if told is None:
            running[0] -= 1
        elif isinstance(told, UsageError):
            raise told
        else:
            yield told


def _wait(ended: Ended, running: list[int], grace_s: float) -> None:
    """Returns when every thread is done, or the time is up. What they still tell is in the queue and the store."""
    deadline = time.monotonic() + grace_s
    while running[0] and (left := deadline - time.monotonic()) > 0:
        try:
            running[0] -= ended.get(timeout=left) is None
        except Empty:
            return


def _serve(queue: Queue, work: Callable[[Cell], Done], ended: Ended) -> None:
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


plugin = Threads
