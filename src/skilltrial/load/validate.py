"""Every problem of every file at once, and which checks will need a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skilltrial.errors import UsageError
from skilltrial.load.advice import advice
from skilltrial.load.collecting import Found, collect, without_collector
from skilltrial.load.document import Level
from skilltrial.load.lint import lint
from skilltrial.load.reading import TRIGGER
from skilltrial.records.checks import JUDGED
from skilltrial.records.config import Config
from skilltrial.records.problems import Problem
from skilltrial.records.suite import Case, Check, Skill, Suite, landed
from skilltrial.system.files import read_capped

LARGEST_FIXTURE = 1_000_000
"""Bytes of a fixture that are looked at."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What `validate` found."""

    problems: tuple[Problem, ...]
    skills: tuple[Skill, ...]
    suites: tuple[Suite, ...]
    without_suite: tuple[str, ...]
    """Ids of skills that have none."""
    judged: tuple[tuple[Suite, Case, Check], ...]
    """Checks that only a judge can grade."""
    advice: tuple[Problem, ...] = ()
    """What valid suites lack to show much: told, and errors at the level `strict`; not among `problems`."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")


@without_collector()
def examine(
    paths: tuple[str, ...],
    cwd: Path,
    level: Level = "standard",
    profile: str | None = None,
    suite_only: bool = False,
    eval_id: str | None = None,
    config: Config | None = None,
) -> Checked:
    """Every problem below the paths, in order of file and line, with what was read.

    Args:
        suite_only: leaves the skills' own problems out.
        eval_id: only this case (`id` or `skill::id`), and what is wrong with its file as a whole.
    Raises:
        UsageError: a path, a profile or the id of a case is unknown.
    """
    given = config or Config()
    if paths:
        given = given.model_copy(update={"paths": paths})
    collection = collect(given, cwd, level=level, profile=profile, digests=False)
    found = collection.found
    problems: list[Problem] = list(collection.problems)
    for one in found:
        problems += [] if suite_only else one.problems
        problems += one.suite_problems if eval_id is None else _of_case(one, eval_id)
        problems += _weak(one, eval_id, everywhere=level == "strict")
    if eval_id is not None and not any(_pointers(one, eval_id) for one in found):
        known = list(dict.fromkeys(case.id for one in found for suite in one.suites for case in suite.cases))
        more = f" and {len(known) - 30} more" if len(known) > 30 else ""
        raise UsageError(f"no case has the id '{eval_id}'", f"there are: {', '.join(known[:30])}{more}" if known else None)
    suites = tuple(suite for one in found for suite in one.suites)
    judged = tuple(
        (suite, case, check)
        for suite in suites
        for case in suite.cases
        if eval_id is None or case.id == eval_id.rpartition("::")[2]
        for check in case.checks
        if check.type in JUDGED
    )
    return Checked(
        problems=tuple(sorted(problems, key=_place)),
        skills=tuple(one.skill for one in found if one.skill),
        suites=suites,
        without_suite=tuple(one.id for one in found if not one.files),
        judged=judged,
        advice=tuple(said for one in found for said in _advised(one, level)) if eval_id is None else (),
    )


def _weak(one: Found, eval_id: str | None, *, everywhere: bool) -> Iterator[Problem]:
    """What is valid and all the same worthless: looked for in drafts that nobody has reviewed, and `everywhere` when asked to."""
    for suite in one.suites if one.skill else ():
        if everywhere or suite.extra.get("reviewed") is False:
            read = _reader(Path(one.file.folder), [Path(file.path).parent for file in one.files])
            pointers = None if eval_id is None else _pointers(one, eval_id)
            for problem in lint(one.skill, suite, read) if one.skill else ():
                if pointers is None or (problem.where.file, problem.where.pointer) in pointers:
                    yield problem


def _advised(one: Found, level: Level) -> Iterator[Problem]:
    for suite in one.suites if level != "load" else ():
        if suite.dialect != TRIGGER:
            yield from advice(suite, "error" if level == "strict" else "info")


def _reader(skill: Path, suites: list[Path]) -> Callable[[Case, str], str | None]:
    """Reads a fixture where it is listed: from the skill's folder, else the suite's."""

    def read(case: Case, path: str) -> str | None:
        ref = landed(case.fixtures, case.stage).get(path)
        for base in (skill, *suites) if ref else ():
            capped = read_capped(base / ref.path, LARGEST_FIXTURE) if ref else None
            if capped is not None and b"\0" not in capped.data:
                return capped.data.decode("utf-8", "replace")
        return None

    return read


def _place(problem: Problem) -> tuple[str, int, int]:
    return problem.where.file, problem.where.line or 0, problem.where.column or 0


def _of_case(one: Found, eval_id: str) -> list[Problem]:
    """Suite problems of one case, and those of no case at all."""
    pointers = _pointers(one, eval_id)
    kept = []
    for problem in one.suite_problems:
        at = problem.where.pointer or ""
        head = at[: at.find("]") + 1]
        if (problem.where.file, head) in pointers or not head:
            kept.append(problem)
    return kept


def _pointers(one: Found, eval_id: str) -> set[tuple[str, str]]:
    """Where the case stands, also when it could not be read: (file, pointer)."""
    skill, mark, case_id = eval_id.rpartition("::")
    if mark and skill not in (one.id, one.name):
        return set()
    found = {(suite.where.file, case.where.pointer or "") for suite in one.suites for case in suite.cases if case.id == case_id}
    for file in one.files:
        value: Any = file.document.value
        for key, items in value.items() if isinstance(value, dict) else [("", value)]:
            for number, item in enumerate(items if isinstance(items, list) else []):
                given = item.get("id") if isinstance(item, dict) else None
                if (str(given) if given is not None else str(number + 1)) == case_id and key in ("evals", "queries", "cases", ""):
                    found.add((file.label, f"{key}[{number}]"))
    return found
