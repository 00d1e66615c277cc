"""Fewer cases than were asked for: skills changed since a commit, and cases that failed in an earlier experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from skilltrial import formats, load, store
from skilltrial.errors import NothingToDo, UsageError
from skilltrial.plan.names import safely_named
from skilltrial.records.config import Config
from skilltrial.records.suite import Suite
from skilltrial.seams import ExperimentView, Machine
from skilltrial.system.git_own import git
from skilltrial.wording import words

BASE_REF = "origin/main"
_ASK_S = 60.0
_MOST_NAMED = 10
Say = Callable[[str], None]


def chosen(loaded: load.Loaded, config: Config, workspace: Path, machine: Machine, say: Say) -> load.Loaded:
    """What is left of the loaded skills by `changed_only` and `last_failed`, said.

    Raises:
        NothingToDo: no skill changed, or no case failed.
        UsageError: git cannot say what changed, or there is no earlier experiment.
    """
    if config.changed_only:
        loaded = _changed(loaded, config.base_ref or BASE_REF, machine, say)
    if config.last_failed:
        loaded = _failed(loaded, config.last_failed, workspace, machine, say)
    return loaded


def _left(loaded: load.Loaded, suites: Sequence[Suite]) -> load.Loaded:
    kept = {suite.skill for suite in suites}
    return replace(loaded, suites=tuple(suites), skills=tuple(skill for skill in loaded.skills if skill.id in kept))


# ---------------------------------------------------------------- changed since a commit
def _changed(loaded: load.Loaded, base_ref: str, machine: Machine, say: Say) -> load.Loaded:
    """Skills of which a file of the folder, a suite or a fixture differs from where the branch left `base_ref`."""
    changes: dict[Path, set[Path]] = {}
    suites = []
    for suite in loaded.suites:
        own = _places(suite, loaded)
        roots = {_repository(place) for place in own}
        for root in roots - changes.keys():
            changed_files = list(_changes(root, base_ref, machine))
            changes[root] = {*changed_files, *(above for path in changed_files for above in path.parents)}
        if any(place in changes[root] for root in roots for place in own):
            suites.append(suite)
    skills = list(dict.fromkeys(suite.skill for suite in loaded.suites))
    changed = list(dict.fromkeys(suite.skill for suite in suites))
    if not changed:
        raise NothingToDo(f"none of {words.many(len(skills), 'skill')} changed since {base_ref}: nothing to run")
    say(f"changed since {base_ref}: {words.listed(changed, _MOST_NAMED)} ({len(changed)} of {words.many(len(skills), 'skill')})")
    return _left(loaded, [suite for suite in loaded.suites if suite.skill in changed])


def _places(suite: Suite, loaded: load.Loaded) -> list[Path]:
    """The skill's folder, its suites and the fixtures of this one, links followed."""
    site = loaded.sites[suite.skill]
    fixtures = (loaded.sources.get(file.digest) for case in suite.cases for file in case.fixtures.files)
    places = [site.folder, *site.suites, *(source for source in fixtures if isinstance(source, Path))]
    return list(dict.fromkeys(place.resolve() for place in places))


def _repository(place: Path) -> Path:
    for folder in (place, *place.parents):
        if (folder / ".git").exists():
            return folder
    raise UsageError(f"--changed-only: {place} lies in no git repository")


def _changes(root: Path, base_ref: str, machine: Machine) -> Iterator[Path]:
    """Files that differ between the merge base and HEAD, and files not committed."""

    def asked(*arguments: str) -> str:
        said = git(*arguments, environ=machine.environ, cwd=root, timeout_s=_ASK_S)
        if said.code != 0:
            hint = f"fetch it with its history, or name another: --base-ref REF (asked for: {base_ref})"
            raise UsageError(f"--changed-only: {root}: {said.complaint or f'git {arguments[0]} failed'}", hint)
        return said.out

    base = asked("rev-parse", "--verify", "--end-of-options", f"{base_ref}^{{commit}}").strip()
    committed = asked("diff", "--name-only", "--no-renames", "-z", f"{base}...HEAD", "--")
    loose = asked("status", "--porcelain", "--no-renames", "--untracked-files=all", "-z")
    names = [*committed.split("\0"), *(entry[3:] for entry in loose.split("\0"))]
    yield from (root / name for name in names if name)


# ---------------------------------------------------------------- failed before
class Failed(NamedTuple):
    """What went wrong in an experiment."""

    experiment: str
    cases: frozenset[tuple[str, str]]
    """Safe ids of skill and case."""


def _failed(loaded: load.Loaded, which: str, workspace: Path, machine: Machine, say: Say) -> load.Loaded:
    with _opened(which, workspace, machine) as view:
        before = failed_in(view)
    if not before.cases:
        raise NothingToDo(f"nothing failed in {before.experiment}, and everything was measured: nothing to run")
    _, safe = safely_named(loaded.skills, loaded.suites)
    suites = []
    for suite, named in zip(loaded.suites, safe, strict=True):
        cases = [case for case, one in zip(suite.cases, named.cases, strict=True) if (named.skill, one.id) in before.cases]
        if cases:
            suites.append(suite.model_copy(update={"cases": tuple(cases)}))
    found = sum(len(suite.cases) for suite in suites)
    if not found:
        names = [f"{skill}::{case}" for skill, case in sorted(before.cases)]
        raise UsageError(
            f"--last-failed: none of the cases that failed in {before.experiment} is here: {words.listed(names, _MOST_NAMED)}"
        )
    total = sum(len(suite.cases) for suite in loaded.suites)
    say(f"failed or not measured in {before.experiment}: {found} of {words.many(total, 'case')}")
    return _left(loaded, suites)


def failed_in(view: ExperimentView) -> Failed:
    """Cases with a cell that failed a required check in the arm under test, could not be measured, or was not run."""
    from skilltrial import analyze  # most runs choose nothing, and it takes a tenth of their imports

    summary = analyze.summary(view)
    rows = (*summary.failures, *summary.errors, *(row for row in summary.skipped if row.cell.count("/") > 1))
    parts = [row.cell.split("/") for row in rows]
    cases = frozenset((skill, case) for skill, case, *_ in parts)
    return Failed(summary.experiment, cases - {tuple(name.split("::", 1)) for name in view.plan.options.xfail})


@contextmanager
def _opened(which: str, workspace: Path, machine: Machine) -> Iterator[ExperimentView]:
    """An experiment of ours, or another tool's tree where it lies."""
    path = Path(which)
    ours = (path / "experiment.json").is_file() or not path.exists()
    tree = None if ours else formats.find(path)
    if tree is not None:
        yield tree.read()
        return
    with store.open_(store.locate(workspace, which), write=False, redactor=machine.redactor) as opened:
        yield opened
