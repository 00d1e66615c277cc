"""Appends to the pack and the journal: pack first, journal second, and only then is a step finished."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from skilltrial.errors import Interrupted, UsageError
from skilltrial.store.index import Spot
from skilltrial.system.files import Appender

HOOKS = "hooks.jsonl"
SYNC_LINES = 50
SYNC_S = 0.2


class Packed(NamedTuple):
    """Where a line lies in a pack."""

    pack: str
    offset: int
    size: int


class Writer:
    """The one writer of an experiment. `lock` is held while a step is appended and noted.

    On disk within 200 ms or 50 lines, at once when `durable`. After `close`, or after the disk refused a line, nothing is
    written any more, so threads that finish late cannot touch a closed experiment.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.pack = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{token_hex(4)}"  # never that of another process or shard
        self._journal = Appender(folder / "results.jsonl", None)  # redacted by whoever hands it over
        self._pack: Appender | None = None
        self._hooks: Appender | None = None
        self._ended: Callable[[], Exception] | None = None
        self._unsynced = 0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._flusher: threading.Thread | None = None
        self._last = time.monotonic()

    def put(self, body: bytes) -> Packed:
        """Appends a line to the pack. Call with `lock` held."""
        self._check()
        try:
            if self._pack is None:
                self._pack = Appender(self.folder / "evidence" / f"{self.pack}.jsonl", None)
            offset, size = self._pack.append(body)
        except OSError as error:
            raise self._refused(error) from error
        return Packed(self.pack, offset, size - 1)

    def step(self, line: str, durable: bool) -> Spot:
        """Appends the journal line that makes a step finished. Call with `lock` held."""
        self._check()
        try:
            spot = Spot(*self._journal.append(line))
            self._unsynced += 1
            if durable or self._unsynced >= SYNC_LINES or time.monotonic() - self._last >= SYNC_S:
                self._sync()
            else:
                self._flush_later()
        except OSError as error:
            raise self._refused(error) from error
        return spot

    def hook(self, line: str) -> None:
        """Appends a line about a hook and syncs it."""
        with self.lock:
            self._check()
            try:
                if self._hooks is None:
                    self._hooks = Appender(self.folder / HOOKS, None)
                self._hooks.append(line)
                self._hooks.sync()
            except OSError as error:
                raise self._refused(error) from error

    def seal(self) -> None:
        """Syncs; from now on every append raises Interrupted."""
        with self.lock:
            if self._ended is None:
                self._ended = lambda: Interrupted("the experiment is closed: this step came too late and is not stored")
                self._stop.set()
                self._wake.set()
                try:
                    self._sync()
                except OSError as error:
                    raise self._refused(error) from error

    def close(self) -> None:
        """Seals and closes the files."""
        try:
            self.seal()
        finally:
            with self.lock:
                self._journal.close()
                for file in (self._pack, self._hooks):
                    if file is not None:
                        file.close()
                self._pack = self._hooks = None

    def _check(self) -> None:
        if self._ended is not None:
            raise self._ended()

    def _sync(self) -> None:
        if self._unsynced:
            if self._pack is not None:
                self._pack.sync()  # before the journal, which speaks of it
            self._journal.sync()
        self._unsynced = 0
        self._last = time.monotonic()

    def _refused(self, error: OSError) -> UsageError:
        message = f"{error.filename or self.folder}: cannot be written: {error.strerror or error}"
        hint = "everything finished before is stored; mend this, then `skilltrial resume` goes on from there"
        self._ended = lambda: UsageError(message, hint)
        self._stop.set()
        self._wake.set()
        return UsageError(message, hint)

    def _flush_later(self) -> None:
        """Bounds the wait of the last lines before a pause; `close` syncs without it."""
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush_loop, name="skilltrial-sync", daemon=True)
            self._flusher.start()
        if not self._wake.is_set():
            self._wake.set()

    def _flush_loop(self) -> None:
        while self._wake.wait() and not self._stop.wait(SYNC_S):
            with self.lock:
                self._wake.clear()
                if self._ended is not None:
                    return
                try:
                    self._sync()
                except OSError as error:
                    self._refused(error)
                    return
