"""Where reports and views are written: below one folder, through the redactor."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from skilltrial.errors import UsageError
from skilltrial.system.files import write_atomic, write_new
from skilltrial.system.redaction import Redactor


def _must_stay(name: str) -> None:
    if name.startswith("/") or ".." in name.split("/"):
        raise UsageError(f"a report wanted to write outside its folder: {name}")


class FolderOut:
    """The Out seam over a folder."""

    def __init__(self, root: Path, redactor: Redactor) -> None:
        self.root = root
        self.redactor = redactor

    def write(self, name: str, text: str | bytes) -> Path:
        """Where it was written. Raises UsageError when that cannot be."""
        _must_stay(name)
        path = self.root / name
        self._put(path, text, self.redactor)
        return path

    def _put(self, path: Path | str, text: str | bytes, redactor: Redactor | None) -> None:
        try:
            write_atomic(path, text, redactor)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> UsageError:
        return UsageError(f"{self.root} cannot be written to: {error.strerror or error}", "name another place")


class Bundle(FolderOut):
    """Small files that are of use only together: looked over for secrets at once, written when the block ends, in their order.

    The last one is the sign that the others are there, so these need not appear whole at once, which halves the system calls.
    """

    _SMALL = 1_000_000
    """Bytes or characters."""

    def __init__(self, root: Path, redactor: Redactor) -> None:
        super().__init__(root, redactor)
        self._files: list[tuple[str, bytes]] = []

    def write(self, name: str, text: str | bytes) -> Path:
        """The folder that it will be below."""
        if len(text) > self._SMALL:
            super().write(name, text)
        else:
            _must_stay(name)
            data = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text
            self._files.append((f"{self.root}/{name}", data))
        return self.root

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None and self._files:
            *files, (last, sign) = self._files
            redactor = None if self._is_clean() else self.redactor
            for path, data in files:
                self._put_new(path, data, redactor)
            self._put(last, sign, redactor)

    def _put_new(self, path: str, data: bytes, redactor: Redactor | None) -> None:
        try:
            if not write_new(path, data, redactor):
                write_atomic(path, data, redactor)
        except OSError as error:
            raise self._refused(error) from error

    def _is_clean(self) -> bool:
        texts = [data.decode("utf-8", "surrogateescape") for _, data in self._files]
        return not any("\0" in text for text in texts) and self.redactor.clean(texts)
