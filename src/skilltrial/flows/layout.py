"""`layout: iteration` and `flat`: the results once more, where scripts written for agent-skills-eval look for them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.flows.out import FolderOut
from skilltrial.store import Experiment
from skilltrial.system.redaction import Redactor

if TYPE_CHECKING:  # records that nothing needs before the first call
    from skilltrial.records.summary import Summary


def write(summary: Summary, experiment: Experiment, redactor: Redactor, say: Callable[[str], None]) -> None:
    """Writes the tree that the plan asks for; why it cannot be is said, and the experiment is whole without it.

    iteration: into the experiment's folder, which is what `iteration-N` is there. flat: `<skill>/` in the workspace, anew each
    time; a folder of that name that holds anything else is left alone.
    """
    layout = experiment.plan.options.layout
    if layout is None:
        return
    format_ = registry.get("formats", "ase-npm")()
    try:
        if layout == "flat":
            workspace = experiment.folder.parent
            _make_room([workspace / name for name in _folders(experiment)])
            format_.write(summary, experiment, FolderOut(workspace, redactor), flat=True)
        else:
            format_.write(summary, experiment, FolderOut(experiment.folder, redactor))
    except UsageError as error:
        say(f"layout {layout} is not written: {error}")


def _folders(experiment: Experiment) -> list[str]:
    """A folder per skill, below one per target where there are several."""
    pairs = dict.fromkeys((group.target, group.skill) for group in experiment.plan.groups)
    several = len({target for target, _ in pairs}) > 1
    return [f"{target}/{skill}" if several else skill for target, skill in pairs]


def _make_room(folders: list[Path]) -> None:
    """Removes what an earlier run wrote there.

    Raises:
        UsageError: a folder in the way holds something else; nothing was removed.
    """
    there = [folder for folder in folders if folder.exists() or folder.is_symlink()]
    others = [folder for folder in there if not _is_such_a_tree(folder)]
    if others:
        raise UsageError(f"{others[0]} holds no results of that layout", "move it away, or name another --workspace")
    for folder in there:
        shutil.rmtree(folder)


def _is_such_a_tree(folder: Path) -> bool:
    """An experiment of ours with such a tree in it is none."""
    if folder.is_symlink() or (folder / "experiment.json").exists():
        return False
    return bool(registry.get("formats", "ase-npm").claims(folder))
