"""`progress.jsonl`: every piece of news as one line, for whoever follows a run from outside."""

from __future__ import annotations

from pathlib import Path

from skilltrial.records.news import News
from skilltrial.system.files import Appender
from skilltrial.system.redaction import Redactor


class Progress:
    """Appends each piece of news to a file, unknown fields left out."""

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self._file = Appender(path, redactor)

    def hear(self, news: News) -> None:
        self._file.append(news.to_json(exclude_none=True))

    def close(self) -> None:
        self._file.close()


plugin = Progress
