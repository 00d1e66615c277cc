"""Finished baseline runs of earlier experiments stand in for new ones (`run --reuse`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from skilltrial import store
from skilltrial.records.plan import Cell
from skilltrial.store import Experiment
from skilltrial.wording import words


def reuse_baselines(experiment: Experiment, workspace: Path, say: Callable[[str], None]) -> int:
    """Copies baseline runs with equal inputs, up to 7 days old, into cells not run yet; each run is taken once.

    They are graded anew with today's checks, are marked `reused` everywhere, and cost nothing.
    """
    waiting = _baseline_cells(experiment)
    taken = 0
    sources: dict[str, None] = {}
    if waiting:
        for found in store.reusable(workspace, list(waiting), without=experiment.folder):
            cells = waiting.get(found.line.inputs)
            if cells:
                found.append_to(experiment, cells.pop(0))
                sources[found.experiment.folder.name] = None
                taken += 1
    if taken:
        say(f"{words.many(taken, 'baseline run')} reused from {', '.join(sources)}: their inputs are the same")
    else:
        say("no baseline run of the last 7 days has the same inputs: nothing is reused")
    return taken


def _baseline_cells(experiment: Experiment) -> dict[str, list[Cell]]:
    """Cells not run yet of arms without a skill, by inputs digest, in plan order."""
    baselines = {(arm.skill, arm.name) for arm in experiment.plan.arms if not arm.trees}
    waiting: dict[str, list[Cell]] = {}
    for todo in experiment.remaining():
        if todo.need == "run" and (todo.cell.skill, todo.cell.arm) in baselines:
            waiting.setdefault(todo.cell.inputs, []).append(todo.cell)
    return waiting
