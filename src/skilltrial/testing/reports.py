"""What every report keeps to."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from skilltrial import store
from skilltrial.api import evaluate
from skilltrial.flows.out import FolderOut
from skilltrial.records.summary import Summary
from skilltrial.store import Experiment
from skilltrial.system.files import write_atomic
from skilltrial.system.redaction import Redactor
from skilltrial.testing._rules import Rule, docstring_of, holds, printing_nothing, try_all

HOSTILE = "\x1b]0;title\x07\x1b[31mred\x1b[0m <script>alert(1)</script> | pipe ](http://x) \u202e x"
SUITE = [{"id": number, "prompt": f"Task {number}.", "checks": [{"type": "contains", "value": "yes"}]} for number in (1, 2)]


def check_report(plugin: Any) -> None:
    """Raises AssertionError unless the report, the class that the entry point names, keeps to its contract.

    It is given three small experiments: one whose answers are hostile, one without a baseline, one that measured nothing.
    """
    try_all(RULES, ReportCase(plugin), f"report '{getattr(plugin, 'name', plugin)}'")


class ReportCase(NamedTuple):
    """A report."""

    plugin: Any


class Wrote(NamedTuple):
    """What one call left."""

    files: dict[str, bytes]
    beside: bool
    """Something changed in the experiment's own folder."""


# ---------------------------------------------------------------- experiments to report on
def _helpful(prompt: str) -> str:
    return f"yes {HOSTILE}" if "Answer yes" in prompt else f"no {HOSTILE}"


def _broken(prompt: str) -> str:
    raise RuntimeError(f"out of order {HOSTILE}")


KINDS: dict[str, dict[str, Any]] = {
    "with hostile answers": {"targets": _helpful, "repetitions": 2},
    "without a baseline": {"targets": _helpful, "arms": ("with_skill",)},
    "that measured nothing": {"targets": _broken, "retries": 0},
}


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    """Made once a process; the object removes the folder at its end."""
    return tempfile.TemporaryDirectory(prefix="skilltrial-contract-")


@cache
def _experiment(kind: str) -> tuple[Path, Summary]:
    home = Path(_kept().name, str(list(KINDS).index(kind)))
    skill = home / "skill-under-test"
    text = "---\nname: skill-under-test\ndescription: Says yes to every task. For tests.\n---\nAnswer yes.\n"
    write_atomic(skill / "SKILL.md", text, None)
    suite = {"skill_name": "skill-under-test", "evals": SUITE}
    write_atomic(skill / "evals" / "evals.json", json.dumps(suite), None)
    summary = evaluate(skill, judge="none", workspace=home / "workspace", environ={}, **KINDS[kind])
    return home / "workspace" / summary.experiment, summary


@contextmanager
def opened_sample(kind: str) -> Iterator[tuple[Summary, Experiment]]:
    """One of the three experiments of KINDS, to read."""
    folder, summary = _experiment(kind)
    with store.open_(folder, write=False, redactor=Redactor()) as opened:
        yield summary, opened


def _written(case: ReportCase, kind: str) -> Wrote:
    """What the report writes about an experiment, by name below its folder."""
    with tempfile.TemporaryDirectory(prefix="skilltrial-contract-") as folder, opened_sample(kind) as (summary, view):
        before = _state(view.folder)
        with printing_nothing(f"about an experiment {kind}"):
            case.plugin().write(summary, view, FolderOut(Path(folder), Redactor()))
        beside = _state(view.folder) != before
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return Wrote({path.relative_to(folder).as_posix(): path.read_bytes() for path in files}, beside)


def _state(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


# ---------------------------------------------------------------- the rules
def is_named_and_described(case: ReportCase) -> None:
    """It is a class with a name, a docstring and, where it has one, a suffix as '.tex'."""
    plugin = case.plugin
    holds(isinstance(plugin, type), "the entry point has to name a class")
    holds(isinstance(plugin.name, str) and plugin.name.strip(), "it has no name")
    holds(docstring_of(plugin, plugin.__base__ or object), "it has no docstring of its own")
    suffix = getattr(plugin, "suffix", None)
    holds(
        suffix is None or (isinstance(suffix, str) and PurePosixPath(f"x{suffix}").suffix == suffix),
        f"its suffix {suffix!r} is none",
    )


def writes_something_every_time(case: ReportCase) -> None:
    """It writes a file that is not empty, about an experiment without a baseline and one that measured nothing too."""
    for kind in KINDS:
        files = _written(case, kind).files
        holds(files and any(files.values()), f"it wrote nothing about an experiment {kind}")


def writes_only_where_it_is_told(case: ReportCase) -> None:
    """It writes through the Out that it is given, and leaves the experiment as it is."""
    for kind in KINDS:
        holds(not _written(case, kind).beside, f"it changed the folder of an experiment {kind}")


def writes_the_same_again(case: ReportCase) -> None:
    """The same experiment gives the same report, or a diff of two would tell nothing."""
    for kind in KINDS:
        holds(_written(case, kind) == _written(case, kind), f"two reports on an experiment {kind} differ")


def lets_nothing_come_alive(case: ReportCase) -> None:
    """What a model wrote neither controls a terminal nor becomes part of a page."""
    for kind in KINDS:
        for name, data in _written(case, kind).files.items():
            holds(b"\x1b" not in data, f"{name}: a terminal control of an answer is in it as it was")
            page = name.endswith((".html", ".htm", ".svg", ".xml"))
            holds(not page or b"<script>alert" not in data, f"{name}: a script of an answer is in it as it was")


RULES: tuple[Rule, ...] = (
    is_named_and_described, writes_something_every_time, writes_only_where_it_is_told, writes_the_same_again,
    lets_nothing_come_alive,
)  # fmt: skip
