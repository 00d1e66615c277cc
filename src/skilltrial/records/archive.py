"""What an archive of an experiment holds."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Self

from pydantic import Field

from skilltrial.records.record import Record

MANIFEST = "archive-manifest.json"


class ArchivedFile(Record):
    """One file of the archive."""

    path: str
    """From the archive's folder, POSIX."""
    size: int
    """Bytes."""
    sha256: str

    @classmethod
    def of(cls, path: Path, root: Path) -> Self:
        """A file as it lies below `root`."""
        data = path.read_bytes()
        return cls(path=path.relative_to(root).as_posix(), size=len(data), sha256=sha256(data).hexdigest())


class ArchiveManifest(Record):
    """`archive-manifest.json`, written last: where it stands, the archive is whole."""

    schema_: str = Field(default="skilltrial.archive/1", alias="schema")
    source_iteration: str
    """The experiment's folder, or the name of another tool's run."""
    output: str
    """The archive's folder."""
    include_output: bool
    """It holds what runs said and left as well."""
    copied_files: tuple[str, ...]
    """Every file but this one, in order of path."""
    files: tuple[ArchivedFile, ...]
    """The same with sizes and digests."""
