"""`progress.jsonl`: every piece of news as one line, for whoever follows a run from outside."""

from __future__ import annotations

from pathlib import Path

from skilltrial.listeners import _masked
from skilltrial.records.news import News
from skilltrial.system.files import Appender
from skilltrial.system.redaction import Redactor


class Progress:
    """Appends each piece of news to a file, unknown fields left out; what was told together is written together."""

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self._file = Appender(path, None)
        self._redactor = redactor
        self._lines: list[str] = []

    def hear(self, news: News) -> None:
        self._lines.append(_masked.as_json(news, self._redactor))

    def pause(self) -> None:
        """Writes what was heard: nothing more is waiting for now."""
        if self._lines:
            self._file.append("\n".join(self._lines))
            self._lines.clear()

    def close(self) -> None:
        self.pause()
        self._file.close()


plugin = Progress
