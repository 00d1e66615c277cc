"""From disk to skills and suites. Needs nothing but click, pydantic and PyYAML.

`project` is what a run is made from; `validate.examine` and `listing.rows` say what is there and what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skilltrial.errors import UsageError
from skilltrial.load.collecting import Collection, Found, collect
from skilltrial.load.document import Level
from skilltrial.load.reading import TRIGGER
from skilltrial.load.select import select
from skilltrial.records.config import Config
from skilltrial.records.problems import Problem
from skilltrial.records.suite import Skill, Suite

__all__ = ["Loaded", "Site", "project"]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a skill and its suites lie on this machine."""

    folder: Path
    suites: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a run is made from."""

    skills: tuple[Skill, ...]
    """Those with a case to run; all of them when suites are not needed."""
    suites: tuple[Suite, ...]
    """Every suite has at least one case."""
    problems: tuple[Problem, ...]
    sources: Mapping[str, Path | bytes]
    """Digest -> a file with these bytes, or the bytes: all files of the skills' trees and of the fixtures."""
    skipped: tuple[str, ...] = ()
    """Ids of skills without a suite."""
    sites: Mapping[str, Site] = field(default_factory=dict)
    """Skill id -> its places."""
    triggers: tuple[Suite, ...] = ()
    """Trigger lists that lie beside a suite of output cases: not part of a run unless named."""
    invalid: Mapping[str, str] = field(default_factory=dict)
    """Folder of each skill left out because of errors (`skip_invalid`) -> the first of them."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Problems that stop a run; with `skip_invalid` those of skills left out do not."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


def project(config: Config, cwd: Path, *, digests: bool = True, suites_needed: bool = True) -> Loaded:
    """Skills and suites as the configuration asks, filtered.

    Problems of files are in the result and raise nothing: who runs it stops on `errors`.

    Args:
        digests: read every file of skills and fixtures; without it digests are "" and `sources` is empty.
        suites_needed: False gives all skills, also those without a suite (`task`).
    Raises:
        UsageError: a path, a skill's name or a case's id is unknown, or nothing is left to run.
    """
    level: Level = "standard" if config.strict else "load"
    collection = collect(config, cwd, level=level, profile=None, digests=digests)
    problems = [_softened(problem) if config.skip_invalid else problem for problem in collection.problems]
    found = collection.found
    invalid: dict[str, str] = {}
    for one in found:
        spared = bool(config.skip_invalid) and one.broken
        if spared:
            errors = (problem for problem in (*one.problems, *one.suite_problems) if problem.severity == "error")
            invalid[one.file.label] = next(map(str, errors), "it has errors").partition("\n")[0]
        problems += [_softened(problem) if spared else problem for problem in (*one.problems, *one.suite_problems)]
    found = [one for one in found if one.skill is not None and one.file.label not in invalid]
    stopped = any(problem.severity == "error" for problem in problems)
    suites, triggers = _split(found)
    names = {one.id: one.name for one in found}
    try:
        chosen = select([*suites, *(triggers if config.eval_ids else ())], config, names)
    except UsageError:
        if not stopped:
            raise
        chosen = ()
    if not chosen and suites_needed and not stopped:
        raise _nothing(collection, found, invalid)
    with_cases = {suite.skill for suite in chosen}
    return Loaded(
        skills=tuple(one.skill for one in found if one.skill and (one.id in with_cases or not suites_needed)),
        suites=chosen,
        problems=tuple(problems),
        sources=collection.digests.sources,
        skipped=tuple(one.id for one in found if not one.files),
        sites={one.id: Site(Path(one.file.folder), tuple(Path(file.path) for file in one.files)) for one in found},
        triggers=tuple(suite for suite in triggers if suite not in chosen),
        invalid=invalid,
    )


def _split(found: list[Found]) -> tuple[list[Suite], list[Suite]]:
    """Suites to run, and trigger lists that only lie beside them."""
    suites: list[Suite] = []
    triggers: list[Suite] = []
    for one in found:
        beside = not one.named and any(suite.dialect != TRIGGER for suite in one.suites)
        for suite in one.suites:
            if suite.cases:
                (triggers if beside and suite.dialect == TRIGGER else suites).append(suite)
    return suites, triggers


def _softened(problem: Problem) -> Problem:
    return problem.model_copy(update={"severity": "warning"}) if problem.severity == "error" else problem


def _nothing(collection: Collection, found: list[Found], invalid: Mapping[str, str]) -> UsageError:
    if not found and invalid:
        return UsageError(f"all {len(invalid)} skills are invalid and were left out", "skilltrial validate says what is wrong")
    names = ", ".join(one.name for one in found[:10])
    hint = f"add one: skilltrial init {collection.disk.label(found[0].file.folder)}" if found else None
    return UsageError(f"there is no suite for {names}: nothing to run" if names else "there is no skill to run", hint)
