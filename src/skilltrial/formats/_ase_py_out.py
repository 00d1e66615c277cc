"""Writes an iteration of agent-skill-eval: evals_meta.json, summary.json, benchmark.json, and a folder per run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from skilltrial.formats import _ase_py_totals as totals
from skilltrial.formats._ase_py_totals import CONFIGURATIONS
from skilltrial.formats._export import (
    Material,
    Part,
    Sheet,
    Shown,
    deviation,
    known,
    less,
    mean,
    no_scores,
    only_two_arms,
    summed,
)
from skilltrial.records.checks import CHECKS
from skilltrial.records.suite import Case, Check
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out
from skilltrial.version import VERSION

_METHODS = {"judge": "llm", "hook": "hook", "budget": "budget", "contract": "side-effect-contract"}
_STRUCTURED = frozenset(
    {
        "file_exists", "file_not_exists", "file_contains", "file_not_contains", "file_unchanged", "command_ran",
        "command_not_ran", "tests_pass", "git_clean", "json_path", "json_path_not_exists",
    }
)  # fmt: skip


def write(summary: Summary, view: ExperimentView, out: Out) -> None:
    """Failed runs stand in summary.json as errors, runs never made as skipped; neither has a folder.

    Raises:
        UsageError: there are arms besides with_skill and without_skill, or quality scores.
    """
    material = Material(summary, view, out)
    only_two_arms(material, "agent-skill-eval")
    no_scores(material, "agent-skill-eval")
    by_skill: dict[str, list[Part]] = {}
    for part in material.parts():
        by_skill.setdefault(part.skill, []).append(part)
    for skill, parts in by_skill.items():
        prefix = f"{skill}-workspace/iteration-1/" if len(by_skill) > 1 else ""
        _Iteration(material, skill, parts, prefix).write()


class _Iteration:
    def __init__(self, material: Material, skill: str, parts: list[Part], prefix: str) -> None:
        self.material, self.skill, self.parts, self.prefix = material, skill, parts, prefix
        self.name = material.names.get(skill, skill)
        self.repetitions = max(part.repetitions for part in parts)
        self.cases = {sheet.case.id: sheet.case for part in parts for sheet in part.sheets}
        subject = self.subject = next((one for one in material.plan.skills if one.id == skill), None)
        self.hash = (subject.hash or subject.tree.digest.removeprefix("sha256:")) if subject else ""

    def write(self) -> None:
        errors, skipped = [], []
        for part in self.parts:
            for sheet in part.sheets:
                cell = sheet.result.cell
                side = "with" if CONFIGURATIONS[cell.arm] else "without"
                label = f"{sheet.case.given_id or cell.case}-{cell.target}-{side}-r{cell.repetition}"
                line = sheet.result.evidence
                if line is None:
                    skipped.append({"run": label, "reason": "not run"})
                elif line.outcome != "ok" or line.clean is False:
                    errors.append({"run": label, "error": sheet.failure})
                else:
                    self._run(part, sheet)
        self._tops(errors, skipped)

    def _run(self, part: Part, sheet: Sheet) -> None:
        cell, evidence = sheet.result.cell, sheet.evidence
        if evidence is None:
            return
        last = f"/run-{cell.repetition}" if self.repetitions > 1 else ""
        folder = f"{self.prefix}eval-{cell.case}/{cell.target}/{cell.arm}{last}"
        rows = [row for row in sheet.rows if row.required and row.scored]
        self.material.write(
            f"{folder}/grading.json",
            {"assertion_results": [_row(row) for row in rows], "summary": summed(rows, sheet.rate)},
        )
        self.material.write(f"{folder}/timing.json", _timing(sheet))
        self.material.write(f"{folder}/run_meta.json", self._meta(part, sheet))
        self.material.write(f"{folder}/outputs/output.txt", evidence.text)
        git = evidence.delta.git if evidence.delta else None
        for state in (git.before, git.after) if git else ():
            if state is not None and (told := self.material.view.blob(state.digest)) is not None:
                self.material.out.write(f"{folder}/outputs/{state.path}", told)
        for log in evidence.logs:
            data = self.material.view.blob(log.digest) if log.path in ("stdout.log", "stderr.log") else None
            if data is not None:
                self.material.out.write(f"{folder}/outputs/{log.path}", data)

    def _meta(self, part: Part, sheet: Sheet) -> dict[str, Any]:
        cell, case, evidence = sheet.result.cell, sheet.case, sheet.evidence
        return {
            "eval_id": case.given_id if case.given_id is not None else cell.case,
            "agent": cell.target,
            "with_skill": CONFIGURATIONS[cell.arm],
            "iteration": 1,
            "skill_name": self.name,
            "skill_hash": self.hash,
            "side_effect_level": totals.level(case),
            "source_repo": self.material.plan.options.source_repo,
            "run_id": self.material.plan.digest.removeprefix("sha256:")[:8],
            "run_index": cell.repetition,
            "model": (evidence.model if evidence else None) or part.target.value,
            "reasoning_effort": part.target.options.get("reasoning_effort"),
            "base_url": part.target.options.get("base_url"),
            "harness_version": f"skilltrial {VERSION}",
            "agent_cli_version": (evidence.program_version if evidence else None) or part.target.program_version,
        }

    def _tops(self, errors: list[dict[str, str]], skipped: list[dict[str, str]]) -> None:
        write, given = self.material.write, {name: _given(case) for name, case in self.cases.items()}
        judge = self.material.plan.judge
        write(
            f"{self.prefix}evals_meta.json",
            {
                "skill_name": self.name,
                "skill_hash": self.hash,
                "evals": [_eval(case, given[name]) for name, case in self.cases.items()],
                **totals.skill_size(self.subject),
                "source_repo": self.material.plan.options.source_repo,
                "selected_eval_ids": [],
                "selected_side_effect_levels": [],
                "side_effect_counts": dict(Counter(totals.level(case) for case in self.cases.values())),
                "grader": {
                    "model": (judge.target.value or judge.target.backend) if judge else "",
                    "base_url": judge.target.options.get("base_url") if judge else None,
                    "key_file": None,
                    "allowed_models": None,
                },
            },
        )
        stats = dict(self._stats())
        deltas = {part.target.name: _delta(stats, part.target.name) for part in self.parts}
        deltas = {name: delta for name, delta in deltas.items() if delta is not None}
        only = next(iter(deltas.values())) if len(self.parts) == 1 and deltas else None
        write(f"{self.prefix}benchmark.json", {"run_summary": stats, "deltas": deltas, "delta": only})
        write(f"{self.prefix}summary.json", self._summary(stats, list(given.values()), errors, skipped))

    def _stats(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for part in self.parts:
            for arm in part.arms:
                yield f"{part.target.name}_{arm}", _side([sheet for sheet in part.of(arm) if sheet.measured], part.repetitions)

    def _summary(
        self, stats: dict[str, Any], ids: list[int | str], errors: list[dict[str, str]], skipped: list[dict[str, str]]
    ) -> dict[str, Any]:
        sheets = [sheet for part in self.parts for sheet in part.sheets]
        return {
            "skill_name": self.name,
            "skill_hash": self.hash,
            "iteration": 1,
            "run_id": self.material.plan.digest.removeprefix("sha256:")[:8],
            "agents": [part.target.name for part in self.parts],
            "eval_ids": [str(one) for one in ids],
            "side_effect_levels": sorted({totals.level(case) for case in self.cases.values()}),
            "runs_per_case": self.repetitions,
            "with_baseline": any("without_skill" in part.arms for part in self.parts),
            "duration_seconds": self.material.summary.totals.duration_s,
            "pass_rates": {name: side["pass_rate"]["mean"] for name, side in stats.items()},
            "runs_completed": len(sheets) - len(errors) - len(skipped),
            "runs_failed_grading": sum(sheet.measured and (sheet.rate or 0.0) < 1.0 for sheet in sheets),
            "failed_runs": totals.failed_runs(sheets),
            "errors": errors,
            "skipped_runs": skipped,
            "tokens": totals.tokens(sheets),
            "cost": totals.cost(sheets),
            "stability": totals.stability(sheets),
            **totals.skill_size(self.subject),
            **totals.budget(self.material.plan.budgets, self.material.summary.budget.exceeded, sheets),
            "hooks": totals.hooks(self.material.summary.hooks),
        }


def _given(case: Case) -> int | str:
    return case.given_id if case.given_id is not None else case.id


def _eval(case: Case, given: int | str) -> dict[str, Any]:
    return {
        "id": given,
        "prompt": case.prompt,
        "expected_output": case.expected_output or "",
        "files": [file.path for file in case.fixtures.files],
        "assertions": [_assertion(check) for check in case.checks if check.required and check.scored],
        "should_trigger": case.should_trigger,
        "force_skill_invocation": case.forced,
        "stage_files": case.stage_files,
        "side_effect_level": totals.level(case),
        "side_effect_contract": case.side_effects.contract if case.side_effects else None,
    }


def _assertion(check: Check) -> Any:
    if check.type not in _STRUCTURED:
        return check.text
    fields = ("path", "contains", "command", "json_path", "equals")
    return {"type": check.type, "text": check.text, **{key: check.options.get(key) for key in fields}}


def _row(row: Shown) -> dict[str, Any]:
    how = f"structured:{row.type}" if row.method == "check" and row.type in CHECKS else _METHODS.get(row.method, "deterministic")
    return {
        "text": row.text,
        "passed": row.passed is True,
        "evidence": row.evidence,
        "method": how,
        "skipped": row.passed is None,
        **row.own_weight,
    }


def _timing(sheet: Sheet) -> dict[str, Any]:
    """Its counts are whole numbers, where 0 may mean unknown; what can be null there is null where we do not know."""
    evidence = sheet.evidence
    assert evidence is not None
    usage = evidence.usage
    fresh = less(usage.input_tokens, usage.cached_tokens)
    return {
        "total_tokens": sheet.tokens or 0,
        "input_tokens": usage.input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "cached_tokens": usage.cached_tokens or 0,
        "cache_creation_tokens": usage.cache_write_tokens or 0,
        "non_cached_input_tokens": None if fresh is None else int(fresh),
        "reasoning_output_tokens": usage.reasoning_tokens,
        "cost_usd": usage.cost_usd,
        "cost_usd_source": usage.cost_source,
        "cost_usd_cli": None,
        "duration_ms": None if sheet.seconds is None else round(sheet.seconds * 1000),
        "exit_code": 0,
        "timed_out": False,
        "retries": evidence.attempt - 1,
        "budget_exceeded": any(row.method == "budget" and row.passed is False for row in sheet.rows),
        "budget_reason": next((row.evidence for row in sheet.rows if row.method == "budget" and row.passed is False), None),
    }


def _side(sheets: Sequence[Sheet], repetitions: int) -> dict[str, Any]:
    """None where the tool would write 0 for a side without a run."""
    costs = known([sheet.evidence.usage.cost_usd for sheet in sheets if sheet.evidence])
    full = [(sheet.result.cell.case, sheet.rate == 1.0) for sheet in sheets if sheet.rate is not None]
    any_of = {case: any(passed for other, passed in full if other == case) for case, _ in full}
    return {
        "pass_rate": _stats(known([sheet.rate for sheet in sheets])),
        "time_seconds": _stats(known([sheet.seconds for sheet in sheets])),
        "tokens": _stats(known([sheet.tokens for sheet in sheets])),
        "cost_usd": _stats(costs) if costs else None,
        "cost_runs": len(costs),
        "full_pass_rate": mean([float(passed) for _, passed in full]),
        "pass_at_k": mean([float(passed) for passed in any_of.values()]),
        "k": repetitions,
    }


def _stats(values: list[float]) -> dict[str, float | None]:
    return {"mean": mean(values), "stddev": deviation(values, sample=True) if values else None}


def _delta(stats: dict[str, Any], target: str) -> dict[str, float | None] | None:
    one, other = (stats.get(f"{target}_{arm}") for arm in CONFIGURATIONS)
    if one is None or other is None:
        return None
    keys = ("pass_rate", "time_seconds", "tokens", "cost_usd")
    return {key: less((one[key] or {}).get("mean"), (other[key] or {}).get("mean")) for key in keys}
