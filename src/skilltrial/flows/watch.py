"""Ends a running cell from outside: time limit, caps, Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable

from skilltrial.records.evidence import Event
from skilltrial.records.suite import Limits
from skilltrial.seams import Stop


class CellWatch:
    """The Watch seam for one run. The clock starts with `begin`, so that waiting for a slot costs the run nothing."""

    def __init__(self, limits: Limits, stopping: Callable[[], bool]) -> None:
        self.limits = limits
        self.stopping = stopping
        self.tool_calls = 0
        self.began = time.monotonic()
        self.deadline = float("inf")
        self.begin()

    def begin(self) -> None:
        """(Re)starts the clock."""
        self.began = time.monotonic()
        if self.limits.timeout_s is not None:
            self.deadline = self.began + self.limits.timeout_s

    def heard(self, event: Event | None) -> Stop | None:
        if self.stopping():
            return Stop("interrupted", "stopped by the user")
        if time.monotonic() >= self.deadline:
            return Stop("timeout", f"time limit of {self.limits.timeout_s:g} s reached")
        if event is not None and event.kind == "tool_call":
            self.tool_calls += 1
        return None
