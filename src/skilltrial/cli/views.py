"""EXPERIMENT as readers take it: one of ours, or another tool's tree where it lies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skilltrial.cli.faces import Session, names_ours
from skilltrial.errors import UsageError

if TYPE_CHECKING:
    from skilltrial.formats import Tree
    from skilltrial.formats._foreign import ForeignExperiment
    from skilltrial.store import Experiment


@contextmanager
def opened_view(session: Session, which: str, workspace: str | None = None) -> Iterator[Experiment | ForeignExperiment]:
    """An experiment opened for reading: a path, N, latest or previous; a path may be a foreign tree or what lies above it.

    Raises:
        UsageError: it is neither; the message says what is there.
    """
    from skilltrial import store

    tree = foreign_tree(session, which, workspace)
    if tree is not None:
        yield tree.read()
        return
    path = Path(session.cwd, which)
    home = session.results(workspace)
    if path.is_file() or (path.is_dir() and not _ours(path) and not _ours(home / which) and not names_ours(home, which)):
        must_be_foreign(session, which)
    with store.open_(session.locate(which, workspace), write=False, redactor=session.redactor) as opened:
        yield opened


def foreign_tree(session: Session, which: str, workspace: str | None = None) -> Tree | None:
    """The foreign tree that is meant; None where it is one of ours, or nothing that we know."""
    from skilltrial import formats

    home, path = session.results(workspace), Path(session.cwd, which)
    if names_ours(home, which):
        return None
    if path.exists():
        return None if _ours(path) else formats.find(path)
    if _ours(home):
        return _beside_ours(home, which)
    return _in_workspace(list(formats.trees(home)), which) if home.is_dir() else None


def _beside_ours(home: Path, which: str) -> Tree | None:
    """An iteration of another tool in a workspace that by now holds experiments of ours too."""
    from skilltrial import formats

    for name in (which, f"iteration-{which}"):
        folder = home / name
        if name.startswith("iteration-") and folder.is_dir() and not (folder / "experiment.json").is_file():
            return formats.find(folder)
    return None


def _ours(folder: Path) -> bool:
    """An experiment of ours, or a folder of them."""
    from skilltrial import store

    return (folder / "experiment.json").is_file() or (folder.is_dir() and any(True for _ in store.experiments(folder)))


def _in_workspace(trees: list[Tree], which: str) -> Tree | None:
    """`latest`, `previous` or N among another tool's iterations."""
    back = {"latest": 1, "previous": 2}.get(which)
    if back is not None:
        return trees[-back] if len(trees) >= back else None
    named = [tree for tree in trees if tree.root.name in (which, f"iteration-{which}")]
    return named[-1] if named else None


def place_for_pages(session: Session, view: Experiment | ForeignExperiment, workspace: str | None = None) -> Path:
    """Where pages about an experiment go: its own folder, or for a foreign tree a folder of ours; theirs is only read."""
    from skilltrial.store import Experiment
    from skilltrial.system.files import safe_name

    if isinstance(view, Experiment):
        return view.folder
    return session.workspace(given=workspace) / "reports" / safe_name(view.plan.experiment)


def known_formats() -> str:
    """For messages."""
    from skilltrial import formats

    return ", ".join(formats.ORDER)


def must_be_foreign(session: Session, which: str) -> Tree:
    """The foreign tree at a path.

    Raises:
        UsageError: there is none; the message says what is there and what is known.
    """
    from skilltrial import formats
    from skilltrial.store.folders import seen_in

    path = Path(session.cwd, which)
    if (path / "experiment.json").is_file():  # its folders per cell look like the standard's workspace
        raise UsageError(f"{which} is an experiment of skilltrial already", f"skilltrial report {which}")
    found = formats.find(path)
    if found is None:
        raise UsageError(f"{which}: no result tree that we know: {seen_in(path)}", f"known are {known_formats()}")
    return found
