"""Runs one program to its end with limits, streams what it prints, and leaves nothing of it running."""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Literal, NamedTuple

from skilltrial.system import trees

TICK_S = 0.2
"""The longest time between two questions to `ask`."""
GRACE_S = 3.0
"""From the gentle signal to the hard one."""
LONGEST_LINE = 64 * 1024 * 1024
_KEPT_STDERR = 65_536
"""Bytes of standard error kept from its beginning, and as many from its end."""
_LINGER_S = 0.25
"""How long output is awaited after the program itself has ended: a background process may hold the pipe for ever."""


class Halt(NamedTuple):
    """A wish to end a running program."""

    reason: object
    grace_s: float = GRACE_S


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


class Ended(NamedTuple):
    """How a program ended; its whole tree is gone."""

    returncode: int
    """As subprocess has it: negative for a signal."""
    cause: Literal["itself", "halt", "deadline", "overflow"]
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
    mark = f"{trees.MARKER}={secrets.token_hex(12)}"
    began = time.monotonic()
    with trees.running() as launch:
        process = launch(lambda: _popen(start, mark))
        tree = trees.Tree(process.pid, mark.encode(), start.roots, _pipes(process))
        streams = _Streams(process, start.stdin, on_line, start.output_bytes)
        leaked = 0
        killed = True
        try:
            streams.follow(ask, start.deadline)
            killed = streams.cause != "itself"
            if killed:
                trees.signal_group(process.pid, signal.SIGTERM)
                streams.await_exit(streams.halt.grace_s if streams.halt else GRACE_S)
            else:
                streams.drain(_LINGER_S)
        finally:
            leaked = trees.sweep(tree) if killed else trees.end_orphans(tree)
            trees.signal_group(process.pid, signal.SIGKILL)
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
    )


def _pipes(process: subprocess.Popen[bytes]) -> frozenset[str]:
    return frozenset(f"pipe:[{os.fstat(stream.fileno()).st_ino}]" for stream in (process.stdout, process.stderr) if stream)


class _HeadAndTail:
    """Keeps the beginning and the end of a stream."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = _KEPT_STDERR - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 4 * _KEPT_STDERR:
            del self._tail[:-_KEPT_STDERR]

    def kept(self) -> bytes:
        tail = bytes(self._tail[-_KEPT_STDERR:])
        cut = self.size - len(self._head) - len(tail)
        return bytes(self._head) + (f"\n[{cut} bytes cut]\n".encode() if cut else b"") + tail


class _Streams:
    """The pipes of one program and the news of its end, waited for together."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, on_line: Callable[[bytes], Halt | None], limit: int | None
    ) -> None:
        self.cause: Literal["itself", "halt", "deadline", "overflow"] = "itself"
        self.halt: Halt | None = None
        self.stdout_bytes = 0
        self.errors = _HeadAndTail()
        self.exited = False
        self._process = process
        self._on_line = on_line
        self._limit = limit
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._unsent = memoryview(stdin)
        self._poll = select.poll()
        self._readers: dict[int, Callable[[bytes], None]] = {}
        self._open(process.stdout, self._heard)
        self._open(process.stderr, self._complained)
        self._pidfd = self._watch_exit()
        self._stdin = process.stdin
        if self._stdin:
            os.set_blocking(self._stdin.fileno(), False)
            self._poll.register(self._stdin.fileno(), select.POLLOUT)
            self._send()

    def follow(self, ask: Callable[[], Halt | None], deadline: float) -> None:
        """Until the program has ended or is to be ended; `cause` says which."""
        asked = time.monotonic()
        while not self.exited and self.cause == "itself":
            now = time.monotonic()
            self._wait(min(asked + TICK_S, deadline) - now)
            now = time.monotonic()
            if self.exited or self.cause != "itself":
                return
            if now >= asked + TICK_S or now >= deadline:
                asked = now
                self.halt = ask()
                if self.halt or now >= deadline:
                    self.cause = "halt" if self.halt else "deadline"

    def await_exit(self, patience_s: float) -> None:
        """Until the program has ended, or this many seconds long. Its output still arrives."""
        ends = time.monotonic() + patience_s
        while not self.exited and (left := ends - time.monotonic()) > 0:
            self._wait(left)

    def drain(self, patience_s: float) -> None:
        """Reads what is still in the pipes, until their end or this many seconds long."""
        ends = time.monotonic() + patience_s
        while self._readers and (left := ends - time.monotonic()) > 0:
            self._wait(left)

    def close(self) -> None:
        """Hands out the last line, complete or not, and lets go of everything."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        if self._line:
            self._tell(b"".join(self._line))
            self._line = []

    def _open(self, stream: IO[bytes] | None, reader: Callable[[bytes], None]) -> None:
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
        self._readers[stream.fileno()] = reader
        self._poll.register(stream.fileno(), select.POLLIN)

    def _watch_exit(self) -> int | None:
        if not hasattr(os, "pidfd_open"):
            return None
        try:
            pidfd = os.pidfd_open(self._process.pid)
        except OSError:  # an old kernel, or no descriptor left
            return None
        self._poll.register(pidfd, select.POLLIN)
        return pidfd

    def _wait(self, seconds: float) -> None:
        """One round: whatever is ready is read."""
        if self._pidfd is None:
            seconds = min(seconds, 0.02)
            self.exited = self.exited or self._process.poll() is not None
        for fd, _ in self._poll.poll(max(0.0, seconds) * 1000):
            if fd == self._pidfd:
                self.exited = True
                self._poll.unregister(fd)
            elif fd in self._readers:
                self._read(fd)
            else:
                self._send()

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        if data:
            self._readers[fd](data)
            return
        self._poll.unregister(fd)
        del self._readers[fd]

    def _send(self) -> None:
        assert self._stdin is not None
        fd = self._stdin.fileno()
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(fd, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # the program does not read it: its right
            pass
        self._poll.unregister(fd)
        self._stdin.close()
        self._stdin = None

    def _heard(self, data: bytes) -> None:
        self.stdout_bytes += len(data)
        if self._overflows(self.stdout_bytes):
            return
        *complete, rest = data.split(b"\n")
        for line in complete:
            self._tell(b"".join([*self._line, line, b"\n"]))
            self._line, self._line_bytes = [], 0
        if rest:
            self._line.append(rest)
            self._line_bytes += len(rest)
            self._overflows(self._line_bytes, LONGEST_LINE)

    def _complained(self, data: bytes) -> None:
        self.errors.add(data)
        self._overflows(self.errors.size)

    def _overflows(self, size: int, limit: int | None = None) -> bool:
        limit = limit or self._limit
        if limit is not None and size > limit and self.cause == "itself":
            self.cause = "overflow"
        return limit is not None and size > limit

    def _tell(self, line: bytes) -> None:
        wish = self._on_line(line)
        if wish and self.cause == "itself":
            self.cause, self.halt = "halt", wish
