"""What everything took: totals, judging, budgets."""

from __future__ import annotations

from collections.abc import Iterable

from skilltrial.analyze.table import Judging, Table
from skilltrial.analyze.tallies import Tally
from skilltrial.records.grades import JudgedBy
from skilltrial.records.plan import Plan
from skilltrial.records.summary import BudgetRow, Coverage, JudgeRow, Totals


def totals(table: Table, planned: int) -> Totals:
    """Every attempt made in this experiment, superseded ones included; reused and replayed runs cost nothing here."""
    runs = table.all_runs
    cached, fresh = runs.cached.known, runs.fresh.known
    return Totals(
        cells=planned,
        attempts=table.attempts,
        input_tokens=_whole(runs.input.known),
        cached_tokens=_whole(cached),
        non_cached_input_tokens=_whole(fresh),
        output_tokens=_whole(runs.output.known),
        reasoning_tokens=_whole(runs.reasoning.known),
        total_tokens=_whole(runs.total.known),
        cached_pct=100.0 * cached / (cached + fresh) if cached is not None and fresh is not None and cached + fresh else None,
        cost_usd=sum(runs.cost) if runs.cost else None,
        cells_with_cost=len(runs.cost),
        judge_cost_usd=_added(told.cost.known for told in table.judging.values()),
        duration_s=table.duration.known,
        wall_s=_covered(zip(table.started, table.ended, strict=True)),
    )


def _added(costs: Iterable[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _covered(spans: Iterable[tuple[float, float]]) -> float | None:
    """Seconds in which at least one run was under way: pauses between a run and its resume do not count."""
    total, last = 0.0, None
    for start, end in sorted(spans):
        if last is None or start > last:
            total, last = total + end - start, end
        elif end > last:
            total, last = total + end - last, end
    return total if last is not None else None


def judge_rows(table: Table) -> tuple[JudgeRow, ...]:
    """The judges' calls, apart from the runs: the plan's judge first, then those that `grade` was given."""
    judge = table.plan.judge
    rows = []
    if judge is not None:
        temperature = judge.target.params.get("temperature")
        sampled = float(temperature) if isinstance(temperature, int | float) else None
        by = JudgedBy(backend=judge.target.backend, model=judge.target.value, home_field=judge.home_field)
        rows.append(_judge_row(by, table.judging.get(None, Judging()), sampled))
    return (*rows, *(_judge_row(other, told) for other, told in table.judging.items() if other is not None))


def _judge_row(judge: JudgedBy, told: Judging, temperature: float | None = None) -> JudgeRow:
    return JudgeRow(
        backend=judge.backend,
        model=judge.model,
        calls=told.calls,
        tokens=_whole(told.tokens.known),
        cost_usd=told.cost.known,
        temperature=temperature,
        home_field=judge.home_field,
    )


def budget_row(table: Table) -> BudgetRow:
    """Limits asked for, and the cells that went beyond one."""
    budgets = table.plan.budgets
    whole = {
        "max_cost_usd": budgets.max_cost_usd,
        "max_calls": budgets.max_calls,
        "max_duration_s": budgets.max_duration_s,
    }
    limits = {name: float(value) for name, value in whole.items() if value is not None} | budgets.per_case
    return BudgetRow(limits=limits, action=budgets.action, exceeded=tuple(dict.fromkeys(table.over_budget)))


def coverage(plan: Plan, tallies: Iterable[Tally]) -> Coverage:
    """How much of the plan became a measurement."""
    by_arm: dict[str, dict[str, int]] = {}
    failed: dict[str, int] = {}
    for tally in tallies:
        arm = by_arm.setdefault(tally.key.arm, {"planned": 0, "finished": 0, "graded": 0})
        arm["planned"] += tally.planned
        arm["finished"] += tally.planned - tally.states.count("not_run") - tally.states.count("waiting")
        arm["graded"] += tally.measured
        for state in tally.lost_states:
            failed[state] = failed.get(state, 0) + 1
    return Coverage(
        planned=sum(arm["planned"] for arm in by_arm.values()),
        finished=sum(arm["finished"] for arm in by_arm.values()),
        graded=sum(arm["graded"] for arm in by_arm.values()),
        set_aside=len(plan.set_aside),
        failed_measurements=failed,
        by_arm=by_arm,
    )
