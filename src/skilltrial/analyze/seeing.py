"""Signs of the skill: activation, and whether each arm was what it claims to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from skilltrial.analyze.table import Table
from skilltrial.records.certificate import Certificate
from skilltrial.records.plan import Plan
from skilltrial.records.summary import ActivationRow, IsolationRow


def arms_with_skill(plan: Plan) -> frozenset[tuple[str, str]]:
    """(skill, arm) of all arms that see a skill."""
    return frozenset((arm.skill, arm.name) for arm in plan.arms if arm.trees)


def activation_rows(table: Table) -> Iterator[ActivationRow]:
    """How often the skill was seen to be used, over runs that ended ok."""
    staged = arms_with_skill(table.plan)
    for (skill, target, arm), seen in table.seen.items():
        if (skill, arm) in staged:
            signs = seen.activation
            yield ActivationRow(
                skill=skill,
                target=target,
                arm=arm,
                activated=signs["activated"],
                read=signs["read"],
                forced=signs["forced"],
                not_seen=signs["not_seen"],
                unknown=signs["unknown"],
                indicators_passed=seen.passed,
                indicators_failed=seen.failed,
            )


def isolation_rows(table: Table, certificates: Sequence[Certificate] = ()) -> Iterator[IsolationRow]:
    """Per target: False when one run was not clean, True when all were or a canary proved it, else None. No run, no row."""
    proved = {one.target: one for one in certificates}
    staged = arms_with_skill(table.plan)
    for target in dict.fromkeys(key.target for key in table.groups):
        with_skill: Counter[bool | None] = Counter()
        baseline: Counter[bool | None] = Counter()
        for (skill, own, arm), seen in table.seen.items():
            if own == target:
                (with_skill if (skill, arm) in staged else baseline).update(seen.clean)
        both = with_skill + baseline
        if both:
            proof = proved.get(target)
            clean: bool | None = not (both[False] or (proof is not None and proof.clean is False))
            if clean and both[None] and not (proof and proof.clean):
                clean = None
            yield IsolationRow(
                target=target,
                level=table.levels.get(target, "unknown"),
                clean=clean,
                reason=_reason(with_skill, baseline, proof, table.plan.options.certify),
            )


def _reason(with_skill: Counter[bool | None], baseline: Counter[bool | None], proof: Certificate | None, certify: bool) -> str:
    parts = [proof.reason] if proof and proof.clean is False else []
    if dirty := baseline[False]:
        parts.append(f"the skill was seen in {dirty} of {baseline.total()} baseline runs")
    if absent := with_skill[False]:
        parts.append(f"no evidence that the skill was available in {absent} of {with_skill.total()} runs with it")
    if parts:
        return "; ".join(parts)
    if proof is not None:
        return proof.reason
    if baseline[None] or with_skill[None]:
        untried = "" if certify else ", and no canary was run (--no-certify)"
        return f"this backend does not say which skills it sees{untried}"
    return ""
