"""One suite in a foreign form, read for the skill `demo`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skilltrial.load.validate import examine
from skilltrial.records.problems import Problem
from skilltrial.records.suite import Case, Check, Suite

Write = Callable[[Mapping[str, Any]], Path]


@dataclass(frozen=True)
class Read:
    """What reading a skill and its suites gave."""

    root: Path
    suites: tuple[Suite, ...]
    problems: tuple[Problem, ...]

    @property
    def suite(self) -> Suite:
        (suite,) = self.suites
        return suite

    @property
    def cases(self) -> dict[str, Case]:
        return {case.id: case for suite in self.suites for case in suite.cases}

    @property
    def case(self) -> Case:
        (case,) = self.cases.values()
        return case

    @property
    def errors(self) -> list[str]:
        return [str(problem) for problem in self.problems if problem.severity == "error"]

    def told(self, rule: str) -> list[str]:
        return [problem.found for problem in self.problems if problem.rule == rule]

    def checks(self, case: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        chosen = self.cases[case] if case else self.case
        return [(check.type, dict(check.options)) for check in chosen.checks]

    def check(self, name: str, case: str | None = None) -> Check:
        chosen = self.cases[case] if case else self.case
        return next(check for check in chosen.checks if check.id == name)


@pytest.fixture
def read(write: Write) -> Callable[..., Read]:
    """Files below `demo/`, which gets a SKILL.md where none is given."""

    def make(files: Mapping[str, Any], path: str = "demo", skill: bool = True) -> Read:
        root = write({**({"demo/SKILL.md": None} if skill else {}), **{f"demo/{name}": text for name, text in files.items()}})
        found = examine((path,), root)
        return Read(root, found.suites, found.problems)

    return make
