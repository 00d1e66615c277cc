"""Our own folder view of an experiment: one folder per cell, for people and for tools that read files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic_core import to_json

from skilltrial.formats._export import Parts, deviation, less, parts_of
from skilltrial.records.evidence import Evidence
from skilltrial.records.grades import Grade
from skilltrial.records.hooks import HookRun
from skilltrial.records.journal import Pair, Result
from skilltrial.records.plan import Plan
from skilltrial.seams import ExperimentView, Out

if TYPE_CHECKING:  # records that nothing needs before the first call
    from skilltrial.records.summary import Rate, Spread, Summary

MARK = "run_meta.json"
Side = tuple[str, str, str]
"""Skill, target, arm."""


class Native:
    """Writes `<skill>/eval-<id>/<target>/<arm>/run-K/` and `<skill>/benchmark.json`. A view: the journal stays the truth."""

    name: ClassVar[str] = "native"

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        hooks, parts = _hooks_by_cell(experiment), parts_of(experiment.plan)
        for result in experiment.results():
            if result.evidence is not None:
                write_cell(result, experiment, out, parts)
                if runs := hooks.get(result.cell.id):
                    write_hooks(result, runs, out)
        pairs = getattr(experiment, "pairs", None)
        for pair in pairs() if pairs else ():
            write_pair(pair, out)
        write_benchmarks(summary, out)


plugin = Native


def cell_folder(result: Result) -> str:
    """Path of a cell's folder inside the experiment."""
    cell = result.cell
    return f"{cell.skill}/eval-{cell.case}/{cell.target}/{cell.arm}/run-{cell.repetition}"


def write_cell(result: Result, experiment: ExperimentView, out: Out, parts: Parts | None = None) -> None:
    """All files of one cell, `run_meta.json` last: where it stands, the folder is whole."""
    evidence = experiment.evidence(result)
    if evidence is None:
        return
    folder = cell_folder(result)
    _write_outputs(folder, evidence, experiment, out)
    _write_json(out, f"{folder}/timing.json", {**timing(evidence), **_over_budget(result)})
    if result.grading is not None:
        _write_json(out, f"{folder}/grading.json", _grading(result.grading.grades))
        calls = experiment.transcript(result)
        if calls:
            _write_json(out, f"{folder}/judge.json", list(calls))
    if evidence.events is not None:
        lines = "".join(event.to_json(exclude_none=True) + "\n" for event in evidence.events)
        out.write(f"{folder}/events.jsonl", lines)
    _write_json(out, f"{folder}/{MARK}", meta(result, evidence, experiment.plan, parts or parts_of(experiment.plan)))


def write_pair(pair: Pair, out: Out) -> None:
    """`pair-<baseline>.json` in the folder of the arm under test: the judge's choice, its questions and replies."""
    told = pair.comparison
    skill, case, target, repetition = told.block.split("/")
    folder = f"{skill}/eval-{case}/{target}/{told.arm}/run-{repetition}"
    _write_json(out, f"{folder}/pair-{told.baseline}.json", {**told.model_dump(mode="json"), "calls": list(pair.calls)})


def write_hooks(result: Result, runs: Sequence[HookRun], out: Out) -> None:
    """`outputs/post_grade_hooks.json`: what the post-grade hooks printed about a cell."""
    rows = [run.model_dump(mode="json", exclude={"stage", "cell"}) for run in runs]
    _write_json(out, f"{cell_folder(result)}/outputs/post_grade_hooks.json", rows)


def _hooks_by_cell(experiment: ExperimentView) -> dict[str, list[HookRun]]:
    found: dict[str, list[HookRun]] = {}
    hooks = getattr(experiment, "hooks", None)
    for run in hooks() if hooks else ():
        if run.stage == "post_grade" and run.cell:
            found.setdefault(run.cell, []).append(run)
    return found


def _write_outputs(folder: str, evidence: Evidence, experiment: ExperimentView, out: Out) -> None:
    names = set()
    if evidence.delta is not None:
        for file in (*evidence.delta.created, *evidence.delta.changed):
            data = experiment.blob(file.digest)
            if data is not None:
                out.write(f"{folder}/outputs/{file.path}", data)
                names.add(file.path)
    if "output.txt" not in names:
        out.write(f"{folder}/outputs/output.txt", evidence.text)
    if evidence.delta is not None and evidence.delta.git is not None:
        for state in (evidence.delta.git.before, evidence.delta.git.after):
            if state is not None and (told := experiment.blob(state.digest)) is not None:
                out.write(f"{folder}/{state.path}", told)
    if evidence.sent is not None and (sent := experiment.blob(evidence.sent.digest)) is not None:
        out.write(f"{folder}/prompt.json", sent)
    for log in evidence.logs:
        data = experiment.blob(log.digest)
        if data is not None:
            out.write(f"{folder}/{log.path}", data)


def _over_budget(result: Result) -> dict[str, Any]:
    """Whether the run went beyond a limit per case, and beyond which."""
    grades = result.grading.grades if result.grading else ()
    reasons = [grade.reason or grade.check for grade in grades if grade.method == "budget" and grade.state == "failed"]
    return {"budget_exceeded": bool(reasons), "budget_reason": "; ".join(reasons) or None}


def timing(evidence: Evidence) -> dict[str, Any]:
    usage, seconds = evidence.usage, evidence.timing.duration_s
    known = usage.input_tokens is not None and usage.output_tokens is not None
    return {
        "duration_ms": None if seconds is None else round(seconds * 1000),
        "total_duration_seconds": seconds,
        "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0) if known else usage.total_tokens,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_creation_tokens": usage.cache_write_tokens,
        "non_cached_input_tokens": less(usage.input_tokens, usage.cached_tokens),
        "output_tokens": usage.output_tokens,
        "reasoning_output_tokens": usage.reasoning_tokens,
        "cost_usd": usage.cost_usd,
        "cost_usd_source": usage.cost_source,
        "turns": evidence.timing.turns,
        "model_requests": evidence.timing.model_requests,
        "timed_out": evidence.outcome == "timeout",
        "retries": evidence.attempt - 1,
    }


def meta(result: Result, evidence: Evidence, plan: Plan, parts: Parts) -> dict[str, Any]:
    cell = result.cell
    target = parts.targets[cell.target]
    skill, case = parts.skills.get(cell.skill), parts.cases.get((cell.skill, cell.case))
    return {
        "cell": evidence.cell,
        "eval_id": cell.case if case is None or case.given_id is None else case.given_id,
        "skill_name": skill.name if skill else cell.skill,
        "skill_hash": skill.hash if skill else None,
        "run_id": plan.experiment,
        "side_effect_level": case.side_effects.level if case and case.side_effects else "local-only",
        "source_repo": plan.options.source_repo,
        "source_commit": plan.options.source_commit,
        "agent": target.backend,
        "target": target.name,
        "arm": cell.arm,
        "with_skill": cell.arm != "without_skill",
        "run_index": cell.repetition,
        "attempt": evidence.attempt,
        "outcome": evidence.outcome,
        "reason": evidence.reason,
        "activation": evidence.activation,
        "inventory": evidence.inventory.model_dump(),
        "model_requested": target.value,
        "model": evidence.model,
        "reasoning_effort": target.options.get("reasoning_effort"),
        "base_url": target.options.get("base_url"),
        "delivery": target.delivery,
        "home": "user" if target.user_home else "clean",
        "settings": {**target.options, "params": target.params, "env": list(target.env), "args": list(target.args)},
        "agent_cli_version": evidence.program_version,
        "harness_version": plan.skilltrial,
        "sandbox": evidence.sandbox,
        "inputs": evidence.inputs,
        "warnings": list(evidence.warnings),
        "source": evidence.source,
        "redactions": evidence.redactions,
        "started_at": evidence.timing.started_at,
    }


def _grading(grades: tuple[Grade, ...]) -> dict[str, Any]:
    """The standard's shape, skill-creator's and agent-skill-eval's keys in one; null where nothing was decided."""
    rows = [
        {
            "id": grade.check,
            "text": grade.check,
            "passed": {"passed": True, "failed": False}.get(grade.state),
            "evidence": " ".join(part for part in (grade.reason, grade.quote) if part),
            "method": grade.method,
            "skipped": grade.state == "ungraded",
            "required": grade.required,
            "score": grade.score,
        }
        for grade in grades
    ]
    counted = [grade for grade in grades if grade.required and grade.scored]
    passed = sum(grade.state == "passed" for grade in counted)
    failed = sum(grade.state == "failed" for grade in counted)
    summary = {
        "passed": passed,
        "failed": failed,
        "skipped": len(counted) - passed - failed,
        "total": len(counted),
        "pass_rate": passed / (passed + failed) if passed + failed else None,
    }
    return {"assertion_results": rows, "expectations": rows, "summary": summary}


def write_benchmarks(summary: Summary, out: Out, token_spreads: Mapping[Side, float | None] = MappingProxyType({})) -> None:
    """`<skill>/benchmark.json` in the standard's shape: arms at the top for one target, `<target>_<arm>` for several.

    It has one row per arm: cases for which the skill is forced on are in it only where there are no others.

    Args:
        token_spreads: the deviation of tokens over runs, which the summary does not hold.
    """
    spreads = _spreads_over_cases(summary)
    for skill in dict.fromkeys(rate.skill for rate in summary.rates):
        all_rates = [rate for rate in summary.rates if rate.skill == skill]
        rates = [rate for rate in all_rates if rate.activation == "natural"] or all_rates
        targets = list(dict.fromkeys(rate.target for rate in rates))
        single = len(targets) == 1
        run_summary: dict[str, Any] = {
            rate.arm if single else f"{rate.target}_{rate.arm}": _side(rate, spreads, token_spreads) for rate in rates
        }
        deltas = {target: _delta([rate for rate in rates if rate.target == target]) for target in targets}
        data: dict[str, Any] = {"skill_name": skill, "run_summary": run_summary}
        if single:
            run_summary["delta"] = deltas[targets[0]]
        else:
            data["deltas"] = deltas
        _write_json(out, f"{skill}/benchmark.json", data)


def _spreads_over_cases(summary: Summary) -> dict[Side, float]:
    """The deviation of the cases' rates (n - 1), where an arm has two or more and all of them are of one kind."""
    rates: dict[Side, list[float]] = {}
    for row in summary.cases:
        if row.rate is not None:
            rates.setdefault((row.skill, row.target, row.arm), []).append(row.rate)
    kinds = Counter((rate.skill, rate.target, rate.arm) for rate in summary.rates)
    return {side: deviation(some, sample=True) for side, some in rates.items() if len(some) > 1 and kinds[side] == 1}


def _side(rate: Rate, rate_spreads: Mapping[Side, float], token_spreads: Mapping[Side, float | None]) -> dict[str, Any]:
    tokens, side = rate.tokens.total if rate.tokens else None, (rate.skill, rate.target, rate.arm)
    return {
        "pass_rate": {"mean": rate.pass_rate, "stddev": rate_spreads.get(side), "low": rate.low, "high": rate.high},
        "time_seconds": _spread(rate.time_seconds),
        "tokens": {"mean": tokens, "stddev": token_spreads.get(side)},
        "cost_usd": rate.cost_usd.model_dump() if rate.cost_usd else None,
        "cells": rate.cells,
        "graded": rate.graded,
        "any_of_k": rate.any_of_k,
    }


def _spread(spread: Spread | None) -> dict[str, Any]:
    return {"mean": spread.mean, "stddev": spread.stddev} if spread else {"mean": None, "stddev": None}


def _delta(rates: list[Rate]) -> dict[str, Any]:
    by_arm = {rate.arm: rate for rate in rates}
    one, other = by_arm.get("with_skill"), by_arm.get("without_skill")

    def part(rate: Rate | None, name: str) -> float | None:
        if rate is None:
            return None
        if name == "pass_rate":
            return rate.pass_rate
        if name == "time_seconds":
            return rate.time_seconds.mean if rate.time_seconds else None
        return rate.tokens.total if rate.tokens else None

    return {name: less(part(one, name), part(other, name)) for name in ("pass_rate", "time_seconds", "tokens")}


def _write_json(out: Out, name: str, value: Any) -> None:
    out.write(
        name, to_json(value, indent=2, inf_nan_mode="null") + b"\n"
    )  # a tenth of the CPU of the standard library's, which indents in Python
