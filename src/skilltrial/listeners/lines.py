"""Where there is no terminal: one line per finished cell, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TextIO

from skilltrial.listeners import _phrases, _stream
from skilltrial.records.news import News


class Lines:
    """Cell, outcome, checks passed, time, tokens, cost; trouble ends with the line that shows the cell.

    Why a measurement failed is said once: an outage or a wrong key meets many cells alike.
    `texts` gives what stands below the line of a cell, as its prompt and answer.
    """

    def __init__(self, stream: TextIO | None = None, texts: Callable[[str], Iterable[str]] | None = None) -> None:
        self._stream = _stream.Lines(stream or sys.stderr)
        self._texts = texts
        self._why: str | None = None

    def hear(self, news: News) -> None:
        if news.type == "cell_failed" and news.reason is not None and news.reason == self._why:
            self._stream.line(_phrases.finished(news.model_copy(update={"reason": "as before"})))
        elif news.type in ("cell_finished", "cell_failed"):
            self._why = news.reason if news.type == "cell_failed" else self._why
            self._stream.line(_phrases.finished(news))
            if _phrases.is_trouble(news):
                self._stream.line(_phrases.show_line(news))
            for text in self._texts(news.cell) if self._texts and news.cell else ():
                self._stream.line(text)
        else:
            told = _phrases.aside(news)
            if told:
                self._stream.line(told)

    def close(self) -> None:
        """Every line is out already."""


plugin = Lines
