"""A suite file: parsed once, then read for the skill it is paired with."""

# ruff: noqa: PTH119, PTH120
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from skilltrial.load import json_text, yaml_text
from skilltrial.load.beside import Beside
from skilltrial.load.case_folders import CASE_FOLDERS, case_folders
from skilltrial.load.dialects import dialect_of, not_read
from skilltrial.load.discover import Disk
from skilltrial.load.document import Document, Fault, Level, Notes, decode, name_text, read_bytes
from skilltrial.load.fixtures import Base, Fixtures
from skilltrial.load.reading import Dialect, ProseChecks, Reading
from skilltrial.load.trees import Digests
from skilltrial.records.problems import Problem
from skilltrial.records.suite import Stage, Suite


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A parsed file, or a folder of cases; `document` is broken when it could not be parsed."""

    path: str
    label: str
    digest: str
    document: Document

    @property
    def skill_name(self) -> str | None:
        """The skill the file says it belongs to."""
        value = self.document.value
        names = (value.get(key) for key in ("skill_name", "skill")) if isinstance(value, dict) else ()
        return next((name for name in names if isinstance(name, str)), None)

    @property
    def folder(self) -> str:
        return self.path if self.is_folder else os.path.dirname(self.path)

    @property
    def is_folder(self) -> bool:
        return isinstance(self.document.value, dict) and CASE_FOLDERS in self.document.value


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """What the user asked for about suites."""

    level: Level
    prose: ProseChecks
    stage: Stage | None


@dataclass(frozen=True, slots=True)
class Owner:
    """The skill a suite is read for. `id` and `name` are empty where its SKILL.md could not be read."""

    id: str
    name: str
    folder: str


def parse(path: str, disk: Disk) -> SuiteFile:
    """The file as data. Nothing is reported yet: that depends on whether the file is wanted."""
    label = disk.label(path)
    if disk.listing(path) is not None:
        names = [os.path.basename(folder) for folder in case_folders(disk.listing(path))]
        return SuiteFile(path, label, "", Document({CASE_FOLDERS: list(map(name_text, names))}))
    data = read_bytes(path, json_text.SIZE_CAP)
    if isinstance(data, Fault):
        return SuiteFile(path, label, "", Document(None, (data,), broken=True))
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    text = decode(data)
    if isinstance(text, Fault):
        return SuiteFile(path, label, digest, Document(None, (text,), broken=True))
    is_json = path.endswith(".json") or (not path.endswith((".yaml", ".yml")) and text.lstrip()[:1] in ("{", "["))
    return SuiteFile(path, label, digest, json_text.parse(text) if is_json else yaml_text.parse(text))


def dialect(file: SuiteFile) -> Dialect | None:
    """The dialect that reads the file."""
    return None if file.document.broken else dialect_of(file.document.value)


def read(
    file: SuiteFile, owner: Owner, disk: Disk, digests: Digests, options: SuiteOptions
) -> tuple[Suite | None, list[Problem]]:
    """The suite for its skill, and every problem of the file."""
    notes = Notes(file.label, options.level, file.document.locate)
    for fault in file.document.faults:
        notes.error(fault.rule, fault.found, fault.pointer or (), fault.hint, fault.spot)
    if file.document.broken:
        return None, notes.problems
    reader = dialect(file)
    if reader is None:
        found, hint = not_read(file.document.value)
        notes.error("unknown-dialect", found, hint=hint)
        return None, notes.problems
    reading = Reading(
        value=file.document.value,
        notes=notes,
        skill_id=owner.id,
        skill_name=owner.name,
        folder_name=os.path.basename(owner.folder),
        fixtures=fixtures_at(file.folder, owner.folder, disk, digests, file.path if file.digest else ""),
        beside=Beside(file.folder, disk, disk.root(file.folder).folder),
        digest=file.digest,
        prose=options.prose,
        stage=options.stage,
    )
    suite = reader.read(reading)
    return suite, notes.problems


def fixtures_at(suite_folder: str, skill_folder: str, disk: Disk, digests: Digests, suite: str = "") -> Fixtures:
    """What finds the files that a suite in this folder lists. `suite`: its file, where it is one."""
    return Fixtures(cache(lambda: _bases(suite_folder, skill_folder, disk)), digests, suite=suite)


def _bases(suite_folder: str, skill_folder: str, disk: Disk) -> tuple[Base, ...]:
    """Where listed files are looked for: the skill, the suite's folder and the one above an `evals/`, the repository."""
    folders = [("skill", skill_folder)] if skill_folder else []
    if os.path.basename(suite_folder) == "evals":
        folders.append(("skill", os.path.dirname(suite_folder)))
    folders.append(("evals", suite_folder))
    root = disk.root(suite_folder)
    if root.is_repository:
        folders.append(("repository", root.folder))
    made: dict[str, Base] = {}
    for kind, folder in folders:
        if folder not in made:
            made[folder] = Base(kind, _folder_label(folder, kind, disk), folder, disk.root(folder).folder)
    return tuple(made.values())


def _folder_label(folder: str, kind: str, disk: Disk) -> str:
    names: dict[str, Any] = {"skill": "the skill's folder", "evals": "the suite's folder", "repository": "the repository"}
    return f"{names[kind]} ({disk.label(folder)})"
