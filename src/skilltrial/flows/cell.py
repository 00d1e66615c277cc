"""One cell from start to end: a place, a run, its evidence, its grades; each step on disk before the next."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import NamedTuple

from skilltrial import collect, graders
from skilltrial import plan as planning
from skilltrial.errors import CellError
from skilltrial.flows import budgets, cleanliness, git_state, hooks, leftovers, packets
from skilltrial.flows.bench import Bench
from skilltrial.flows.desk import CellDesk
from skilltrial.flows.newsroom import now
from skilltrial.flows.places import workspace_for
from skilltrial.flows.watch import CellWatch
from skilltrial.graders import contract
from skilltrial.records.evidence import AgentRun, Delta, Evidence, GitDelta, Timing, Usage
from skilltrial.records.grades import Grade, Grading, JudgedBy
from skilltrial.records.journal import Result
from skilltrial.records.plan import Cell
from skilltrial.records.suite import Limits, is_live
from skilltrial.seams import Awaiting, Capabilities, Done, EvidenceView, Job
from skilltrial.workspaces import Workspace

RETRIED = frozenset({"infrastructure_error"})


class Measured(NamedTuple):
    """A stored run and how graders see it."""

    evidence: Evidence
    view: EvidenceView
    digest: str
    setup: bool
    interrupted: bool
    root: Path | None = None
    """The folder it ran in, while that is there."""


def run_cell(cell: Cell, bench: Bench) -> Done:
    """Runs what is missing of a cell and appends it to the journal. An interrupted step leaves the cell as it was."""
    bench.newsroom.tell("cell_started", cell=cell.id)
    with ExitStack() as place:  # graders read the run's files where it left them
        return _run_cell(cell, bench, place)


def _run_cell(cell: Cell, bench: Bench, place: ExitStack) -> Done:
    before = stored(cell, bench) if bench.experiment.need(cell.id) == "grade" else None
    measured = before or measure(cell, bench, place)
    if measured is None:
        bench.newsroom.tell("cell_waiting", cell=cell.id)
        return Done(cell, "harness_error", packets.WAITING, Usage(), None, 0, resting=True)
    if measured.interrupted:
        return Done(cell, "harness_error", "interrupted", Usage(), None, 0, resting=True)
    evidence = measured.evidence
    kept = decided(cell, bench) if before else ()
    graded = grade_cell(cell, bench, measured, kept=kept) if evidence.outcome == "ok" else None
    if graded is not None and not graded.stored:
        return Done(cell, evidence.outcome, "interrupted", evidence.usage, graded.usage, graded.calls, resting=True)
    if graded is not None and graded.waiting:
        bench.newsroom.tell("cell_waiting", cell=cell.id)
    else:
        _announce(cell, bench, evidence, graded)
    unable = graded.unable if graded else None
    return Done(
        cell,
        evidence.outcome,
        evidence.reason or unable,
        evidence.usage if before is None else Usage(),
        graded.usage if graded else None,
        (graded.calls if graded else 0) + (before is None),
        measured.setup or unable is not None,
        graded is not None and not graded.waiting,
    )


def decided(cell: Cell, bench: Bench) -> tuple[Grade, ...]:
    """The verdicts that an unfinished grading did reach: they stand, some were given on text that is masked by now."""
    grading = bench.experiment.result_of(cell).grading
    return tuple(grade for grade in grading.grades if grade.state != "ungraded") if grading else ()


def _announce(cell: Cell, bench: Bench, evidence: Evidence, graded: Graded | None) -> None:
    judge_usage = graded.usage if graded else None
    costs = [usage.cost_usd for usage in (evidence.usage, judge_usage) if usage and usage.cost_usd is not None]
    bench.newsroom.finished(sum(costs) if costs else None)
    required = [grade for grade in graded.grades if grade.required and grade.scored] if graded else []
    states = {grade.state for grade in required}
    state = "ungraded" if not required or "ungraded" in states else "failed" if "failed" in states else "passed"
    usage = evidence.usage
    bench.newsroom.tell(
        "cell_finished" if evidence.outcome == "ok" else "cell_failed",
        cell=cell.id,
        outcome=evidence.outcome,
        state=state if graded else None,
        passed=sum(grade.state == "passed" for grade in required) if required else None,
        total=len(required) or None,
        reason=evidence.reason,
        duration_s=evidence.timing.duration_s,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
    )


# ---------------------------------------------------------------- the run
def measure(cell: Cell, bench: Bench, place: ExitStack) -> Measured | None:
    """Runs the cell, again after an outage as often as the plan allows, and stores every attempt; None: its packet waits.

    The workspace of the last attempt is there until `place` closes.
    """
    attempt = bench.experiment.next_attempt(cell.id) - 1
    tries = 1 + bench.plan.options.retries
    while True:
        attempt, tries = attempt + 1, tries - 1
        place.close()
        workspace = place.enter_context(_workspace(cell, bench))
        repository = None if _able(cell, bench).deferred else git_state.watched(cell, bench, workspace)
        started, began = now(), time.monotonic()
        bench.newsroom.tell("agent_started", cell=cell.id)
        try:
            run = _attempt(cell, bench, workspace)
        except CellError as error:
            run = _broken(error, started, began)
        if isinstance(run, Awaiting):
            return None
        measured = _record(cell, bench, workspace, repository, run, attempt, tries)
        if measured.interrupted or run.setup or not tries or not _may_retry(measured.evidence):
            return measured


def _may_retry(evidence: Evidence) -> bool:
    if evidence.outcome not in RETRIED:
        return False
    delta = evidence.delta or Delta()
    git = delta.git or GitDelta()
    moved = git.removed or git.head != git.head_before or git.branch_heads or git.pushed or git.review_requests
    return not (delta.created or delta.changed or delta.deleted or delta.truncated or moved)


def _broken(error: CellError, started: str, began: float) -> AgentRun:
    timing = Timing(started_at=started, duration_s=round(time.monotonic() - began, 4))
    return AgentRun(outcome="harness_error", reason=str(error), timing=timing)


def _attempt(cell: Cell, bench: Bench, workspace: Workspace | None) -> AgentRun | Awaiting:
    lookup, case, able = bench.lookup, bench.lookup.case(cell), _able(cell, bench)
    limits = limits_of(cell, bench)
    job = Job(
        cell=cell.id,
        prompt=_prompt(cell, bench),
        blobs=bench.experiment.blobs,
        seed=cell.seed,
        limits=limits,
        skills=lookup.skills_of(cell),
        fixtures=case.fixtures,
        stage=planning.stage_of(case, able),
        params={**lookup.targets[cell.target].params, **case.params},
        tools=case.tools,
        tool_choice=case.tool_choice,
        mocks=case.mocks if able.mcp else (),
        forced=case.forced and bool(lookup.skills_of(cell)),
        place=workspace.place if workspace else None,
        own_home=not lookup.targets[cell.target].user_home,
    )
    watch = CellWatch(limits, bench.machine.stopping)
    return packets.run(cell, job, watch, bench) if able.deferred else bench.runners[cell.target].run(job, watch)


def _prompt(cell: Cell, bench: Bench) -> str:
    """The task; a forced case calls for its skill where there is one. Agent programs have their own words for that."""
    case, skills = bench.lookup.case(cell), bench.lookup.skills_of(cell)
    if not (case.forced and skills) or hasattr(bench.backends[cell.target], "force"):
        return case.prompt
    return f"Use the {skills[0].name} skill.\n\n{case.prompt}"


def limits_of(cell: Cell, bench: Bench) -> Limits:
    """The case's own caps over the experiment's; the target's time limit; a cap on output only by the adapter's protocol."""
    target, options = bench.lookup.targets[cell.target], bench.plan.options
    limits = planning.limits_of(bench.lookup.case(cell), target, options)
    if _able(cell, bench).own_environment:
        return limits
    return limits.model_copy(update={"output_bytes": limits.output_bytes or options.max_output_bytes})


def _able(cell: Cell, bench: Bench) -> Capabilities:
    return bench.backends[cell.target].capabilities


def _workspace(cell: Cell, bench: Bench) -> AbstractContextManager[Workspace | None]:
    """A fresh workspace for a target that works in one; None for one that touches no files."""
    case, able = bench.lookup.case(cell), _able(cell, bench)
    if able.deferred:
        return packets.workspace(cell, planning.stage_of(case, able), bench)
    return workspace_for(
        bench,
        bench.lookup.targets[cell.target],
        bench.backends[cell.target],
        fixtures=case.fixtures,
        stage=planning.stage_of(case, able),
        skills=bench.lookup.skills_of(cell),
        stage_files=case.stage_files,
        git=git_state.needed_by(cell, bench),
        source=bench.source,
        live=is_live(case),
        mocks=bool(case.mocks),
    )


def _record(
    cell: Cell,
    bench: Bench,
    workspace: Workspace | None,
    repository: git_state.Watched | None,
    run: AgentRun,
    attempt: int,
    tries: int,
) -> Measured:
    """Stores the run before anything else happens. Only a retry that may follow makes an attempt not counted."""
    delta, read = collect.delta(workspace) if workspace else (None, None)
    delta, states = repository.after(delta) if repository and delta else (delta, None)
    if delta and bench.source:
        delta = delta.model_copy(update={"given": git_state.given(bench.lookup.case(cell), bench.source, bench.experiment.blobs)})
    run = _with_removed_markers(run, workspace)
    run = budgets.priced(run, bench.lookup.targets[cell.target], bench.backends[cell.target])
    case = bench.lookup.case(cell)
    evidence = collect.evidence(
        cell=cell.id,
        inputs=cell.inputs,
        attempt=attempt,
        run=run,
        delta=delta,
        read=read,
        states=states,
        sandbox=workspace.place.level if workspace else "none",
        walls=getattr(workspace.place, "facts", None) if workspace else None,
        redactor=bench.machine.redactor,
        blobs=bench.experiment.blobs,
        source="answered" if _able(cell, bench).deferred else "ran",
    )
    interrupted = bench.machine.stopping() and run.outcome != "ok"
    view = collect.LiveView(
        evidence, run=run, read=read, case=case, stage=planning.stage_of(case, _able(cell, bench)), blobs=bench.experiment.blobs
    )
    if interrupted:
        return Measured(evidence, view, "", run.setup, True)
    counted = not (tries and not run.setup and _may_retry(evidence))
    subject = bench.lookup.skills[cell.skill]
    arm = bench.lookup.arms[cell.skill, cell.arm]
    able = _able(cell, bench)
    clean = cleanliness.verdict(run, arm, subject, case, able, bench.experiment.blobs)
    calls = sum(event.kind == "tool_call" for event in run.events) if run.events is not None else None
    line = bench.experiment.append_evidence(
        evidence, counted=counted, clean=clean.clean, clean_reason=clean.reason, tool_calls=calls, durable=able.program
    )
    bench.newsroom.tell("agent_finished", cell=cell.id, outcome=run.outcome, reason=evidence.reason)
    if workspace and _keep(bench, evidence):
        workspace.keep()
        leftovers.kept(bench.experiment, workspace.root)
    return Measured(evidence, view, line.digest, run.setup, False, workspace.root if workspace else None)


def _with_removed_markers(run: AgentRun, workspace: Workspace | None) -> AgentRun:
    """Says which session markers of an enclosing agent were taken out of the environment."""
    removed = getattr(workspace.place, "removed", ()) if workspace else ()
    if not removed:
        return run
    note = f"taken out of the environment: {', '.join(sorted(removed))}"
    return run.model_copy(update={"warnings": (*run.warnings, note)})


def _keep(bench: Bench, evidence: Evidence) -> bool:
    wish = bench.plan.options.keep_workspaces
    return wish == "all" or (wish == "failed" and evidence.outcome != "ok")


# ---------------------------------------------------------------- the grades
class Graded(NamedTuple):
    """What grading a cell came to."""

    grades: tuple[Grade, ...]
    usage: Usage | None
    """Of the judge."""
    calls: int
    stored: bool
    """False: the user stopped while the judge was asked; the cell will be graded by `resume`."""
    unable: str | None = None
    """Why the judge cannot work at all: wrong key, unknown model, nobody there."""
    waiting: bool = False
    """A question to the judge has no reply yet."""


def stored(cell: Cell, bench: Bench, result: Result | None = None) -> Measured | None:
    """The evidence on disk, for a cell that only lacks grades; None: its bytes are not what the journal vouches for."""
    result = result or bench.experiment.result_of(cell)
    record = bench.experiment.evidence(result)
    if record is None or result.evidence is None:
        return None
    case = bench.lookup.case(cell)
    stage = planning.stage_of(case, _able(cell, bench))
    view = collect.StoredView(record, case=case, stage=stage, blobs=bench.experiment.blobs)
    return Measured(record, view, result.evidence.digest, False, False)


def grade_cell(cell: Cell, bench: Bench, measured: Measured, number: int = 1, kept: tuple[Grade, ...] = ()) -> Graded:
    """Grades a measured cell and stores the grades.

    `kept` are earlier rows that stay: those of other methods, a judge's where there is none now, and those whose input
    is masked on disk by now.
    """
    desk = CellDesk(bench, cell)
    stay = {grade.check: grade for grade in kept}
    asked = bench.lookup.checks(cell)
    fresh = graders.grade(bench.lookup.case(cell), [check for check in asked if check.id not in stay], measured.view, desk)
    fresh = packets.undecided(fresh) if desk.waiting else fresh
    usage, calls = desk.usage, len(desk.calls)
    if bench.machine.stopping() and any(call.outcome != "ok" for call in desk.calls):
        return Graded(fresh, usage, calls, False)
    by_id = {**stay, **{grade.check: grade for grade in fresh}}
    order = [check.id for check in asked if check.id in by_id]
    grades = tuple(by_id[name] for name in order) + tuple(grade for grade in kept if grade.check not in order)
    if desk.waiting and bench.experiment.result_of(cell).grading is not None:
        return Graded(grades, None, 0, True, waiting=True)
    if number == 1 and not desk.waiting:
        grades += tuple(_unasked(cell, bench, measured, grades))
        if bench.plan.hooks.post_grade and bench.machine.stopping():
            return Graded(grades, usage, calls, False)
    bench.experiment.append_grading(
        Grading(
            cell=cell.id,
            evidence=measured.digest,
            checks=bench.lookup.groups[cell[:4]].checks,
            number=number,
            grades=grades,
            calls=tuple(desk.calls),
            judge=_other_judge(bench) if desk.calls else None,
        ),
        measured.evidence.attempt,
        judge_usage=usage,
    )
    if not desk.waiting and any(grade.method == "judge" and grade.state == "ungraded" for grade in grades):
        bench.packets.spend(desk.heard)
    bench.newsroom.tell("cell_graded", cell=cell.id)
    return Graded(grades, usage, calls, True, desk.unable, desk.waiting)


def _other_judge(bench: Bench) -> JudgedBy | None:
    """The judge that stands in for the plan's; None: the plan's own."""
    judge, planned = bench.plan.judge, bench.experiment.plan.judge
    if judge is None or (planned is not None and judge.target == planned.target):
        return None
    return JudgedBy(backend=judge.target.backend, model=judge.target.value, home_field=judge.home_field)


def _unasked(cell: Cell, bench: Bench, measured: Measured, grades: tuple[Grade, ...]) -> Iterator[Grade]:
    """Rows beyond the checks, given once, at the run: the side-effect contract, what hooks said, limits exceeded."""
    given = {grade.check for grade in grades}
    kept = [row for row in contract.grades(bench.lookup.case(cell), measured.view) if row.check not in given]
    yield from kept
    grades = (*grades, *kept)
    if bench.plan.hooks.post_grade and not any(grade.method == "hook" for grade in grades):
        yield from hooks.of_cell(cell, bench, measured, grades)
    yield from (grade for grade in budgets.grades(cell, bench) if grade.check not in given)
