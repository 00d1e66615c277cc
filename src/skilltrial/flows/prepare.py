"""Everything before the first call: load, resolve, refuse what cannot be measured, make the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from skilltrial import graders, load, store
from skilltrial import plan as planning
from skilltrial.errors import BadInput, UsageError
from skilltrial.flows import choosing, git_state, nothing_given, packets, runner_scripts
from skilltrial.flows.newsroom import now
from skilltrial.flows.targets import Planned, judge_for, judge_levelled, levelled, probe_all, resolve
from skilltrial.load.trees import is_workspace
from skilltrial.records.config import Config
from skilltrial.records.plan import CellGroup, Plan, SetAside
from skilltrial.records.suite import Skill, Suite
from skilltrial.seams import Capabilities, Machine, Probe
from skilltrial.wording import words

MOST_REPETITIONS = 100_000
"""More would not fit into memory, and no interval gets visibly narrower."""


@dataclass(frozen=True)
class Prepared:
    """All that is known before an experiment gets its folder."""

    config: Config
    plan: Plan
    targets: tuple[Planned, ...]
    sources: Mapping[str, Path | bytes]
    """Digest of every input file -> where it lies."""
    history: Mapping[str, tuple[float, float | None]]

    def named(self, experiment: str) -> Plan:
        """The plan, under the name that the experiment's folder got."""
        return planning.named(self.plan, experiment, now())

    @property
    def capabilities(self) -> dict[str, Capabilities]:
        return {planned.target.name: planned.backend.capabilities for planned in self.targets}

    @property
    def paid_runs(self) -> int:
        """Cells on targets that may cost money."""
        return sum(group.repetitions for group in self._paid)

    @property
    def expected_cost_usd(self) -> float | None:
        """Of these cells, by earlier runs."""
        return planning.expected_cost_usd(self._paid, self.history)

    @property
    def _paid(self) -> list[CellGroup]:
        paid = {planned.target.name for planned in self.targets if planned.paid}
        return [group for group in self.plan.groups if group.target in paid]


def prepare(
    config: Config, cwd: Path, workspace: Path, machine: Machine, say: Callable[[str], None], *, probe: bool = True
) -> Prepared:
    """Loads and checks everything; spends nothing.

    Raises:
        BadInput: skills or suites with errors, all of them at once.
        UsageError: no target, a backend that cannot work here, a case that nothing can grade.
        NothingToDo: nothing changed, or nothing failed before, where only that was asked for.
    """
    refuse_nonsense(config)
    loaded = load.project(config, cwd, digests=True)
    report_problems(loaded, config, say)
    refuse_results_in_a_skill(loaded, workspace)
    loaded = choosing.chosen(loaded, config, workspace, machine, say)
    return plan_trial(config, workspace, machine, say, Material.of(loaded), probe=probe)


class Material(NamedTuple):
    """What a trial is made from."""

    skills: Sequence[Skill]
    suites: Sequence[Suite]
    sources: Mapping[str, Path | bytes]
    skipped: Sequence[str] = ()
    invalid: Mapping[str, str] = MappingProxyType({})
    set_aside: Sequence[SetAside] = ()

    @classmethod
    def of(cls, loaded: load.Loaded) -> Material:
        aside = [
            SetAside(check=row.check, skill=suite.skill, case=row.case, reason=row.reason)
            for suite in loaded.suites
            for row in suite.set_aside
            if any(case.id == row.case for case in suite.cases)
        ]
        return cls(loaded.skills, loaded.suites, loaded.sources, loaded.skipped, loaded.invalid, aside)


def plan_trial(
    config: Config, workspace: Path, machine: Machine, say: Callable[[str], None], material: Material, *, probe: bool
) -> Prepared:
    """The plan for loaded skills and suites: targets, judge, refusals, probes."""
    config = git_state.with_source(config, Path.cwd(), machine)
    suites, aside = git_state.set_aside(material.suites, config, machine.environ)
    suites, lost = nothing_given.set_aside(suites, config.source_repo)
    material = material._replace(suites=suites, set_aside=(*material.set_aside, *aside, *lost))
    config = runner_scripts.found(config, suites, Path.cwd())
    targets = levelled(resolve(config, machine, say), config, machine, say)
    asked = any(graders.needs_judge(check) for suite in material.suites for case in suite.cases for check in case.checks)
    asked = asked or config.judge_mode == "pairwise"
    judge = judge_levelled(judge_for(config, targets, say, asked=asked), config, machine, say)
    if config.judge_mode == "pairwise" and judge is None:
        raise UsageError(
            "--judge-mode pairwise: there is no judge", "name one: --judge openai:gpt-5-mini, --judge claude-code:haiku"
        )
    if config.source_repo and not any(planned.backend.capabilities.files for planned in targets):
        say("warning: --source-repo: no target works in a folder, so the repository is not used")
    if probe:
        targets = _versioned(targets, probe_all(targets, judge, machine))
    packets.refuse([planned.target for planned in targets], judge, config.source_repo)
    cannot = packets.set_aside(material.suites, [planned.target for planned in targets])
    material = material._replace(set_aside=(*material.set_aside, *cannot))
    history = store.timings(workspace)
    made = planning.make(
        skills=material.skills,
        suites=material.suites,
        targets=[planning.Candidate(planned.target, planned.backend.capabilities) for planned in targets],
        judge=judge,
        config=config,
        cannot_grade=graders.cannot_grade,
        levels={planned.target.name: planned.target.sandbox for planned in targets},
        history=history,
        skipped_skills=material.skipped,
        invalid_skills=material.invalid,
        set_aside=material.set_aside,
    )
    if made.ungradable and not config.grade_later:
        raise planning.refusal(made.ungradable)
    for warning in made.plan.warnings:
        say(f"warning: {warning}")
    return Prepared(config, made.plan, targets, material.sources, history)


def _versioned(targets: Sequence[Planned], probes: Mapping[str, Probe]) -> tuple[Planned, ...]:
    """The targets with the versions of their programs."""
    return tuple(
        Planned(planned.target.model_copy(update={"program_version": probes[planned.target.name].version}), planned.backend)
        for planned in targets
    )


def report_problems(loaded: load.Loaded, config: Config, say: Callable[[str], None]) -> None:
    for problem in loaded.problems:
        if problem.severity == "warning" or problem.rule == "prose-routed":
            say(f"{problem.severity}: {problem}")
    if loaded.errors:
        raise BadInput(loaded.errors)
    if loaded.invalid:
        say(f"{words.many(len(loaded.invalid), 'invalid skill')} left out: {', '.join(loaded.invalid)}")
    if loaded.triggers:
        say(f"{words.many(len(loaded.triggers), 'trigger list')} not part of this run; name one to run it")
    if loaded.skipped:
        some = ", ".join(loaded.skipped[:5]) + (", …" if len(loaded.skipped) > 5 else "")
        say(f"{words.many(len(loaded.skipped), 'skill')} without a suite skipped: {some}")
    if not loaded.suites or not any(suite.cases for suite in loaded.suites):
        raise UsageError("no case to run: no skill with a suite was found", "see 'skilltrial list'")


def refuse_results_in_a_skill(loaded: load.Loaded, workspace: Path) -> None:
    """A workspace in a skill's folder would become part of the skill: checks and earlier answers would reach the agent."""
    whole = workspace.resolve()
    above = {whole, *whole.parents, *workspace.absolute().parents}
    for name, site in loaded.sites.items():
        if site.folder not in above or not whole.is_relative_to(site.folder.resolve()):
            continue
        inner = whole.relative_to(site.folder.resolve()).parts
        if inner[:1] != ("evals",) and not any(is_workspace(part) for part in inner):
            raise UsageError(
                f"{workspace} lies in the folder of the skill '{name}': results there would be given to the agent as part of it",
                "choose another --workspace; folders called NAME-workspace are no part of a skill",
            )


def refuse_nonsense(config: Config) -> None:
    if config.repetitions is not None and config.repetitions < 1:
        raise UsageError(f"repetitions must be 1 or more, not {config.repetitions}")
    if config.repetitions is not None and config.repetitions > MOST_REPETITIONS:
        raise UsageError(f"repetitions must be {MOST_REPETITIONS:,} or less, not {config.repetitions:,}")
    gates = [config.gate, *config.gates.values()]
    for gate in gates:
        if gate.minimum_pass_rate == 1 and gate.on != "point" and not config.adapter_rules:
            raise UsageError("a minimum pass rate of 1 can never be reached by an interval", "use 0.9, or --gate-on point")
