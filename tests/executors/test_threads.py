"""Threads: cells run side by side, none is lost, Ctrl-C is prompt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from skilltrial import registry
from skilltrial.errors import Interrupted, UsageError
from skilltrial.executors.threads import Threads
from skilltrial.records.evidence import Usage
from skilltrial.records.plan import Cell
from skilltrial.seams import Done


class Line:
    """A Queue of `count` cells."""

    def __init__(self, count: int, workers: int) -> None:
        self.workers = workers
        self.told: list[Done] = []
        self.closed: list[str] = []
        self._next = iter([Cell("s", f"c{number}", "t", "with_skill", 1, "", 0) for number in range(count)])
        self._lock = threading.Lock()

    def take(self) -> Cell | None:
        with self._lock:
            return None if self.closed else next(self._next, None)

    def tell(self, done: Done) -> None:
        with self._lock:
            self.told.append(done)

    def close(self, reason: str) -> None:
        self.closed.append(reason)


def ok(cell: Cell) -> Done:
    return Done(cell, "ok", None, Usage(), None, 1)


def failing(error: BaseException) -> Callable[[Cell], Done]:
    def work(cell: Cell) -> Done:
        raise error

    return work


def test_it_is_the_plugin_called_threads() -> None:
    assert registry.get("executors", "threads") is Threads


def test_every_cell_comes_back_once_and_the_queue_hears_of_it_first() -> None:
    queue = Line(200, 8)
    came = [(done.cell.case, any(told is done for told in queue.told)) for done in Threads().run(queue, ok)]
    assert sorted(case for case, _ in came) == sorted(f"c{number}" for number in range(200))
    assert all(heard for _, heard in came)
    assert queue.closed == []


def test_cells_run_side_by_side() -> None:
    together = threading.Barrier(4)

    def work(cell: Cell) -> Done:
        together.wait(timeout=30)  # passes only when four cells are under way at once
        return ok(cell)

    assert len(list(Threads().run(Line(8, 4), work))) == 8


def test_a_fault_of_ours_becomes_a_harness_error_and_the_others_go_on() -> None:
    def work(cell: Cell) -> Done:
        return failing(ZeroDivisionError("boom"))(cell) if cell.case == "c1" else ok(cell)

    done = {one.cell.case: one for one in Threads().run(Line(4, 2), work)}
    assert {case: one.outcome for case, one in done.items()} == {"c0": "ok", "c1": "harness_error", "c2": "ok", "c3": "ok"}
    assert "ZeroDivisionError: boom" in (done["c1"].reason or "")
    assert "in work" in (done["c1"].traceback or "")


def test_a_cell_that_came_too_late_to_be_stored_stays_planned() -> None:
    (done,) = Threads().run(Line(1, 1), failing(Interrupted("sealed")))
    assert done.resting


def test_what_the_user_must_mend_ends_the_run() -> None:
    queue = Line(1000, 2)
    with pytest.raises(UsageError, match="disk is full"):
        list(Threads(grace_s=30).run(queue, failing(UsageError("the disk is full"))))
    assert queue.closed[0] == "stopped: the disk is full"


def test_when_nobody_listens_any_more_the_queue_is_closed_and_running_cells_are_awaited() -> None:
    queue = Line(1000, 4)
    begun: list[Cell] = []

    def work(cell: Cell) -> Done:
        begun.append(cell)
        return ok(cell)

    running = Threads(grace_s=30).run(queue, work)
    assert len(list(islice(running, 3))) == 3
    running.close()  # type: ignore[attr-defined]
    assert queue.closed == ["interrupted"]
    assert {done.cell for done in queue.told} == set(begun)


def test_a_machine_without_threads_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(UsageError, match="no thread"):
        list(Threads().run(Line(3, 2), ok))


INTERRUPTED = r"""
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
sys.path.insert(0, sys.argv[1])
from test_threads import Line
from skilltrial.executors.threads import Threads

def work(cell):
    os.write(1, b"started\n")
    threading.Event().wait()  # a read that never ends

try:
    list(Threads(grace_s=0.1).run(Line(2, 2), work))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_returns_while_cells_hang() -> None:
    arguments = [sys.executable, "-c", INTERRUPTED, str(Path(__file__).parent)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "started\n"
            os.kill(child.pid, signal.SIGINT)
            rest, _ = child.communicate(timeout=30)  # a process that waited for its cells would never end
        finally:
            child.kill()
    assert rest.endswith("interrupted\n")
    assert child.returncode == 0
