"""Writes the workspace of the standard's guide and of skill-creator: `eval-*/<configuration>/run-K/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from skilltrial.formats import native
from skilltrial.formats._export import Material, Part, Sheet, Shown, deviation, forced, known, less, mean, summed
from skilltrial.records.evidence import Evidence
from skilltrial.records.suite import Case
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out
from skilltrial.wording import verdicts


def write_standard(summary: Summary, view: ExperimentView, out: Out) -> None:
    """As the guide has it: `assertion_results`, and numbers in benchmark.json."""
    material = Material(summary, view, out)
    native.write_benchmarks(summary, _Renamed(material), _token_spreads(material))
    for part in material.parts():
        for sheet in part.sheets:
            _write_run(material, part, sheet)
            if (
                sheet.rows
                and sheet.evidence is not None
                and sheet.result.evidence is not None
                and sheet.result.evidence.clean is not False
            ):
                grading = {"assertion_results": [_row(row) for row in sheet.rows], "summary": summed(sheet.rows, sheet.rate)}
                material.write(f"{_folder(part, sheet)}/grading.json", grading)


def _token_spreads(material: Material) -> dict[native.Side, float | None]:
    """Over the runs that were measured and say how many tokens they used."""
    found: dict[native.Side, float | None] = {}
    for part in material.parts():
        for arm in part.arms:
            tokens = known([sheet.tokens for sheet in part.of(arm) if sheet.measured])
            found[part.skill, part.target.name, arm] = deviation(tokens, sample=True) if len(tokens) > 1 else None
    return found


class _Renamed:
    """The Out seam that puts `<skill>/benchmark.json` where the skill's tree is."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.several = len({rate.skill for rate in material.summary.rates}) > 1

    def write(self, name: str, text: str | bytes) -> Any:
        return self.material.out.write(name if self.several else name.rpartition("/")[2], text)


def write_skill_creator(summary: Summary, view: ExperimentView, out: Out) -> None:
    """As its aggregator and viewer have it: `expectations`, and benchmark.json with runs and signed strings.

    A run that was not measured has no grading.json, which the aggregator leaves out of its means.
    """
    material = Material(summary, view, out)
    for part in material.parts():
        ids = _ids(part)
        runs = []
        for sheet in part.sheets:
            _write_run(material, part, sheet, ids)
            if sheet.measured:
                counted = [row for row in sheet.rows if row.counts]
                grading = {"expectations": [_row(row) for row in counted], "summary": summed(counted, sheet.rate)}
                material.write(f"{_folder(part, sheet)}/grading.json", grading | _of_the_run(sheet))
                runs.append(_told(sheet, ids[sheet.case.id]))
        material.write(f"{part.prefix}benchmark.json", _benchmark(material, part, runs, ids))


def _folder(part: Part, sheet: Sheet) -> str:
    cell = sheet.result.cell
    return f"{part.prefix}eval-{cell.case}/{cell.arm}/run-{cell.repetition}"


def _ids(part: Part) -> dict[str, int | str]:
    """Numbers where all cases have one, since the aggregator sorts them together."""
    cases = {sheet.case.id: sheet.case for sheet in part.sheets}
    numbers = all(isinstance(case.given_id, int) for case in cases.values())
    return {name: case.given_id if numbers and isinstance(case.given_id, int) else name for name, case in cases.items()}


# ---------------------------------------------------------------- one run
def _write_run(material: Material, part: Part, sheet: Sheet, ids: dict[str, int | str] | None = None) -> None:
    """Everything but the grading."""
    cell, evidence = sheet.result.cell, sheet.evidence
    place = f"{part.prefix}eval-{cell.case}/eval_metadata.json"
    material.write(place, _metadata(sheet.case, (ids or {}).get(sheet.case.id, sheet.case.id)))
    if evidence is None:
        return
    folder = _folder(part, sheet)
    for name, data in _outputs(material.view, evidence):
        material.out.write(f"{folder}/outputs/{name}", data)
    timing = {key: value for key, value in native.timing(evidence).items() if value is not None}
    material.write(f"{folder}/timing.json", timing)
    material.write(f"{folder}/run_meta.json", native.meta(sheet.result, evidence, material.plan, material.named))


def _metadata(case: Case, eval_id: int | str) -> dict[str, Any]:
    return {
        "eval_id": eval_id,
        "eval_name": case.name or case.id,
        "prompt": case.prompt,
        "assertions": [check.text for check in case.checks if check.required and check.scored],
        **forced(case),
    }


def _outputs(view: ExperimentView, evidence: Evidence) -> Iterator[tuple[str, bytes | str]]:
    names = set()
    if evidence.delta is not None:
        for file in (*evidence.delta.created, *evidence.delta.changed):
            data = view.blob(file.digest)
            if data is not None:
                names.add(file.path)
                yield file.path, data
    if "output.txt" not in names:
        yield "output.txt", evidence.text


def _row(row: Shown) -> dict[str, Any]:
    """The three keys that every viewer needs, and what reading it back needs."""
    told: dict[str, Any] = {"text": row.text, "passed": row.passed, "evidence": row.evidence}
    told |= {"id": row.id, "type": row.type, "method": row.method, "skipped": row.passed is None}
    told |= {"required": row.required, "scored": row.scored, "weight": row.weight}
    return told if row.score is None else told | {"score": row.score}


def _of_the_run(sheet: Sheet) -> dict[str, Any]:
    """What grading.json tells of the run itself.

    Its aggregator takes the tokens from timing.json only where grading.json holds no total duration, and the number of
    characters written where there are no tokens: neither key is there, so that it never counts either for the other.
    """
    seconds, calls = sheet.seconds, sheet.result.evidence.tool_calls if sheet.result.evidence else None
    timing = {} if seconds is None else {"executor_duration_seconds": seconds}
    return {"timing": timing, "execution_metrics": {} if calls is None else {"total_tool_calls": calls}}


# ---------------------------------------------------------------- benchmark.json of skill-creator
def _told(sheet: Sheet, eval_id: int | str) -> dict[str, Any]:
    cell, counted = sheet.result.cell, [row for row in sheet.rows if row.counts]
    numbers = summed(counted, sheet.rate)
    calls = sheet.result.evidence.tool_calls if sheet.result.evidence else None
    return {
        "eval_id": eval_id,
        "eval_name": sheet.case.name or sheet.case.id,
        "configuration": cell.arm,
        "run_number": cell.repetition,
        "result": {
            **{key: numbers[key] for key in ("pass_rate", "passed", "failed", "total")},
            "time_seconds": sheet.seconds or 0.0,
            "tokens": sheet.tokens or 0,
            "tool_calls": calls or 0,
            "errors": 0,
        },
        "expectations": [{"text": row.text, "passed": row.passed, "evidence": row.evidence} for row in counted],
        "notes": [],
    }


def _benchmark(material: Material, part: Part, runs: list[dict[str, Any]], ids: dict[str, int | str]) -> dict[str, Any]:
    judge = material.plan.judge
    lift = material.lift(part.skill, part.target.name)
    lost = len(part.sheets) - len(runs)
    notes = [*verdicts.sentences(material.summary, lift)] if lift else []
    if lost:
        notes.append(f"{lost} of {len(part.sheets)} runs were not measured and are in no mean.")
    return {
        "metadata": {
            "skill_name": material.names.get(part.skill, part.skill),
            "skill_path": part.skill,
            "executor_model": part.target.value or part.target.name,
            "analyzer_model": (judge.target.value or judge.target.backend) if judge else "none",
            "timestamp": material.plan.created_at,
            "evals_run": list(ids.values()),
            "runs_per_configuration": part.repetitions,
        },
        "runs": runs,
        "run_summary": _run_summary(part, lift.arm if lift else None, lift.baseline if lift else None),
        "notes": notes,
    }


def _run_summary(part: Part, arm: str | None, baseline: str | None) -> dict[str, Any]:
    arms = sorted(part.arms, key=lambda name: (name != arm, name != baseline))
    told: dict[str, Any] = {name: _side([sheet for sheet in part.of(name) if sheet.measured]) for name in arms}
    if arm in told and baseline in told:
        one, other = told[arm], told[baseline]
        told["delta"] = {
            key: "unknown" if (gap := less(one[key]["mean"], other[key]["mean"])) is None else f"{gap:+.{digits}f}"
            for key, digits in (("pass_rate", 2), ("time_seconds", 1), ("tokens", 0))
        }
    return told


def _side(sheets: Sequence[Sheet]) -> dict[str, Any]:
    return {
        "pass_rate": _stats(known([sheet.rate for sheet in sheets])),
        "time_seconds": _stats(known([sheet.seconds for sheet in sheets])),
        "tokens": _stats(known([sheet.tokens for sheet in sheets])),
    }


def _stats(values: list[float]) -> dict[str, float | None]:
    middle = mean(values)
    return {
        "mean": None if middle is None else round(middle, 4),
        "stddev": round(deviation(values, sample=True), 4) if values else None,
        "min": round(min(values), 4) if values else None,
        "max": round(max(values), 4) if values else None,
    }
