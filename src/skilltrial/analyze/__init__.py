"""An experiment becomes one Summary, and two become a comparison. Reports print these numbers and compute nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from skilltrial.analyze.analysis import Analysis, analysed
from skilltrial.analyze.cases import case_rows, stability_rows
from skilltrial.analyze.compare import compare
from skilltrial.analyze.contests import lift_rows
from skilltrial.analyze.gate import decide
from skilltrial.analyze.notes import warnings_of
from skilltrial.analyze.rates import Delivery, leaderboard, rate_rows
from skilltrial.analyze.seeing import activation_rows, isolation_rows
from skilltrial.analyze.spending import budget_row, coverage, judge_rows, totals
from skilltrial.analyze.tallies import Metric
from skilltrial.records.plan import WITH_SKILL, Gate, Plan
from skilltrial.records.summary import FailureRow, LeaderRow, Summary
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
    `delivery` is filled where the view has a `delivery(target)`, `stopped` where it has `stops()`.
    """
    found = analysed(view, metric, _scoped(view.plan, gate, scope))
    gates = found.gates if scope is None else {name: one.model_copy(update={"scope": scope}) for name, one in found.gates.items()}
    return _summary(view, found, dict(gates))


def _scoped(plan: Plan, gate: Gate | None, scope: Literal["these", "like"] | None) -> Gate | None:
    if scope is None:
        return gate
    return (gate or plan.gate).model_copy(update={"scope": scope})


def _summary(view: ExperimentView, found: Analysis, gates: dict[str, Gate]) -> Summary:
    table, tallies, plan = found.table, found.tallies, found.table.plan
    lifts = lift_rows(found.contests)
    isolation = tuple(isolation_rows(table))
    covered = coverage(plan, tallies.values())
    return Summary(
        experiment=plan.experiment,
        skilltrial=plan.skilltrial,
        created_at=plan.created_at,
        metric=found.metric,
        scope=found.gate.scope,
        margin=found.margin,
        coverage=covered,
        rates=rate_rows(table, tallies.values(), _deliveries(view, plan)),
        lifts=lifts,
        cases=tuple(case_rows(tallies.values())),
        leaderboard=_leaders(found),
        judge=judge_rows(table),
        activation=tuple(activation_rows(table)),
        isolation=isolation,
        totals=totals(table, covered.planned),
        failures=tuple(table.failures),
        errors=tuple(table.errors),
        skipped=tuple(table.skipped),
        set_aside=tuple(_set_aside(plan)),
        budget=budget_row(table),
        stability=tuple(stability_rows(tallies.values())),
        reused=sum(table.reused.values()),
        stopped=_stopped(view),
        gate=decide(plan, found.gate, gates, tallies, found.contests, found.tested),
        warnings=warnings_of(table, tallies, found.contests, lifts, isolation, found.gate, found.tested),
    )
