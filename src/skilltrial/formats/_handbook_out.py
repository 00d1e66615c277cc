"""Writes a run of the handbook's harness: `<skill>/iteration-I/eval-<id>/<mode>/`, an iteration being a repetition."""

from __future__ import annotations

from typing import Any

from skilltrial.formats._export import Material, Part, Sheet, Shown, forced, known, less, no_scores, only_two_arms
from skilltrial.records.evidence import Event, Evidence
from skilltrial.records.suite import Case
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out

MODES = ("with_skill", "without_skill")


def write(summary: Summary, view: ExperimentView, out: Out) -> None:
    """Rates are over cases of which every required check passed. A run that was not measured is null and in no total.

    Raises:
        UsageError: there are arms besides with_skill and without_skill, or quality scores.
    """
    material = Material(summary, view, out)
    only_two_arms(material, "the handbook's harness")
    no_scores(material, "the handbook's harness")
    for part in material.parts():
        prefix = part.prefix if part.prefix.endswith(f"{part.skill}/") else f"{part.prefix}{part.skill}/"
        for sheet in part.sheets:
            _run(material, sheet, f"{prefix}iteration-{sheet.result.cell.repetition}/eval-{sheet.result.cell.case}")
        material.write(f"{prefix}benchmark.json", _benchmark(material, part))


def passed(sheet: Sheet) -> bool | None:
    """Every check that counts; None when it was not measured."""
    return all(row.passed for row in sheet.rows if row.counts) if sheet.measured else None


def _run(material: Material, sheet: Sheet, folder: str) -> None:
    material.write(f"{folder}/case.json", _case(sheet.case))
    evidence = sheet.evidence
    if evidence is None or evidence.outcome != "ok":
        return
    place = f"{folder}/{sheet.result.cell.arm}"
    material.write(f"{place}/output.txt", evidence.text + "\n")
    material.write(f"{place}/response.json", _response(evidence))
    material.write(f"{place}/timing.json", _timing(sheet, evidence))
    if sheet.measured:
        checks = [_check(row) for row in sheet.rows if row.passed is not None]
        material.write(f"{place}/grading.json", {"passed": passed(sheet), "checks": checks})


def _case(case: Case) -> dict[str, Any]:
    checks = [
        {**check.options, "id": check.id, "type": check.type, "required": check.required}
        for check in case.checks
        if check.type != "rubric"
    ]
    return {
        "id": case.given_id if case.given_id is not None else case.id,
        "prompt": case.prompt,
        "expected_output": case.expected_output or "",
        "assertions": [check.text for check in case.checks if check.type == "rubric"],
        "checks": checks,
        **forced(case),
    }


def _check(row: Shown) -> dict[str, Any]:
    return {
        "identifier": row.id,
        "check_type": row.type,
        "required": row.required,
        "passed": row.passed,
        "message": row.evidence,
    }


def _response(evidence: Evidence) -> dict[str, Any]:
    events = [told for event in evidence.events or () if (told := _event(event)) is not None]
    if evidence.activation == "activated" and not events:
        events = [{"type": "skill_loaded"}]
    if evidence.activation == "unknown":
        events.append({"type": "activation_telemetry_unavailable", "name": "skilltrial"})
    return {"output": evidence.text, "events": events, "usage": _usage(evidence)}


def _event(event: Event) -> dict[str, str] | None:
    return {"type": "skill_loaded", **({"name": event.name} if event.name else {})} if event.kind == "skill" else None


def _usage(evidence: Evidence) -> dict[str, float]:
    usage = evidence.usage
    told = {
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_tokens": usage.total_tokens,
        "cost_usd": usage.cost_usd,
    }
    return {key: value for key, value in told.items() if value is not None}


def _timing(sheet: Sheet, evidence: Evidence) -> dict[str, Any]:
    delta = evidence.delta
    files = sorted(file.path for file in (*delta.created, *delta.changed)) if delta else []
    return {"duration_seconds": sheet.seconds, "usage": _usage(evidence), "workspace_files": files}


def _benchmark(material: Material, part: Part) -> dict[str, Any]:
    sides = {mode: _side(part, mode) for mode in MODES if mode in part.arms}
    minimum = material.plan.gates.get(part.skill, material.plan.gate).minimum_lift
    one, other = (sides.get(mode, {}).get("pass_rate") for mode in MODES)
    lift = less(one, other)
    effective = None if lift is None else one == 1.0 and (minimum is None or lift >= minimum)
    return {
        "protocol_version": 1,
        "run_id": material.plan.experiment,
        "skill_name": material.names.get(part.skill, part.skill),
        "target": part.target.name,
        **sides,
        "pass_rate_lift": lift,
        "cases": _cases(part),
        "minimum_lift": minimum,
        "effectiveness_passed": effective,
    }


def _side(part: Part, mode: str) -> dict[str, Any]:
    verdicts = [verdict for sheet in part.of(mode) if (verdict := passed(sheet)) is not None]
    return {
        "passed": sum(verdicts),
        "total": len(verdicts),
        "pass_rate": sum(verdicts) / len(verdicts) if verdicts else None,
        "duration_seconds": sum(known([sheet.seconds for sheet in part.of(mode)])),
    }


def _cases(part: Part) -> list[dict[str, Any]]:
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for sheet in part.sheets:
        cell, case = sheet.result.cell, sheet.case
        row = rows.setdefault(
            (cell.case, cell.repetition),
            {"id": case.given_id if case.given_id is not None else case.id, "iteration": cell.repetition},
        )
        row[f"{cell.arm}_passed"] = passed(sheet)
    return [rows[key] for key in sorted(rows, key=lambda key: key[1])]
