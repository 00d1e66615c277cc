"""What every form of results keeps to, in and out."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skilltrial import analyze
from skilltrial.errors import UsageError
from skilltrial.flows.out import FolderOut
from skilltrial.system.files import write_atomic
from skilltrial.system.redaction import Redactor
from skilltrial.testing._rules import Rule, docstring_of, holds, printing_nothing, try_all
from skilltrial.testing.reports import KINDS, opened_sample


class FormatCase(NamedTuple):
    """A form of results, and trees of it."""

    plugin: Any
    trees: tuple[Path, ...] = ()

    @property
    def format(self) -> Any:
        return self.plugin() if isinstance(self.plugin, type) else self.plugin


def check_format(plugin: Any, trees: Sequence[str | Path] = ()) -> None:
    """Raises AssertionError unless the form keeps to its contract.

    Args:
        plugin: the class that the entry point names; it reads (`claims`, `read`), writes (`write`), or does both.
        trees: folders of that form, which it should read.
    """
    try_all(RULES, FormatCase(plugin, tuple(map(Path, trees))), f"format '{getattr(plugin, 'name', plugin)}'")


def reads_or_writes(case: FormatCase) -> None:
    """It has a name, a docstring, and reads, writes or does both."""
    plugin = case.plugin
    holds(isinstance(plugin.name, str) and plugin.name.strip(), "it has no name")
    holds(docstring_of(plugin, plugin.__base__ or object), "it has no docstring of its own")
    holds(hasattr(plugin, "claims") == hasattr(plugin, "read"), "`claims` and `read` come together")
    holds(hasattr(plugin, "read") or hasattr(plugin, "write"), "it neither reads nor writes")


def claims_only_its_own(case: FormatCase) -> None:
    """It claims its own trees, and neither an empty folder, nor one of other files, nor what is not there."""
    if not hasattr(case.plugin, "claims"):
        return
    with tempfile.TemporaryDirectory(prefix="skilltrial-contract-") as name:
        folder = Path(name)
        holds(not case.format.claims(folder), "it claims an empty folder")
        write_atomic(folder / "notes.json", '{"evals": []}', None)
        holds(not case.format.claims(folder), "it claims a folder with a suite in it")
        holds(not case.format.claims(folder / "absent"), "it claims what is not there")
        holds(not case.format.claims(folder / "notes.json"), "it claims a file of another kind")
    for tree in case.trees:
        holds(case.format.claims(tree), f"it does not claim {tree}")


def only_reads(case: FormatCase) -> None:
    """Reading leaves a tree as it is, prints nothing, and gives an experiment that a Summary can be worked out of."""
    for tree in case.trees:
        before = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
        with printing_nothing(f"while it read {tree}"):
            view = case.format.read(tree)
            summary = analyze.summary(view)
        holds({path: path.stat().st_mtime_ns for path in tree.rglob("*")} == before, f"it changed {tree}")
        planned = sum(group.repetitions for group in view.plan.groups)
        holds(summary.coverage.planned == planned, "the Summary counts other runs than the plan")


def writes_through_out(case: FormatCase) -> None:
    """It writes through the Out that it is given, or refuses what it has no place for with a UsageError."""
    if not hasattr(case.plugin, "write"):
        return
    wrote = False
    for kind in KINDS:
        with tempfile.TemporaryDirectory(prefix="skilltrial-contract-") as folder, opened_sample(kind) as (summary, view):
            before = {path: path.stat().st_mtime_ns for path in view.folder.rglob("*")}
            try:
                case.format.write(summary, view, FolderOut(Path(folder), Redactor()))
            except UsageError:
                continue
            wrote = wrote or any(path.is_file() for path in Path(folder).rglob("*"))
            same = {path: path.stat().st_mtime_ns for path in view.folder.rglob("*")} == before
            holds(same, f"it changed the folder of an experiment {kind}")
    holds(wrote, "it wrote nothing about any experiment")


def reads_what_it_writes(case: FormatCase) -> None:
    """Where it does both, what it wrote is claimed, and read back it has the same rates."""
    if not (hasattr(case.plugin, "write") and hasattr(case.plugin, "read")):
        return
    with (
        tempfile.TemporaryDirectory(prefix="skilltrial-contract-") as folder,
        opened_sample("with hostile answers") as (summary, view),
    ):
        case.format.write(summary, view, FolderOut(Path(folder), Redactor()))
        holds(case.format.claims(Path(folder)), "it does not claim what it wrote")
        again = analyze.summary(case.format.read(Path(folder)))
        told, found = ({rate.arm: rate.pass_rate for rate in one.rates} for one in (summary, again))
        holds(told == found, f"the rates are {told}, and read back they are {found}")


RULES: tuple[Rule, ...] = (reads_or_writes, claims_only_its_own, only_reads, writes_through_out, reads_what_it_writes)
