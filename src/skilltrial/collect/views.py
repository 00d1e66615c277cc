"""A run as graders see it: live, as the agent left it, or stored, as it lies on disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import cast

from skilltrial.records.evidence import AgentRun, Evidence
from skilltrial.records.suite import Case, FileRef, Stage, landed
from skilltrial.seams import Blobs
from skilltrial.system.files import inside, write_new

_SPELLED = re.compile(r"(?!\.{1,2}(?:/|\Z))[^/\0]+(?:/(?!\.{1,2}(?:/|\Z))[^/\0]+)*")
"""A relative path without empty parts, `.` and `..`: spelled as it is."""


class StoredView:
    """The EvidenceView seam over what is on disk."""

    stored = True

    def __init__(self, evidence: Evidence, *, case: Case, stage: str, blobs: Blobs) -> None:
        self.record = evidence
        self._evidence = evidence
        self._blobs = blobs
        self._fixtures = landed(case.fixtures, cast(Stage, stage))
        delta = evidence.delta
        if delta is not None and delta.given:
            self._fixtures = {**{ref.path: ref for ref in delta.given}, **self._fixtures}
        self._touched = {ref.path: ref for ref in (*delta.created, *delta.changed)} if delta else {}
        self._deleted = frozenset(delta.deleted) if delta else frozenset()

    def read(self, path: str, limit: int = 1_000_000) -> bytes | None:
        spot = _plain(path)
        data = self._bytes(spot) if spot else None
        return data[:limit] if data is not None else None

    def fixture(self, path: str) -> FileRef | None:
        return self._fixtures.get(_plain(path) or "")

    def masked(self, path: str | None) -> bool:
        if path is None:
            return self._evidence.masked_text
        return _plain(path) in self._evidence.masked_paths

    def unpack(self, into: Path) -> None:
        for path, ref in self._left():
            data, spot = self._bytes(path), inside(into, path)
            if data is not None and spot is not None:
                write_new(spot, data, None, executable=ref.executable)

    def _left(self) -> Iterable[tuple[str, FileRef]]:
        fixtures = {path: ref for path, ref in self._fixtures.items() if path not in self._deleted}
        return {**fixtures, **self._touched}.items()

    def _bytes(self, path: str) -> bytes | None:
        ref = self._touched.get(path) or (self._fixtures.get(path) if path not in self._deleted else None)
        if ref is None:
            return None
        try:
            return self._blobs.get(ref.digest)
        except KeyError:
            return None


class LiveView(StoredView):
    """The EvidenceView seam over a run just finished, before redaction; `masked` tells what is stored otherwise."""

    stored = False

    def __init__(
        self,
        evidence: Evidence,
        *,
        run: AgentRun,
        read: Callable[[str], bytes | None] | None,
        case: Case,
        stage: str,
        blobs: Blobs,
    ) -> None:
        super().__init__(evidence, case=case, stage=stage, blobs=blobs)
        self._read = read
        if evidence.redactions:
            said = {"text": run.text, "events": run.events, "reason": run.reason, "warnings": run.warnings}
            self.record = evidence.model_copy(update=said)

    def _bytes(self, path: str) -> bytes | None:
        if self._read and path in self._touched:
            return self._read(path)
        return super()._bytes(path)


def _plain(path: str) -> str | None:
    """The path as deltas and fixtures spell it; None for one that leads elsewhere."""
    if _SPELLED.fullmatch(path):
        return path  # most are: graders look for a file under a dozen names
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        return None
    return pure.as_posix()
