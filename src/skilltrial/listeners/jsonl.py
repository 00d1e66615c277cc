"""`--log-format jsonl`: the lines of `progress.jsonl` to a file, or to stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from skilltrial.listeners import _masked, _stream
from skilltrial.records.news import News
from skilltrial.system.files import Appender
from skilltrial.system.redaction import Redactor


class JsonLines:
    """One JSON object a line; nothing else is ever mixed in."""

    def __init__(self, path: Path | None = None, redactor: Redactor | None = None, stream: TextIO | None = None) -> None:
        self._file = Appender(path, None) if path is not None else None
        self._stream = _stream.Lines(stream or sys.stderr)
        self._redactor = redactor

    def hear(self, news: News) -> None:
        line = _masked.as_json(news, self._redactor)
        if self._file is not None:
            self._file.append(line)
        else:
            self._stream.line(line)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


plugin = JsonLines
