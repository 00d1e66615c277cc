"""An experiment becomes one Summary, and two become a comparison. Reports print these numbers and compute nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from skilltrial.analyze.analysis import Analysis, analysed
from skilltrial.analyze.cases import case_rows, stability_rows
from skilltrial.analyze.compare import compare
from skilltrial.analyze.contests import lift_rows
from skilltrial.analyze.gate import decide
from skilltrial.analyze.leaders import noted
from skilltrial.analyze.notes import warnings_of
from skilltrial.analyze.pairs import gated, pair_rows
from skilltrial.analyze.rates import Delivery, leaderboard, rate_rows
from skilltrial.analyze.seeing import activation_rows, isolation_rows
from skilltrial.analyze.spending import budget_row, coverage, judge_rows, totals
from skilltrial.analyze.tallies import Metric
from skilltrial.records.plan import Gate, Plan
from skilltrial.records.summary import FailureRow, HookRow, LeaderRow, SkillRow, Summary
from skilltrial.seams import ExperimentView

__all__ = ["compare", "summary"]


def summary(
    view: ExperimentView,
    *,
    metric: Metric | None = None,
    scope: Literal["these", "like"] | None = None,
    gate: Gate | None = None,
) -> Summary:
    """All numbers of an experiment, read in one pass. What was not measured is None, never 0.

    `metric`, `scope`, `gate` None: those of the plan. A `gate` given here holds for every skill.
    `stopped`, `hooks` and `cleanup` are filled where the view has `stops()`, `hooks()` and `pending()`.
    """
    found = analysed(view, metric, scope, gate)
    table, tallies, plan = found.table, found.tallies, found.table.plan
    lifts = lift_rows(found.contests)
    isolation = tuple(isolation_rows(table, _optional(view, "certificates")))
    covered = coverage(plan, tallies.values())
    compared = pair_rows(plan, _optional(view, "comparisons"))
    return Summary(
        experiment=plan.experiment,
        skilltrial=plan.skilltrial,
        created_at=plan.created_at,
        metric=found.metric,
        scope=found.gate.scope,
        margin=found.margin,
        skills=tuple(_skills(plan)),
        coverage=covered,
        rates=rate_rows(table, tallies.values(), _deliveries(plan)),
        lifts=lifts,
        cases=tuple(case_rows(tallies.values())),
        leaderboard=_leaders(found),
        judge=judge_rows(table),
        activation=tuple(activation_rows(table)),
        isolation=isolation,
        totals=totals(table, covered.planned),
        failures=tuple(table.failures),
        errors=tuple(table.errors),
        skipped=(*_skills_left_out(plan), *table.skipped),
        set_aside=tuple(_set_aside(plan)),
        budget=budget_row(table),
        hooks=tuple(_hooks(view)),
        cleanup=_pending(view),
        stability=tuple(stability_rows(tallies.values())),
        reused=sum(table.reused.values()),
        stopped=_stopped(view, bool(table.skipped)),
        pairwise=compared,
        gate=gated(decide(plan, found.gate, found.gates, tallies, found.contests, found.tested), compared),
        warnings=warnings_of(table, tallies, found.contests, lifts, isolation, found.gate, found.tested),
    )


def _deliveries(plan: Plan) -> dict[str, Delivery]:
    return {target.name: target.delivery for target in plan.targets if target.delivery is not None}


def _leaders(found: Analysis) -> tuple[LeaderRow, ...]:
    """By the arm under test; by the baseline where only that was run."""
    arms = dict.fromkeys(key.arm for key in found.tallies)
    arm = next((arm for arm in arms if arm in found.tested), next(iter(arms), None))
    rows = leaderboard(found.tallies.values(), arm) if arm is not None else ()
    return noted(rows, found.table.plan.targets, found.table.models)


def _skills(plan: Plan) -> Iterator[SkillRow]:
    for skill in plan.skills:
        size = skill.size
        row = SkillRow(skill=skill.id, hash=skill.hash)
        if size is not None:
            told = {"files": size.files, "bytes": size.bytes, "words": size.words, "skill_md_words": size.skill_md.words}
            row = row.model_copy(update=told)
        yield row


def _skills_left_out(plan: Plan) -> Iterator[FailureRow]:
    for folder, why in plan.options.invalid_skills.items():
        yield FailureRow(cell=folder, state="invalid", reason=why)
    for skill in plan.options.skipped_skills:
        yield FailureRow(cell=skill, state="no_suite", reason="no suite was found for it")


def _set_aside(plan: Plan) -> Iterator[FailureRow]:
    for row in plan.set_aside:
        where = f"{row.skill}/{row.case}/{row.target}" if row.target else f"{row.skill}/{row.case}"
        yield FailureRow(cell=where, state="set_aside", reason=row.reason, checks=(row.check,))


def _hooks(view: ExperimentView) -> Iterator[HookRow]:
    """Every hook that ran, where the view knows of any."""
    hooks = getattr(view, "hooks", None)
    for run in hooks() if hooks else ():
        yield HookRow(stage=run.stage, command=run.command, exit_code=run.exit_code, timed_out=run.timed_out, cell=run.cell)


def _pending(view: ExperimentView) -> dict[str, int]:
    """What waits for `cleanup`, where the view knows."""
    pending = getattr(view, "pending", None)
    return dict(pending()) if pending else {}


def _stopped(view: ExperimentView, unfinished: bool) -> str | None:
    """Why cells are left that never ran; None when none are."""
    lines = _optional(view, "stops") if unfinished else ()
    return lines[-1].reason if lines else None


def _optional(view: ExperimentView, name: str) -> tuple[Any, ...]:
    """What only some views have: `stops`, `certificates`."""
    ask = getattr(view, name, None)
    return tuple(ask()) if ask else ()
