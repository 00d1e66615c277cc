"""Experiments that ran elsewhere: nothing can be run in them, and what their trees hold can be judged anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import ClassVar

from pydantic import ValidationError

from skilltrial import graders
from skilltrial.errors import UsageError
from skilltrial.graders import needs
from skilltrial.records.checks import CHECKS, JUDGED
from skilltrial.records.evidence import IMPORTED, Evidence
from skilltrial.records.grades import Grade
from skilltrial.records.journal import Result
from skilltrial.records.plan import Plan, Target
from skilltrial.records.record import Record
from skilltrial.records.suite import Case, Check
from skilltrial.seams import Capabilities, Machine, Probe, Runner
from skilltrial.store import Experiment

NO_ANSWER = "the imported tree holds no answer of this run and none of its files, so it cannot be judged anew"


class Elsewhere(Record):
    """The Backend seam for targets that ran in another tool: it has whatever their records have, and starts nothing."""

    name: ClassVar[str] = IMPORTED
    capabilities: ClassVar[Capabilities] = Capabilities(activation=True, tools=True, files=True, paid=False, delivery="installed")

    target: Target

    def probe(self, machine: Machine) -> Probe:
        return Probe(False, "it ran in another tool and cannot be started here")

    def open(self, machine: Machine) -> AbstractContextManager[Runner]:
        raise UsageError(f"{self.target.name} ran in {self.tool} and cannot be started here")

    def endpoint_name(self) -> str:
        return self.tool

    @property
    def tool(self) -> str:
        return str(self.target.options.get("format", "another tool"))


def ran_elsewhere(plan: Plan) -> bool:
    """Whether the experiment was imported."""
    return any(target.backend == IMPORTED for target in plan.targets)


def refuse_to_run(plan: Plan) -> None:
    """Raises UsageError for an experiment that was imported."""
    if ran_elsewhere(plan):
        tool = Elsewhere(target=plan.targets[0]).tool
        raise UsageError(
            f"{plan.experiment} was imported from a tree of {tool}: nothing can be run in it",
            "`skilltrial grade --judge …` judges its stored answers anew; `skilltrial run` starts a trial of your own",
        )


# ---------------------------------------------------------------- grading what is there
def judgeable(plan: Plan) -> Plan:
    """The plan with the sentences that its tool asked no judge about no longer set aside."""
    rubrics = {(suite.skill, case.id, check.id) for suite in plan.suites for case in suite.cases for check in case.checks
               if check.type in JUDGED}  # fmt: skip
    left = tuple(row for row in plan.set_aside if (row.skill, row.case, row.check) not in rubrics)
    return plan.model_copy(update={"set_aside": left})


def must_hold_answers(experiment: Experiment) -> None:
    """Raises UsageError where not one run of the tree has anything a judge could look at."""
    for result in experiment.results():
        evidence = experiment.evidence(result)
        if evidence is not None and evidence.outcome == "ok" and answered(evidence):
            return
    raise UsageError(
        f"{experiment.plan.experiment}: the imported tree holds no answers, so there is nothing to judge",
        "without --judge its stored verdicts stand",
    )


def answered(evidence: Evidence) -> bool:
    """There is a text or a file that the run left."""
    delta = evidence.delta
    return bool(evidence.text.strip()) or (delta is not None and bool(delta.created or delta.changed))


def kept(case: Case, result: Result, evidence: Evidence, *, with_judge: bool) -> Iterator[Grade]:
    """Rows that `grade` cannot compute anew: verdicts whose ground is not in the tree stay as the tool gave them.

    With a judge, a sentence about a run that left nothing to look at is ungraded, so that no other judge's verdict is mixed in.
    """
    given = {grade.check: grade for grade in (result.grading.grades if result.grading else ())}
    for check in case.checks:
        grade = given.get(check.id)
        if check.type in JUDGED:
            if with_judge and not answered(evidence):
                yield Grade(
                    check=check.id,
                    state="ungraded",
                    reason=NO_ANSWER,
                    required=check.required,
                    scored=check.scored,
                    weight=check.weight,
                )
        elif grade is not None and not _can_be_checked(check, evidence):
            yield grade


def _can_be_checked(check: Check, evidence: Evidence) -> bool:
    """Its kind and options are known, and the text or the very file it looks at is in the tree.

    That a file is missing from the tree says nothing: tools keep some of what a run left.
    """
    if check.type not in CHECKS or check.type not in graders.graders():
        return False
    try:
        CHECKS[check.type].model_validate(check.options)
    except ValidationError:
        return False
    wanted = needs(check)
    if not wanted:
        return bool(evidence.text)
    files = (*evidence.delta.created, *evidence.delta.changed) if evidence.delta else ()
    return wanted == {"files"} and check.options.get("path") in {file.path for file in files}
