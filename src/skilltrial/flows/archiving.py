"""An experiment as a small folder to keep: it can be read and reported like the whole one, with the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from skilltrial import analyze, registry
from skilltrial.errors import UsageError
from skilltrial.flows.out import FolderOut
from skilltrial.formats.native import Native
from skilltrial.records.archive import MANIFEST, ArchivedFile, ArchiveManifest
from skilltrial.store import Experiment
from skilltrial.system.files import write_atomic
from skilltrial.system.redaction import Redactor

_SMALL = ("*/grading.json", "*/timing.json", "*/run_meta.json", "*/benchmark.json")
_TOP = ("experiment.json", "certificates.json", "cleanup.json", "results.jsonl", "hooks.jsonl", "packets.jsonl")
_LARGE = ("progress.jsonl", "evidence/*", "blobs/*")
"""What runs said and left: texts, events, files."""


def archive(view: Any, goal: Path, redactor: Redactor, *, include_output: bool = False, force: bool = False) -> ArchiveManifest:
    """Writes the archive into `goal`, its manifest last. Another tool's tree gives what our folder view has of it.

    Args:
        view: an experiment of ours, or a foreign one.
        include_output: with what runs said and left, so that they can be graded again.
        force: an archive that lies there is replaced; what it did not write is left alone.
    Raises:
        UsageError: `goal` holds something, and no archive to replace.
    """
    _make_room(goal, force)
    out = _Listed(goal, redactor, everything=include_output)
    if isinstance(view, Experiment):
        for path in _originals(view.folder, include_output):
            out.take(path, path.relative_to(view.folder).as_posix())
    summary = analyze.summary(view)
    Native().write(summary, view, out)
    out.write("summary.json", summary.model_dump_json(indent=2) + "\n")
    registry.get("reports", "markdown")().write(summary, view, out)
    files = tuple(ArchivedFile.of(path, goal) for path in sorted(set(out.written)))
    source = view.folder if isinstance(view, Experiment) else None
    manifest = ArchiveManifest(
        source_iteration=str(source or view.plan.experiment),
        output=str(goal),
        include_output=include_output,
        copied_files=tuple(file.path for file in files),
        files=files,
    )
    write_atomic(goal / MANIFEST, manifest.to_json(indent=2) + "\n", redactor)
    return manifest


def _make_room(goal: Path, force: bool) -> None:
    if not goal.exists() or (goal.is_dir() and not any(goal.iterdir())):
        return
    if not (goal / MANIFEST).is_file():
        raise UsageError(f"{goal} is not empty, and no archive of ours", "name another folder with --output")
    if not force:
        raise UsageError(f"{goal} holds an archive already", "--force replaces it, --output names another folder")
    try:
        earlier = ArchiveManifest.from_stored((goal / MANIFEST).read_bytes())
    except ValidationError as error:
        raise UsageError(f"{goal / MANIFEST} is no manifest that we can read: {error.errors()[0]['msg']}") from None
    for name in (*earlier.copied_files, MANIFEST):
        if ".." not in name.split("/") and not name.startswith("/"):
            (goal / name).unlink(missing_ok=True)


def _originals(folder: Path, everything: bool) -> Iterator[Path]:
    for pattern in (*_TOP, *(_LARGE if everything else ())):
        yield from (path for path in sorted(folder.glob(pattern)) if path.is_file())


class _Listed(FolderOut):
    """Writes what an archive keeps, and knows what that was."""

    def __init__(self, root: Path, redactor: Redactor, *, everything: bool) -> None:
        super().__init__(root, redactor)
        self.everything = everything
        self.written: list[Path] = []

    def write(self, name: str, text: str | bytes) -> Path:
        if not self.everything and "/" in name and not any(fnmatchcase(name, one) for one in _SMALL):
            return self.root / name
        self.written.append(super().write(name, text))
        return self.written[-1]

    def take(self, path: Path, name: str) -> None:
        """A file of the experiment's own, masked when it was stored."""
        write_atomic(self.root / name, path.read_bytes(), None)
        self.written.append(self.root / name)
