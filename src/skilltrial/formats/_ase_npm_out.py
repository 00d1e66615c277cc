"""Writes the layouts of agent-skills-eval: one folder per eval and mode, one number per side in benchmark.json."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from skilltrial.formats._export import (
    Material,
    Part,
    Sheet,
    deviation,
    forced,
    known,
    less,
    mean,
    no_scores,
    only_two_arms,
    summed,
)
from skilltrial.records.evidence import Event
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out

MODES = ("with_skill", "without_skill")


def write(summary: Summary, view: ExperimentView, out: Out, *, flat: bool = False) -> None:
    """The tool has no repetitions: the second run of a case stands beside the first as `eval-<id>--run-2`.

    Where it names a folder by the eval's name, it overwrites the first of two alike; here such two keep their ids.

    Raises:
        UsageError: there are arms besides with_skill and without_skill, or quality scores.
    """
    material = Material(summary, view, out)
    only_two_arms(material, "agent-skills-eval")
    no_scores(material, "agent-skills-eval")
    for part in material.parts(skill_folders=flat):
        folders = _folders(part)
        for sheet in part.sheets:
            _run(material, part, sheet, folders[sheet.result.cell.case])
        material.write(f"{part.prefix}meta.json", _meta(material, part))
        material.write(f"{part.prefix}benchmark.json", {"run_summary": _run_summary(part)})


def _meta(material: Material, part: Part) -> dict[str, Any]:
    judge = material.plan.judge
    name = material.names.get(part.skill, part.skill)
    return {
        "name": name,
        "slug": part.skill,
        "relPath": part.skill,
        "target": part.target.name if len(material.targets) > 1 else part.target.value or part.target.name,
        "judge": (judge.target.value or judge.target.backend) if judge else part.target.value or part.target.name,
        "modes": [mode for mode in MODES if mode in part.arms],
        "generated_at": material.plan.created_at,
    }


def _folders(part: Part) -> dict[str, str]:
    """Case -> its folder: by its name where it has one and no other has the same, else by its id."""
    wanted = {sheet.result.cell.case: _slug(sheet.case.name or "") for sheet in part.sheets}
    taken = Counter([*wanted.values(), *(f"eval-{case}" for case in wanted)])
    return {case: slug if slug and taken[slug] == 1 else f"eval-{case}" for case, slug in wanted.items()}


def _slug(name: str) -> str:
    """Lower case, 64 letters and digits at most, all else a dash, `eval-` in front unless it is there; empty for no name."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].rstrip("-")
    return slug if not slug or slug.startswith("eval-") else f"eval-{slug}"


def _run(material: Material, part: Part, sheet: Sheet, name: str) -> None:
    """A run that failed is written as the tool writes an outage; one that was never made has no folder."""
    cell, evidence = sheet.result.cell, sheet.evidence
    if evidence is None:
        return
    again = "" if cell.repetition == 1 else f"--run-{cell.repetition}"
    folder = f"{part.prefix}{name}{again}/{cell.arm}"
    failed = evidence.outcome != "ok"
    text = f"ERROR: {sheet.failure}" if failed else evidence.text
    for file in ("response.txt", "output.txt"):
        material.write(f"{folder}/outputs/{file}", text)
    material.write(f"{folder}/timing.json", _timing(sheet, failed=failed))
    material.write(f"{folder}/prompts.json", _prompts(material, sheet))
    calls = [_call(event) for event in evidence.events or () if event.kind == "tool_call"]
    if calls:
        material.write(f"{folder}/tool_calls.json", calls)
    if sheet.measured:
        rows = [row for row in sheet.rows if row.counts]
        told = summed(rows, sheet.rate)
        grading = {
            "assertion_results": [
                {"text": row.text, "passed": row.passed, "evidence": row.evidence} | row.own_weight for row in rows
            ],
            "summary": {key: told[key] for key in ("passed", "failed", "total", "pass_rate")},
        }
        material.write(f"{folder}/grading.json", grading)


def _timing(sheet: Sheet, *, failed: bool) -> dict[str, Any]:
    """The tool writes 0 where nothing was reported."""
    return {"total_tokens": 0 if failed else sheet.tokens or 0, "duration_ms": round((sheet.seconds or 0.0) * 1000)}


def _prompts(material: Material, sheet: Sheet) -> dict[str, Any]:
    """The rubric sentences stand in `judgePrompt` as JSON, which tells them apart from checks by code."""
    sent = _sent(material, sheet)
    rubrics = [row.text for row in sheet.rows if row.method == "judge"]
    told: dict[str, Any] = {"system": sent["system"]} if isinstance(sent.get("system"), str) else {}
    user = sent.get("user")
    told |= {
        "user": user if isinstance(user, str) else sheet.case.prompt,
        "judgePrompt": json.dumps(rubrics, ensure_ascii=False, indent=2) if rubrics else "",
        "fileCount": len(sheet.case.fixtures.files),
    }
    return told | ({"tools": list(sheet.case.tools)} if sheet.case.tools else {}) | forced(sheet.case)


def _sent(material: Material, sheet: Sheet) -> dict[str, Any]:
    evidence = sheet.evidence
    data = material.view.blob(evidence.sent.digest) if evidence and evidence.sent else None
    try:
        sent = json.loads(data) if data else {}
    except ValueError:
        return {}
    return sent if isinstance(sent, dict) else {}


def _call(event: Event) -> dict[str, Any]:
    arguments = event.arguments
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    told: dict[str, Any] = {"id": event.call} if event.call else {}
    told |= {"type": "function", "function": {"name": event.name or "", "arguments": raw}}
    return told if isinstance(arguments, str) else told | {"parsedArguments": arguments}


def _run_summary(part: Part) -> dict[str, Any]:
    sides = {mode: _side([sheet for sheet in part.of(mode) if sheet.measured]) for mode in MODES if mode in part.arms}
    if len(sides) < 2:
        return sides
    one, other = sides[MODES[0]], sides[MODES[1]]
    return sides | {"delta": {key: less(one[key]["mean"], other[key]["mean"]) for key in one}}


def _side(sheets: Sequence[Sheet]) -> dict[str, Any]:
    return {
        "pass_rate": _stats(known([sheet.rate for sheet in sheets])),
        "time_seconds": _stats(known([sheet.seconds for sheet in sheets])),
        "tokens": _stats(known([sheet.tokens for sheet in sheets])),
    }


def _stats(values: list[float]) -> dict[str, float | None]:
    middle = mean(values)
    if middle is None:
        return {"mean": None, "stddev": None}
    return {"mean": round(middle, 6), "stddev": round(deviation(values, sample=False), 6)}
