"""What an experiment left on this machine on purpose, and how it goes away: `cleanup.json`."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from skilltrial.errors import UsageError
from skilltrial.records.record import Record
from skilltrial.store import Experiment
from skilltrial.system.files import remove_tree, write_atomic

_lock = threading.Lock()
NAME = "cleanup.json"


class Leftovers(Record):
    """Everything that `cleanup` may touch, and nothing else."""

    workspaces: tuple[str, ...] = ()
    """Absolute paths of kept workspaces."""


def read(folder: Path) -> Leftovers:
    """What is recorded; nothing where there is no file.

    Raises:
        UsageError: the file is not ours.
    """
    path = folder / NAME
    if not path.is_file():
        return Leftovers()
    try:
        return Leftovers.from_stored(path.read_bytes())
    except ValueError:
        raise UsageError(f"{path} cannot be read", "nothing was removed") from None


def kept(experiment: Experiment, workspace: Path) -> None:
    """Records a workspace that stays."""
    with _lock:
        before = read(experiment.folder)
        after = Leftovers(workspaces=(*before.workspaces, str(workspace)))
        write_atomic(experiment.folder / NAME, after.to_json(indent=2) + "\n", None)


def clean(folder: Path) -> tuple[list[str], list[str]]:
    """Removes what is recorded: (removed, refused). Only folders that carry our mark are touched."""
    removed, refused = [], []
    found = read(folder)
    for text in found.workspaces:
        path = Path(text)
        if not path.exists():
            continue
        if not path.name.startswith("skilltrial-") or path.is_symlink():
            refused.append(text)
            continue
        remove_tree(path)
        removed.append(text)
    if found.workspaces:
        left = Leftovers(workspaces=tuple(refused))
        write_atomic(folder / NAME, json.dumps(left.model_dump(), indent=2) + "\n", None)
    return removed, refused
