"""What every writer of a foreign tree needs of an experiment: its cells one by one, with what was measured and what was not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from skilltrial.errors import UsageError
from skilltrial.records.evidence import Evidence, Usage
from skilltrial.records.journal import Result
from skilltrial.records.plan import WITH_SKILL, WITHOUT_SKILL, Plan, Target
from skilltrial.records.suite import Case, Check, Skill
from skilltrial.seams import ExperimentView, Out

if TYPE_CHECKING:  # records that nothing needs before the first call
    from skilltrial.records.summary import Lift, Summary

FORCED = "force_skill_invocation"


class Shown(NamedTuple):
    """One check of a cell with its verdict."""

    id: str
    text: str
    type: str
    passed: bool | None
    """None: nobody could decide."""
    evidence: str
    method: str
    required: bool
    scored: bool
    weight: float
    score: float | None

    @property
    def counts(self) -> bool:
        """It enters the cell's rate."""
        return self.required and self.scored and self.passed is not None

    @property
    def value(self) -> float:
        return float(bool(self.passed)) if self.score is None else self.score

    @property
    def own_weight(self) -> dict[str, float]:
        """The key for it where it is not 1, in the files of tools that have none for it; they skip what they do not know."""
        return {} if self.weight == 1.0 else {"weight": self.weight}


class Sheet(NamedTuple):
    """One cell as writers need it."""

    result: Result
    evidence: Evidence | None
    """None: never run."""
    case: Case
    rows: tuple[Shown, ...]
    measured: bool
    """False: no number of it may be written."""

    @property
    def rate(self) -> float | None:
        """Weighted share of the checks that count; None when nothing was measured."""
        rows = [row for row in self.rows if row.counts]
        weight = sum(row.weight for row in rows)
        return sum(row.weight * row.value for row in rows) / weight if self.measured and weight > 0 else None

    @property
    def seconds(self) -> float | None:
        return self.evidence.timing.duration_s if self.evidence else None

    @property
    def tokens(self) -> int | None:
        return total_tokens(self.evidence.usage) if self.evidence else None

    @property
    def failure(self) -> str:
        """Why it was not measured, in words."""
        line = self.result.evidence
        if line is None:
            return "not run"
        if line.outcome != "ok":
            return f"{line.outcome.replace('_', ' ')}: {line.reason}" if line.reason else line.outcome.replace("_", " ")
        return line.clean_reason or "contaminated" if line.clean is False else "not graded"


class Part(NamedTuple):
    """All cells of one skill on one target, in plan order."""

    skill: str
    target: Target
    prefix: str
    """Path of its tree below the output folder; empty or with a slash at its end."""
    sheets: list[Sheet]

    @property
    def arms(self) -> list[str]:
        return list(dict.fromkeys(sheet.result.cell.arm for sheet in self.sheets))

    @property
    def repetitions(self) -> int:
        return max((sheet.result.cell.repetition for sheet in self.sheets), default=1)

    def of(self, arm: str) -> list[Sheet]:
        return [sheet for sheet in self.sheets if sheet.result.cell.arm == arm]


class Parts(NamedTuple):
    """What a plan says of a cell, by name: a look through all cases for each cell would take longer the more there are."""

    targets: Mapping[str, Target]
    skills: Mapping[str, Skill]
    cases: Mapping[tuple[str, str], Case]


def parts_of(plan: Plan) -> Parts:
    return Parts(
        {target.name: target for target in plan.targets},
        {skill.id: skill for skill in plan.skills},
        {(suite.skill, case.id): case for suite in plan.suites for case in suite.cases},
    )


class Material:
    """An experiment, ready to be written in another form."""

    def __init__(self, summary: Summary, view: ExperimentView, out: Out) -> None:
        self.summary, self.view, self.out, self.plan = summary, view, out, view.plan
        self.named = parts_of(self.plan)
        self.targets = self.named.targets
        self.names = {skill.id: skill.name for skill in self.plan.skills}
        self._cases = self.named.cases
        self._squares = {(row.skill, row.case, row.target, row.arm): row.squares for row in summary.cases}
        self._aside = {(row.skill, row.case, row.check, row.target) for row in self.plan.set_aside}

    def parts(self, *, skill_folders: bool = False) -> Iterator[Part]:
        """By target and skill, each with a folder level of its own where there are several, or where it is asked for."""
        pairs = dict.fromkeys((group.skill, group.target) for group in self.plan.groups)
        skills, targets = {skill for skill, _ in pairs}, {target for _, target in pairs}
        sheets: dict[tuple[str, str], list[Sheet]] = {pair: [] for pair in pairs}
        for result in self.view.results():
            sheets[result.cell.skill, result.cell.target].append(self._sheet(result))
        for (skill, target), cells in sheets.items():
            prefix = (f"{target}/" if len(targets) > 1 else "") + (f"{skill}/" if skill_folders or len(skills) > 1 else "")
            yield Part(skill, self.targets[target], prefix, cells)

    def write(self, name: str, value: Any) -> None:
        """Text as it is, anything else as JSON."""
        text = (
            value if isinstance(value, str | bytes) else json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        )
        self.out.write(name, text)

    def lift(self, skill: str, target: str) -> Lift | None:
        rows = [row for row in self.summary.lifts if (row.skill, row.target) == (skill, target)]
        return min(rows, key=lambda row: row.activation == "forced", default=None)

    # ------------------------------------------------------------ one cell
    def _sheet(self, result: Result) -> Sheet:
        cell = result.cell
        squares = self._squares.get((cell.skill, cell.case, cell.target, cell.arm), "")
        letter = squares[cell.repetition - 1] if cell.repetition <= len(squares) else "."
        ok = result.evidence is not None and result.evidence.outcome == "ok" and result.evidence.clean is not False
        case = self._cases[cell.skill, cell.case]
        return Sheet(result, self.view.evidence(result), case, self._rows(result, case), ok and letter in "PF")

    def _rows(self, result: Result, case: Case) -> tuple[Shown, ...]:
        """In the order of the suite, so that a position means the same in every cell; rows of hooks and budgets follow."""
        cell = result.cell
        checks: dict[str, Check] = {check.id: check for check in case.checks}
        grades = {grade.check: grade for grade in (result.grading.grades if result.grading else ())}
        rows = []
        for name in [*(name for name in checks if name in grades), *(name for name in grades if name not in checks)]:
            if any((cell.skill, cell.case, name, target) in self._aside for target in (None, cell.target)):
                continue
            grade, check = grades[name], checks.get(name)
            rows.append(
                Shown(
                    id=name,
                    text=check.text if check else name,
                    type=check.type if check else grade.method,
                    passed={"passed": True, "failed": False}.get(grade.state),
                    evidence=" ".join(part for part in (grade.reason, grade.quote) if part),
                    method=grade.method,
                    required=grade.required,
                    scored=grade.scored,
                    weight=grade.weight,
                    score=grade.score if check and check.type == "quality" else None,
                )
            )
        return tuple(rows)


def only_two_arms(material: Material, format_: str) -> None:
    """Raises UsageError where the experiment has arms that the format has no place for."""
    others = sorted({arm.name for arm in material.plan.arms} - {WITH_SKILL, WITHOUT_SKILL})
    if others:
        raise UsageError(f"{format_} knows with_skill and without_skill only, and this experiment has {', '.join(others)}",
                         "export as standard, skill-creator or native")  # fmt: skip


def no_scores(material: Material, format_: str) -> None:
    """Raises UsageError where a judge gave quality scores, which the format would have to write as passed or failed."""
    if any(check.type == "quality" for suite in material.plan.suites for case in suite.cases for check in case.checks):
        raise UsageError(f"{format_} has no place for quality scores", "export as sab, standard, skill-creator or native")


def forced(case: Case) -> dict[str, bool]:
    """The key that says so, in the files of tools that have none for it; they skip what they do not know."""
    return {FORCED: True} if case.forced else {}


def summed(rows: Sequence[Shown], rate: float | None) -> dict[str, Any]:
    """The summary that grading.json carries; rows that count in nothing are not in it."""
    counted = [row for row in rows if row.counts]
    passed = sum(bool(row.passed) for row in counted)
    return {
        "passed": passed,
        "failed": len(counted) - passed,
        "skipped": sum(row.required and row.scored and row.passed is None for row in rows),
        "total": len(counted),
        "pass_rate": rate,
    }


def total_tokens(usage: Usage) -> int | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return usage.total_tokens
    return usage.input_tokens + usage.output_tokens


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def deviation(values: Sequence[float], *, sample: bool) -> float:
    """0 where there is nothing to differ, as the tools write it."""
    if len(values) < 2:
        return 0.0
    middle = sum(values) / len(values)
    return sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - sample))


def known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b
