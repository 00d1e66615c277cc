"""Runs one program to its end with limits, streams what it prints, and leaves nothing of it running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skilltrial.system import trees
from skilltrial.system.streams import GRACE_S, LONGEST_LINE, TICK_S, Cause, Halt, PumpedStreams, Streams

__all__ = ["GRACE_S", "LONGEST_LINE", "TICK_S", "Ended", "Halt", "Start", "run"]

_STREAMS = Streams if os.name == "posix" else PumpedStreams
_LINGER_S = 0.25
"""How long output is awaited after the program itself has ended: a background process may hold the pipe for ever."""


@dataclass(frozen=True, slots=True)
class Start:
    """What to start and within which limits."""

    argv: Sequence[str]
    env: Mapping[str, str]
    """The whole environment; the marker is added."""
    cwd: str
    stdin: bytes = b""
    output_bytes: int | None = None
    """Of standard output and of standard error, each; None: no cap."""
    deadline: float = float("inf")
    """On `time.monotonic()`."""
    roots: tuple[str, ...] = ()
    """Folders that only this program works in."""
    launcher: bool = False
    """What is started only starts the program and ends all of it by ending: the gentle signal goes to the others of its group."""
    pass_fds: tuple[int, ...] = ()
    """Descriptors that it inherits besides its three streams."""


class Ended(NamedTuple):
    """How a program ended; its whole tree is gone."""

    returncode: int
    """As subprocess has it: negative for a signal."""
    cause: Cause
    halt: Halt | None
    stdout_bytes: int
    stderr: bytes
    duration_s: float
    leaked: int


def run(start: Start, on_line: Callable[[bytes], Halt | None], ask: Callable[[], Halt | None]) -> Ended:
    """Runs a program to its end; thread-safe.

    `on_line` gets every line of standard output as it comes, `ask` is asked at least every TICK_S. An exception of
    either ends the tree at once and goes on to the caller.

    Raises:
        OSError: the program cannot be started.
    """
    mark = trees.new_mark()
    began = time.monotonic()
    with trees.running() as launch:
        process = launch(lambda: _popen(start, mark))
        tree = trees.Tree(process.pid, mark.encode(), start.roots, _pipes(process))
        streams = _STREAMS(process, start.stdin, on_line, start.output_bytes)
        leaked = 0
        killed = True
        try:
            streams.follow(ask, start.deadline)
            killed = streams.cause != "itself"
            if killed:
                (trees.signal_followers if start.launcher else trees.signal_group)(process.pid, signal.SIGTERM)
                streams.await_exit(streams.halt.grace_s if streams.halt else GRACE_S)
            else:
                streams.drain(_LINGER_S)
        finally:
            leaked = trees.sweep(tree) if killed or not trees.ORPHANS_COME_TO_US else trees.end_orphans(tree)
            trees.signal_group(process.pid, trees.KILL)
            streams.drain(_LINGER_S)
            streams.close()
            process.wait()
    return Ended(
        process.returncode,
        streams.cause,
        streams.halt,
        streams.stdout_bytes,
        streams.errors.kept(),
        time.monotonic() - began,
        leaked,
    )


def _popen(start: Start, mark: str) -> subprocess.Popen[bytes]:
    name, _, value = mark.partition("=")
    return subprocess.Popen(
        list(start.argv),
        stdin=subprocess.PIPE if start.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=start.cwd,
        env={**start.env, name: value},
        start_new_session=True,
        pass_fds=start.pass_fds,
    )


def _pipes(process: subprocess.Popen[bytes]) -> frozenset[str]:
    return frozenset(f"pipe:[{os.fstat(stream.fileno()).st_ino}]" for stream in (process.stdout, process.stderr) if stream)
