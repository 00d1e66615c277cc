"""Ids that are safe in paths and cell ids, for skills, cases and targets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

from skilltrial.errors import UsageError
from skilltrial.records.plan import Target
from skilltrial.records.record import Record
from skilltrial.records.suite import Case, Skill, Suite
from skilltrial.system.files import safe_name

R = TypeVar("R", bound=Record)


def safe_ids(names: Iterable[str]) -> dict[str, str]:
    """A path-safe id for each different name, different also where a file system ignores case."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name in ids:
            continue
        safe = safe_name(name)
        if safe.casefold() in taken:
            safe = f"{safe[:90]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        taken.add(safe.casefold())
        ids[name] = safe
    return ids


def safely_named(skills: Sequence[Skill], suites: Sequence[Suite]) -> tuple[tuple[Skill, ...], tuple[Suite, ...]]:
    """The same skills and suites with safe ids; skills without a suite are left out.

    Raises:
        UsageError: there is no case, two cases of a skill share an id, or a suite's skill is missing.
    """
    ids = safe_ids(skill.id for skill in skills)
    if missing := [suite for suite in suites if suite.skill not in ids]:
        raise UsageError("\n".join(f"{suite.where}: belongs to skill '{suite.skill}', which was not found" for suite in missing))
    cases: dict[str, list[Case]] = {}
    for suite in suites:
        cases.setdefault(suite.skill, []).extend(suite.cases)
    if not any(cases.values()):
        raise UsageError("there is nothing to run: no case is left", "see `skilltrial list`, and the filters given")
    renamed = {skill: _case_ids(skill, found) for skill, found in cases.items()}
    return (
        tuple(_with(skill, id=ids[skill.id]) for skill in skills if cases.get(skill.id)),
        tuple(
            _with(
                suite, skill=ids[suite.skill], cases=tuple(_with(case, id=renamed[suite.skill][case.id]) for case in suite.cases)
            )
            for suite in suites
            if suite.cases
        ),
    )


def _case_ids(skill: str, cases: Sequence[Case]) -> dict[str, str]:
    seen: dict[str, Case] = {}
    twice = []
    for case in cases:
        if case.id in seen:
            twice.append(f"{case.where}: case '{case.id}' of skill '{skill}' stands at {seen[case.id].where} already")
        seen[case.id] = case
    if twice:
        raise UsageError("\n".join(twice), "give every case of a skill an id of its own")
    return safe_ids(seen)


def check_targets(targets: Sequence[Target]) -> None:
    """Raises UsageError when there is no target, a name is unsafe, or two share one."""
    if not targets:
        raise UsageError("there is no target to run on", "name one: --target BACKEND[:VALUE]; `skilltrial agents` lists them")
    names = [target.name.casefold() for target in targets]
    wrong = [f"target name '{target.name}' is not safe in a path" for target in targets if safe_name(target.name) != target.name]
    wrong += [f"two targets are called '{name}'" for name in sorted({name for name in names if names.count(name) > 1})]
    if wrong:
        raise UsageError("\n".join(wrong), "give each target a 'name' of its own in the configuration file")


def resolve(given: Iterable[str], known: Mapping[str, str], what: str) -> dict[str, str]:
    """Each given name with the id it means.

    Raises:
        UsageError: some are unknown; all are named, with the nearest known ones.
    """
    unknown = [name for name in given if name not in known]
    if unknown:
        close = get_close_matches(unknown[0], known, 1)
        meant = f"did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"{what}: unknown {', '.join(repr(name) for name in unknown)}", f"{meant}Known: {', '.join(sorted(known))}"
        )
    return {name: known[name] for name in given}


def case_names(skills: Sequence[Skill], suites: Sequence[Suite], safe_suites: Sequence[Suite]) -> dict[str, str]:
    """Every spelling of `skill::case` that names a case, with the safe one: by id, by the id as written, by name."""
    names = {skill.id: skill.name for skill in skills}
    spelled: dict[str, str] = {}
    for suite, safe in zip((suite for suite in suites if suite.cases), safe_suites, strict=True):
        for case, named in zip(suite.cases, safe.cases, strict=True):
            for skill in {suite.skill, names[suite.skill], safe.skill}:
                for spelling in {case.id, named.id, str(case.given_id), str(case.name)} - {"None"}:
                    spelled.setdefault(f"{skill}::{spelling}", f"{safe.skill}::{named.id}")
    return spelled


def _with(record: R, **changes: object) -> R:
    return record.model_copy(update=changes)
