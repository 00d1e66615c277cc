"""What a dialect gets: one parsed suite file, the skill it belongs to, and where problems go."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from skilltrial.load.beside import Beside, Part
from skilltrial.load.document import Notes
from skilltrial.load.fixtures import Base, Fixtures
from skilltrial.records.problems import Where
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import Aside, Case, Stage, Suite

ProseChecks = Literal["auto", "ase", "off"]
TRIGGER = "trigger"
"""Name of the dialect of trigger lists."""


@dataclass(slots=True)
class Reading:
    """One suite file while it is read. Problems go to `notes`."""

    value: Any
    """The file as plain data."""
    notes: Notes
    skill_id: str
    skill_name: str
    folder_name: str
    """Name of the skill's folder."""
    fixtures: Fixtures
    beside: Beside
    digest: str
    prose: ProseChecks = "auto"
    stage: Stage | None = None
    """Placement asked for by the user; wins over the suite's own."""
    set_aside: list[Aside] = field(default_factory=list)
    """Checks without a counterpart, met so far."""

    def suite(self, dialect: str, cases: list[Case], markers: tuple[str, ...] = (), extra: JsonObject | None = None) -> Suite:
        return Suite(
            skill=self.skill_id,
            dialect=dialect,
            cases=tuple(cases),
            digest=self.beside.digest(self.digest),
            markers=markers,
            set_aside=tuple(self.set_aside),
            where=Where(file=self.notes.file),
            extra=extra or {},
        )

    def of_part(self, part: Part) -> Reading | None:
        """The reading of one more file of the suite, its problems told at its own place; None when it cannot be parsed."""
        notes = Notes(part.label, self.notes.level, part.document.locate, self.notes.problems)
        for fault in part.document.faults:
            notes.error(fault.rule, fault.found, fault.pointer or (), fault.hint, fault.spot)
        return None if part.document.broken else replace(self, value=part.document.value, notes=notes)

    def fixtures_from(self, *inner: str) -> Fixtures:
        """Fixtures that are listed relative to folders of the suite; the first of these that has one counts."""
        folders = [os.path.normpath(f"{self.beside.folder}/{path}") for path in inner]
        bases = tuple(Base("evals", self.beside.disk.label(folder), folder, self.beside.root) for folder in folders)
        return replace(self.fixtures, find_bases=lambda: bases, first=True)


class Dialect(Protocol):
    """A form of suites. One file in `dialects/`, found by its `plugin`; the file's name is the dialect's name."""

    name: str
    rank: int
    """Asked in this order; the first that claims a file reads it."""
    single: bool
    """One case is one file, so that a folder of them is a suite."""

    def claims(self, value: Any) -> bool:
        """Whether the data has this form. Cheap: looks at keys, not at every case."""
        ...

    def read(self, reading: Reading) -> Suite | None:
        """The suite; None when nothing can be used. Whatever is wrong has been told to `reading.notes`."""
        ...
