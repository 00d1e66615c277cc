"""How many calls one endpoint gets at once: halved when it refuses, climbing back while it answers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from skilltrial.errors import Interrupted

_WINDOW_S = 0.5
_TICK_S = 0.1
_FAST = 0.25
"""Slots added per answer while far below what was too much: doubles the limit every few rounds."""
_NEAR = 0.9


class _Key:
    """Slots of one endpoint. Whoever waits holds a lock in `waiting`; releasing that lock hands the slot over."""

    __slots__ = ("ceiling", "cut_at", "in_use", "limit", "peak", "too_much", "waiting")

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = float(ceiling)
        self.in_use = 0
        self.peak = 0
        """Most in use since the last cut."""
        self.too_much = float("inf")
        """How many were in flight when the endpoint last refused."""
        self.cut_at = float("-inf")
        self.waiting: deque[threading.Lock] = deque()


class AimdLimiter:
    """Slots per key, first come first served. Additive rise, halving once per window, never below one.

    Refusals of calls that were already under way when the limit was cut say nothing new, hence the window. What is halved is
    the number of calls in flight, so `slots` may be larger than the number of threads that ever ask.
    """

    def __init__(
        self, slots: int = 256, *, stopping: Callable[[], bool] = lambda: False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slots = max(1, slots)
        self._stopping = stopping
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, _Key] = {}

    def allow(self, key: str, slots: int) -> None:
        """At most `slots` calls at once for this key from now on."""
        with self._lock:
            self._keys[key] = _Key(max(1, slots))

    def limit(self, key: str) -> int:
        """How many calls may be in flight right now."""
        with self._lock:
            return int(self._key(key).limit)

    @contextmanager
    def slot(self, key: str) -> Iterator[None]:
        """Waits for a slot and holds it.

        Raises:
            Interrupted: the user stopped the experiment while we waited.
        """
        self._take(key)
        try:
            yield
        finally:
            self._give_back(key)

    def refused(self, key: str, retry_after_s: float | None) -> None:
        """Halves the slots, unless they were halved a moment ago. Who was refused waits by itself."""
        with self._lock:
            entry, now = self._key(key), self._clock()
            if now - entry.cut_at >= _WINDOW_S:
                entry.too_much = min(entry.limit, float(max(entry.peak, 1)))
                entry.limit = max(1.0, entry.too_much / 2)
                entry.peak = entry.in_use
                entry.cut_at = now

    def succeeded(self, key: str) -> None:
        """One answer more. Fast back to nine tenths of what was too much, from there one slot for a whole round of answers."""
        entry = self._keys.get(key)
        if entry is None or entry.limit >= entry.ceiling:
            return
        with self._lock:
            step = _FAST if entry.limit < _NEAR * entry.too_much else 1.0 / entry.limit
            entry.limit = min(float(entry.ceiling), entry.limit + step)
            self._hand_out(entry)

    def _key(self, key: str) -> _Key:
        entry = self._keys.get(key)
        if entry is None:
            entry = self._keys[key] = _Key(self._slots)
        return entry

    def _take(self, key: str) -> None:
        with self._lock:
            entry = self._key(key)
            if entry.in_use < int(entry.limit) and not entry.waiting:
                entry.in_use += 1
                entry.peak = max(entry.peak, entry.in_use)
                return
            ticket = threading.Lock()
            ticket.acquire()
            entry.waiting.append(ticket)
        while not ticket.acquire(timeout=_TICK_S):
            if self._stopping():
                self._leave(entry, ticket)
                raise Interrupted("stopped while waiting for a free connection")

    def _leave(self, entry: _Key, ticket: threading.Lock) -> None:
        """Gives up waiting; a slot that was handed over in this very moment goes on to the next."""
        with self._lock:
            if ticket in entry.waiting:
                entry.waiting.remove(ticket)
            else:
                entry.in_use -= 1
                self._hand_out(entry)

    def _give_back(self, key: str) -> None:
        with self._lock:
            entry = self._keys[key]
            entry.in_use -= 1
            self._hand_out(entry)

    def _hand_out(self, entry: _Key) -> None:
        while entry.waiting and entry.in_use < int(entry.limit):
            entry.in_use += 1
            entry.peak = max(entry.peak, entry.in_use)
            entry.waiting.popleft().release()
