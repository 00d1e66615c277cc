"""Suites, targets and settings become a Plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from skilltrial.errors import UsageError
from skilltrial.plan import digests, families, names, notes, settings
from skilltrial.plan.limits import stage_of
from skilltrial.records.checks import JUDGED
from skilltrial.records.config import Config
from skilltrial.records.plan import (
    WITH_SKILL,
    WITHOUT_SKILL,
    Arm,
    CellGroup,
    Contrast,
    Gate,
    Judge,
    Options,
    Plan,
    SetAside,
    Target,
)
from skilltrial.records.suite import Case, Check, Skill, Suite
from skilltrial.seams import Capabilities
from skilltrial.version import VERSION

CannotGrade = Callable[[Check, Capabilities, bool], str | None]
"""Why a check cannot be graded on a target, told whether there is a judge; None: it can."""
PAIRED = "the judge compares the two answers and grades none alone"
History = Mapping[str, tuple[float, float | None]]
"""Seconds and US dollars one cell took before, by inputs digest or `skill/case/target/arm`."""


class Candidate(NamedTuple):
    """A target and what its backend can do."""

    target: Target
    capabilities: Capabilities


class Ungradable(NamedTuple):
    """A case that nothing can grade on a target: `run` refuses before the first call, unless `--grade-later`."""

    skill: str
    case: str
    target: str
    reason: str


class Made(NamedTuple):
    """The plan, and the cases in it that cannot be graded."""

    plan: Plan
    ungradable: tuple[Ungradable, ...]


def make(
    *,
    skills: Sequence[Skill],
    suites: Sequence[Suite],
    targets: Sequence[Candidate],
    judge: Judge | None,
    config: Config,
    cannot_grade: CannotGrade,
    levels: Mapping[str, str] | None = None,
    history: History | None = None,
    skipped_skills: Sequence[str] = (),
    invalid_skills: Mapping[str, str] | None = None,
    set_aside: Sequence[SetAside] = (),
    experiment: str = "",
    created_at: str = "",
) -> Made:
    """The plan of an experiment. Runs and reads nothing; the same input gives the same plan.

    Ids of skills and cases come out path-safe. `levels`: sandbox level by target name, default `none`. `skipped_skills`:
    found without a suite. `invalid_skills`: folders of skills left out because of errors, each with why. `set_aside`: checks that loading left out already. Name and time are given here or by `named`.

    Raises:
        UsageError: nothing to run, names that clash or are unknown, settings that make no sense.
    """
    names.check_targets([candidate.target for candidate in targets])
    safe_skills, safe_suites = names.safely_named(skills, suites)
    if config.stage is not None:
        safe_suites = tuple(_staged(suite, config) for suite in safe_suites)
    known_cases = names.case_names(skills, suites, safe_suites)
    xfail = names.resolve(config.xfail, known_cases, "xfail")
    options = settings.options_of(config, tuple(xfail.values()), skipped_skills, invalid_skills or {})
    able = {candidate.target.name: candidate.capabilities for candidate in targets}
    timed = tuple(_timed(candidate, config) for candidate in targets)
    baseline = config.baseline is not False
    arms = tuple(_arms(safe_skills, baseline))
    groups = tuple(_groups(safe_skills, safe_suites, timed, able, arms, options, levels or {}, history or {}))
    judge = _judged(judge, timed)
    pairs = judge is not None and judge.mode == "pairwise"
    if pairs and not baseline:
        raise UsageError("--judge-mode pairwise compares two arms, and there is no baseline", "leave --no-baseline out")
    if judge is not None and pairs and judge.target.deferred:
        raise UsageError(f"--judge-mode pairwise: '{judge.target.name}' answers later", "name a --judge that answers at once")
    can = _in_pairs(cannot_grade) if pairs else cannot_grade
    earlier = tuple(_renamed(set_aside, known_cases))
    aside, ungradable = _gradable(safe_suites, able, can, judge is not None or options.grade_later, earlier)
    ungradable = () if pairs else ungradable  # two answers can always be compared
    aside = (*earlier, *aside)
    gate = settings.gate_of(config, safe_suites)
    gates = settings.gates_of(config, gate, settings.skill_names(skills, safe_skills))
    plan = Plan(
        experiment=experiment,
        created_at=created_at,
        skilltrial=VERSION,
        skills=safe_skills,
        suites=safe_suites,
        arms=arms,
        targets=timed,
        judge=judge,
        contrasts=tuple(Contrast(skill=skill.id) for skill in safe_skills) if baseline else (),
        groups=groups,
        set_aside=aside,
        gate=gate,
        gates=gates,
        budgets=config.budgets,
        hooks=config.hooks,
        options=options,
        shard=settings.shard_of(config.shard),
        warnings=tuple(
            dict.fromkeys(_warnings(safe_skills, safe_suites, timed, able, arms, groups, aside, judge, gate, options))
        ),
    )
    return Made(_sealed(plan, config.seed), ungradable)


def named(plan: Plan, experiment: str, created_at: str) -> Plan:
    """The same plan under the name of its folder; its digest and seed stay."""
    return plan.model_copy(update={"experiment": experiment, "created_at": created_at})


def refusal(ungradable: Sequence[Ungradable]) -> UsageError:
    """One message naming every case that nothing can grade."""
    lines = [f"{row.skill}::{row.case} on {row.target}: {row.reason}" for row in ungradable]
    return UsageError(
        "these cases have nothing that can grade them:\n" + "\n".join(lines),
        "add checks, name a --judge, or run now and grade later with --grade-later",
    )


def _renamed(rows: Sequence[SetAside], known: Mapping[str, str]) -> Iterator[SetAside]:
    for row in rows:
        skill, _, case = known.get(f"{row.skill}::{row.case}", f"{row.skill}::{row.case}").partition("::")
        yield row.model_copy(update={"skill": skill, "case": case})


def _sealed(plan: Plan, seed: int | None) -> Plan:
    rest = [plan.gate.model_dump(mode="json"), {name: gate.model_dump(mode="json") for name, gate in plan.gates.items()}]
    digest = digests.plan_digest(plan.groups, plan.judge, rest)
    derived = int(digest.partition(":")[2][:8], 16) & 0x7FFFFFFF
    return plan.model_copy(update={"digest": digest, "seed": derived if seed is None else seed})


def _timed(candidate: Candidate, config: Config) -> Target:
    """The target with its time limit: its own, then the experiment's, then its backend's."""
    target, capabilities = candidate
    return target.model_copy(update={"timeout_s": target.timeout_s or config.timeout_s or capabilities.timeout_s})


def _staged(suite: Suite, config: Config) -> Suite:
    cases = tuple(case.model_copy(update={"stage": config.stage}) for case in suite.cases)
    return suite.model_copy(update={"cases": cases})


def _arms(skills: Sequence[Skill], baseline: bool) -> Iterator[Arm]:
    for skill in skills:
        yield Arm(name=WITH_SKILL, skill=skill.id, trees=(skill.tree,), subject=skill.name)
        if baseline:
            yield Arm(name=WITHOUT_SKILL, skill=skill.id)


def _groups(
    skills: Sequence[Skill],
    suites: Sequence[Suite],
    targets: Sequence[Target],
    able: Mapping[str, Capabilities],
    arms: Sequence[Arm],
    options: Options,
    levels: Mapping[str, str],
    history: History,
) -> Iterator[CellGroup]:
    by_id = {skill.id: skill for skill in skills}
    for suite in suites:
        own = [arm for arm in arms if arm.skill == suite.skill]
        for case in suite.cases:
            checks = digests.checks_digest(case)
            for target in targets:
                stage = stage_of(case, able[target.name])
                shared = digests.inputs_part(case, stage, target, levels.get(target.name, "none"), options)
                for arm in own:
                    inputs = digests.inputs_digest(shared, arm, by_id[suite.skill])
                    took = history.get(inputs) or history.get(f"{suite.skill}/{case.id}/{target.name}/{arm.name}")
                    yield CellGroup(
                        skill=suite.skill,
                        case=case.id,
                        target=target.name,
                        arm=arm.name,
                        repetitions=options.repetitions,
                        inputs=inputs,
                        checks=checks,
                        expected_s=took[0] if took else None,
                    )


def _judged(judge: Judge | None, targets: Sequence[Target]) -> Judge | None:
    if judge is None:
        return None
    akin = any(families.akin(judge.target, target) for target in targets)
    return judge.model_copy(update={"digest": digests.judge_digest(judge), "home_field": judge.home_field or akin})


def _gradable(
    suites: Sequence[Suite],
    able: Mapping[str, Capabilities],
    cannot_grade: CannotGrade,
    judged: bool,
    earlier: Sequence[SetAside],
) -> tuple[tuple[SetAside, ...], tuple[Ungradable, ...]]:
    """Checks that nobody can grade here, and cases of which no required check is left; `earlier` took some away already."""
    aside: list[SetAside] = []
    ungradable: list[Ungradable] = []
    for suite in suites:
        for case in suite.cases:
            why = {check.id: {name: cannot_grade(check, has, judged) for name, has in able.items()} for check in case.checks}
            for check, reasons in why.items():
                aside += _set_aside(suite.skill, case.id, check, reasons)
            gone = tuple(row.reason for row in earlier if (row.skill, row.case) == (suite.skill, case.id))
            ungradable += _left_without(suite.skill, case, why, able, gone)
    return tuple(aside), tuple(ungradable)


def _in_pairs(cannot_grade: CannotGrade) -> CannotGrade:
    """Where two arms are compared, none is judged alone."""

    def why(check: Check, able: Capabilities, judged: bool) -> str | None:
        return PAIRED if check.type in JUDGED else cannot_grade(check, able, judged)

    return why


def _left_without(
    skill: str, case: Case, why: Mapping[str, Mapping[str, str | None]], targets: Iterable[str], gone: Sequence[str]
) -> Iterator[Ungradable]:
    for target in targets:
        if reason := _nothing_left(case, {check: reasons[target] for check, reasons in why.items()}, gone):
            yield Ungradable(skill, case.id, target, reason)


def _set_aside(skill: str, case: str, check: str, why: Mapping[str, str | None]) -> Iterator[SetAside]:
    reasons = set(why.values())
    if len(reasons) == 1 and (reason := reasons.pop()):
        yield SetAside(check=check, skill=skill, case=case, reason=reason)
        return
    for target, reason in why.items():
        if reason:
            yield SetAside(check=check, skill=skill, case=case, target=target, reason=reason)


def _nothing_left(case: Case, why: Mapping[str, str | None], gone: Sequence[str]) -> str | None:
    required = [check for check in case.checks if check.required]
    if not required and gone:
        return "; ".join(dict.fromkeys(gone))
    if not required:
        return (
            "it has no required check, no rubric and no expected output" if not case.checks else "none of its checks is required"
        )
    if any(why[check.id] is None for check in required):
        return None
    return "; ".join(dict.fromkeys(reason for check in required if (reason := why[check.id])))


def _warnings(
    skills: Sequence[Skill],
    suites: Sequence[Suite],
    targets: Sequence[Target],
    able: Mapping[str, Capabilities],
    arms: Sequence[Arm],
    groups: Sequence[CellGroup],
    set_aside: Sequence[SetAside],
    judge: Judge | None,
    gate: Gate,
    options: Options,
) -> Iterator[str]:
    yield from notes.skill_notes(skills, suites)
    yield from notes.fixture_notes(suites, able)
    yield from notes.mock_notes(suites, able)
    yield from notes.check_notes(suites, arms, set_aside)
    yield from notes.target_notes(targets)
    yield from notes.canary_notes(able, options)
    yield from notes.judge_notes(judge, targets)
    yield from notes.design_notes(groups, any(not arm.trees for arm in arms), gate, options)
