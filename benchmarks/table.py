"""The figures as rows, and the rows as a table."""

from __future__ import annotations

import os
from typing import NamedTuple


class Row(NamedTuple):
    """One figure beside its floor and its budget."""

    what: str
    ours: float
    unit: str = ""
    floor: float | None = None
    """The same figure of the floor program."""
    budget: float | None = None
    at_least: bool = False
    """The budget is a minimum."""
    by_ratio: bool = False
    """The budget is one of the ratio to the floor."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.floor if self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether the budget holds; None: there is none."""
        figure = self.ratio if self.by_ratio else self.ours
        if self.budget is None or figure is None:
            return None
        return figure >= self.budget if self.at_least else figure <= self.budget


HEAD = ("figure", "ours", "floor", "ratio", "budget", "")
FORMAT = "{:<58} {:>12} {:>10} {:>7} {:>10}  {}"


def head() -> str:
    return FORMAT.format(*HEAD).rstrip()


def line(row: Row) -> str:
    """A row as text."""
    sign = "≥" if row.at_least else "≤"
    budget = "" if row.budget is None else f"{sign} {row.budget:g}{'×' if row.by_ratio else ''}"
    word = {True: "met", False: "MISSED", None: ""}[row.met]
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}×"
    floor = "" if row.floor is None else _number(row.floor)
    said = "; ".join(part for part in (word, row.note) if part)
    return FORMAT.format(row.what, f"{_number(row.ours)} {row.unit}".strip(), floor, ratio, budget, said).rstrip()


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.4g}"


def load_average() -> str:
    """How busy the machine is: CPU figures rise with it."""
    return "/".join(f"{value:.1f}" for value in os.getloadavg())
