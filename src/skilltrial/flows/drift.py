"""What differs between an experiment's copies of its inputs and the disk by now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from skilltrial import load
from skilltrial.errors import UsageError
from skilltrial.records.config import Config, SuiteConfig
from skilltrial.records.plan import Plan
from skilltrial.records.suite import Case, Suite
from skilltrial.system.redaction import Redactor
from skilltrial.system.secret_shapes import MASK


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


def unmasked(plan: Plan, redactor: Redactor) -> dict[tuple[str, str], Case] | None:
    """Today's cases in place of those that the plan keeps masked, as their text held a secret; None: nothing is masked.

    Raises:
        UsageError: a masked case is not on disk any more as it was, so it cannot be sent as it was.
    """
    if not plan.redactions or not _masked_on_disk(plan):
        return None
    found: dict[tuple[str, str], Case] = {}
    lost = []
    for suite, today in suites_on_disk(plan):
        cases = {case.id: case for case in today.cases} if today else {}
        for case in suite.cases:
            now = cases.get(case.id)
            if now is not None and redactor.text(now.prompt)[0] == redactor.text(case.prompt)[0]:
                found[suite.skill, case.id] = now
            elif MASK in case.prompt:
                lost.append(f"{suite.skill}::{case.id}")
    if lost:
        raise UsageError(
            f"the prompts of {', '.join(lost)} held a secret, are stored masked, and have changed on disk since",
            "put the suite back as it was, or start a new run",
        )
    return found


def _masked_on_disk(plan: Plan) -> bool:
    """The plan came from disk, where prompts are masked; the one in memory of a new run still has them."""
    return any(MASK in case.prompt for suite in plan.suites for case in suite.cases)


def _today(plan: Plan, suite: Suite) -> load.Loaded | None:
    skill = next(skill for skill in plan.skills if skill.id == suite.skill)
    pair = SuiteConfig(skill=str(Path(skill.where.file).parent), evals=suite.where.file)
    try:
        loaded = load.project(Config(suites=(pair,)), Path.cwd(), digests=True)
    except UsageError:
        return None
    return None if loaded.errors or not loaded.skills else loaded
