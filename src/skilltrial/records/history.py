"""One line per experiment, skill and target: what is read off a series of experiments. None is unknown, never 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skilltrial.records.record import Record
from skilltrial.records.summary import Verdict

Gate = Literal["passed", "failed", "open", "not measured"]


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
    gate: Gate | None = None
    """Of this skill and target; None where the files do not say."""


class PortfolioRow(Record):
    """The newest result of one skill on one target, or a skill without any."""

    skill: str
    folder: str | None = None
    suites: int = 0
    """Suites found for it."""
    cases: int | None = None
    """In those suites; None: none, or one could not be read."""
    last: Entry | None = None
    """None: never run, as far as the workspace knows."""
    age_days: float | None = None
    """Days since then; None where the files do not say."""


class Portfolio(Record):
    """Skills by folder, each with its newest results."""

    schema_: str = Field(default="skilltrial.portfolio/1", alias="schema")
    rows: tuple[PortfolioRow, ...] = ()


class History(Record):
    """Entries by skill and target, oldest first."""

    schema_: str = Field(default="skilltrial.history/1", alias="schema")
    entries: tuple[Entry, ...] = ()
