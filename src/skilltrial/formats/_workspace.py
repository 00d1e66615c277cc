"""The workspace of the standard's guide and of skill-creator: `eval-*/[<target>/]<configuration>/[run-K/]`, at any depth."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skilltrial.formats import _disk
from skilltrial.formats._found import BASELINES, RECORDED, Found, Group, Method, Row, Run, Task
from skilltrial.records.checks import CHECKS
from skilltrial.records.evidence import Usage
from skilltrial.records.plan import WITH_SKILL

_LEAF = ("grading.json", "timing.json", "outputs")
_TEXTS = ("output.txt", "response.txt", "response.md", "output.md", "answer.md")
_NOTES = frozenset({"metrics.json", "transcript.md", "user_notes.md"})
_METHODS: dict[str, Method] = {
    "check": "check", "judge": "judge", "hook": "hook", "budget": "budget", "contract": "contract", "human": "human",
}  # fmt: skip


class Spot(NamedTuple):
    """Where a run lies, read off its path."""

    folder: Path
    eval_folder: Path
    skill: str | None
    target: str | None
    arm: str
    repetition: int


def spots(root: Path) -> Iterator[Spot]:
    """Every run of an iteration's folder; runs of other iterations below it are not part of it."""
    for leaf in _disk.folders(root, _LEAF):
        parts = leaf.relative_to(root).parts
        if any(_disk.numbered(part, "iteration-") is not None for part in parts):
            continue
        spot = _spot(root, leaf, list(parts))
        if spot is not None:
            yield spot


def _spot(root: Path, leaf: Path, parts: list[str]) -> Spot | None:
    repetition = _disk.numbered(parts[-1], "run-") if parts else None
    steps = parts[:-1] if repetition is not None else parts
    if len(steps) < 2:
        return None
    place = next((place for place, part in enumerate(steps[:-1]) if part.startswith("eval")), len(steps) - 2)
    between, before = steps[place + 1 : -1], [part for part in steps[:place] if part != "runs"]
    return Spot(
        leaf,
        root.joinpath(*steps[: place + 1]),
        before[-1] if before else None,
        "/".join(between) or None,
        steps[-1],
        repetition or 1,
    )


def read(found: Found) -> None:
    """All runs below the folder; else those that benchmark.json carries."""
    _Iteration(found).read()


class _Iteration:
    def __init__(self, found: Found) -> None:
        self.found, self.root = found, found.folder
        self.told = _disk.object_at(self.root / "benchmark.json")
        metadata = self.told.get("metadata")
        self.metadata: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
        above = self.root.parent.name if _disk.numbered(self.root.name, "iteration-") is not None else self.root.name
        given = _disk.words(self.metadata.get("skill_name")) or _disk.words(self.told.get("skill_name"))
        self.skill = given if given and not given.startswith("<") else above.removesuffix("-workspace") or "skill"
        model = _disk.words(self.metadata.get("executor_model"))
        self.model = model if model and not model.startswith("<") else None

    def read(self) -> None:
        self.found.created_at = _disk.words(self.metadata.get("timestamp")) or ""
        for spot in spots(self.root):
            self._run(spot)
        if not self.found.runs:
            for row in _disk.rows(self.told.get("runs")):
                self._told_run(row)
            if self.found.runs:
                self.found.unknown("no run folder is there; the runs are read from benchmark.json")
        self._whole_grid()
        self._name_contrast()

    def _whole_grid(self) -> None:
        """Every case in every configuration as often as any: a run without a folder was not measured."""
        groups = list(self.found.planned)
        summary = self.told.get("run_summary")
        named = [name for name in summary if name in (WITH_SKILL, *BASELINES)] if isinstance(summary, dict) else []
        for case in dict.fromkeys((group.skill, group.case, group.target) for group in groups):
            found = [group.arm for group in groups if (group.skill, group.target) == (case[0], case[2])]
            arms = dict.fromkeys([*found, *named])
            most = max(self.found.planned.get(Group(*case, arm), 0) for arm in arms)
            for arm in arms:
                if self.found.planned.get(Group(*case, arm), 0) < most:
                    self.found.unknown(
                        f"{'/'.join(case)}/{arm}: fewer runs than in another configuration; the rest was not measured"
                    )
                self.found.plan_for(Group(*case, arm), most)

    def _name_contrast(self) -> None:
        """Two configurations under names of their own are compared in the order of benchmark.json."""
        summary = self.told.get("run_summary")
        names = [name for name in summary if name != "delta"] if isinstance(summary, dict) else []
        for skill in dict.fromkeys(group.skill for group in self.found.planned):
            arms = list(dict.fromkeys(group.arm for group in self.found.planned if group.skill == skill))
            if len(arms) == 2 and not set(arms) & set(BASELINES):
                first, second = sorted(arms, key=lambda arm: names.index(arm) if arm in names else len(names))
                self.found.contrasts[skill] = (first, second)
                self.found.unknown(
                    f"{skill}: neither of '{first}' and '{second}' is a known baseline; the second is taken as one"
                )

    # ------------------------------------------------------------ one run
    def _target(self, name: str | None, meta: dict[str, Any]) -> str:
        model = _disk.words(meta.get("model_requested")) or _disk.words(meta.get("model")) or self.model
        return self.found.target(name or model or "agent", _disk.words(meta.get("agent")) or "unknown", model)

    def _run(self, spot: Spot) -> None:
        grading, meta = _disk.json_at(spot.folder / "grading.json"), _disk.object_at(spot.folder / "run_meta.json")
        cell = [*str(meta.get("cell", "")).split("/")]
        skill, case = (spot.skill or self.skill), spot.eval_folder.name.removeprefix("eval-")
        if len(cell) == 5:
            skill, case = cell[0], cell[1]
        self.found.skill(skill)
        self._task(skill, case, spot.eval_folder)
        target = self._target(spot.target or _disk.words(meta.get("target")), meta)
        run = Run(skill, case, target, spot.arm, spot.repetition)
        self._ending(run, meta)
        self._fill(run, spot.folder, grading if isinstance(grading, dict) else {})
        if isinstance(grading, dict):
            run.rows = self._rows(run, grading)
        elif run.outcome == "ok":
            self.found.unknown(f"{run.place}: no grading.json")
        self.found.add(run)

    def _task(self, skill: str, case: str, folder: Path) -> None:
        if (skill, case) in self.found.tasks:
            return
        told = _disk.object_at(folder / "eval_metadata.json")
        given, listed = told.get("eval_id"), told.get("assertions") or told.get("expectations")
        texts = [_title(one) for one in listed] if isinstance(listed, list) else []
        self.found.tasks[skill, case] = Task(
            given_id=given if isinstance(given, int | str) and not isinstance(given, bool) else case,
            name=_disk.words(told.get("eval_name")),
            prompt=str(told.get("prompt") or ""),
            forced=told.get("force_skill_invocation") is True,
            extra={"assertions": [text for text in texts if text]} if texts else {},
        )

    def _ending(self, run: Run, meta: dict[str, Any]) -> None:
        """Our own run_meta.json says how a run ended; nothing of the others does."""
        outcome = meta.get("outcome")
        if outcome in ("agent_error", "infrastructure_error", "timeout", "budget", "harness_error"):
            run.outcome, run.reason = outcome, _disk.words(meta.get("reason"))
        if meta.get("activation") in ("activated", "read", "forced", "not_seen", "unknown", "none_expected"):
            run.activation = meta["activation"]
        run.model, run.version = _disk.words(meta.get("model")), _disk.words(meta.get("agent_cli_version"))
        run.started_at = _disk.words(meta.get("started_at")) or ""

    def _fill(self, run: Run, folder: Path, grading: dict[str, Any]) -> None:
        timing = _disk.object_at(folder / "timing.json")
        inner = grading.get("timing")
        run.duration_s = _seconds(timing, inner if isinstance(inner, dict) else {})
        run.usage = _usage(timing)
        files = _files(folder / "outputs")
        texts = [files[name] for name in _TEXTS if name in files]
        run.text = (_disk.text_at(texts[0]) if texts else None) or ""
        run.outputs = {name: path for name, path in files.items() if path not in texts}

    def _rows(self, run: Run, grading: dict[str, Any]) -> list[Row]:
        given: Any = next((grading[key] for key in ("assertion_results", "expectations", "assertions") if key in grading), [])
        found = [_row(row) for row in _disk.rows(given)]
        summary = grading.get("summary")
        told = summary if isinstance(summary, dict) else {}
        passed, total, rate = (_disk.number(told.get(key)) for key in ("passed", "total", "pass_rate"))
        if not found and total and rate is not None and 0 <= rate <= 1:
            self.found.unknown(f"{run.place}: only the share of checks is stored, not which they are")
            return [Row("share of checks", "passed", f"{rate:g}", type="quality", id="share", score=rate)]
        counted = [row.state == "passed" for row in found if row.state != "ungraded" and row.required and row.scored]
        if not found:
            self.found.unknown(f"{run.place}: no check, so nothing was graded")
        elif (
            passed is not None and total is not None and (passed, total) != (sum(counted), len(counted)) and "skipped" not in told
        ):
            self.found.unknown(
                f"{run.place}: its summary says {passed:g} of {total:g}, its rows {sum(counted)} of {len(counted)}; the rows are read"
            )
        return found

    def _told_run(self, row: dict[str, Any]) -> None:
        """A run as benchmark.json of skill-creator carries it."""
        case, result = str(row.get("eval_id")), row.get("result")
        numbers = result if isinstance(result, dict) else {}
        self.found.skill(self.skill)
        self.found.tasks.setdefault((self.skill, case), Task(given_id=case, name=_disk.words(row.get("eval_name"))))
        arm = str(row.get("configuration") or "with_skill")
        run = Run(self.skill, case, self._target(None, {}), arm, _disk.count(row.get("run_number")) or 1)
        run.duration_s = _disk.number(numbers.get("time_seconds")) or None
        run.usage = Usage(total_tokens=_disk.count(numbers.get("tokens")) or None)
        run.rows = self._rows(run, {"expectations": row.get("expectations") or [], "summary": numbers})
        self.found.add(run)


def _row(row: dict[str, Any]) -> Row:
    passed, kind = row.get("passed"), _disk.words(row.get("type"))
    score, weight = _disk.number(row.get("score")), _disk.number(row.get("weight"))
    state = "ungraded" if row.get("skipped") is True or not isinstance(passed, bool) else "passed" if passed else "failed"
    method = _METHODS.get(str(row.get("method")), "judge")
    return Row(
        _title(row) or "check",
        state,  # type: ignore[arg-type]
        _disk.words(row.get("evidence")),
        method,
        kind if kind in CHECKS else "rubric" if method == "judge" else RECORDED,
        id=_disk.words(row.get("id")),
        required=row.get("required") is not False,
        scored=row.get("scored") is not False,
        weight=1.0 if weight is None else weight,
        score=score if kind == "quality" else None,
    )


def _title(one: Any) -> str:
    if isinstance(one, str):
        return one
    keys: Sequence[str] = ("text", "description", "check", "name")
    return next((text for key in keys if (text := _disk.words(one.get(key)))), "") if isinstance(one, dict) else ""


def _seconds(timing: dict[str, Any], inner: dict[str, Any]) -> float | None:
    """The run's own time where it is told apart from the grader's."""
    milliseconds = _disk.number(timing.get("duration_ms"))
    known = (
        _disk.number(timing.get("executor_duration_seconds")),
        _disk.number(inner.get("executor_duration_seconds")),
        None if milliseconds is None else milliseconds / 1000,
        _disk.number(timing.get("total_duration_seconds")),
        _disk.number(inner.get("total_duration_seconds")),
    )
    return next((seconds for seconds in known if seconds is not None), None)


def _usage(timing: dict[str, Any]) -> Usage:
    cost = _disk.number(timing.get("cost_usd"))
    return Usage(
        input_tokens=_disk.count(timing.get("input_tokens")),
        cached_tokens=_disk.count(timing.get("cached_tokens")),
        output_tokens=_disk.count(timing.get("output_tokens")),
        reasoning_tokens=_disk.count(timing.get("reasoning_output_tokens")),
        total_tokens=_disk.count(timing.get("total_tokens")) or None,
        cost_usd=cost,
        cost_source=_disk.words(timing.get("cost_usd_source")),
    )


def _files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for where, names, files in os.walk(folder):
        names.sort()
        for name in sorted(files):
            path = Path(where, name)
            relative = path.relative_to(folder).as_posix()
            if relative not in _NOTES:
                found[relative] = path
    return found
