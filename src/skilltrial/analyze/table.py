"""One pass over the results: per cell a state and a shared sheet of marks, per group a few sums."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from skilltrial.analyze.states import MEASURED, WAITING, Sheet, sheet_of, state_of
from skilltrial.records.evidence import Usage
from skilltrial.records.grades import Grade, JudgedBy
from skilltrial.records.guards import exceeded
from skilltrial.records.journal import EvidenceLine, Result
from skilltrial.records.plan import Plan
from skilltrial.records.suite import Case
from skilltrial.records.summary import FailureRow
from skilltrial.seams import ExperimentView

RERUN = frozenset({"reused", "replayed"})
"""Sources whose cost was paid in another experiment. An imported run's was paid in the one that was imported."""
_NONE: frozenset[str] = frozenset()
_VERDICT = attrgetter("check", "state", "method", "required", "scored", "weight", "score")
"""All of a grade that a number can depend on."""


class Key(NamedTuple):
    """One case in one arm on one target."""

    skill: str
    case: str
    target: str
    arm: str


class Told(NamedTuple):
    """One cell."""

    repetition: int
    state: str
    sheet: Sheet


@dataclass(slots=True)
class Sum:
    """Adds up what was reported; what nobody reported stays unknown."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float | None) -> None:
        if value is not None:
            self.total += value
            self.count += 1

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    @property
    def known(self) -> float | None:
        return self.total if self.count else None


@dataclass(slots=True)
class Group:
    """All cells of one key. Sums are over runs that ended ok in a clean arm, so that arms can be paired on them."""

    key: Key
    case: Case | None
    aside: frozenset[str] = frozenset()
    """Checks set aside for it."""
    quality: frozenset[str] = frozenset()
    """Checks that give a score and no verdict."""
    cells: list[Told] = field(default_factory=list)
    seconds: Sum = field(default_factory=Sum)
    tokens: Sum = field(default_factory=Sum)
    cost: Sum = field(default_factory=Sum)

    @property
    def forced(self) -> bool:
        return self.case is not None and self.case.forced

    @property
    def weight(self) -> float:
        return self.case.weight if self.case else 1.0


@dataclass(slots=True)
class Spent:
    """What the runs of an arm, or of everything, took."""

    seconds: array[float] = field(default_factory=lambda: array("d"))
    cost: array[float] = field(default_factory=lambda: array("d"))
    input: Sum = field(default_factory=Sum)
    cached: Sum = field(default_factory=Sum)
    fresh: Sum = field(default_factory=Sum)
    """Input tokens not read from a cache."""
    output: Sum = field(default_factory=Sum)
    reasoning: Sum = field(default_factory=Sum)
    total: Sum = field(default_factory=Sum)

    def add(self, line: EvidenceLine, usage: Usage, tokens: int | None) -> None:
        if line.outcome == "ok" and line.duration_s is not None:
            self.seconds.append(line.duration_s)
        if usage.cost_usd is not None:
            self.cost.append(usage.cost_usd)
        self.input.add(usage.input_tokens)
        self.cached.add(usage.cached_tokens)
        if usage.input_tokens is not None and usage.cached_tokens is not None:
            self.fresh.add(usage.input_tokens - usage.cached_tokens)
        self.output.add(usage.output_tokens)
        self.reasoning.add(usage.reasoning_tokens)
        self.total.add(tokens)


@dataclass(slots=True)
class Seen:
    """Signs of the skill in one arm: how it was activated, whether the arm was what it claims, what indicators said."""

    activation: Counter[str] = field(default_factory=Counter)
    clean: Counter[bool | None] = field(default_factory=Counter)
    passed: int = 0
    failed: int = 0


@dataclass(slots=True)
class Judging:
    """What one judge took."""

    calls: int = 0
    tokens: Sum = field(default_factory=Sum)
    cost: Sum = field(default_factory=Sum)


@dataclass(slots=True)
class Table:
    """Everything the Summary is made from."""

    plan: Plan
    groups: dict[Key, Group] = field(default_factory=dict)
    spent: dict[tuple[str, str, str, bool], Spent] = field(default_factory=dict)
    """By skill, target, arm and whether the case forces the skill."""
    seen: dict[tuple[str, str, str], Seen] = field(default_factory=dict)
    """By skill, target and arm."""
    levels: dict[str, str] = field(default_factory=dict)
    """Sandbox level by target, as its first run recorded it."""
    models: dict[str, set[str]] = field(default_factory=dict)
    """Models that answered, by target."""
    all_runs: Spent = field(default_factory=Spent)
    """Attempts made in this experiment, superseded ones included."""
    duration: Sum = field(default_factory=Sum)
    started: array[float] = field(default_factory=lambda: array("d"))
    """When each attempt began, in seconds since 1970."""
    ended: array[float] = field(default_factory=lambda: array("d"))
    attempts: int = 0
    judging: dict[JudgedBy | None, Judging] = field(default_factory=dict)
    """By judge; None is the plan's."""
    reused: dict[str, int] = field(default_factory=dict)
    """By arm."""
    failures: list[FailureRow] = field(default_factory=list)
    errors: list[FailureRow] = field(default_factory=list)
    skipped: list[FailureRow] = field(default_factory=list)
    over_budget: list[str] = field(default_factory=list)


def total_tokens(usage: Usage) -> int | None:
    """Input and output, or the sum where only that was reported; None unless known."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return usage.total_tokens
    return usage.input_tokens + usage.output_tokens


def gather(view: ExperimentView, arms_under_test: frozenset[str]) -> Table:
    """Reads every result once; about 25 us a cell."""
    return _Gathering(view, arms_under_test).table()


class _Gathering:
    def __init__(self, view: ExperimentView, arms_under_test: frozenset[str]) -> None:
        plan = view.plan
        self.view = view
        self.tested = arms_under_test
        self._table = Table(plan)
        self.cases = {(suite.skill, case.id): case for suite in plan.suites for case in suite.cases}
        self.texts = {key: {check.id: check.text for check in case.checks} for key, case in self.cases.items()}
        self.aside: dict[tuple[str, str, str | None], frozenset[str]] = {}
        for row in plan.set_aside:
            where = (row.skill, row.case, row.target)
            self.aside[where] = self.aside.get(where, _NONE) | {row.check}
        self.sheets: dict[tuple[Any, ...], Sheet] = {}
        self.in_pairs = plan.judge is not None and plan.judge.mode == "pairwise"
        """The judge grades no run alone, so a run that only it could grade has no mark, and lacks none."""
        self.deferred = {target.name for target in plan.targets if target.deferred}
        self.judged_later = plan.judge is not None and plan.judge.target.deferred

    def table(self) -> Table:
        for result in self.view.results():
            self._take(result)
        self._compared()
        return self._table

    def _take(self, result: Result) -> None:
        cell, line = result.cell, result.evidence
        key = Key(cell.skill, cell.case, cell.target, cell.arm)
        group = self._table.groups.get(key)
        if group is None:
            group = self._table.groups[key] = self._group(key)
        sheet = self._sheet(group, result)
        state = state_of(result, sheet, answered_later=cell.target in self.deferred, judged_later=self.judged_later)
        if self.in_pairs and state == "judge_error" and not any(mark.required for mark in sheet):
            state = MEASURED
        group.cells.append(Told(cell.repetition, state, sheet))
        for old in result.superseded:
            self._ran(old)
        if line is not None:
            self._ran(line)
            if exceeded(self._table.plan.budgets.per_case, line.usage, line.duration_s, line.tool_calls):
                self._table.over_budget.append(cell.id)
            self._spend(group, line)
            self._see(group, line, sheet, result)
        self._judged(result)
        self._list(result, state, sheet)

    def _compared(self) -> None:
        """What comparing two arms took."""
        compared = getattr(self.view, "comparisons", None)
        for one in compared() if compared and self.in_pairs else ():
            self._took(None, one.calls, one.usage)

    def _took(self, judge: JudgedBy | None, calls: int, usage: Usage | None) -> None:
        told = self._table.judging.get(judge)
        if told is None:
            told = self._table.judging[judge] = Judging()
        told.calls += calls
        if usage is not None:
            told.tokens.add(total_tokens(usage))
            told.cost.add(usage.cost_usd)

    def _group(self, key: Key) -> Group:
        case = self.cases.get((key.skill, key.case))
        quality = frozenset(check.id for check in case.checks if check.type == "quality") if case else _NONE
        shared, own = (self.aside.get((key.skill, key.case, target), _NONE) for target in (None, key.target))
        return Group(key, case, shared | own, quality)

    def _sheet(self, group: Group, result: Result) -> Sheet:
        """One object for all cells that were graded alike, whatever their case."""
        if result.grading is None:
            return ()
        grades = result.grading.grades
        alike = (group.aside, group.quality, tuple(map(_VERDICT, grades)))
        sheet = self.sheets.get(alike)
        if sheet is None:
            sheet = self.sheets[alike] = sheet_of(grades, group.aside, group.quality)
        return sheet

    def _ran(self, line: EvidenceLine) -> None:
        table = self._table
        table.attempts += 1
        if line.source in RERUN:
            return
        table.all_runs.add(line, line.usage, total_tokens(line.usage))
        table.duration.add(line.duration_s)
        if line.duration_s is None:
            return
        try:
            start = datetime.fromisoformat(line.started_at).timestamp()
        except ValueError:
            return
        table.started.append(start)
        table.ended.append(start + line.duration_s)

    def _spend(self, group: Group, line: EvidenceLine) -> None:
        key, usage = group.key, line.usage
        tokens = total_tokens(usage)
        where = (key.skill, key.target, key.arm, group.forced)
        spent = self._table.spent.get(where)
        if spent is None:
            spent = self._table.spent[where] = Spent()
        spent.add(line, usage, tokens)
        if line.outcome == "ok" and line.clean is not False:
            group.seconds.add(line.duration_s)
            group.tokens.add(tokens)
            group.cost.add(usage.cost_usd)

    def _see(self, group: Group, line: EvidenceLine, sheet: Sheet, result: Result) -> None:
        key, table = group.key, self._table
        if line.source == "reused":
            table.reused[key.arm] = table.reused.get(key.arm, 0) + 1
        if line.model:
            table.models.setdefault(key.target, set()).add(line.model)
        if key.target not in table.levels:
            evidence = self.view.evidence(result)
            planned = next(target.sandbox for target in table.plan.targets if target.name == key.target)
            table.levels[key.target] = evidence.sandbox if evidence else planned  # an archive may hold no evidence
        if line.outcome != "ok":
            return
        seen = table.seen.get((key.skill, key.target, key.arm))
        if seen is None:
            seen = table.seen[key.skill, key.target, key.arm] = Seen()
        seen.activation[line.activation] += 1
        seen.clean[line.clean] += 1
        for mark in sheet:
            if not mark.scored and mark.passed is not None:
                seen.passed += mark.passed
                seen.failed += not mark.passed

    def _judged(self, result: Result) -> None:
        grading = result.grading
        for line in (*result.regraded, *([grading] if grading else [])):
            if line.judge_calls or line.judge_usage is not None:
                self._took(line.judge, line.judge_calls, line.judge_usage)
        if grading and any(grade.method == "budget" and grade.state == "failed" for grade in grading.grades):
            self._table.over_budget.append(result.cell.id)

    def _list(self, result: Result, state: str, sheet: Sheet) -> None:
        table, cell = self._table, result.cell
        if state == MEASURED:
            if cell.arm in self.tested and any(mark.passed is False and mark.required for mark in sheet):
                table.failures.append(self._failure(result, sheet))
        elif result.evidence is None:
            reason = "waits for an answer" if state == WAITING else "not run"
            table.skipped.append(FailureRow(cell=cell.id, state=state, reason=reason))
        else:
            table.errors.append(self._error(result, state, sheet))
            if state == "budget":
                table.over_budget.append(cell.id)

    def _failure(self, result: Result, sheet: Sheet) -> FailureRow:
        failed = {mark.check for mark in sheet if mark.passed is False and mark.required}
        return self._row(result, "failed", [grade for grade in _grades(result) if grade.check in failed])

    def _error(self, result: Result, state: str, sheet: Sheet) -> FailureRow:
        ungraded = {mark.check for mark in sheet if mark.passed is None and mark.required}
        if state in ("judge_error", WAITING):
            row = self._row(result, state, [grade for grade in _grades(result) if grade.check in ungraded])
            return row if row.reason else row.model_copy(update={"reason": "no check has been graded yet"})
        reason = result.evidence.reason if result.evidence else None
        if state == "contaminated":
            tested = result.cell.arm in self.tested
            reason = result.evidence.clean_reason if result.evidence else None
            reason = reason or ("no evidence that the skill was available" if tested else "the baseline saw the skill")
        return FailureRow(cell=result.cell.id, state=state, reason=reason or state.replace("_", " "))

    def _row(self, result: Result, state: str, grades: list[Grade]) -> FailureRow:
        texts = self.texts.get((result.cell.skill, result.cell.case), {})
        return FailureRow(
            cell=result.cell.id,
            state=state,
            reason=next((grade.reason for grade in grades if grade.reason), ""),
            checks=tuple(texts.get(grade.check) or grade.check for grade in grades),
        )


def _grades(result: Result) -> tuple[Grade, ...]:
    return result.grading.grades if result.grading else ()
