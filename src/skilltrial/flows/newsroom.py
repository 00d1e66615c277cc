"""Tells listeners what happens while an experiment runs."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from skilltrial.records.news import News, NewsType
from skilltrial.seams import Listener


def now() -> str:
    """UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


BATCH_S = 0.05
"""News is handed over in batches this far apart."""
_PATIENCE_S = 2.0
"""How long the end of a run waits for a listener that does not come back."""


class Newsroom:
    """Stamps each piece of news with time, progress and cost, and hands it to every listener, in order, from a thread of its own.

    Whoever tells never waits for a listener: with many cells at once that wait was a sixth of the CPU of a cell.
    """

    def __init__(self, experiment: str, planned: int, done: int, listeners: Sequence[Listener]) -> None:
        self.experiment = experiment
        self.planned = planned
        self.done = done
        self.done_before = done
        self.listeners = tuple(listeners)
        self.cost_usd: float | None = None
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._waiting: list[dict[str, Any]] = []
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def tell(self, type_: NewsType, **facts: Any) -> None:
        """`facts` are further fields of News."""
        if not self.listeners:
            return
        with self._lock:
            elapsed = time.monotonic() - self._began
            stamp = {
                "type": type_,
                "ts": now(),
                "elapsed_s": round(elapsed, 3),
                "done": self.done,
                "eta_s": self._eta_s(elapsed),
                "total_cost_usd": self.cost_usd,
            }
            self._waiting.append(stamp | facts)
            if self._thread is None:
                self._thread = threading.Thread(target=self._deliver, name="skilltrial-news", daemon=True)
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()

    def _deliver(self) -> None:
        """Hands over what waits, batch by batch, until the newsroom is closed and nothing waits any more."""
        while not self._closing.is_set() or self._waiting:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                batch, self._waiting = self._waiting, []
            for facts in batch:
                news = News(experiment=self.experiment, planned=self.planned, **facts)
                for listener in self.listeners:
                    self._hand_over(listener, listener.hear, news)
            for listener in self.listeners:
                if pause := getattr(listener, "pause", None):
                    self._hand_over(listener, pause)
            self._closing.wait(BATCH_S)

    def _hand_over(self, listener: Listener, hear: Callable[..., None], *news: News) -> None:
        """A listener that raises hears no more: what it does is no part of the measurement."""
        try:
            hear(*news)
        except Exception as error:  # foreign code may stand behind it
            self.listeners = tuple(other for other in self.listeners if other is not listener)
            told = f"{type(listener).__name__} hears no more news, it raised {type(error).__name__}: {error}"
            warnings.warn(told, RuntimeWarning, stacklevel=2)

    def finished(self, cost_usd: float | None) -> None:
        """Counts one more finished cell and what it cost, when that is known."""
        with self._lock:
            self.done += 1
            if cost_usd is not None:
                self.cost_usd = (self.cost_usd or 0.0) + cost_usd

    def _eta_s(self, elapsed: float) -> float | None:
        here = self.done - self.done_before
        if here < 1:
            return None
        return round(elapsed / here * max(0, self.planned - self.done), 1)

    def close(self) -> None:
        """Hands over what still waits and closes the listeners."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)
        for listener in self.listeners:
            listener.close()
