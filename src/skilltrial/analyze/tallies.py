"""Cells become scores: one tally per case, arm and target."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Literal, NamedTuple

from skilltrial.analyze.states import JUDGE_ERROR, MEASURED, NOT_RUN, WAITING, Sheet, passed_required
from skilltrial.analyze.table import Group, Key, Table
from skilltrial.records.plan import Gate

Metric = Literal["checks", "cases", "score"]
CaseState = Literal["pass", "fail", "open"]


class Tally(NamedTuple):
    """One case in one arm on one target, in numbers."""

    key: Key
    group: Group
    planned: int
    states: tuple[str, ...]
    measured: int
    """Cells with a grade, those counted as failed included."""
    scores: tuple[float, ...]
    """By the metric, one per measured cell; () when no check of the case enters it."""
    quality: tuple[float, ...]
    """Judge's quality scores, 0 to 1."""
    runs: int
    """Cells of which it is known whether all scored checks passed."""
    full: int
    """Those in which all did."""
    gated: int
    """Cells that have a check which gates."""
    passed: int
    """Of those, passed; the rest failed."""
    letters: str
    lost_states: tuple[str, ...]
    """States of the cells without a grade."""

    @property
    def weight(self) -> float:
        return self.group.weight

    @property
    def entered(self) -> bool:
        """The case has something for the metric, or could still have."""
        return bool(self.scores) or self.measured == 0

    @property
    def mean(self) -> float | None:
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def shown(self) -> tuple[int, int]:
        """(runs, passes) as they are shown: by the checks that gate, where there are any, else by all."""
        return (self.gated, self.passed) if self.gated == self.measured else (self.runs, self.full)

    @property
    def state(self) -> CaseState | None:
        """By majority of the planned cells, as shown; None: nothing can tell."""
        runs, passes = self.shown
        return case_state(passes, runs - passes, self.planned) if runs or not self.measured else None


def case_state(passed: int, failed: int, planned: int) -> CaseState:
    """A case passes or fails by more than half of its planned repetitions; until then it is open."""
    return "pass" if 2 * passed > planned else "fail" if 2 * failed > planned else "open"


def tally(table: Table, metric: Metric, gate: Gate, gates: dict[str, Gate], tested: frozenset[str]) -> dict[Key, Tally]:
    """A tally per group in plan order. `gates`: of single skills, over `gate`. `tested`: arms in which indicators gate."""
    together: dict[tuple[str, str, str], list[Group]] = {}
    for group in table.groups.values():
        together.setdefault(group.key[:3], []).append(group)
    found: dict[Key, Tally] = {}
    for (skill, _, _), groups in together.items():
        own = gates.get(skill, gate)
        countable = countable_checks(groups)
        for group in groups:
            found[group.key] = _tally(group, metric, own, countable, group.key.arm in tested)
    return {key: found[key] for key in table.groups}


def countable_checks(groups: Iterable[Group]) -> frozenset[str]:
    """Checks of one case that were graded at least once in each arm that has a measured cell."""
    by_arm = []
    for group in groups:
        sheets = {id(cell.sheet): cell.sheet for cell in group.cells if cell.state == MEASURED}
        if sheets:
            by_arm.append({mark.check for sheet in sheets.values() for mark in sheet if mark.counts})
    return frozenset(set.intersection(*by_arm)) if by_arm else frozenset()


class _Judgement(NamedTuple):
    """What one sheet comes to; None: nothing of it enters."""

    score: float | None
    quality: float | None
    full: bool | None
    gate: bool | None


def _tally(group: Group, metric: Metric, gate: Gate, countable: frozenset[str], tested: bool) -> Tally:
    known: dict[int, _Judgement] = {}
    lost = _Judgement(0.0, None, False, False)
    judgements = []
    letters = ["."] * max(cell.repetition for cell in group.cells)
    for cell in group.cells:
        judgement: _Judgement | None = None
        if cell.state == MEASURED:
            judgement = known.get(id(cell.sheet))
            if judgement is None:
                judgement = known[id(cell.sheet)] = _judge(cell.sheet, metric, gate, countable, tested)
        elif cell.state in gate.count_as_failed:
            judgement = lost
        if judgement is not None:
            judgements.append(judgement)
        letters[cell.repetition - 1] = _letter(cell.state, judgement, cell.sheet, tested)
    gated = [judgement.gate for judgement in judgements if judgement.gate is not None]
    full = [judgement.full for judgement in judgements if judgement.full is not None]
    return Tally(
        key=group.key,
        group=group,
        planned=len(group.cells),
        states=tuple(cell.state for cell in group.cells),
        measured=len(judgements),
        scores=tuple(judgement.score for judgement in judgements if judgement.score is not None),
        quality=tuple(judgement.quality for judgement in judgements if judgement.quality is not None),
        runs=len(full),
        full=sum(full),
        gated=len(gated),
        passed=sum(gated),
        letters="".join(letters),
        lost_states=tuple(
            cell.state for cell in group.cells if cell.state != MEASURED and cell.state not in gate.count_as_failed
        ),
    )


def _judge(sheet: Sheet, metric: Metric, gate: Gate, countable: Container[str], tested: bool) -> _Judgement:
    entering = [mark for mark in sheet if mark.counts and (mark.guard or mark.check in countable)]
    verdicts = [bool(mark.passed) for mark in entering if mark.score is None]
    full = all(verdicts) if verdicts else None
    qualities = [mark.score for mark in entering if mark.score is not None]
    quality = sum(qualities) / len(qualities) if qualities else None
    gated = passed_required(sheet, judged=gate.checks == "all", indicators=tested)
    if metric == "score":
        return _Judgement(quality, quality, full, gated)
    if metric == "cases":
        return _Judgement(None if full is None else float(full), quality, full, gated)
    weight = sum(mark.weight for mark in entering)
    share = sum(mark.weight * mark.value for mark in entering) / weight if weight > 0 else None
    return _Judgement(share, quality, full, gated)


def _letter(state: str, judgement: _Judgement | None, sheet: Sheet, tested: bool) -> str:
    """P passed, F failed, U ungraded, X not measured, . not run; all required checks decide, rubric sentences included."""
    if state in (NOT_RUN, WAITING):
        return "."
    if state == JUDGE_ERROR or (state == MEASURED and not sheet):
        return "U"
    if judgement is None:
        return "X"
    if state != MEASURED:
        return "F"
    return "F" if passed_required(sheet, judged=True, indicators=tested) is False else "P"
