"""Foreign result trees, in and out: found by what lies in them, whatever the folders are called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from skilltrial import registry
from skilltrial.formats import _disk

if TYPE_CHECKING:
    from skilltrial.formats._foreign import ForeignExperiment

ORDER = ("handbook", "sab", "ase-py", "ase-npm", "plugin-eval", "skill-creator", "standard")
"""Those with marks of their own first; the standard's form is what is left."""
GENERAL = frozenset({"skill-creator", "standard"})
"""Known by their runs alone, wherever those lie: a folder above runs of another tool looks the same."""
DEPTH = 4


class Reader(Protocol):
    """The reading half of the formats family."""

    name: ClassVar[str]

    def claims(self, folder: Path) -> bool:
        """Whether this folder is one run of the tool, by what lies in it."""
        ...

    def read(self, folder: Path) -> ForeignExperiment: ...


class Tree(NamedTuple):
    """One foreign run on disk."""

    format: Reader
    root: Path

    def read(self) -> ForeignExperiment:
        return self.format.read(self.root)


def detect(folder: Path) -> Reader | None:
    """The format of a folder (or file) that is one run of another tool; None: of no tool that we know."""
    others = [name for name in registry.names("formats") if name not in ORDER]
    for name in (*ORDER, *others):
        plugin = registry.get("formats", name)
        if hasattr(plugin, "claims"):
            reader: Reader = plugin() if isinstance(plugin, type) else plugin
            if reader.claims(folder):
                return reader
    return None


def trees(folder: Path) -> Iterator[Tree]:
    """Every foreign run at or below a folder, at most four folders deep, in natural order of their paths."""
    yield from _trees(folder, DEPTH)


def _trees(folder: Path, depth: int) -> Iterator[Tree]:
    if (folder / _disk.OURS).is_file():
        return
    format_ = detect(folder)
    if format_ is not None:
        others = _marked(folder, depth) if format_.name in GENERAL else []
        yield from others or [Tree(format_, folder)]
    elif depth and folder.is_dir():
        for child in _disk.children(folder):
            yield from _trees(child, depth - 1)


def _marked(folder: Path, depth: int) -> list[Tree]:
    """Runs of tools with marks of their own in the folders below."""
    inner = [tree for child in _disk.children(folder) for tree in _trees(child, depth - 1)] if depth else []
    return inner if any(tree.format.name not in GENERAL for tree in inner) else []


def find(path: Path) -> Tree | None:
    """The foreign run that a path means: the folder or file itself, else the last one below it; None: there is none."""
    last = None
    for last in trees(path):  # noqa: B007
        pass
    return last
