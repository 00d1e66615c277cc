"""Eval logs as inspect-ai reads them: one JSON file per skill, target and arm, a sample per case, an epoch per repetition."""

from __future__ import annotations

from typing import Any, ClassVar

from skilltrial.formats._export import Material, Part, Sheet, mean
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out
from skilltrial.version import VERSION


class Inspect:
    """Writes only. A run that failed is a sample with an error; one that nobody could grade has no score."""

    name: ClassVar[str] = "inspect"

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        material = Material(summary, experiment, out)
        for part in material.parts():
            for arm in part.arms:
                material.write(f"{part.prefix}{part.skill}_{part.target.name}_{arm}.json", _log(material, part, arm))


plugin = Inspect


def _log(material: Material, part: Part, arm: str) -> dict[str, Any]:
    sheets = [sheet for sheet in part.of(arm) if sheet.evidence is not None]
    model = part.target.value or part.target.name
    created = material.plan.created_at or "1970-01-01T00:00:00+00:00"
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": material.plan.digest.removeprefix("sha256:")[:22] or "unknown",
            "created": created,
            "task": f"{part.skill}_{arm}",
            "task_id": f"{part.skill}_{part.target.name}_{arm}",
            "task_version": 0,
            "task_attribs": {},
            "task_args": {"arm": arm, "target": part.target.name},
            "dataset": {
                "name": part.skill,
                "samples": len({sheet.case.id for sheet in part.sheets}),
                "sample_ids": list(dict.fromkeys(sheet.case.id for sheet in part.sheets)),
                "shuffled": False,
            },
            "model": model,
            "model_args": {},
            "config": {"epochs": part.repetitions},
            "packages": {"skilltrial": VERSION},
            "metadata": {"made_by": f"skilltrial {VERSION}", "experiment": material.plan.experiment},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": _results(part, arm, sheets, material.summary.metric),
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
        "samples": [_sample(sheet, model, material.summary.metric) for sheet in sheets],
    }


def _value(sheet: Sheet, metric: str) -> float | None:
    """As the experiment counts: all or nothing where cases are counted, else the share of checks."""
    return sheet.rate if metric != "cases" or sheet.rate is None else float(all(row.passed for row in sheet.rows if row.counts))


def _results(part: Part, arm: str, sheets: list[Sheet], metric: str) -> dict[str, Any]:
    natural = [sheet for sheet in sheets if not sheet.case.forced] or sheets
    by_case: dict[str, list[float]] = {}
    for sheet in natural:
        value = _value(sheet, metric)
        if value is not None:
            by_case.setdefault(sheet.case.id, []).append(value)
    rate = mean([sum(rates) / len(rates) for rates in by_case.values()])
    metrics = {} if rate is None else {"mean": {"name": "mean", "value": rate, "params": {}}}
    return {
        "total_samples": len(part.of(arm)),
        "completed_samples": sum(sheet.measured for sheet in sheets),
        "scores": [{"name": metric, "scorer": metric, "params": {}, "metrics": metrics}],
    }


def _sample(sheet: Sheet, model: str, metric: str) -> dict[str, Any]:
    evidence, case = sheet.evidence, sheet.case
    assert evidence is not None
    answer = {"role": "assistant", "content": evidence.text, "source": "generate"}
    usage = {"input_tokens": evidence.usage.input_tokens or 0, "output_tokens": evidence.usage.output_tokens or 0,
             "total_tokens": sheet.tokens or 0}  # fmt: skip
    told: dict[str, Any] = {
        "id": case.id,
        "epoch": sheet.result.cell.repetition,
        "input": case.prompt,
        "target": case.expected_output or "",
        "messages": [{"role": "user", "content": case.prompt}, answer],
        "output": {"model": evidence.model or model, "choices": [{"message": answer, "stop_reason": "stop"}], "usage": usage},
        "scores": {},
        "metadata": {"cell": sheet.result.cell.id, "outcome": evidence.outcome, "activation": evidence.activation,
                     "cost_usd": evidence.usage.cost_usd},
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }  # fmt: skip
    if sheet.seconds is not None:
        told["total_time"] = sheet.seconds
    if sheet.measured:
        score = {"value": _value(sheet, metric), "answer": evidence.text[:2000], "explanation": _explained(sheet)}
        told["scores"] = {metric: score}
    else:
        told["error"] = {"message": sheet.failure, "traceback": "", "traceback_ansi": ""}
    return told


def _explained(sheet: Sheet) -> str:
    words = {True: "passed", False: "failed", None: "ungraded"}
    return "\n".join(f"{words[row.passed]}: {row.text}" + (f" ({row.evidence})" if row.evidence else "") for row in sheet.rows)
