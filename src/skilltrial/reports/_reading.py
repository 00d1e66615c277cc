"""Finds the parts of an experiment by the safe names its cells carry, and says how each cell ended."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from skilltrial.records.grades import Grade
from skilltrial.records.journal import Result
from skilltrial.records.plan import WITH_SKILL, Cell, Plan, SetAside, Target
from skilltrial.records.suite import Case, Check, Skill
from skilltrial.records.summary import CaseRow, Lift, Summary
from skilltrial.seams import ExperimentView
from skilltrial.system.files import safe_name
from skilltrial.wording import words

REQUESTS_ONLY = frozenset({"openai", "anthropic", "local"})
"""Backends whose tool calls are requests that nobody carries out."""


class Book:
    """An index over a Plan: cases, checks, skills and targets by the names in cell ids."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.skills: Mapping[str, Skill] = {safe_name(skill.id): skill for skill in plan.skills}
        self.cases: Mapping[tuple[str, str], Case] = {
            (safe_name(suite.skill), safe_name(case.id)): case for suite in plan.suites for case in suite.cases
        }
        self.targets: Mapping[str, Target] = {target.name: target for target in plan.targets}
        self._aside: dict[tuple[str, str], list[SetAside]] = {}
        for item in plan.set_aside:
            self._aside.setdefault((safe_name(item.skill), safe_name(item.case)), []).append(item)

    def case(self, cell: Cell) -> Case | None:
        return self.cases.get((cell.skill, cell.case))

    def checks(self, cell: Cell) -> dict[str, Check]:
        """The case's checks by id."""
        case = self.case(cell)
        return {check.id: check for check in case.checks} if case else {}

    def set_aside(self, cell: Cell) -> dict[str, str]:
        """Checks of the case that cannot be graded on this target, with the reason."""
        return {
            item.check: item.reason for item in self._aside.get((cell.skill, cell.case), ()) if item.target in (None, cell.target)
        }

    def executes_tools(self, target: str) -> bool:
        """False: the tool calls in the record are requests only."""
        found = self.targets.get(target)
        return found is None or found.backend not in REQUESTS_ONLY


class Letters:
    """How each cell ended, as the Summary says it: P F U X or a dot."""

    def __init__(self, summary: Summary) -> None:
        self._squares = {(row.skill, row.case, row.target, row.arm): row.squares for row in summary.cases}

    def of(self, result: Result) -> str:
        cell = result.cell
        squares = self._squares.get((cell.skill, cell.case, cell.target, cell.arm), "")
        if cell.repetition <= len(squares):
            return squares[cell.repetition - 1]
        return letter_of(result)


def letter_of(result: Result, aside: Container[str] = ()) -> str:
    """Read off the result itself, for cells the Summary has no square for; `aside`: checks that count in nothing."""
    if result.evidence is None:
        return "."
    if result.evidence.outcome != "ok" or result.evidence.clean is False:
        return "X"
    given = result.grading.grades if result.grading else ()
    grades = [grade for grade in given if grade.required and grade.check not in aside]
    if not grades or any(grade.state == "ungraded" for grade in grades):
        return "U"
    return "F" if any(grade.state == "failed" for grade in grades) else "P"


def ending(result: Result, letter: str) -> str:
    """How the cell ended, in words: passed, failed, not measured: timeout."""
    if letter == "X" and result.evidence is not None:
        state = "contaminated" if result.evidence.outcome == "ok" else result.evidence.outcome
        return f"not measured: {words.outcome(state)}"
    return words.SQUARES.get(letter, "unknown")


def why_not_measured(result: Result) -> str | None:
    """The reason stored with a cell that is no measurement."""
    return (result.evidence.reason or result.evidence.clean_reason) if result.evidence else None


class Score(NamedTuple):
    """Required checks of one cell by outcome."""

    passed: int
    total: int


def score(grades: tuple[Grade, ...], aside: Container[str] = ()) -> Score:
    """Passed among the required checks that count in a rate; those set aside count in nothing."""
    required = [grade for grade in grades if grade.required and grade.scored and grade.check not in aside]
    return Score(sum(grade.state == "passed" for grade in required), len(required))


class Row(NamedTuple):
    """One line of the case table: a case on a target, arm under test against baseline."""

    skill: str
    case: str
    target: str
    arm: CaseRow | None
    baseline: CaseRow | None
    points: float | None
    """With minus without, -1 to 1."""

    @property
    def squares(self) -> str:
        return "".join(row.squares for row in (self.arm, self.baseline) if row)


def table(summary: Summary, lift: Lift | None = None) -> list[Row]:
    """Rows of the case table in order of the Summary: those of one lift, or of the arm under test of everything."""
    arm, baseline = (lift.arm, lift.baseline) if lift else (WITH_SKILL, _baseline(summary))
    pairs: dict[tuple[str, str, str], dict[str, CaseRow]] = {}
    for row in summary.cases:
        if lift is None or (row.skill, row.target) == (lift.skill, lift.target):
            pairs.setdefault((row.skill, row.case, row.target), {})[row.arm] = row
    rows = []
    for (skill, case, target), by_arm in pairs.items():
        one, other = by_arm.get(arm), by_arm.get(baseline)
        known = one is not None and other is not None and one.rate is not None and other.rate is not None
        points = one.rate - other.rate if known else None  # type: ignore[union-attr,operator]
        rows.append(Row(skill, case, target, one, other, points))
    return rows


def _baseline(summary: Summary) -> str:
    return summary.lifts[0].baseline if summary.lifts else "without_skill"


def failing(view: ExperimentView | None, cells: frozenset[str]) -> dict[str, Result]:
    """The results of the named cells, found in one pass."""
    found: dict[str, Result] = {}
    if view is None or not cells:
        return found
    for result in view.results():
        if result.cell.id in cells:
            found[result.cell.id] = result
            if len(found) == len(cells):
                break
    return found


def failed_title(summary: Summary) -> str:
    """`3 runs failed with the skill`; without it where only a baseline ran."""
    arms = {row.cell.split("/")[3] for row in summary.failures}
    side = "without a skill" if arms == {"without_skill"} else "with the skill"
    return f"{words.many(len(summary.failures), 'run')} failed {side}"
