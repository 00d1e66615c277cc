"""Killed at any moment, or refused by the disk: nothing acknowledged is lost, torn or counted twice."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.store.conftest import finish, make_plan, planned, run_of

from skilltrial.errors import UsageError
from skilltrial.store import create, open_

KILLS = 25

WRITER = r"""
import os, sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from conftest import grades_of, run_of
from skilltrial.store import open_

def say(*words):
    os.write(1, (" ".join(words) + "\n").encode())

def serve(experiment, todos, lock):
    while True:
        with lock:
            todo = next(todos, None)
        if todo is None:
            return
        cell = todo.cell
        if todo.need == "run":
            digest = experiment.append_evidence(run_of(cell, attempt=experiment.next_attempt(cell.id))).digest
            say("evidence", cell.id, digest)
        else:
            digest = experiment.result(cell.id).evidence.digest
        experiment.append_grading(grades_of(cell, digest, ask=True), 1)
        say("grades", cell.id, digest)

def write():
    experiment = open_(Path(sys.argv[2]), write=True)
    todos, lock = iter(list(experiment.remaining())), threading.Lock()
    threads = [threading.Thread(target=serve, args=(experiment, todos, lock)) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    experiment.close()

for _ in sys.stdin:  # one process imports everything, and a child of it writes
    child = os.fork()
    if child == 0:
        write()
        os._exit(0)
    say("pid", str(child))
    os.waitpid(child, 0)
    say("dead")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_writer_killed_at_random_moments_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    with create(tmp_path, lambda name: make_plan(name, cases=40, repetitions=10), {}, None) as experiment:
        folder = experiment.folder
    luck = random.Random(20260101)
    known: set[tuple[str, ...]] = set()
    arguments = [sys.executable, "-c", WRITER, str(Path(__file__).parent), str(folder)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as writer:
        for _ in range(KILLS):
            known |= _killed_after(writer, luck.randrange(1, 30), luck.random() * 0.002)
            _check(folder, known)
        known |= _killed_after(writer, 10**9, 0)  # the last one may finish
        assert writer.stdin is not None
        writer.stdin.close()
    _check(folder, known)
    view = open_(folder)
    assert list(view.remaining()) == []
    assert {(result.evidence and result.evidence.attempt, result.superseded) for result in view.results()} == {(1, ())}


def _killed_after(writer: subprocess.Popen[str], count: int, then_s: float) -> set[tuple[str, ...]]:
    """What a writer acknowledged until it was killed."""
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write("go\n")
    lines = (tuple(line.split()) for line in iter(writer.stdout.readline, ""))
    acknowledged: set[tuple[str, ...]] = set()
    pid = 0
    for words in lines:
        if words[0] == "pid":
            pid = int(words[1])
        elif words[0] == "dead":
            break
        else:
            acknowledged.add(words)
        if pid and len(acknowledged) == count:
            _spin(then_s)
            os.kill(pid, signal.SIGKILL)
            count = -1
    return acknowledged


def _spin(seconds: float) -> None:
    """Lets the writer go on for a moment, so that it dies within a step as well as between two."""
    for _ in range(int(seconds * 2e7)):
        pass


def _check(folder: Path, known: set[tuple[str, ...]]) -> None:
    view = open_(folder)
    assert view.warnings == ()
    found = {result.cell.id: result for result in view.results()}
    for kind, cell, digest in known:
        result = found[cell]
        assert result.evidence is not None
        assert result.evidence.digest == digest
        assert kind == "evidence" or (result.grading is not None and view.transcript(result))
    assert all(view.evidence(result) is not None for result in found.values() if result.evidence)


# ---------------------------------------------------------------- the disk refuses
class Disk:
    """Fails the n-th call of the functions that change a disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        self.fired = False
        self._error = 0
        for name in ("write", "fsync", "fdatasync", "mkdir", "replace", "rename", "ftruncate"):
            if hasattr(os, name):
                monkeypatch.setattr(os, name, self._counted(getattr(os, name)))

    def fail(self, number: int, error: int) -> None:
        self.left, self.fired, self._error = number, False, error

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self.left:
                self.left -= 1
                if self.left == 0:
                    self.fired = True
                    raise OSError(self._error, os.strerror(self._error))
            return real(*arguments, **named)

        return call


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk(monkeypatch)
    yield disk
    disk.left = 0


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_whichever_call_the_disk_refuses_it_is_one_message_and_what_was_stored_stays(
    tmp_path: Path, disk: Disk, error: int
) -> None:
    number = 0
    while True:
        number += 1
        workspace = tmp_path / str(number)
        workspace.mkdir()
        finished: list[str] = []
        disk.fail(number, error)
        try:
            _scenario(workspace, finished)
        except UsageError as refused:
            assert os.strerror(error) in str(refused)
        disk.left = 0
        for folder in workspace.glob("iteration-*"):
            view = open_(folder)
            assert view.warnings == ()
            graded = [result.cell.id for result in view.results() if result.grading]
            assert graded[: len(finished)] == finished
            with open_(folder, write=True) as writer:  # and it goes on from there
                for todo in list(writer.remaining()):
                    finish(writer, todo.cell)
            assert list(open_(folder).remaining()) == []
        if not disk.fired:
            break
    assert number > 15
    assert finished == [cell.id for cell in planned(view)]


def _scenario(workspace: Path, finished: list[str]) -> None:
    with create(workspace, lambda name: make_plan(name, cases=1), {}, None) as experiment:
        for cell in planned(experiment):
            finish(experiment, cell)
            finished.append(cell.id)


def test_after_a_refusal_nothing_more_is_written(tmp_path: Path, disk: Disk) -> None:
    experiment = create(tmp_path, make_plan, {}, None)
    one, two, *_ = planned(experiment)
    finish(experiment, one)
    disk.fail(1, errno.ENOSPC)
    with pytest.raises(UsageError, match="No space left"):
        experiment.append_evidence(run_of(two))
    with pytest.raises(UsageError, match="resume"):  # the space that is there again may be gone the next moment
        experiment.append_evidence(run_of(two))
    experiment.close()
    assert [bool(result.evidence) for result in open_(experiment.folder).results()][:3] == [True, False, False]


def test_a_durable_step_is_synced_before_it_is_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fdatasync if hasattr(os, "fdatasync") else os.fsync

    def noting(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().parent.name if sys.platform == "linux" else "")
        real(fd)

    experiment = create(tmp_path, make_plan, {}, None)
    monkeypatch.setattr(os, real.__name__, noting)
    experiment.append_evidence(run_of(planned(experiment)[0]), durable=True)
    if sys.platform == "linux":
        assert synced[:2] == ["evidence", "iteration-1"]  # the pack before the journal that speaks of it
    experiment.close()
