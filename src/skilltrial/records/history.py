"""One line per experiment, skill and target: what is read off a series of experiments. None is unknown, never 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skilltrial.records.record import Record
from skilltrial.records.summary import Verdict


class Entry(Record):
    """One arm of one skill on one target in one experiment, with its lift where it had a baseline."""

    experiment: str
    folder: str
    format: str = "skilltrial"
    """Whose files it was read from."""
    created_at: str = ""
    """UTC, ISO 8601; empty where the files do not say."""
    skill: str
    target: str
    arm: str
    baseline: str | None = None
    activation: Literal["natural", "forced"] = "natural"
    metric: Literal["checks", "cases", "score"] = "checks"
    lift: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "not measured"
    pass_rate: float | None = None
    baseline_rate: float | None = None
    cases: int = 0
    graded: int = 0
    """Cells of the arm."""
    planned: int = 0
    cost_usd: float | None = None
    """Of the arm and its baseline."""


class History(Record):
    """Entries by skill and target, oldest first."""

    schema_: str = Field(default="skilltrial.history/1", alias="schema")
    entries: tuple[Entry, ...] = ()
