"""`progress.jsonl`: every piece of news as one line, for whoever follows a run from outside."""

from __future__ import annotations

from pathlib import Path

from skilltrial.listeners import _masked
from skilltrial.records.news import News
from skilltrial.system.files import Appender
from skilltrial.system.redaction import Redactor


class Progress:
    """Appends each piece of news to a file, unknown fields left out."""

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self._file = Appender(path, None)
        self._redactor = redactor

    def hear(self, news: News) -> None:
        self._file.append(_masked.as_json(news, self._redactor))

    def close(self) -> None:
        self._file.close()


plugin = Progress
