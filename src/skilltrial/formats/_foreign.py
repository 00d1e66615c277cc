"""A foreign result tree as an experiment: plan, evidence and grades in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skilltrial.formats._found import BASELINES, Found, Group, Row, Run, Task, contrasts, named
from skilltrial.records.evidence import Activation, Delta, Evidence, Timing
from skilltrial.records.grades import Grade
from skilltrial.records.journal import EvidenceLine, GradingLine, Result, StopLine
from skilltrial.records.plan import (
    WITHOUT_SKILL,
    Arm,
    Cell,
    CellGroup,
    Contrast,
    Judge,
    Options,
    Plan,
    SetAside,
    cell_of,
    cells_of,
)
from skilltrial.records.problems import Where
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import EMPTY_TREE, Case, Check, FileRef, Skill, Suite, Tree
from skilltrial.system.files import digest, read_capped, safe_name
from skilltrial.version import VERSION

FILE_BYTES = 8 * 1024 * 1024
MOST_FILES = 200
"""Of one run."""
NO_SIGHT = "the tree does not say which skills a run saw"


def experiment(found: Found) -> ForeignExperiment:
    """The plan and everything that is known of its cells."""
    maker = _Maker(found)
    view = ForeignExperiment(found.format, found.folder, maker.plan(), found.unknowns)
    maker.fill(view)
    return view


class ForeignExperiment:
    """The ExperimentView over a foreign tree, in memory; files of runs are read when asked for."""

    def __init__(self, format_: str, folder: Path, plan: Plan, unknowns: tuple[str, ...]) -> None:
        self.format = format_
        self.folder = folder
        self.plan = plan
        self.unknowns = unknowns
        """What this tree cannot tell, in words; all of it also stands in the plan's warnings."""
        self._lines: dict[str, tuple[EvidenceLine, Evidence]] = {}
        self._gradings: dict[str, GradingLine] = {}
        self._calls: dict[str, tuple[dict[str, Any], ...]] = {}
        self._blobs: dict[str, bytes | Path] = {}
        self._stops: tuple[StopLine, ...] = ()

    def results(self) -> Iterator[Result]:
        for group in self.plan.groups:
            for cell in cells_of(group, self.plan.seed):
                yield self.result_of(cell)

    def result_of(self, cell: Cell) -> Result:
        held = self._lines.get(cell.id)
        return Result(cell, held[0] if held else None, self._gradings.get(cell.id))

    def evidence(self, result: Result) -> Evidence | None:
        held = self._lines.get(result.cell.id)
        return held[1] if held else None

    def transcript(self, result: Result) -> tuple[dict[str, Any], ...]:
        return self._calls.get(result.cell.id, ())

    def gradings(self, result: Result) -> tuple[GradingLine, ...]:
        return (result.grading,) if result.grading else ()

    def stops(self) -> tuple[StopLine, ...]:
        return self._stops

    def sent(self, evidence: Evidence) -> JsonObject | None:
        """What was sent in that run, where the tree holds it."""
        data = self.blob(evidence.sent.digest) if evidence.sent else None
        sent = json.loads(data) if data else None
        return sent if isinstance(sent, dict) else None

    def blob(self, digest_: str) -> bytes | None:
        held = self._blobs.get(digest_)
        if not isinstance(held, Path):
            return held
        read = read_capped(held, FILE_BYTES)
        return read.data if read is not None and digest(read.data) == digest_ else None


class _Maker:
    def __init__(self, found: Found) -> None:
        self.found = found
        self.ids = _Ids()
        self.everything = {**found.unmade, **found.runs}
        for group, repetition in self.everything:
            found.plan_for(group, repetition)
        self.order = _ordered(found.planned)
        self.by_case: dict[tuple[str, str], list[Run]] = {}
        for run in found.runs.values():
            self.by_case.setdefault((run.skill, run.case), []).append(run)
        self.checks: dict[tuple[str, str], dict[str, Check]] = {}
        self.aside: dict[tuple[str, str], dict[str, str]] = {}
        for group in self.order:
            found.skill(group.skill)
            self._collect(group.skill, group.case)

    def _collect(self, skill: str, case: str) -> None:
        """The case's checks, from the suite and from all its runs; those that nobody ever graded are set aside."""
        if (skill, case) in self.checks:
            return
        task = self.found.tasks.setdefault((skill, case), Task())
        runs = self.by_case.get((skill, case), [])
        checks: dict[str, Check] = {}
        graded: set[str] = set()
        unasked: dict[str, str] = {}
        for rows, verdicts in [(task.checks, False), *((run.rows or (), True) for run in runs)]:
            for key, row in named(rows):
                if key not in checks:
                    checks[key] = _check(key, row)
                if row.unasked:
                    unasked.setdefault(key, row.reason or "the tool grades no such check")
                elif verdicts:
                    graded.add(key)
        self.checks[skill, case] = checks
        self.aside[skill, case] = {key: why for key, why in unasked.items() if key not in graded}

    # ------------------------------------------------------------ the plan
    def plan(self) -> Plan:
        found = self.found
        alone = bool(self.order) and all(group.arm == WITHOUT_SKILL for group in self.order)
        plan = Plan(
            experiment=found.name,
            created_at=found.created_at,
            skilltrial=VERSION,
            skills=tuple(self._skill(name, tree) for name, tree in found.skills.items()),
            suites=tuple(self._suite(name) for name in found.skills),
            arms=tuple(self._arms()),
            targets=tuple(found.targets.values()),
            judge=Judge(target=found.judge, home_field=found.home_field) if found.judge else None,
            contrasts=tuple(self._contrasts()),
            groups=tuple(self._group(group) for group in self.order),
            set_aside=tuple(self._set_aside()),
            gate=found.gate.model_copy(update={"cases": "none"}) if alone else found.gate,
            budgets=found.budgets,
            options=Options(repetitions=max(found.planned.values(), default=1), tree=False),
            warnings=found.unknowns,
        )
        body = plan.to_json(exclude={"experiment", "created_at", "skilltrial", "warnings"})
        return plan.model_copy(update={"digest": digest(body.encode())})

    def _skill(self, name: str, tree: Tree) -> Skill:
        where = Where(file=str(self.found.folder))
        known = tree.digest.removeprefix("sha256:") if tree != EMPTY_TREE else None  # the tool's own hash, where it tells one
        return Skill(
            id=self.ids.of("", name), name=name, description="", body="", tree=tree, frontmatter={}, hash=known, where=where
        )

    def _suite(self, skill: str) -> Suite:
        cases = dict.fromkeys(group.case for group in self.order if group.skill == skill)
        made = tuple(self._case(skill, case) for case in cases)
        return Suite(
            skill=self.ids.of("", skill),
            dialect=self.found.format,
            cases=made,
            digest=digest("\n".join(case.to_json() for case in made).encode()),
            where=Where(file=str(self.found.folder)),
        )

    def _case(self, skill: str, case: str) -> Case:
        task = self.found.tasks[skill, case]
        return Case(
            id=self.ids.of(skill, case),
            given_id=task.given_id if task.given_id is not None else case,
            name=task.name,
            prompt=task.prompt,
            expected_output=task.expected,
            checks=tuple(self.checks[skill, case].values()),
            should_trigger=task.should_trigger,
            forced=task.forced,
            tags=task.tags,
            extra=task.extra,
            where=Where(file=str(self.found.folder)),
        )

    def _arms(self) -> Iterator[Arm]:
        for skill, name in dict.fromkeys((group.skill, group.arm) for group in self.order):
            staged = () if name == WITHOUT_SKILL else (self.found.skills[skill],)
            yield Arm(name=name, skill=self.ids.of("", skill), trees=staged, subject=skill if staged else None)

    def _contrasts(self) -> Iterator[Contrast]:
        for skill in self.found.skills:
            arms = list(dict.fromkeys(group.arm for group in self.order if group.skill == skill))
            for place, (arm, baseline) in enumerate(contrasts(arms, self.found.contrasts.get(skill))):
                yield Contrast(skill=self.ids.of("", skill), arm=arm, baseline=baseline, primary=place == 0)

    def _group(self, group: Group) -> CellGroup:
        task = self.found.tasks[group.skill, group.case]
        tree = "" if group.arm == WITHOUT_SKILL else self.found.skills[group.skill].digest
        checks = self.checks[group.skill, group.case].values()
        return CellGroup(
            skill=self.ids.of("", group.skill),
            case=self.ids.of(group.skill, group.case),
            target=group.target,
            arm=group.arm,
            repetitions=self.found.planned[group],
            inputs=digest("\0".join((*group, task.prompt, tree)).encode()),
            checks=digest("\n".join(check.to_json() for check in checks).encode()),
        )

    def _set_aside(self) -> Iterator[SetAside]:
        for (skill, case), checks in self.aside.items():
            for check, reason in checks.items():
                yield SetAside(check=check, skill=self.ids.of("", skill), case=self.ids.of(skill, case), reason=reason)

    # ------------------------------------------------------------ the cells
    def fill(self, view: ForeignExperiment) -> None:
        by_group = dict(zip(self.order, view.plan.groups, strict=True))
        for (group, repetition), run in self.everything.items():
            cell = cell_of(by_group[group], repetition, view.plan.seed)
            evidence = self._evidence(cell, run, view)
            line = _line(evidence)
            view._lines[cell.id] = (line, evidence)
            if run.rows is not None and run.outcome == "ok":
                view._gradings[cell.id] = self._grading(cell, run, line, by_group[group].checks)
            if run.calls:
                view._calls[cell.id] = run.calls
        if self.found.stop_reason:
            view._stops = (StopLine(rule="imported", after_blocks=0, reason=self.found.stop_reason, at=""),)

    def _evidence(self, cell: Cell, run: Run, view: ForeignExperiment) -> Evidence:
        return Evidence(
            cell=cell.id,
            inputs=cell.inputs,
            attempt=1,
            outcome=run.outcome,
            reason=run.reason,
            text=run.text,
            events=run.events,
            activation=run.activation or self._activation(run),
            usage=run.usage,
            timing=Timing(started_at=run.started_at, duration_s=run.duration_s, turns=run.turns),
            delta=_delta(run, view._blobs),
            logs=tuple(_refs(run.logs, view._blobs)[0]),
            sent=_kept(run.sent, view._blobs),
            warnings=run.warnings,
            sandbox="unknown",
            model=run.model,
            program_version=run.version,
            source="imported",
        )

    def _activation(self, run: Run) -> Activation:
        if run.arm == WITHOUT_SKILL:
            return "none_expected"
        return "forced" if self.found.tasks[run.skill, run.case].forced else "unknown"

    def _grading(self, cell: Cell, run: Run, line: EvidenceLine, checks: str) -> GradingLine:
        return GradingLine(
            cell=cell.id,
            attempt=1,
            evidence=line.digest,
            checks=checks,
            number=1,
            grades=tuple(_grade(key, row) for key, row in named(run.rows or ())),
            judge_usage=run.judge_usage,
            judge_calls=len(run.calls),
        )


class _Ids:
    """Names that are safe in paths, different also where a file system ignores case; one scope per skill."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._taken: set[tuple[str, str]] = set()

    def of(self, scope: str, name: str) -> str:
        known = self._known.get((scope, name))
        if known is not None:
            return known
        safe = safe_name(name)
        if (scope, safe.casefold()) in self._taken:
            safe = f"{safe[:90]}-{digest(name.encode())[7:15]}"
        self._taken.add((scope, safe.casefold()))
        self._known[scope, name] = safe
        return safe


# ---------------------------------------------------------------- records
def _ordered(planned: Mapping[Group, int]) -> list[Group]:
    """Groups by skill, case and target as found; arms under test before baselines."""
    skills = {name: place for place, name in enumerate(dict.fromkeys(group.skill for group in planned))}
    cases = {key: place for place, key in enumerate(dict.fromkeys((group.skill, group.case) for group in planned))}
    targets = {name: place for place, name in enumerate(dict.fromkeys(group.target for group in planned))}
    return sorted(
        planned,
        key=lambda group: (
            skills[group.skill],
            cases[group.skill, group.case],
            targets[group.target],
            group.arm in BASELINES,
        ),
    )


def _check(key: str, row: Row) -> Check:
    return Check(
        id=key,
        type=row.type,
        text=row.text,
        required=row.required,
        scored=row.scored,
        weight=row.weight,
        arms=row.arms,
        options=row.options,
    )


def _grade(key: str, row: Row) -> Grade:
    return Grade(
        check=key,
        state=row.state,
        reason=row.reason,
        method=row.method,
        score=row.score,
        required=row.required,
        scored=row.scored,
        weight=row.weight,
        votes=row.votes,
    )


def _line(evidence: Evidence) -> EvidenceLine:
    body = evidence.to_json().encode("utf-8", "backslashreplace")
    return EvidenceLine(
        cell=evidence.cell,
        attempt=1,
        inputs=evidence.inputs,
        outcome=evidence.outcome,
        reason=evidence.reason,
        usage=evidence.usage,
        duration_s=evidence.timing.duration_s,
        started_at=evidence.timing.started_at,
        activation=evidence.activation,
        clean_reason=NO_SIGHT,
        tool_calls=sum(event.kind == "tool_call" for event in evidence.events) if evidence.events is not None else None,
        model=evidence.model,
        source="imported",
        pack="",
        offset=0,
        size=len(body),
        digest=digest(body),
    )


def _delta(run: Run, blobs: dict[str, bytes | Path]) -> Delta | None:
    """None: nothing is known of its files."""
    if not run.outputs and run.git is None:
        return None
    refs, cut = _refs(run.outputs, blobs)
    return Delta(created=tuple(refs), git=run.git, truncated=cut or not run.outputs)


def _refs(files: Mapping[str, Path], blobs: dict[str, bytes | Path]) -> tuple[list[FileRef], bool]:
    """The files by content, and whether some were left out: too many, too large, links."""
    refs, cut = [], len(files) > MOST_FILES
    for name, path in list(files.items())[:MOST_FILES]:
        read = read_capped(path, FILE_BYTES)
        if read is None or read.truncated:
            cut = True
            continue
        key = digest(read.data)
        blobs[key] = path
        refs.append(FileRef(path=name, size=read.size, digest=key))
    return refs, cut


def _kept(sent: JsonObject | None, blobs: dict[str, bytes | Path]) -> FileRef | None:
    if sent is None:
        return None
    data = json.dumps(sent, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
    blobs[digest(data)] = data
    return FileRef(path="sent.json", size=len(data), digest=digest(data))
