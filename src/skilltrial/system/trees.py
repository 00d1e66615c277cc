"""Finding and ending what a program left running: its group, its marked offspring, and orphans that came to us.

On Linux we are the subreaper: an orphan of any depth becomes our child. A child that another thread started is never
waited for here, and never ended: those are registered, and only attributed or evidently adopted processes are touched.

When we are killed nobody is left to do any of that. The variable that every program gets names its owner, so a later process of
ours finds what the dead one left, and ends it before it starts anything itself. (The kernel's own signal on a parent's death
reaches no grandchildren, and asking for it needs code between fork and exec, which is not safe beside other threads.)
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple

MARKER = "SKILLTRIAL_CELL"
"""Variable with a value of its own for every program started, `<owner>-<random>`; its offspring inherits it."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
ORPHANS_COME_TO_US = sys.platform.startswith("linux")
"""Elsewhere only looking at every process finds those that outlive their program."""
_PATIENCE_S = 5.0
_PR_SET_CHILD_SUBREAPER = 36


_ABANDONED = re.compile(MARKER.encode() + rb"=(\d+)\.(\d+)\.(\d+)-")


class Known(NamedTuple):
    """A process as the system lists it."""

    parent: int
    group: int
    session: int
    zombie: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """How to tell which processes belong to one started program."""

    main: int
    mark: bytes
    """`SKILLTRIAL_CELL=…` as it stands in an environment."""
    roots: tuple[str, ...]
    """Folders of its place: who works in one belongs to it."""
    pipes: frozenset[str] = field(default_factory=frozenset)
    """Its output pipes as /proc names them: who holds one belongs to it."""


# ---------------------------------------------------------------- who runs
_lock = threading.Lock()
_mains: set[int] = set()
_running = 0
_adopting = False


@contextmanager
def running() -> Iterator[Callable[[Callable[[], Popen[bytes]]], Popen[bytes]]]:
    """Held from before a program starts until its tree is gone; what it yields starts the program.

    One start at a time, so that no other thread meets a child of ours that is not registered yet.
    """
    global _running
    with _lock:
        _running += 1
        _adopt_orphans()
    mains: list[int] = []

    def launch(popen: Callable[[], Popen[bytes]]) -> Popen[bytes]:
        with _lock:
            process = popen()
            _mains.add(process.pid)
        mains.append(process.pid)
        return process

    try:
        yield launch
    finally:
        with _lock:
            _running -= 1
            _mains.difference_update(mains)
        _end_unclaimed()


def _adopt_orphans() -> None:
    global _adopting
    if _adopting or not ORPHANS_COME_TO_US:
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _adopting = True


# ---------------------------------------------------------------- ending
def signal_group(main: int, number: int) -> None:
    """To the whole group that the program started in. Its leader must not have been waited for yet."""
    send = getattr(os, "killpg", os.kill)  # Windows has no groups: the sweep finds the others
    try:
        send(main, number)
    except OSError:
        return


def signal_followers(main: int, number: int) -> None:
    """To all of the group but its leader."""
    for pid, known in _table().items():
        if known.group == main and pid != main:
            _signal(pid, number)


def end_orphans(tree: Tree) -> int:
    """Ends orphans of `tree` that became our children, and theirs; cheap when there are none. Answers how many lived."""
    ended = 0
    ends = time.monotonic() + _PATIENCE_S
    while time.monotonic() < ends:
        orphans = [pid for pid in _adopted() if _belongs(pid, tree)]
        if not orphans:
            break
        ended += sum(_end(pid) for pid in orphans)
    return ended


def sweep(tree: Tree) -> int:
    """Ends every process that belongs to `tree`, wherever it hides; looks again until there is none. Answers how many."""
    ended: set[int] = set()
    ends = time.monotonic() + _PATIENCE_S
    while time.monotonic() < ends:
        table = _table()
        marked = {pid for pid in table if tree.mark in _environment(pid)}
        found = _offspring({tree.main} | marked, table) | marked | {pid for pid in _adopted() if _belongs(pid, tree)}
        live = {pid for pid in found if pid in table and not table[pid].zombie} - {tree.main, os.getpid()}
        signal_group(tree.main, KILL)  # all of it at one moment, before it can fork again
        for pid in live:
            _signal(pid, KILL)
        for pid in found & set(_adopted()):
            _reap(pid)
        ended |= live
        if not live:
            break
    return len(ended)


def new_mark() -> str:
    """`SKILLTRIAL_CELL=<owner>-<random>`: who starts a program now, by process, its start and the space its number holds in."""
    return f"{MARKER}={'.'.join(map(str, _owner(os.getpid())))}-{secrets.token_hex(12)}"


def end_abandoned() -> int:
    """Ends all that programs left whose owner was killed, and answers how many lived; 0 where the system does not tell.

    Only what carries our variable is touched, and only where its owner is gone for sure: no process of that number started
    then, in the same space of process numbers.
    """
    ended: set[int] = set()
    ends = time.monotonic() + _PATIENCE_S
    while _PROC and time.monotonic() < ends:
        table = _table()
        marked = {pid for pid in table if _is_abandoned(_environment(pid))}
        found = {pid for pid in marked | _offspring(marked, table) if pid in table and not table[pid].zombie} - {os.getpid()}
        for pid in found:
            _signal(pid, KILL)
        if not found:
            break
        ended |= found
        time.sleep(0.001)  # a killed process needs a moment
    return len(ended)


def _is_abandoned(environment: bytes) -> bool:
    found = _ABANDONED.search(environment)
    if found is None:
        return False
    owner, started, space = (int(number) for number in found.groups())
    return space == _space() and _started(owner) != started


def _owner(pid: int) -> tuple[int, int, int]:
    return pid, _started(pid) or 0, _space()


def _started(pid: int) -> int | None:
    """When a process began, in ticks since the machine did; None: there is none, or the system does not say."""
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19])
    except (OSError, IndexError):
        return None


def _space() -> int:
    """The space in which our process numbers hold; 0 where the system does not say."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        return 0


def _end_unclaimed() -> None:
    """Once no program of ours runs, orphans that hid their origin are ended too, and theirs, which then become our children."""
    seen: set[int] = set()
    while fresh := set(_adopted(when_idle=True)) - seen:
        seen |= fresh
        for pid in fresh:
            known = _look(pid)
            if known is None or known.session == os.getsid(0):
                continue
            if known.session != pid or not (known.zombie or _started_by_us(pid)):
                _end(pid)


def _started_by_us(pid: int) -> bool:
    """Somebody in this process started it, in a session of its own and with our environment: not an orphan."""
    home = f"HOME={os.environ.get('HOME', '')}".encode("utf-8", "surrogateescape")
    return home in _environment(pid).split(b"\0")


def _belongs(pid: int, tree: Tree) -> bool:
    known = _look(pid)
    if known is None:
        return False
    if tree.main in (known.group, known.session):
        return True
    return not known.zombie and (tree.mark in _environment(pid) or _works_in(pid, tree.roots) or _holds(pid, tree.pipes))


def _end(pid: int) -> bool:
    """Kills and waits for one of our children; True when it was alive."""
    known = _look(pid)
    alive = known is not None and not known.zombie
    if alive:
        _signal(pid, KILL)
    _reap(pid)
    return alive


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return


def _reap(pid: int) -> None:
    ends = time.monotonic() + 1.0
    pause = 0.0002
    while time.monotonic() < ends:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        time.sleep(pause)  # a killed process needs a moment; it may also be stuck in the kernel
        pause = min(pause * 2, 0.02)


def _offspring(ancestors: set[int], table: dict[int, Known]) -> set[int]:
    by_parent: dict[int, list[int]] = {}
    for pid, known in table.items():
        by_parent.setdefault(known.parent, []).append(pid)
    found: set[int] = set()
    pending = list(ancestors)
    while pending:
        below = [pid for pid in by_parent.get(pending.pop(), ()) if pid not in found]
        found.update(below)
        pending += below
    return found


# ---------------------------------------------------------------- what the system tells
_PROC = Path("/proc/self/stat").exists()


def _adopted(*, when_idle: bool = False) -> list[int]:
    """Our children that no thread of ours registered: orphans, mostly. The kernel hands orphans to the main thread."""
    with _lock:
        if when_idle and _running:
            return []
        try:
            listed = _read(f"/proc/self/task/{os.getpid()}/children").split()
        except OSError:
            return []
        return [int(pid) for pid in listed if int(pid) not in _mains]


def _look(pid: int) -> Known | None:
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        return Known(int(fields[1]), int(fields[2]), int(fields[3]), fields[0] in b"ZX")
    except (OSError, IndexError):
        return None


def _table() -> dict[int, Known]:
    if not _PROC:
        return _table_of_psutil()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names only
    return {pid: known for pid in pids if (known := _look(pid))}


def _table_of_psutil() -> dict[int, Known]:
    import psutil

    table = {}
    for process in psutil.process_iter(["ppid", "status"]):
        try:
            group, session = os.getpgid(process.pid), os.getsid(process.pid)
        except (OSError, AttributeError):  # gone, or a system without groups
            group = session = 0
        zombie = process.info["status"] == psutil.STATUS_ZOMBIE
        table[process.pid] = Known(process.info["ppid"] or 0, group, session, zombie)
    return table


def _environment(pid: int) -> bytes:
    try:
        if _PROC:
            return _read(f"/proc/{pid}/environ")
        import psutil

        return "\0".join(f"{name}={value}" for name, value in psutil.Process(pid).environ().items()).encode("utf-8", "replace")
    except Exception as error:  # psutil's own errors share no base with OSError, and importing them costs every start
        if isinstance(error, OSError) or type(error).__module__.startswith("psutil"):
            return b""
        raise


def _works_in(pid: int, roots: Iterable[str]) -> bool:
    try:
        folder = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - text is all that is needed
    except OSError:
        return False
    return any(folder == root or folder.startswith(root + "/") for root in roots)


def _holds(pid: int, pipes: frozenset[str]) -> bool:
    """Its own output goes there. Other descriptors prove nothing: a child of ours has all of ours until it becomes a program."""
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}") in pipes for fd in (1, 2))  # noqa: PTH115
    except OSError:
        return False


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while piece := os.read(fd, 1 << 16):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(fd)
