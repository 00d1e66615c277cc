"""Grades stored evidence again: nothing is run, no row is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from skilltrial.errors import UsageError
from skilltrial.flows import cell as cells
from skilltrial.flows import elsewhere
from skilltrial.flows.bench import Bench, opened
from skilltrial.flows.listed import in_threads
from skilltrial.flows.newsroom import Newsroom
from skilltrial.flows.pairs import Pairs
from skilltrial.flows.trial import Stopping, interruptible
from skilltrial.records.evidence import Usage
from skilltrial.records.grades import Grade
from skilltrial.records.journal import Result
from skilltrial.records.plan import Cell, Judge
from skilltrial.records.suite import Case
from skilltrial.seams import Done, Listener, Machine
from skilltrial.store import Experiment
from skilltrial.store.index import complete

OTHERS = frozenset({"hook", "budget", "contract", "human"})
"""Methods whose rows `grade` never computes."""


class Regraded(NamedTuple):
    """What a re-grading did."""

    cells: int
    changed: int
    kept_masked: int
    """Grades kept because what they looked at is masked on disk."""
    without_evidence: int


def regrade(
    experiment: Experiment,
    machine: Machine,
    stopping: Stopping,
    listeners: Sequence[Listener] = (),
    judge: Judge | None = None,
    cases: dict[tuple[str, str], Case] | None = None,
) -> Regraded:
    """Grades every cell whose run was ok; with `judge` its rubrics too, else their verdicts stay.

    `cases` replaces stored cases by today's, by (skill, case) in safe names.
    """
    planned = experiment.plan.judge
    if judge is not None and planned is not None and planned.mode == "pairwise":
        judge = judge.model_copy(update={"mode": planned.mode})  # the plan graded no run alone, so pairs it is
    imported = elsewhere.ran_elsewhere(experiment.plan)
    if imported and judge is not None:
        elsewhere.must_hold_answers(experiment)
        experiment.plan = elsewhere.judgeable(experiment.plan)
    able = experiment.answered
    newsroom = Newsroom(experiment.plan.experiment, able, 0, listeners)
    changed: list[bool] = []
    masked: list[int] = []
    with opened(experiment, machine, newsroom, set(), judge=judge, with_judge=judge is not None, cases=cases) as bench:

        def work(result: Result) -> Done:
            before = result.grading
            kept = keep(result, with_judge=judge is not None, gone=_needs_repository(result.cell, bench))
            measured = cells.stored(result.cell, bench, result)
            if measured is None:
                raise UsageError(f"{result.cell.id}: its stored evidence is damaged", "skilltrial resume runs it again")
            if imported:
                case = bench.lookup.case(result.cell)
                kept = _once(kept, elsewhere.kept(case, result, measured.evidence, with_judge=judge is not None))
            graded = cells.grade_cell(result.cell, bench, measured, before.number + 1 if before else 1, kept)
            masked.append(sum(grade.redacted_input for grade in kept))
            earlier = before.grades if before else ()
            stands = (
                bool(earlier) and complete(earlier) and not complete(graded.grades)
            )  # the judge failed: the earlier one counts
            changed.append(not stands and _states(earlier) != _states(graded.grades))
            newsroom.finished(graded.usage.cost_usd if graded.usage else None)
            return Done(result.cell, "ok", None, Usage(), graded.usage, graded.calls, graded=True)

        if judge is None:
            for result in _answered(experiment):
                work(result)
        else:
            with interruptible(stopping, bench.experiment):
                cells_ = [result.cell for result in _answered(experiment)]
                in_threads(lambda cell: work(experiment.result_of(cell)), cells_, bench.plan.options.concurrency)
                pairs = Pairs(bench, again=True)
                if pairs.on:
                    pairs.rest()
    newsroom.close()
    return Regraded(able, sum(changed), sum(masked), experiment.planned - able)


def _answered(experiment: Experiment) -> Iterator[Result]:
    return (result for result in experiment.results() if result.evidence is not None and result.evidence.outcome == "ok")


def _needs_repository(cell: Cell, bench: Bench) -> frozenset[str]:
    """Checks that ran a command in the source repository, which is not here any more."""
    if bench.plan.options.source_repo is None:
        return frozenset()
    return frozenset(check.id for check in bench.lookup.case(cell).checks if check.type == "command")


def keep(result: Result, *, with_judge: bool, gone: frozenset[str] = frozenset()) -> tuple[Grade, ...]:
    """Earlier rows that stay: other methods', those about masked input, and without a judge all that a judge gave.

    `gone`: checks whose ground is not there any more.
    """
    if result.grading is None:
        return ()
    return tuple(
        grade
        for grade in result.grading.grades
        if grade.method in OTHERS
        or ((grade.redacted_input or grade.check in gone) and grade.state != "ungraded")
        or (grade.method == "judge" and not with_judge)
    )


def _once(kept: tuple[Grade, ...], more: Iterable[Grade]) -> tuple[Grade, ...]:
    """Both, one row per check."""
    return tuple({grade.check: grade for grade in (*kept, *more)}.values())


def _states(grades: tuple[Grade, ...]) -> dict[str, str]:
    return {grade.check: grade.state for grade in grades}


def todays_cases(stored: Sequence[Case], today: Sequence[Case]) -> tuple[dict[str, Case], list[str]]:
    """Today's cases where what the run received is unchanged, by id, and a note for each that cannot be used."""
    by_id = {case.id: case for case in today}
    usable, notes = {}, []
    for case in stored:
        new = by_id.get(case.id)
        if new is None:
            notes.append(f"case '{case.id}' is gone from the suite: its stored checks are used")
        elif _delivered(new) != _delivered(case):
            notes.append(f"case '{case.id}' sends something else by now: its stored checks are used")
        else:
            usable[case.id] = new
    return usable, notes


def _delivered(case: Case) -> object:
    return case.model_dump(include={"prompt", "fixtures", "stage", "forced", "params", "tools", "tool_choice"})
