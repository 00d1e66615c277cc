"""Checks that another tool asked nobody about and that a judge of ours decided later: they count from then on."""

from __future__ import annotations

from skilltrial.records.evidence import IMPORTED
from skilltrial.records.plan import Plan
from skilltrial.store.reading import Reading


def in_force(experiment: Reading) -> Plan:
    """The plan of an imported experiment without the set-aside checks that some grading has decided by now; else the plan as it is."""
    plan = experiment.plan
    if not plan.set_aside or not any(target.backend == IMPORTED for target in plan.targets):
        return plan
    decided = {
        (result.cell.skill, result.cell.case, grade.check)
        for result in experiment.results()
        if result.grading is not None
        for grade in result.grading.grades
        if grade.state != "ungraded"
    }
    left = tuple(row for row in plan.set_aside if (row.skill, row.case, row.check) not in decided)
    return plan if len(left) == len(plan.set_aside) else plan.model_copy(update={"set_aside": left})
