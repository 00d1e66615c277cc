"""Where reports and views are written: below one folder, through the redactor."""

from __future__ import annotations

from pathlib import Path

from skilltrial.errors import UsageError
from skilltrial.system.files import write_atomic
from skilltrial.system.redaction import Redactor


class FolderOut:
    """The Out seam over a folder."""

    def __init__(self, root: Path, redactor: Redactor) -> None:
        self.root = root
        self.redactor = redactor

    def write(self, name: str, text: str | bytes) -> Path:
        """Where it was written. Raises UsageError when that cannot be."""
        if name.startswith("/") or ".." in name.split("/"):
            raise UsageError(f"a report wanted to write outside its folder: {name}")
        path = self.root / name
        try:
            write_atomic(path, text, self.redactor)
        except OSError as error:
            raise UsageError(f"{self.root} cannot be written to: {error.strerror or error}", "name another place") from error
        return path
