"""On a terminal: a few lines that stay in place: how far, how long still, what it cost, what runs, what failed last."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import TextIO, cast

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from skilltrial.listeners import _phrases, _stream
from skilltrial.records.news import News
from skilltrial.wording import untrusted, words

MOST_RUNNING = 6
LAST_FAILURES = 3


class Live:
    """Redrawn four times a second on stderr, gone at the end but for a closing line.

    The cursor stays visible and nothing else of the terminal is changed, so a killed process leaves it as it was.
    """

    def __init__(self, stream: TextIO | None = None, *, color: bool | None = None) -> None:
        self._console = Console(
            file=cast(TextIO, _stream.Tolerant(stream or sys.stderr)),
            no_color=None if color is None else not color,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
        )
        self._lock = threading.Lock()
        self._running: dict[str, float] = {}
        self._failures: deque[str] = deque(maxlen=LAST_FAILURES)
        self._last: News | None = None
        self._heard_at = time.monotonic()
        self._counts = {"passed": 0, "failed": 0, "ungraded": 0, "not measured": 0}
        self._live: RichLive | None = None

    def hear(self, news: News) -> None:
        with self._lock:
            self._note(news)
        if news.type == "experiment_started":
            self._start()
        elif news.type == "experiment_finished":
            self.close()
            self._say(_phrases.aside(news))
        elif news.type == "budget_exceeded" or news.type == "hook_finished":
            self._say(_phrases.aside(news))

    def close(self) -> None:
        """Ends the drawing; safe to call twice and from a signal's handler."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _start(self) -> None:
        if self._live is None and self._console.is_terminal:
            self._live = RichLive(
                get_renderable=self._drawing,
                console=self._console,
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            self._console.show_cursor(True)

    def _note(self, news: News) -> None:
        self._last, self._heard_at = news, time.monotonic()
        if news.cell is None:
            return
        if news.type == "cell_started":
            self._running[news.cell] = self._heard_at
        elif news.type == "cell_waiting":
            self._running.pop(news.cell, None)
        elif news.type in ("cell_finished", "cell_failed"):
            self._running.pop(news.cell, None)
            self._counts["not measured" if news.type == "cell_failed" else news.state or "ungraded"] += 1
            if _phrases.is_trouble(news):
                self._failures.append(_phrases.finished(news))

    def _say(self, text: str | None) -> None:
        if text:
            self._console.print(Text(text))

    def _drawing(self) -> Group:
        with self._lock:
            return Group(*self._lines())

    def _lines(self) -> Iterator[Text | Table]:
        news, now = self._last, time.monotonic()
        if news is None:
            return
        since = now - self._heard_at
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=max(1, news.planned or 1), completed=news.done or 0, width=24),
            Text(f"{news.done or 0:,}/{news.planned or 0:,}"),
            Text(_clock(news, since)),
        )
        yield bar
        yield Text(
            ", ".join(f"{number} {name}" for name, number in self._counts.items() if number) or "nothing finished yet",
            style="dim",
        )
        running = sorted(self._running.items(), key=lambda item: item[1])
        for cell, began in running[:MOST_RUNNING]:
            yield Text(f"  {untrusted.line(cell)}  {words.duration(now - began)}", no_wrap=True, overflow="ellipsis")
        if len(running) > MOST_RUNNING:
            yield Text(f"  and {len(running) - MOST_RUNNING} more", style="dim")
        for failure in self._failures:
            yield Text(failure, style="red", no_wrap=True, overflow="ellipsis")


def _clock(news: News, since_s: float) -> str:
    parts = [words.duration(news.elapsed_s + since_s)]
    if news.eta_s is not None and news.planned != news.done:
        parts.append(f"about {words.duration(max(0.0, news.eta_s - since_s))} left")
    if news.total_cost_usd is not None:
        parts.append(words.usd(news.total_cost_usd))
    return " · ".join(parts)


plugin = Live
