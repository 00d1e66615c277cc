"""Lines to a stream that may have gone away."""

from __future__ import annotations

import threading
from typing import TextIO


class Stream:
    """Writes whole lines, one at a time; once the reader has gone away it writes no more, and the run goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._gone = False

    def line(self, text: str) -> None:
        with self._lock:
            if self._gone:
                return
            try:
                self._stream.write(text + "\n")
                self._stream.flush()
            except UnicodeEncodeError:
                self._stream.write(text.encode("ascii", "backslashreplace").decode("ascii") + "\n")
            except (OSError, ValueError):
                self._gone = True
