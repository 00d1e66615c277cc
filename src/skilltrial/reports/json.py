"""The Summary as JSON: the numbers, for programs."""

from __future__ import annotations

from typing import ClassVar

from skilltrial.records.record import Record
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out


class Json(Record):
    """`summary.json` under another name."""

    name: ClassVar[str] = "json"

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        out.write("report.json", render(summary, experiment))


plugin = Json


def render(summary: Summary, view: ExperimentView | None = None) -> str:
    """The Summary, indented; unknown numbers are null."""
    return summary.to_json(indent=2) + "\n"
