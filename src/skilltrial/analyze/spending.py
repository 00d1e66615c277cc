"""What everything took: totals, judging, budgets."""

from __future__ import annotations

from collections.abc import Iterable

from skilltrial.analyze.table import Table
from skilltrial.analyze.tallies import Tally
from skilltrial.records.plan import Plan
from skilltrial.records.summary import BudgetRow, Coverage, JudgeRow, Totals


def totals(table: Table, planned: int) -> Totals:
    """Every attempt made in this experiment, superseded ones included; reused and replayed runs cost nothing here."""
    runs = table.all_runs
    cached, read = runs.cached.known, runs.input.known
    return Totals(
        cells=planned,
        attempts=table.attempts,
        input_tokens=_whole(read),
        cached_tokens=_whole(cached),
        non_cached_input_tokens=_whole(runs.fresh.known),
        output_tokens=_whole(runs.output.known),
        reasoning_tokens=_whole(runs.reasoning.known),
        total_tokens=_whole(runs.total.known),
        cached_pct=100.0 * cached / read if cached is not None and read else None,
        cost_usd=sum(runs.cost) if runs.cost else None,
        cells_with_cost=len(runs.cost),
        judge_cost_usd=table.judge_cost.known,
        duration_s=table.duration.known,
        wall_s=_covered(zip(table.started, table.ended, strict=True)),
    )


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
    """The judge's calls, apart from the runs."""
    judge = table.plan.judge
    if judge is None:
        return ()
    temperature = judge.target.params.get("temperature")
    return (
        JudgeRow(
            backend=judge.target.backend,
            model=judge.target.value,
            calls=table.judge_calls,
            tokens=_whole(table.judge_tokens.known),
            cost_usd=table.judge_cost.known,
            temperature=float(temperature) if isinstance(temperature, int | float) else None,
            home_field=judge.home_field,
        ),
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
