"""The workspace that the standard's guide describes: `eval-*/<configuration>/` with grading.json and timing.json."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from skilltrial.formats import _disk, _workspace, _workspace_out
from skilltrial.formats._foreign import ForeignExperiment, experiment
from skilltrial.formats._found import Found
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out


class Standard:
    """Reads any workspace with a grading.json per run, and writes the guide's own form of it."""

    name: ClassVar[str] = "standard"

    @staticmethod
    def claims(folder: Path) -> bool:
        summed = isinstance(_disk.object_at(folder / "benchmark.json").get("run_summary"), dict)
        return any(summed or isinstance(_disk.json_at(spot.folder / "grading.json"), dict) for spot in _workspace.spots(folder))

    @staticmethod
    def read(folder: Path) -> ForeignExperiment:
        found = Found(Standard.name, folder)
        _workspace.read(found)
        return experiment(found)

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        _workspace_out.write_standard(summary, experiment, out)


plugin = Standard
