"""The handbook's harness: `<run-id>/<skill>/iteration-I/eval-<id>/<mode>/`, where an iteration is a repetition of the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.formats import _disk, _handbook_out
from skilltrial.formats._foreign import ForeignExperiment, experiment
from skilltrial.formats._found import RECORDED, Found, Group, Row, Run, Task
from skilltrial.records.checks import CHECKS
from skilltrial.records.evidence import Activation, Event, Usage
from skilltrial.records.plan import Gate
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out

MODES = ("with_skill", "without_skill")
_UNHEARD = "activation_telemetry_unavailable"


class Handbook:
    """Reads a run of the harness, one skill or several, and writes its tree."""

    name: ClassVar[str] = "handbook"

    @staticmethod
    def claims(folder: Path) -> bool:
        return any(True for _ in _skills(folder))

    @staticmethod
    def read(folder: Path) -> ForeignExperiment:
        found = Found(Handbook.name, folder)
        found.gate = Gate(cases="every", on="point", metric="cases")
        for skill in _skills(folder):
            _Skill(found, skill).read()
        return experiment(found)

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        _handbook_out.write(summary, experiment, out)


plugin = Handbook


def _skills(folder: Path) -> Iterator[Path]:
    if _is_skill(folder):
        yield folder
    else:
        yield from (child for child in _disk.children(folder) if _is_skill(child))


def _is_skill(folder: Path) -> bool:
    if "pass_rate_lift" in (told := _disk.object_at(folder / "benchmark.json")) and "protocol_version" in told:
        return True
    return any(
        (case / "case.json").is_file()
        for iteration in _disk.children(folder)
        if _disk.numbered(iteration.name, "iteration-") is not None
        for case in _disk.children(iteration)
    )


class _Skill:
    def __init__(self, found: Found, folder: Path) -> None:
        self.found, self.folder = found, folder
        self.told = _disk.object_at(folder / "benchmark.json")
        self.skill = _disk.words(self.told.get("skill_name")) or folder.name
        self.target = found.target(_disk.words(self.told.get("target")) or "adapter", "adapter")
        self.modes = [mode for mode in MODES if mode in self.told] or list(MODES)

    def read(self) -> None:
        found, minimum = self.found, _disk.number(self.told.get("minimum_lift"))
        found.skill(self.skill)
        if minimum is not None:
            found.gate = found.gate.model_copy(update={"minimum_lift": minimum})
        if not self.told:
            found.unknown(f"{self.skill}: no benchmark.json; the harness aborts a whole run at the first adapter failure")
        for iteration in _disk.children(self.folder):
            number = _disk.numbered(iteration.name, "iteration-")
            for case in _disk.children(iteration) if number else ():
                self._case(case, number or 1)
        self._only_told()

    def _case(self, folder: Path, repetition: int) -> None:
        told = _disk.object_at(folder / "case.json")
        given = told.get("id")
        case = str(given) if given is not None else folder.name.removeprefix("eval-")
        checks = {str(check.get("id")): check for check in _disk.rows(told.get("checks"))}
        rubrics = [Row(str(text), "ungraded", "the harness keeps assertions for people; it grades none", unasked=True)
                   for text in told.get("assertions") or ()]  # fmt: skip
        self.found.tasks.setdefault(
            (self.skill, case),
            Task(
                given_id=given if isinstance(given, int | str) else case,
                prompt=str(told.get("prompt") or ""),
                expected=_disk.words(told.get("expected_output")),
                checks=rubrics,
                forced=told.get("force_skill_invocation") is True,
            ),
        )
        for mode in self.modes:
            leaf = folder / mode
            self.found.plan_for(Group(self.skill, case, self.target, mode), repetition)
            if leaf.is_dir():
                self.found.add(self._run(Run(self.skill, case, self.target, mode, repetition), leaf, checks))
            elif not self.told:
                continue
            else:
                self.found.lost(
                    Run(self.skill, case, self.target, mode, repetition, "harness_error", "its folder is not in the tree")
                )

    def _run(self, run: Run, leaf: Path, checks: dict[str, dict[str, Any]]) -> Run:
        response, timing = _disk.object_at(leaf / "response.json"), _disk.object_at(leaf / "timing.json")
        output = response.get("output")
        run.text = output if isinstance(output, str) else _disk.text_at(leaf / "output.txt") or ""
        run.duration_s = _disk.number(timing.get("duration_seconds"))
        run.usage = _usage(response.get("usage") or timing.get("usage"))
        heard = _disk.rows(response.get("events")) if "events" in response else None
        run.events = tuple(_event(event) for event in heard) if heard is not None else None
        run.activation = _activation(run, heard)
        grading = _disk.json_at(leaf / "grading.json")
        if isinstance(grading, dict):
            unheard = any(event.get("type") == _UNHEARD for event in heard or ())
            run.rows = [
                _row(row, checks.get(str(row.get("identifier")), {}), unheard) for row in _disk.rows(grading.get("checks"))
            ]
        else:
            self.found.unknown(f"{run.place}: no grading.json")
        return run

    def _only_told(self) -> None:
        """Runs of which benchmark.json alone tells whether they passed."""
        for row in _disk.rows(self.told.get("cases")):
            case, repetition = str(row.get("id")), _disk.count(row.get("iteration")) or 1
            for mode in MODES:
                run = Run(self.skill, case, self.target, mode, repetition)
                passed = row.get(f"{mode}_passed")
                if isinstance(passed, bool) and (run.group, repetition) not in self.found.runs:
                    state = "passed" if passed else "failed"
                    run.rows = [Row("all required checks", state, "as benchmark.json says", "check", RECORDED)]  # type: ignore[arg-type]
                    self.found.add(run)
                    self.found.unmade.pop((run.group, repetition), None)
                    self.found.unknown(
                        f"{self.skill}/{case}: benchmark.json says only whether it passed; its folder is not there"
                    )


def _row(row: dict[str, Any], check: dict[str, Any], unheard: bool) -> Row:
    kind, passed, message = str(row.get("check_type")), row.get("passed"), _disk.words(row.get("message"))
    indicator = kind == "loaded_skill"
    if kind == "contains_any" and passed is True and (message or "").startswith("missing"):
        message = None  # the harness names the values that are not there, also where one is enough
    state = "passed" if passed is True else "failed" if passed is False else "ungraded"
    if indicator and unheard:
        state, message = "ungraded", "the adapter cannot tell which skills were loaded"
    fields = CHECKS[kind].model_fields if kind in CHECKS else {}
    aim = check.get("value") or check.get("pattern") or check.get("path") or check.get("values")
    return Row(
        f"{row.get('identifier')}: {kind.replace('_', ' ')}" + (f" {aim!r}" if aim else ""),
        state,  # type: ignore[arg-type]
        message,
        "check",
        kind if kind in CHECKS else RECORDED,
        id=str(row.get("identifier")),
        options={key: value for key, value in check.items() if key in fields},
        required=row.get("required") is not False and not (indicator and unheard),
        scored=not indicator,
        arms=("with_skill",) if indicator else None,
    )


def _event(event: dict[str, Any]) -> Event:
    kind, name = event.get("type"), _disk.words(event.get("name"))
    return Event(kind="skill", name=name) if kind == "skill_loaded" else Event(kind="other", name=name, text=str(kind))


def _activation(run: Run, heard: list[dict[str, Any]] | None) -> Activation | None:
    if run.arm != "with_skill" or heard is None:
        return None
    kinds = {event.get("type") for event in heard}
    return "activated" if "skill_loaded" in kinds else "unknown" if _UNHEARD in kinds else "not_seen"


def _usage(told: Any) -> Usage:
    """Adapters name their numbers as they like; those that we know are read."""
    usage = told if isinstance(told, dict) else {}
    return Usage(
        input_tokens=_disk.count(usage.get("input_tokens")),
        cached_tokens=_disk.count(usage.get("cached_tokens", usage.get("cache_read_tokens"))),
        output_tokens=_disk.count(usage.get("output_tokens")),
        reasoning_tokens=_disk.count(usage.get("reasoning_tokens")),
        total_tokens=_disk.count(usage.get("total_tokens")),
        cost_usd=_disk.number(usage.get("cost_usd")),
        cost_source="provider" if _disk.number(usage.get("cost_usd")) is not None else None,
    )
