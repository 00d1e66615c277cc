"""What `list` shows: skills and suites found, and how they pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from skilltrial.load.collecting import collect
from skilltrial.records.config import Config
from skilltrial.records.problems import Problem


class Row(NamedTuple):
    """A skill with one suite, a skill without any, or a suite without a skill."""

    status: Literal["paired", "problem", "no-suite", "external-suite"]
    skill: str | None
    """Id."""
    folder: str | None
    suite: str | None
    dialect: str | None
    cases: int | None
    """None: not known, the suite could not be read."""
    checks: int | None
    errors: int
    warnings: int


def rows(paths: tuple[str, ...], cwd: Path, config: Config | None = None) -> tuple[Row, ...]:
    """One row per pair, in order of folder.

    Raises:
        UsageError: a path does not exist, or there is no skill below one.
    """
    given = config or Config()
    given = given.model_copy(update={"paths": paths or given.paths or (".",)})
    collection = collect(given, cwd, level="load", profile=None, digests=False)
    made: list[Row] = []
    for one in collection.found:
        if not one.files:
            made.append(_row("no-suite" if not one.broken else "problem", one.id, one.file.label, None, one.problems))
        for file in one.files:
            problems = [*one.problems, *(problem for problem in one.suite_problems if problem.where.file == file.label)]
            row = _row("paired", one.id, one.file.label, file.label, problems)
            suite = next((suite for suite in one.suites if suite.where.file == file.label), None)
            if suite is not None:
                row = row._replace(
                    dialect=suite.dialect, cases=len(suite.cases), checks=sum(len(case.checks) for case in suite.cases)
                )
            made.append(row._replace(status="problem" if row.errors else "paired"))
    strays = {problem.where.file for problem in collection.problems if problem.rule == "no-skill"}
    made += [_row("external-suite", None, None, label, []) for label in sorted({*collection.loose, *strays})]
    return tuple(made)


def _row(
    status: Literal["paired", "problem", "no-suite", "external-suite"],
    skill: str | None,
    folder: str | None,
    suite: str | None,
    problems: Sequence[Problem],
) -> Row:
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = sum(problem.severity == "warning" for problem in problems)
    return Row(status, skill, folder, suite, None, None, None, errors, warnings)
