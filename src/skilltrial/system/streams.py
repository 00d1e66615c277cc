"""The pipes of one program and the news of its end, waited for together."""

from __future__ import annotations

import os
import queue
import select
import subprocess
import time
from collections.abc import Callable
from threading import Thread
from typing import IO, Literal, NamedTuple

TICK_S = 0.2
"""The longest time between two questions to `ask`."""
GRACE_S = 3.0
"""From the gentle signal to the hard one."""
LONGEST_LINE = 64 * 1024 * 1024
_KEPT_STDERR = 65_536
"""Bytes of standard error kept from its beginning, and as many from its end."""
Cause = Literal["itself", "halt", "deadline", "overflow"]


class Halt(NamedTuple):
    """A wish to end a running program."""

    reason: object
    grace_s: float = GRACE_S


class HeadAndTail:
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


class Streams:
    """Waits by `poll`, on Linux also for the end of the program itself."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, on_line: Callable[[bytes], Halt | None], limit: int | None
    ) -> None:
        self.cause: Cause = "itself"
        self.halt: Halt | None = None
        self.stdout_bytes = 0
        self.errors = HeadAndTail()
        self.exited = False
        self._process = process
        self._on_line = on_line
        self._limit = limit
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._unsent = memoryview(stdin)
        self._readers: dict[int, Callable[[bytes], None]] = {}
        self._stdin = process.stdin
        self._pidfd: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._poll = select.poll()
        for stream, reader in self._outputs():
            os.set_blocking(stream.fileno(), False)
            self._readers[stream.fileno()] = reader
            self._poll.register(stream.fileno(), select.POLLIN)
        self._pidfd = self._watch_exit()
        if self._stdin:
            os.set_blocking(self._stdin.fileno(), False)
            self._poll.register(self._stdin.fileno(), select.POLLOUT)
            self._send()

    def _outputs(self) -> tuple[tuple[IO[bytes], Callable[[bytes], None]], ...]:
        assert self._process.stdout is not None and self._process.stderr is not None
        return (self._process.stdout, self._heard), (self._process.stderr, self._complained)

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


class PumpedStreams(Streams):
    """The same with a thread per pipe, where the system cannot wait for several pipes at once (Windows)."""

    _ROUND_S = 0.02

    def _begin(self) -> None:
        self._closed = False
        self._arrived: queue.Queue[tuple[int, bytes]] = queue.Queue(maxsize=64)
        for stream, reader in self._outputs():
            self._readers[stream.fileno()] = reader
            Thread(target=self._pump, args=(stream, stream.fileno()), daemon=True).start()
        if self._stdin:
            Thread(target=self._feed, args=(self._stdin,), daemon=True).start()

    def close(self) -> None:
        self._closed = True  # a pipe that somebody still reads is left to its reader
        if self._line:
            self._tell(b"".join(self._line))
            self._line = []

    def _pump(self, stream: IO[bytes], fd: int) -> None:
        with stream:
            data = b"-"
            while data and not self._closed:
                try:
                    data = os.read(fd, 1 << 16)
                except OSError:
                    data = b""
                self._hand_over(fd, data)

    def _hand_over(self, fd: int, data: bytes) -> None:
        while not self._closed:
            try:
                self._arrived.put((fd, data), timeout=TICK_S)
                return
            except queue.Full:
                continue

    def _feed(self, stdin: IO[bytes]) -> None:
        try:
            with stdin:
                stdin.write(self._unsent)
        except OSError:  # the program does not read it: its right
            return

    def _wait(self, seconds: float) -> None:
        self.exited = self.exited or self._process.poll() is not None
        try:
            fd, data = self._arrived.get(timeout=max(0.0, min(seconds, self._ROUND_S)))
        except queue.Empty:
            return
        if data:
            self._readers[fd](data)
        else:
            self._readers.pop(fd, None)
