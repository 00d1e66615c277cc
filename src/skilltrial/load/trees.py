"""A folder as a Tree: regular files in order of path, links inside the repository as the content they point to."""

# ruff: noqa: PTH110, PTH116, PTH123
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from skilltrial.load.document import Notes, Pointer, name_text
from skilltrial.load.entries import real_path
from skilltrial.records.suite import EMPTY_TREE, FileRef, Tree

FILE_CAP = 10_000
BYTE_CAP = 256 * 1024 * 1024
_CACHES = frozenset(
    {"__pycache__", ".git", ".hg", ".svn", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".DS_Store", ".tox"}
)
WORKSPACES = frozenset({"skilltrial-workspace", "agent-skills-workspace", "eval-workspace", "skill-ab-workspace"})
"""Folders of results, ours and other tools': they hold assertions and answers, so no agent may see them."""


SUITES_INSIDE = {"tests": ("eval.yaml", "eval.yml"), "references": ("evals.yaml", "evals.yml")}
"""Suites that some repositories keep in other folders of a skill."""


class FoundFile:
    """A regular file below a folder."""

    __slots__ = ("executable", "path", "real", "size")

    def __init__(self, path: str, real: str, size: int, executable: bool) -> None:
        self.path = path
        """POSIX, relative to the folder."""
        self.real = real
        self.size = size
        self.executable = executable


@dataclass(slots=True)
class Digests:
    """Digests of files, each read once; `sources` says where the bytes of a digest lie."""

    wanted: bool
    sources: dict[str, Path | bytes] = field(default_factory=dict)
    """Bytes: a fixture whose text stands in the suite itself."""
    _known: dict[str, str] = field(default_factory=dict)

    def of(self, real: str) -> str:
        """`sha256:…` of a file; "" when digests are not wanted. Raises OSError."""
        if not self.wanted:
            return ""
        if real not in self._known:
            with open(real, "rb") as file:
                value = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
            self._known[real] = value
            self.sources.setdefault(value, Path(real))
        return self._known[real]

    def of_bytes(self, data: bytes) -> str:
        """`sha256:…` of a text that lies in no file of its own; "" when digests are not wanted."""
        if not self.wanted:
            return ""
        value = "sha256:" + hashlib.sha256(data).hexdigest()
        self.sources.setdefault(value, data)
        return value


def is_workspace(name: str) -> bool:
    """Whether a folder of this name holds results of an evaluation."""
    return name in WORKSPACES or name.endswith("-workspace")


def inside(path: str, folder: str) -> bool:
    """Whether a resolved path is `folder` or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def tree_of(files: Iterable[FileRef], digests: bool = True) -> Tree:
    """A Tree of the given files, sorted, its digest over paths, contents and executable bits."""
    ordered = tuple(sorted(files, key=lambda file: file.path))
    if not ordered:
        return EMPTY_TREE
    if not digests:
        return Tree(digest="", files=ordered)
    total = hashlib.sha256()
    for file in ordered:
        total.update(f"{file.path}\0{file.digest}\0{'x' if file.executable else '-'}\n".encode())
    return Tree(digest="sha256:" + total.hexdigest(), files=ordered)


def file_refs(found: Iterable[FoundFile], digests: Digests, notes: Notes, at: Pointer = (), prefix: str = "") -> list[FileRef]:
    """FileRefs of found files; one that cannot be read becomes a problem."""
    refs = []
    for file in found:
        try:
            digest = digests.of(file.real)
        except OSError as error:
            notes.error("unreadable", f"{prefix}{file.path} cannot be read: {error.strerror}", at)
            continue
        refs.append(FileRef(path=prefix + file.path, size=file.size, digest=digest, executable=file.executable))
    return refs


def walk(
    folder: str,
    *,
    boundary: str,
    notes: Notes,
    leave_out: Callable[[str, str], bool],
    hidden: str | None = None,
    entries: list[os.DirEntry[str]] | None = None,
    strict_kinds: bool = False,
    at: Pointer = (),
) -> list[FoundFile]:
    """All regular files below `folder`.

    Args:
        boundary: resolved folder that links may not leave.
        leave_out: asked with the relative folder ("" at the top) and a name; True skips it.
        hidden: folder that no link may reach (a skill's own `evals/`).
        entries: the listing of `folder`, when the caller has it already.
        strict_kinds: pipes, sockets and devices are errors; else they are skipped with a warning.
    """
    found: list[FoundFile] = []
    total = 0
    waiting: list[tuple[str, str, frozenset[str]]] = [("", folder, frozenset())]
    while waiting:
        relative, current, above = waiting.pop()
        if relative or entries is None:
            try:
                with os.scandir(current) as listing:
                    entries = list(listing)
            except OSError as error:
                notes.error("unreadable", f"{name_text(relative) or '.'}: cannot be listed: {error.strerror}", at)
                continue
        for entry in entries:
            if leave_out(relative, entry.name):
                continue
            name = f"{relative}/{name_text(entry.name)}" if relative else name_text(entry.name)
            real = entry.path
            if entry.is_symlink():
                real = real_path(entry.path)
                if not _link_is_fine(name, real, boundary, hidden, notes, at):
                    continue
            try:
                state = os.stat(real) if real is not entry.path else entry.stat(follow_symlinks=False)
            except OSError as error:
                notes.error("unreadable", f"{name} cannot be read: {error.strerror}", at)
                continue
            if stat.S_ISDIR(state.st_mode):
                inner = os.path.realpath(real) if above or real is not entry.path else real
                if real is not entry.path and (inner in above or inside(folder, inner)):
                    notes.error("link-cycle", f"{name} is a link that leads back to a folder above it", at)
                    continue
                waiting.append((name, real, above | {inner} if real is not entry.path else above))
            elif stat.S_ISREG(state.st_mode):
                total += state.st_size
                found.append(FoundFile(name, real, state.st_size, bool(state.st_mode & 0o111)))
                if len(found) > FILE_CAP or total > BYTE_CAP:
                    notes.error(
                        "too-large", f"{name_text(folder)} holds more than {FILE_CAP:,} files or {BYTE_CAP // 1024**2} MiB", at
                    )
                    return found
            else:
                notes.say(
                    "eee" if strict_kinds else "www",
                    "special-file",
                    f"{name} is no regular file (pipe, socket or device) and is left out",
                    at,
                )
        entries = None
    return found


def outside_caches(relative: str, name: str) -> bool:
    """`leave_out` for fixtures: caches and version control only."""
    return name in _CACHES


def outside_skill(relative: str, name: str) -> bool:
    """`leave_out` for a skill: caches, version control, results, and wherever suites lie in a skill, at the top `evals/`."""
    if name in _CACHES or is_workspace(name) or name.endswith(".pyc"):
        return True
    if not relative:
        return name in ("evals", "evaluations", ".venv", "venv")
    return name in SUITES_INSIDE.get(relative, ())


def _link_is_fine(name: str, real: str, boundary: str, hidden: str | None, notes: Notes, at: Pointer) -> bool:
    if not inside(real, boundary):
        notes.error(
            "link-outside", f"{name} is a link to a place outside the repository", at, "copy the file to where it is used"
        )
        return False
    if hidden and inside(real, os.path.realpath(hidden)):
        notes.warn("link-to-evals", f"{name} is a link into evals/, which is never staged; it is left out", at)
        return False
    if not os.path.exists(real):
        notes.warn("dangling-link", f"{name} is a link to nothing; it is left out", at)
        return False
    return True
