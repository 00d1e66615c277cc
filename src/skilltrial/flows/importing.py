"""Another tool's tree becomes an experiment of ours: masked and stored like one that ran here, and marked as imported."""

from __future__ import annotations

from pathlib import Path

from skilltrial import collect, store
from skilltrial import plan as planning
from skilltrial.flows.newsroom import now
from skilltrial.formats._foreign import ForeignExperiment
from skilltrial.records.evidence import IMPORTED, AgentRun, Evidence
from skilltrial.records.grades import Grading, JudgeCall
from skilltrial.records.journal import Result
from skilltrial.records.plan import Plan, Target
from skilltrial.store import Experiment
from skilltrial.system.redaction import Redactor


def imported(view: ForeignExperiment, workspace: Path, redactor: Redactor, run_id: str | None = None) -> Experiment:
    """A new experiment with everything that the tree holds, open for writing.

    It has the tree's own date where one is known. Raises UsageError when the workspace cannot be written.
    """
    plan = _inert(view)
    made = store.create(workspace, lambda name: planning.named(plan, name, plan.created_at or now()), {}, redactor, run_id=run_id)
    try:
        for result in view.results():
            _take(result, view, made, redactor)
        for stop in view.stops():
            made.append_stop(stop)
    except BaseException:
        made.close()
        raise
    return made


def _inert(view: ForeignExperiment) -> Plan:
    """The plan with targets that name where the runs came from and cannot be started."""
    return view.plan.model_copy(update={"targets": tuple(_target(target, view.format) for target in view.plan.targets)})


def _target(target: Target, format_: str) -> Target:
    return target.model_copy(update={"backend": IMPORTED, "options": {"format": format_, "backend": target.backend}})


def _take(result: Result, view: ForeignExperiment, made: Experiment, redactor: Redactor) -> None:
    evidence = view.evidence(result)
    if evidence is None:
        return
    line = made.append_evidence(_stored(evidence, view, made, redactor), clean_reason=_reason(result))
    grading = result.grading
    if grading is not None:
        calls = tuple(JudgeCall(prompt=call["prompt"], reply=call["reply"], reason=call.get("reason"))
                      for call in view.transcript(result))  # fmt: skip
        made.append_grading(
            Grading(cell=line.cell, evidence=line.digest, checks=grading.checks, number=1, grades=grading.grades, calls=calls),
            1,
            judge_usage=grading.judge_usage,
            judge_calls=grading.judge_calls,
        )


def _reason(result: Result) -> str | None:
    return result.evidence.clean_reason if result.evidence else None


def _stored(evidence: Evidence, view: ForeignExperiment, made: Experiment, redactor: Redactor) -> Evidence:
    """The evidence with its texts and files masked, and the files in the experiment's blobs."""
    delta = evidence.delta
    files = {file.path: file.digest for file in (*delta.created, *delta.changed)} if delta else {}
    run = AgentRun(
        outcome=evidence.outcome,
        reason=evidence.reason,
        text=evidence.text,
        events=evidence.events,
        activation=evidence.activation,
        usage=evidence.usage,
        timing=evidence.timing,
        model=evidence.model,
        program_version=evidence.program_version,
        warnings=evidence.warnings,
        sent=view.sent(evidence),
        logs={log.path: view.blob(log.digest) or b"" for log in evidence.logs},
    )
    return collect.evidence(
        cell=evidence.cell,
        inputs=evidence.inputs,
        attempt=1,
        run=run,
        delta=delta,
        read=lambda path: view.blob(files[path]) if path in files else None,
        sandbox=evidence.sandbox,
        redactor=redactor,
        blobs=made.blobs,
        source=IMPORTED,
    )
