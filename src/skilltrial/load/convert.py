"""The suites of one skill, of whatever form, as the text of an `evals.json`."""

# ruff: noqa: PTH118, PTH119, PTH120
# (os calls on strings, as everywhere in loading)
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skilltrial.errors import BadInput, UsageError
from skilltrial.load.collecting import Collection, Found, collect
from skilltrial.load.document import Notes
from skilltrial.load.fixtures import Fixtures
from skilltrial.load.reading import TRIGGER
from skilltrial.load.standard_form import standard_form
from skilltrial.load.suite_file import fixtures_at
from skilltrial.records.config import Config
from skilltrial.records.problems import Problem
from skilltrial.records.suite import FileRef, Suite

EMBEDDED_BYTES = 256_000
"""A fixture that cannot be listed from where the suite is written goes into it when it is text of at most this size."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a suite becomes."""

    text: str
    path: Path
    """Where it goes."""
    cases: int
    problems: tuple[Problem, ...]
    """What was told while the suites were read: above all what is set aside and not run."""
    lost: tuple[str, ...]
    """What the shared form cannot say."""
    sources: tuple[Path, ...]
    """The suites it was made from."""


def convert(path: str, cwd: Path, output: Path | None = None) -> Conversion:
    """The suite at a path, or those of the skill there, in the shared form; nothing is written.

    Args:
        output: where it will lie, since fixtures are listed relative to it; None: beside the suite.
    Raises:
        UsageError: there is no suite, more than one skill, or an error in what was read.
    """
    collection = collect(Config(paths=(path,)), cwd, level="load", profile=None, digests=True)
    found, suites = _one(collection)
    problems = (*collection.problems, *found.suite_problems)
    errors = tuple(problem for problem in problems if problem.severity == "error")
    if errors:
        raise BadInput(errors)
    goal = output or _goal(found)
    bytes_of = collection.digests
    fixtures = fixtures_at(os.path.dirname(goal), found.file.folder, collection.disk, bytes_of)
    listing = _Listing(fixtures, bytes_of.sources, collection.disk.root(os.path.dirname(goal)).folder)
    value, lost = standard_form(suites, found.name, listing.entry)
    return Conversion(
        text=json.dumps(value, ensure_ascii=False, indent=2) + "\n",
        path=Path(goal),
        cases=len(value["evals"]),
        problems=problems,
        lost=(*lost, *listing.lost),
        sources=tuple(Path(file.path) for file in found.files),
    )


def _one(collection: Collection) -> tuple[Found, list[Suite]]:
    """The one skill that has suites, and those to convert: a trigger list that lies beside others is none of them."""
    with_suites = [found for found in collection.found if found.files]
    if not with_suites:
        errors = tuple(problem for problem in collection.problems if problem.severity == "error")
        raise BadInput(errors) if errors else UsageError("there is no suite to convert")
    if len(with_suites) > 1:
        names = ", ".join(found.name for found in with_suites[:10])
        raise UsageError(f"{len(with_suites)} skills have suites: {names}", "name one of them, or its suite")
    (found,) = with_suites
    suites = [suite for suite in found.suites if suite.dialect != TRIGGER] or found.suites
    return found, suites


def _goal(found: Found) -> str:
    """`evals.json` beside the suite; for one that lies in another folder of the skill, in its `evals/`."""
    folder = found.files[0].folder
    skill = found.file.folder
    inside = folder == skill or folder.startswith(skill + os.sep)
    return os.path.join(os.path.join(skill, "evals") if inside and os.path.basename(folder) != "evals" else folder, "evals.json")


class _Listing:
    """How fixtures are listed in the new suite, so that they are found again."""

    def __init__(self, fixtures: Fixtures, sources: Mapping[str, Path | bytes], root: str) -> None:
        self._fixtures = fixtures
        self._sources = sources
        self._root = root
        self.lost: list[str] = []

    def entry(self, ref: FileRef, path: str) -> Any:
        source = self._sources[ref.digest]
        if isinstance(source, Path):
            if self._finds(path, ref, path):
                return path
            for base in self._fixtures.find_bases():
                relative = os.path.relpath(source, base.folder).replace(os.sep, "/")
                entry = {"path": path, "source": relative}
                if not relative.startswith("..") and self._finds(entry, ref, path):
                    return entry
        text = _text(source)
        if text is None:
            where = source if isinstance(source, Path) else "it"
            self.lost.append(f"the fixture {path}: it cannot be listed from there; copy {where} to where the suite is written")
            return path
        return {"path": path, "content": text}

    def _finds(self, entry: Any, ref: FileRef, path: str) -> bool:
        notes = Notes("")
        tree = self._fixtures.tree([entry], (), notes, "keep")
        return not notes.failed and [file.model_copy(update={"path": path}) for file in tree.files] == [
            ref.model_copy(update={"path": path})
        ]


def _text(source: Path | bytes) -> str | None:
    """The bytes as text that comes back the same; None where they are no text, or too many."""
    data = source if isinstance(source, bytes) else source.read_bytes()
    if len(data) > EMBEDDED_BYTES and not isinstance(source, bytes):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
