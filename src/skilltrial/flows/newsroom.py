"""Tells listeners what happens while an experiment runs."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from skilltrial.records.news import News, NewsType
from skilltrial.seams import Listener


def now() -> str:
    """UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Newsroom:
    """Stamps each piece of news with time, progress and cost, and hands it to every listener, one at a time."""

    def __init__(self, experiment: str, planned: int, done: int, listeners: Sequence[Listener]) -> None:
        self.experiment = experiment
        self.planned = planned
        self.done = done
        self.done_before = done
        self.listeners = tuple(listeners)
        self.cost_usd: float | None = None
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def tell(self, type_: NewsType, **facts: Any) -> None:
        """`facts` are further fields of News."""
        if not self.listeners:
            return
        with self._lock:
            elapsed = time.monotonic() - self._began
            news = News(
                type=type_,
                ts=now(),
                elapsed_s=round(elapsed, 3),
                experiment=self.experiment,
                done=self.done,
                planned=self.planned,
                eta_s=self._eta_s(elapsed),
                total_cost_usd=self.cost_usd,
                **facts,
            )
            for listener in self.listeners:
                self._hand_over(news, listener)

    def _hand_over(self, news: News, listener: Listener) -> None:
        """A listener that raises hears no more: what it does is no part of the measurement."""
        try:
            listener.hear(news)
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
        for listener in self.listeners:
            listener.close()
