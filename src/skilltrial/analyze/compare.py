"""Two experiments: which cases changed, and what else differs between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from skilltrial.analyze.analysis import Analysis, analysed
from skilltrial.analyze.contests import lift_rows
from skilltrial.analyze.rates import rate_rows
from skilltrial.analyze.table import Key
from skilltrial.analyze.tallies import Tally
from skilltrial.records.comparison import CaseChange, Change, Compared, LiftChange, LiftSide, RateChange
from skilltrial.records.plan import Plan
from skilltrial.records.summary import Interval, Lift, Rate
from skilltrial.seams import ExperimentView
from skilltrial.stats.lift import pair
from skilltrial.stats.limits import TIE

ENOUGH = 3
"""Repetitions on each side from which a case can be called changed."""


def compare(a: ExperimentView, b: ExperimentView) -> Compared:
    """What changed from `a` to `b`, under the metric of `b`.

    Targets are matched by name; where no name is shared and each has one target, those are matched.
    """
    second = analysed(b)
    first = analysed(a, second.metric)
    renamed = _matched(a.plan, b.plan)
    cases = tuple(_cases(first, second, renamed))
    worse = any(row.change == "worse" and row.arm in second.tested for row in cases)
    return Compared(
        a=a.plan.experiment,
        b=b.plan.experiment,
        metric=second.metric,
        rates=tuple(_rates(first, second, renamed)),
        lifts=tuple(_lifts(first, second, renamed)),
        cases=cases,
        counts=dict(Counter(row.change for row in cases)),
        warnings=tuple(_warnings(first, second, renamed)),
        got_worse=worse,
    )


def _matched(a: Plan, b: Plan) -> dict[str, str]:
    """Target names of `a` as they are called in `b`."""
    names_a, names_b = [target.name for target in a.targets], [target.name for target in b.targets]
    if len(names_a) == len(names_b) == 1:
        return {names_a[0]: names_b[0]}
    return {name: name for name in names_a}


def _cases(first: Analysis, second: Analysis, renamed: Mapping[str, str]) -> Iterator[CaseChange]:
    old = {key._replace(target=renamed.get(key.target, key.target)): tally for key, tally in first.tallies.items()}
    for key in dict.fromkeys([*second.tallies, *old]):
        yield _case(key, old.get(key), second.tallies.get(key))


def _case(key: Key, one: Tally | None, other: Tally | None) -> CaseChange:
    change: Change = "not measured" if one and other else "only in a" if one else "only in b"
    difference = low = high = None
    if one and other and one.scores and other.scores:
        found = pair([other.scores], [one.scores])
        difference, (low, high) = found.lift, found.interval()
        change = _change(difference, low, high, min(len(one.scores), len(other.scores)))
    return CaseChange(
        skill=key.skill,
        case=key.case,
        target=key.target,
        arm=key.arm,
        change=change,
        rate_a=one.mean if one else None,
        rate_b=other.mean if other else None,
        cells_a=len(one.scores) if one else 0,
        cells_b=len(other.scores) if other else 0,
        difference=difference,
        low=low,
        high=high,
    )


def _change(difference: float, low: float, high: float, fewest: int) -> Change:
    if abs(difference) <= TIE:
        return "same"
    if fewest >= ENOUGH and (low > TIE or high < -TIE):
        return "better" if difference > 0 else "worse"
    return "flipped"


def _rates(first: Analysis, second: Analysis, renamed: Mapping[str, str]) -> Iterator[RateChange]:
    def by_key(rows: tuple[Rate, ...], names: Mapping[str, str]) -> dict[tuple[str, str, str, str], Rate]:
        return {(row.skill, names.get(row.target, row.target), row.arm, row.activation): row for row in rows}

    old = by_key(rate_rows(first.table, first.tallies.values(), {}), renamed)
    new = by_key(rate_rows(second.table, second.tallies.values(), {}), {})
    for key in dict.fromkeys([*new, *old]):
        row = new.get(key) or old[key]
        yield RateChange(
            skill=row.skill, target=key[1], arm=row.arm, activation=row.activation, a=_rate(old.get(key)), b=_rate(new.get(key))
        )


def _rate(row: Rate | None) -> Interval:
    return Interval(value=row.pass_rate, low=row.low, high=row.high) if row else Interval()


def _lifts(first: Analysis, second: Analysis, renamed: Mapping[str, str]) -> Iterator[LiftChange]:
    def by_key(rows: tuple[Lift, ...], names: Mapping[str, str]) -> dict[tuple[str, ...], Lift]:
        return {(row.skill, names.get(row.target, row.target), row.arm, row.baseline, row.activation): row for row in rows}

    old, new = by_key(lift_rows(first.contests), renamed), by_key(lift_rows(second.contests), {})
    for key in dict.fromkeys([*new, *old]):
        row = new.get(key) or old[key]
        yield LiftChange(
            skill=row.skill,
            target=key[1],
            arm=row.arm,
            baseline=row.baseline,
            activation=row.activation,
            a=_lift(old.get(key)),
            b=_lift(new.get(key)),
        )


def _lift(row: Lift | None) -> LiftSide:
    if row is None:
        return LiftSide()
    return LiftSide(lift=row.lift, low=row.low, high=row.high, verdict=row.verdict, cases=row.cases)


def _warnings(first: Analysis, second: Analysis, renamed: Mapping[str, str]) -> Iterator[str]:
    a, b = first.table, second.table
    for old, new in renamed.items():
        if old != new:
            yield f"target {old} of a is compared with target {new} of b"
        for what, one, other in (
            ("sandbox level", a.levels.get(old), b.levels.get(new)),
            ("model", _joined(a.models.get(old)), _joined(b.models.get(new))),
        ):
            if one and other and one != other:
                yield f"{new}: {what} was {one}, now {other}"
    versions = {target.name: target.program_version for target in b.plan.targets}
    for target in a.plan.targets:
        one, other = target.program_version, versions.get(renamed[target.name])
        if one and other and one != other:
            yield f"{renamed[target.name]}: program version was {one}, now {other}"
    yield from _inputs(a.plan, b.plan, renamed)


def _joined(names: set[str] | None) -> str | None:
    return ", ".join(sorted(names)) if names else None


def _inputs(a: Plan, b: Plan, renamed: Mapping[str, str]) -> Iterator[str]:
    trees = {skill.id: skill.tree.digest for skill in a.skills}
    for skill in b.skills:
        if trees.get(skill.id, skill.tree.digest) != skill.tree.digest:
            yield f"{skill.id}: the skill's files differ"
    groups = {Key(one.skill, one.case, renamed.get(one.target, one.target), one.arm): one for one in a.groups}
    checks: dict[str, None] = {}
    prompts: dict[str, None] = {}
    cases_a = {(suite.skill, case.id): case for suite in a.suites for case in suite.cases}
    for group in b.groups:
        old = groups.get(Key(group.skill, group.case, group.target, group.arm))
        if old is not None and old.checks != group.checks:
            checks[f"{group.skill}::{group.case}"] = None
    for suite in b.suites:
        for case in suite.cases:
            before = cases_a.get((suite.skill, case.id))
            if before is not None and (before.prompt, before.fixtures.digest) != (case.prompt, case.fixtures.digest):
                prompts[f"{suite.skill}::{case.id}"] = None
    if checks:
        yield f"checks differ in {', '.join(checks)}"
    if prompts:
        yield f"prompts or files differ in {', '.join(prompts)}"
    judges = [plan.judge.target.name if plan.judge else "none" for plan in (a, b)]
    if (a.judge.digest if a.judge else None) != (b.judge.digest if b.judge else None):
        yield f"judge was {judges[0]}, now {judges[1]}" if judges[0] != judges[1] else f"the settings of judge {judges[1]} differ"
