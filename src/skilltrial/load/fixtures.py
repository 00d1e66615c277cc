"""Files that a case lists: found against three bases, checked, and copied as content whatever the arm."""

# ruff: noqa: PTH112, PTH113, PTH116, PTH118
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import filecmp
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from skilltrial.load.checks import safe_path
from skilltrial.load.document import Notes, Pointer, name_text, shown, system_path
from skilltrial.load.trees import Digests, FoundFile, file_refs, inside, outside_caches, tree_of, walk
from skilltrial.records.suite import EMPTY_TREE, FileRef, Stage, Tree, landing

_ENTRY = frozenset({"path", "source", "content"})
_TOKEN = re.compile(r"[\w./{}-]+")
_SEARCHED = 5_000
"""Entries looked at for a file of the same name, when one is missing."""


class Base(NamedTuple):
    """A folder that listed paths may be relative to."""

    kind: str
    """skill, evals or repository: what `files_base` may say."""
    label: str
    folder: str
    boundary: str
    """Resolved folder that what is found may not lie outside of."""


@dataclass(frozen=True, slots=True)
class Fixtures:
    """Finds the files of one suite's cases."""

    find_bases: Callable[[], tuple[Base, ...]]
    """Asked only when a case lists files."""
    digests: Digests
    first: bool = False
    """True: the first base that has the file counts. False: two with other content are an error."""
    suite: str = ""
    """Path of the suite file, which holds what the graders know and never goes to a run. Empty: it is a folder."""

    def tree(self, listed: Any, at: Pointer, notes: Notes, stage: Stage, only: str | None = None) -> Tree:
        """All files of one case as a Tree; what is wrong with any of them is told, and it is left out.

        Args:
            listed: paths, or objects: `path` as the case calls it, and where it comes from: `source` or `content`.
            only: the one base to use, by kind; None tries all in order.
        """
        if listed is None:
            return EMPTY_TREE
        if not isinstance(listed, list):
            notes.error(
                "files-form",
                "'files' is a list of paths",
                at,
                f'write: "files": ["{listed}"]' if isinstance(listed, str) else None,
            )
            return EMPTY_TREE
        refs: dict[str, FileRef] = {}
        places: dict[str, str] = {}
        for number, entry in enumerate(listed):
            spot = (*at, number)
            for ref in self._entry(entry, spot, notes, only):
                if ref == refs.get(ref.path):
                    notes.warn("file-twice", f"{ref.path} is listed twice", spot)
                    continue
                place = landing(ref.path, stage)
                if place in places:
                    notes.error(
                        "files-collide",
                        f"{ref.path} and {places[place]} would both land at {place}",
                        spot,
                        'set "stage": "keep" in the suite, or rename one',
                    )
                    continue
                places[place] = ref.path
                refs[ref.path] = ref
        return tree_of(refs.values(), self.digests.wanted)

    def _entry(self, entry: Any, at: Pointer, notes: Notes, only: str | None) -> list[FileRef]:
        if isinstance(entry, str):
            return self._found(entry, at, notes, only)
        if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()) or not entry:
            notes.error("files-form", "a listed file is a path in quotes, or an object with 'path' and 'source' or 'content'", at)
            return []
        for key in sorted(map(str, entry.keys() - _ENTRY)):
            notes.say("wwe", "unknown-key", f"'{shown(str(key))}' of a listed file is not used", (*at, key))
        path = str(entry.get("path", entry.get("source", "")))
        if why := safe_path(path):
            notes.error("file-path", f"the path '{shown(path)}' {why}", (*at, "path"))
            return []
        path = os.path.normpath(path).replace(os.sep, "/")
        if "content" in entry:
            data = entry["content"].encode("utf-8", "surrogatepass")
            return [FileRef(path=path, size=len(data), digest=self.digests.of_bytes(data))]
        source = str(entry.get("source", path))
        refs = self._found(source, at, notes, only)
        return [ref.model_copy(update={"path": renamed(ref.path, source, path)}) for ref in refs]

    def _found(self, path: str, at: Pointer, notes: Notes, only: str | None) -> list[FileRef]:
        if why := safe_path(path):
            notes.error("file-path", f"the listed file '{shown(path)}' {why}", at)
            return []
        clean = os.path.normpath(path).replace(os.sep, "/")
        hits = self._hits(clean, only)
        if not hits:
            self._missing(path, clean, at, notes, only)
            return []
        base, real = hits[0]
        for other, where in () if self.first else hits[1:]:
            if where != real and not _same(real, where):
                notes.error(
                    "file-ambiguous",
                    f"'{shown(path)}' is found in {base.label} and, with other content, in {other.label}",
                    at,
                    f'set "files_base": "{base.kind}" or "{other.kind}" in the suite',
                )
                return []
        return self._refs(clean, base, real, at, notes)

    def _hits(self, clean: str, only: str | None) -> list[tuple[Base, str]]:
        hits = []
        for base in self.find_bases():
            if only in (None, base.kind):
                path = os.path.join(base.folder, system_path(clean))
                if os.path.lexists(path):
                    hits.append((base, os.path.realpath(path)))
        return hits

    def _refs(self, clean: str, base: Base, real: str, at: Pointer, notes: Notes) -> list[FileRef]:
        if not inside(real, base.boundary):
            notes.error(
                "link-outside", f"'{shown(clean)}' leads to a place outside the repository", at, "copy the file into the suite"
            )
            return []
        try:
            state = os.stat(real)
        except OSError:
            notes.error("dangling-link", f"'{shown(clean)}' is a link to nothing", at)
            return []
        if stat.S_ISDIR(state.st_mode):
            found = walk(real, boundary=base.boundary, notes=notes, leave_out=outside_caches, strict_kinds=True, at=at)
            if not found:
                notes.warn("folder-empty", f"the listed folder '{shown(clean)}' holds no files", at)
            if any(self._is_the_suite(file.real) for file in found):
                notes.error("lists-itself", f"the listed folder '{shown(clean)}' holds the suite, whose checks no run may see", at,
                            "list the files in it that are meant")  # fmt: skip
                return []
            return file_refs(found, self.digests, notes, at, "" if clean == "." else clean + "/")
        if not stat.S_ISREG(state.st_mode):
            notes.error("special-file", f"'{shown(clean)}' is no regular file or folder", at)
            return []
        if self._is_the_suite(real):
            notes.error("lists-itself", f"'{shown(clean)}' is the suite, whose checks no run may see", at)
            return []
        one = FoundFile(clean, real, state.st_size, bool(state.st_mode & 0o111))
        return file_refs([one], self.digests, notes, at)

    def _is_the_suite(self, real: str) -> bool:
        return bool(self.suite) and os.path.realpath(self.suite) == os.path.realpath(real)

    def _missing(self, path: str, clean: str, at: Pointer, notes: Notes, only: str | None) -> None:
        tried = ", ".join(base.label for base in self.find_bases() if only in (None, base.kind)) or f"no folder of kind '{only}'"
        elsewhere = self._elsewhere(clean.rsplit("/", 1)[-1])
        hint = f"{elsewhere} exists: list it by that path" if elsewhere else None
        notes.error("file-missing", f"the listed file '{shown(path)}' is not there; looked in: {tried}", at, hint)

    def _elsewhere(self, name: str) -> str | None:
        looked = 0
        bases = self.find_bases()
        for base in bases[:-1] or bases:
            for folder, inner, names in os.walk(base.folder):
                inner[:] = sorted(
                    part for part in inner if not outside_caches("", part) and part not in ("node_modules", ".venv")
                )
                looked += len(names) + len(inner)
                if name in map(name_text, (*names, *inner)):
                    return name_text(os.path.relpath(os.path.join(folder, system_path(name)), base.folder)).replace(os.sep, "/")
                if looked > _SEARCHED:
                    return None
        return None


def renamed(found: str, source: str, path: str) -> str:
    """The path of a file of `source`, a file or folder, when that is called `path`."""
    source = os.path.normpath(source).replace(os.sep, "/")
    inner = found if source == "." else found[len(source) :].strip("/")
    return "/".join(part for part in (path if path != "." else "", inner) if part)


def check_mentions(prompt: str, fixtures: Tree, stage: Stage, at: Pointer, notes: Notes) -> None:
    """Warns where a prompt names a listed file by a path it does not lie at."""
    names = {file.path.rsplit("/", 1)[-1] for file in fixtures.files}
    if not any(name in prompt for name in names):
        return
    places = {landing(file.path, stage): file.path for file in fixtures.files}
    # Adapters always get files below inputs/.
    known = {*places, *(f"inputs/{path}" for path in (*places, *places.values()))}
    told: set[str] = set()
    for token in _TOKEN.findall(prompt):
        word = token.rstrip("./").removeprefix("./").strip("{}")
        base = word.rsplit("/", 1)[-1]
        if base not in names or word in known or word in told:
            continue
        told.add(word)
        lies = next(place for place in places if place.rsplit("/", 1)[-1] == base)
        notes.warn(
            "file-place",
            f"the prompt names {word}, but the file will lie at {lies}",
            at,
            f'write {lies} in the prompt, or set "stage": "keep" in the suite',
        )


def _same(one: str, other: str) -> bool:
    """Whether two files, or two folders, hold the same bytes."""
    if os.path.isdir(one) and os.path.isdir(other):
        mine, theirs = _listing(one), _listing(other)
        return mine == theirs and all(_same(os.path.join(one, name), os.path.join(other, name)) for name in mine)
    if not (os.path.isfile(one) and os.path.isfile(other)):
        return False
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _listing(folder: str) -> list[str]:
    return sorted(os.path.relpath(os.path.join(current, name), folder) for current, _, names in os.walk(folder) for name in names)
