"""What a dialect gets: one parsed suite file, the skill it belongs to, and where problems go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from skilltrial.load.document import Notes
from skilltrial.load.fixtures import Fixtures
from skilltrial.records.problems import Where
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import Case, Stage, Suite

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
    digest: str
    prose: ProseChecks = "auto"
    stage: Stage | None = None
    """Placement asked for by the user; wins over the suite's own."""

    def suite(self, dialect: str, cases: list[Case], markers: tuple[str, ...] = (), extra: JsonObject | None = None) -> Suite:
        return Suite(
            skill=self.skill_id,
            dialect=dialect,
            cases=tuple(cases),
            digest=self.digest,
            markers=markers,
            where=Where(file=self.notes.file),
            extra=extra or {},
        )


class Dialect(Protocol):
    """A form of suites. One file in `dialects/`, found by its `plugin`; the file's name is the dialect's name."""

    name: str
    rank: int
    """Asked in this order; the first that claims a file reads it."""

    def claims(self, value: Any) -> bool:
        """Whether the data has this form. Cheap: looks at keys, not at every case."""
        ...

    def read(self, reading: Reading) -> Suite | None:
        """The suite; None when nothing can be used. Whatever is wrong has been told to `reading.notes`."""
        ...
