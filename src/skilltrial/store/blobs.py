"""Files by content in one folder, each stored once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from skilltrial.errors import UsageError
from skilltrial.records.evidence import Evidence
from skilltrial.system.files import digest as digest_of
from skilltrial.system.files import write_atomic

_SEEN = 4096


class FolderBlobs:
    """The Blobs seam over `blobs/`. A file is called `sha256-<hex>`, since `:` is no file name on every system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: set[str] = set()
        """Stored lately: what equal cells send is equal, so most questions to the disk would be the same."""

    def path(self, digest: str) -> Path:
        """Where these bytes lie, or would lie. Raises KeyError when `digest` is no digest."""
        kind, _, hex_ = digest.partition(":")
        if kind != "sha256" or len(hex_) != 64 or not set(hex_) <= set("0123456789abcdef"):
            raise KeyError(digest)
        return self.folder / f"{kind}-{hex_}"

    def put_new(self, digest: str, data: bytes) -> bool:
        if digest in self._seen:
            return False
        path = self.path(digest)
        new = not path.exists()
        if new:
            self.folder.mkdir(exist_ok=True)
            write_atomic(path, data, None)
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(digest)
        return new

    def get(self, digest: str) -> bytes:
        try:
            data = self.path(digest).read_bytes()
        except FileNotFoundError:
            raise KeyError(digest) from None
        if digest_of(data) != digest:  # cut by a power failure, or changed by hand
            raise KeyError(digest)
        return data

    def sync(self, digests: Iterable[str]) -> None:
        """Returns when these are on the disk, as far as they are stored at all."""
        if os.name == "nt":  # syncs only what is open for writing
            return
        for digest in digests:
            try:
                fd = os.open(self.path(digest), os.O_RDONLY)
            except (KeyError, FileNotFoundError):
                continue
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def keys(self, prefix: str = "") -> Iterator[str]:
        if self.folder.is_dir():
            names = (path.name for path in self.folder.iterdir() if path.name.startswith("sha256-"))
            yield from sorted(key for name in names if (key := name.replace("-", ":", 1)).startswith(prefix))


def copy_in(sources: Mapping[str, Path | bytes], blobs: FolderBlobs) -> None:
    """Copies the user's files, each verified against the digest it was loaded with.

    Raises:
        UsageError: files changed or vanished since they were loaded; all are named.
    """
    wrong = []
    for digest, path in sources.items():
        if isinstance(path, bytes):
            blobs.put_new(digest, path)
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            wrong.append(f"{path}: {error.strerror}")
            continue
        if digest_of(data) != digest:
            wrong.append(f"{path}: changed while it was read")
        else:
            blobs.put_new(digest, data)
    if wrong:
        raise UsageError("\n".join(wrong), "nothing was run; start again when the files are at rest")


def files_of(evidence: Evidence) -> Iterator[str]:
    """Digests of all blobs that belong to a run: files it made, logs, what was sent."""
    delta = evidence.delta
    if delta is not None:
        yield from (file.digest for file in (*delta.created, *delta.changed))
    yield from (file.digest for file in evidence.logs)
    if evidence.sent is not None:
        yield evidence.sent.digest
