"""What summary.json of agent-skill-eval tells besides rates: what failed, what wavered, what it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from skilltrial.formats._export import Sheet, known, less
from skilltrial.records.plan import Budgets
from skilltrial.records.suite import Case, Skill
from skilltrial.records.summary import HookRow

CONFIGURATIONS = {"with_skill": True, "without_skill": False}
_LIMITS = {
    "max_input_tokens": "input_tokens", "max_non_cached_input_tokens": "non_cached_input_tokens",
    "max_output_tokens": "output_tokens", "max_reasoning_tokens": "reasoning_tokens", "max_total_tokens": "total_tokens",
    "max_cost_usd": "cost_usd", "max_duration_seconds": "duration_s",
}  # fmt: skip


def level(case: Case) -> str:
    """Its side-effect level, as the suite says or by default."""
    return case.side_effects.level if case.side_effects else "local-only"


def of_run(sheet: Sheet) -> dict[str, Any]:
    """What names a run in the lists of summary.json."""
    cell, case = sheet.result.cell, sheet.case
    return {
        "eval_id": case.id if case.given_id is None else case.given_id,
        "agent": cell.target,
        "with_skill": CONFIGURATIONS[cell.arm],
        "run_index": cell.repetition,
        "side_effect_level": level(case),
    }


def failed_runs(sheets: Iterable[Sheet]) -> list[dict[str, Any]]:
    """Measured runs with a failed check; runs that were not measured stand among the errors."""
    return [
        {**of_run(sheet), "pass_rate": sheet.rate, "failed_assertions": _failed(sheet)}
        for sheet in sheets
        if sheet.measured and (sheet.rate or 0.0) < 1.0
    ]


def stability(sheets: Iterable[Sheet]) -> dict[str, Any]:
    """Repetitions of each case, and the cases in which they do not agree."""
    groups: dict[tuple[str, str, str], list[Sheet]] = {}
    for sheet in sheets:
        if sheet.measured:
            cell = sheet.result.cell
            groups.setdefault((cell.case, cell.target, cell.arm), []).append(sheet)
    rows = [_group(own) for own in groups.values() if len(own) > 1]
    flaky = [row for row in rows if row["flaky"]]
    return {"groups": rows, "flaky_groups": flaky, "flaky_count": len(flaky)}


def _group(own: Sequence[Sheet]) -> dict[str, Any]:
    full = sum(sheet.rate == 1.0 for sheet in own)
    told = of_run(own[0])
    return {
        **{key: told[key] for key in ("eval_id", "agent", "with_skill")},
        "runs": len(own),
        "full_passes": full,
        "failures": len(own) - full,
        "flaky": 0 < full < len(own),
        "failed_assertions": dict(Counter(text for sheet in own for text in _failed(sheet))),
    }


def _failed(sheet: Sheet) -> list[str]:
    return [row.text for row in sheet.rows if row.counts and row.value < 1.0]


def tokens(sheets: Iterable[Sheet]) -> dict[str, Any]:
    """Sums over runs that reported; None where none did. The cached share is over those that told it."""
    usages = [sheet.evidence.usage for sheet in sheets if sheet.evidence]
    cached, fresh = (
        _sum(usage.cached_tokens for usage in usages),
        _sum(less(use.input_tokens, use.cached_tokens) for use in usages),
    )
    return {
        "input": _sum(usage.input_tokens for usage in usages),
        "cached": cached,
        "non_cached_input": fresh,
        "output": _sum(usage.output_tokens for usage in usages),
        "reasoning_output": _sum(usage.reasoning_tokens for usage in usages),
        "total": _sum(sheet.tokens for sheet in sheets),
        "cached_pct": round(100.0 * cached / (cached + fresh), 1)
        if cached is not None and fresh is not None and cached + fresh
        else None,
    }


def cost(sheets: Iterable[Sheet]) -> dict[str, Any]:
    """US dollars, and how many runs told theirs."""
    ran = [sheet.evidence.usage.cost_usd for sheet in sheets if sheet.evidence]
    told = known(ran)
    return {"total_usd": sum(told) if told else None, "runs_with_cost": len(told), "runs_total": len(ran)}


def _sum(values: Iterable[float | None]) -> int | None:
    told = [value for value in values if value is not None]
    return int(sum(told)) if told else None


def budget(budgets: Budgets, exceeded: Collection[str], sheets: Iterable[Sheet]) -> dict[str, Any]:
    """Limits per case and the runs beyond them, given by their ids; empty where there is no limit."""
    limits = budgets.per_case
    if not limits:
        return {}
    told = {theirs: limits.get(ours) for theirs, ours in _LIMITS.items()}
    over = [{**of_run(sheet), "reason": _beyond(sheet)} for sheet in sheets if sheet.result.cell.id in exceeded]
    return {"budget": {**told, "action": budgets.action, "exceeded_runs": over}}


def _beyond(sheet: Sheet) -> str:
    rows = (row.evidence or row.text for row in sheet.rows if row.method == "budget" and row.passed is False)
    return next(rows, "beyond a limit per case")


def hooks(rows: Iterable[HookRow]) -> dict[str, Any]:
    """Suite hooks by stage; those of single runs lie with them."""
    found: dict[str, Any] = {}
    for row in rows:
        if row.stage != "post_grade":
            found.setdefault(row.stage, []).append(
                {"command": row.command, "exit_code": row.exit_code, "timed_out": row.timed_out}
            )
    return found


def skill_size(skill: Skill | None) -> Mapping[str, Any]:
    """How large the skill is; empty where it was not measured."""
    return {"skill_size": skill.size.model_dump(mode="json")} if skill and skill.size else {}
