"""A stream that may have gone away: once it has, nothing more is written, and the run goes on."""

from __future__ import annotations

import io
import threading
from typing import TextIO


class Tolerant(io.TextIOBase):
    """Passes text on; characters the stream cannot encode are escaped, and a reader that has left is no error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream below; rich asks it what it may draw."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        try:
            return self._stream.isatty()
        except ValueError:
            return False

    def write(self, text: str) -> int:
        if not self._gone:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                self._stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
            except (OSError, ValueError):
                self._gone = True
        return len(text)

    def flush(self) -> None:
        if not self._gone:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._gone = True


class Lines:
    """Writes whole lines, one at a time, whoever calls."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = Tolerant(stream)
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        with self._lock:
            self._stream.write(text + "\n")
            self._stream.flush()
