"""Shell commands of the user around a run: before the first, after each grading, at the end.

They see what agent-skill-eval's hooks see, under our names and under its own, with absolute paths. Everything a hook
started is ended with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.flows.bench import Bench
from skilltrial.flows.desk import CellDesk
from skilltrial.flows.newsroom import Newsroom
from skilltrial.flows.out import FolderOut
from skilltrial.flows.watch import CellWatch
from skilltrial.formats import native
from skilltrial.records.grades import Grade
from skilltrial.records.hooks import HOOK_FAILED, HookRun, HookStage
from skilltrial.records.journal import GradingLine, Result
from skilltrial.records.plan import Cell, Plan
from skilltrial.records.suite import Limits, Suite
from skilltrial.seams import Access, Command, EvidenceView, Machine, Place, Stop
from skilltrial.store import Experiment
from skilltrial.system.files import remove_tree

TIMEOUT_S = 600.0
KEPT_BYTES = 262_144
"""Of what a hook prints, per stream."""
PREFIXES = ("SKILLTRIAL_", "ASE_")
_LONGEST_TEXT = 300
"""Characters of a row's text that become the name of its grade."""


class Row(NamedTuple):
    """One verdict that a hook printed."""

    text: str
    passed: bool | None
    """None: what it printed is no verdict."""
    evidence: str | None


class Seen(Protocol):
    """A measured cell as hooks need it."""

    @property
    def view(self) -> EvidenceView: ...

    @property
    def digest(self) -> str: ...

    @property
    def root(self) -> Path | None: ...


def of_cell(cell: Cell, bench: Bench, measured: Seen, grades: tuple[Grade, ...]) -> tuple[Grade, ...]:
    """What the post-grade hooks say about a cell that has these grades.

    The workspace is where the run left it; when that is gone (a resumed grading), fixtures and delta in a fresh folder.
    """
    hooks = Hooks(bench.experiment, bench.machine, bench.newsroom)
    result = bench.experiment.result_of(cell)
    graded = GradingLine(
        cell=cell.id,
        attempt=result.evidence.attempt if result.evidence else 1,
        evidence=measured.digest,
        checks=bench.lookup.groups[cell[:4]].checks,
        number=1,
        grades=grades,
    )
    result = result._replace(grading=graded)
    if measured.root is not None or measured.view.record.delta is None:
        return hooks.on_grades(result, measured.root)
    with CellDesk(bench, cell).scratch(measured.view) as place:
        return hooks.on_grades(result, place.root)


class Hooks:
    """Runs the hooks of one experiment and records each in `hooks.jsonl`."""

    def __init__(self, experiment: Experiment, machine: Machine, newsroom: Newsroom | None = None) -> None:
        self.experiment = experiment
        self.machine = machine
        self.newsroom = newsroom
        self.asked = experiment.plan.hooks
        self.timeout_s = self.asked.timeout_s or TIMEOUT_S

    def before(self) -> None:
        """Runs the pre-run hooks; the first that fails stops everything.

        Raises:
            UsageError: one failed; nothing has been run.
        """
        for command in self.asked.pre_run:
            ran = self._run("pre_run", command, _doubled(suite_variables(self.experiment)))
            if ran.failed:
                raise UsageError(f"the pre-run hook '{command}' {_how(ran, self.timeout_s)}{_tail(ran)}", "nothing was run")

    def after(self) -> tuple[HookRun, ...]:
        """Runs the post-run hooks; a failure is recorded and changes nothing else."""
        variables = _doubled(suite_variables(self.experiment))
        return tuple(self._run("post_run", command, variables) for command in self.asked.post_run)

    def on_grades(self, result: Result, workspace: Path | None) -> tuple[Grade, ...]:
        """Writes the cell's folder, runs the post-grade hooks, and makes grades of what they say.

        Args:
            result: the cell with all grades it has so far, not necessarily in the journal yet.
            workspace: where the run took place, as it left it.
        """
        out = FolderOut(self.experiment.folder, self.machine.redactor)
        native.write_cell(result, self.experiment, out)
        folder = (self.experiment.folder / native.cell_folder(result)).absolute()
        (folder / "outputs").mkdir(parents=True, exist_ok=True)
        variables = _doubled({**suite_variables(self.experiment, result.cell), **self._cell_variables(result, folder, workspace)})
        runs = [self._run("post_grade", command, variables, result.cell.id) for command in self.asked.post_grade]
        native.write_hooks(result, runs, out)
        return tuple(_unique([grade for ran in runs for grade in grades_of(ran, self.timeout_s)]))

    def _cell_variables(self, result: Result, folder: Path, workspace: Path | None) -> dict[str, str]:
        cell, plan = result.cell, self.experiment.plan
        cases = [case for suite in plan.suites if suite.skill == cell.skill for case in suite.cases if case.id == cell.case]
        target = next(target for target in plan.targets if target.name == cell.target)
        with_skill = any(arm.trees for arm in plan.arms if (arm.skill, arm.name) == (cell.skill, cell.arm))
        return {
            "EVAL_ID": _given(cases[0]) if cases else cell.case,
            "AGENT": target.backend,
            "TARGET": target.name,
            "ARM": cell.arm,
            "CELL_ID": cell.id,
            "WITH_SKILL": str(int(with_skill)),
            "RUN_INDEX": str(cell.repetition),
            "WORKSPACE_PATH": str(workspace.absolute()) if workspace else "",
            "OUTPUT_DIR": str(folder / "outputs"),
            "PRE_STATE_PATH": str(folder / "pre_state.json"),
            "POST_STATE_PATH": str(folder / "post_state.json"),
            "TIMING_PATH": str(folder / "timing.json"),
            "RUN_META_PATH": str(folder / "run_meta.json"),
            "GRADING_PATH": str(folder / "grading.json"),
        }

    def _run(self, stage: HookStage, command: str, variables: Mapping[str, str], cell: str | None = None) -> HookRun:
        ran = _ran(stage, command, variables, cell, self.timeout_s, self.machine)
        self.experiment.append_hook(ran)
        if self.newsroom is not None:
            reason = f"{stage.replace('_', '-')} '{command}' {_how(ran, self.timeout_s)}" if ran.failed else None
            self.newsroom.tell("hook_finished", cell=cell, reason=reason, duration_s=ran.duration_s)
        return ran


# ---------------------------------------------------------------- what a hook is told
def suite_variables(experiment: Experiment, cell: Cell | None = None) -> dict[str, str]:
    """The experiment and its suite, or the cell's; of several suites all, put together with ',' and paths as in PATH."""
    plan = experiment.plan
    suites = [suite for suite in plan.suites if cell is None or suite.skill == cell.skill]
    skills = [skill for skill in plan.skills if any(suite.skill == skill.id for suite in suites)]
    folder = experiment.folder.absolute()
    levels = [case.side_effects.level if case.side_effects else "local-only" for suite in suites for case in suite.cases]
    number = re.fullmatch(r"iteration-(\d+)", plan.experiment)
    return {
        "SKILL_NAME": ",".join(skill.name for skill in skills),
        "SKILL_HASH": ",".join(skill.tree.digest.removeprefix("sha256:") for skill in skills),
        "SKILL_DIR": os.pathsep.join(str(Path(skill.where.file).absolute().parent) for skill in skills),
        "EVALS_PATH": os.pathsep.join(dict.fromkeys(str(Path(suite.where.file).absolute()) for suite in suites)),
        "ITERATION": number[1] if number else plan.experiment,
        "ITERATION_DIR": str(folder),
        "WORKSPACE_BASE": str(folder.parent),
        "SOURCE_REPO": getattr(plan.options, "source_repo", None) or "",
        "RUN_ID": run_id(plan),
        "EVAL_IDS": ",".join(_ids(suites)),
        "SIDE_EFFECT_LEVELS": ",".join(sorted(set(levels))),
    }


def run_id(plan: Plan) -> str:
    """Eight hex digits that name this experiment among all."""
    return hashlib.sha256(f"{plan.experiment}\0{plan.created_at}\0{plan.digest}".encode()).hexdigest()[:8]


def _ids(suites: Sequence[Suite]) -> Iterator[str]:
    for suite in suites:
        yield from map(_given, suite.cases)


def _given(case: Any) -> str:
    return str(case.id if case.given_id is None else case.given_id)


def _doubled(variables: Mapping[str, str]) -> dict[str, str]:
    """Every variable under our name and under agent-skill-eval's."""
    return {prefix + name: value for name, value in variables.items() for prefix in PREFIXES}


# ---------------------------------------------------------------- running one
def _ran(
    stage: HookStage, command: str, variables: Mapping[str, str], cell: str | None, timeout_s: float, machine: Machine
) -> HookRun:
    output = bytearray()

    def keep(line: bytes) -> Stop | None:
        output.extend(line[: max(0, KEPT_BYTES - len(output))])
        return None

    limits, began, hide = Limits(timeout_s=timeout_s), time.monotonic(), machine.redactor.text
    code: int | None = None
    late, errors = False, b""
    try:
        with users_place(machine) as place:
            started = Command(_shell(command), variables, cwd=Path.cwd())
            ended = place.start(started, limits, keep, CellWatch(limits, machine.stopping))
            late = ended.stop is not None and ended.stop.outcome == "timeout"
            code = None if ended.stop else ended.code if ended.code is not None else -(ended.signal or 0)
            errors = ended.stderr
    except OSError as error:
        errors = str(error.strerror or error).encode()
    return HookRun(
        stage=stage,
        command=command,
        exit_code=code,
        timed_out=late,
        cell=cell,
        duration_s=round(time.monotonic() - began, 3),
        stdout=hide(bytes(output).decode("utf-8", "replace"))[0],
        stderr=hide(errors.decode("utf-8", "replace"))[0],
    )


@contextmanager
def users_place(machine: Machine) -> Iterator[Place]:
    """A place with the user's own environment and home, for programs of the user that are no part of a run."""
    folder = Path(tempfile.mkdtemp(prefix="skilltrial-hook-", dir=machine.temp))
    try:
        with registry.get("sandboxes", "none")().enter(folder, Access(keep_home=True)) as place:
            yield place
    finally:
        remove_tree(folder)


def _shell(command: str) -> tuple[str, ...]:
    if os.name == "nt":
        return (os.environ.get("COMSPEC", "cmd.exe"), "/c", command)
    return ("sh", "-c", command)


def _how(ran: HookRun, timeout_s: float) -> str:
    if ran.timed_out:
        return f"did not end within {timeout_s:g} s"
    return f"ended with status {ran.exit_code}" if ran.exit_code is not None else "could not be started"


def _tail(ran: HookRun) -> str:
    said = (ran.stderr.strip() or ran.stdout.strip())[-_LONGEST_TEXT:]
    return f": {said}" if said else ""


# ---------------------------------------------------------------- what a hook says
def grades_of(ran: HookRun, timeout_s: float = TIMEOUT_S) -> Iterator[Grade]:
    """One grade per row of a JSON list that it printed, and a failed one when it did not end with status 0."""
    for row in rows_in(ran.stdout):
        state = "ungraded" if row.passed is None else "passed" if row.passed else "failed"
        yield Grade.model_validate(
            {
                "check": f"hook: {row.text}",
                "state": state,
                "reason": row.evidence or f"the post-grade hook '{ran.command}' says so",
                "method": "hook",
                "required": row.passed is not None,
            }
        )
    if ran.failed:
        how = _how(ran, timeout_s)
        yield Grade(
            check=f"{HOOK_FAILED}{ran.command[:_LONGEST_TEXT]}", state="failed", reason=f"it {how}{_tail(ran)}", method="hook"
        )


def rows_in(printed: str) -> Iterator[Row]:
    """The verdicts in a JSON list of {text, passed, evidence}; nothing for any other output."""
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError):
        return
    for item in found if isinstance(found, list) else ():
        text = item.get("text") if isinstance(item, dict) else None
        passed = item.get("passed") if isinstance(item, dict) else None
        if isinstance(text, str) and text.strip() and isinstance(passed, bool):
            evidence = item.get("evidence")
            yield Row(" ".join(text.split())[:_LONGEST_TEXT], passed, evidence if isinstance(evidence, str) else None)
        else:
            shown = json.dumps(item, ensure_ascii=False)[:80]
            yield Row(f"no verdict: {shown}", None, 'a verdict is {"text": "…", "passed": true or false}')


def _unique(grades: list[Grade]) -> Iterator[Grade]:
    """The grades, equal names told apart by a number."""
    seen: dict[str, int] = {}
    for grade in grades:
        seen[grade.check] = count = seen.get(grade.check, 0) + 1
        yield grade if count == 1 else grade.model_copy(update={"check": f"{grade.check} ({count})"})
