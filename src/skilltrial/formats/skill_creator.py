"""skill-creator's workspace: runs below `eval-*/<configuration>/run-K/`, graded as `expectations`, and its benchmark.json."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from skilltrial.formats import _disk, _workspace, _workspace_out
from skilltrial.formats._foreign import ForeignExperiment, experiment
from skilltrial.formats._found import Found
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out


class SkillCreator:
    """Reads what its aggregator reads, or its benchmark.json alone, and writes what its viewer opens."""

    name: ClassVar[str] = "skill-creator"

    @staticmethod
    def claims(folder: Path) -> bool:
        told = _disk.object_at(folder / "benchmark.json")
        if isinstance(told.get("metadata"), dict) and isinstance(told.get("runs"), list):
            return True
        gradings = (_disk.json_at(spot.folder / "grading.json") for spot in _workspace.spots(folder))
        return any(isinstance(one, dict) and "expectations" in one and "assertion_results" not in one for one in gradings)

    @staticmethod
    def read(folder: Path) -> ForeignExperiment:
        found = Found(SkillCreator.name, folder)
        _workspace.read(found)
        return experiment(found)

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        _workspace_out.write_skill_creator(summary, experiment, out)


plugin = SkillCreator
