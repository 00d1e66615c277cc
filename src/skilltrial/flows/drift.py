"""What differs between an experiment's copies of its inputs and the disk by now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from skilltrial import load
from skilltrial.errors import UsageError
from skilltrial.records.config import Config, SuiteConfig
from skilltrial.records.plan import Plan
from skilltrial.records.suite import Suite


def suites_on_disk(plan: Plan) -> Iterator[tuple[Suite, Suite | None]]:
    """Each suite of the plan with what its file holds today; None where it cannot be read any more."""
    for suite in plan.suites:
        loaded = _today(plan, suite)
        if loaded is None:
            yield suite, None
            continue
        ids = {case.id for case in suite.cases}
        cases = tuple(case for today in loaded.suites for case in today.cases if case.id in ids)
        yield suite, suite.model_copy(update={"cases": cases})


def drift(plan: Plan) -> Iterator[str]:
    """One sentence for each skill or suite that is not what it was when the experiment began."""
    for suite in plan.suites:
        loaded = _today(plan, suite)
        if loaded is None:
            yield f"the suite {suite.where.file} cannot be read by now; the copies made then are used"
            continue
        planned = next(skill for skill in plan.skills if skill.id == suite.skill)
        if any(skill.tree.digest != planned.tree.digest for skill in loaded.skills):
            yield f"the skill '{planned.name}' has changed since; the copy made then is used"
        before = {case.id: case for case in suite.cases}
        today = {case.id: case for other in loaded.suites for case in other.cases}
        changed = [name for name, case in before.items() if name in today and case.prompt != today[name].prompt]
        gone = [name for name in before if name not in today]
        if changed or gone:
            names = ", ".join([*changed, *gone][:5])
            yield f"cases of '{planned.name}' have changed since ({names}); the copies made then are used"


def _today(plan: Plan, suite: Suite) -> load.Loaded | None:
    skill = next(skill for skill in plan.skills if skill.id == suite.skill)
    pair = SuiteConfig(skill=str(Path(skill.where.file).parent), evals=suite.where.file)
    try:
        loaded = load.project(Config(suites=(pair,)), Path.cwd(), digests=True)
    except UsageError:
        return None
    return None if loaded.errors or not loaded.skills else loaded
