"""What a worker holds while it runs cells: opened backends, the judge, the experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skilltrial import graders, registry
from skilltrial.flows.elsewhere import Elsewhere
from skilltrial.flows.lookup import Lookup
from skilltrial.flows.newsroom import Newsroom
from skilltrial.flows.packets import Answer, Packets
from skilltrial.records.evidence import IMPORTED
from skilltrial.records.plan import Judge, Plan, Target
from skilltrial.records.record import build_all
from skilltrial.records.suite import Case
from skilltrial.seams import Backend, Machine, Runner
from skilltrial.store import Experiment
from skilltrial.workspaces.sources import SourceRepository, cloned

JUDGES = "agent programs that judge"
"""Key of their limit: they share one, as the targets among them do in the queue."""
_AGENT_FOLDERS = (".claude/skills", ".agents/skills")


def backend_of(target: Target) -> Backend:
    """The backend of a planned target, its options checked.

    Raises:
        UsageError: no such backend, or an option it does not have.
    """
    if target.backend == IMPORTED:
        return Elsewhere(target=target)
    backend: Backend = registry.get("backends", target.backend).from_target(target)
    return backend


@dataclass(frozen=True, slots=True)
class Bench:
    """Opened once per experiment and worker, handed to every cell."""

    plan: Plan
    lookup: Lookup
    experiment: Experiment
    machine: Machine
    backends: dict[str, Backend]
    runners: dict[str, Runner]
    judge: Runner | None
    newsroom: Newsroom
    base: Path | None
    """Where workspaces go; None: chosen by `workspaces`."""
    packets: Packets
    """Of targets and judges that answer later."""
    judge_backend: Backend | None = None
    source: SourceRepository | None = None
    """The repository that every case starts from."""
    repositories: dict[Any, Any] = field(default_factory=dict)
    """What git says of workspaces made from equal parts, and of what commits reach."""
    faults: list[str] = field(default_factory=list)
    """Tracebacks of faults of our own, for the log."""


@contextmanager
def opened(
    experiment: Experiment,
    machine: Machine,
    newsroom: Newsroom,
    targets: set[str] | None = None,
    *,
    judge: Judge | None = None,
    with_judge: bool = True,
    cases: Mapping[tuple[str, str], Case] | None = None,
    answers: Mapping[str, Answer] | None = None,
) -> Iterator[Bench]:
    """Opens the backends of the targets that still have cells to run, and the judge.

    `judge` and `cases` replace those of the plan, which itself stays as it is on disk. `answers`: to packets, by name.
    """
    plan = experiment.plan if judge is None else experiment.plan.model_copy(update={"judge": judge})
    backends = {target.name: backend_of(target) for target in plan.targets}
    with ExitStack() as stack:
        runners = {
            name: stack.enter_context(backend.open(machine))
            for name, backend in backends.items()
            if targets is None or name in targets
        }
        asked, judging = None, None
        if plan.judge is not None and with_judge:
            judging = backend_of(plan.judge.target)
            asked = stack.enter_context(judging.open(machine))
            if judging.capabilities.program:
                machine.limiter.allow(JUDGES, plan.options.concurrency or judging.capabilities.concurrency)
        graders.graders()  # import and build here what threads will use, not in all of them at once
        build_all()
        base = Path(plan.options.workspaces_dir) if plan.options.workspaces_dir else None
        packets = Packets(experiment.folder, answers)
        source = None
        if plan.options.source_repo and any(backends[name].capabilities.files for name in runners):
            commit = plan.options.source_commit or ""
            source = stack.enter_context(cloned(plan.options.source_repo, commit, base, machine.environ))
            folders = {getattr(backend, "skill_dir", None) for backend in backends.values()}
            source.refuse({skill.name for skill in plan.skills}, {*_AGENT_FOLDERS, *filter(None, folders)})
        yield Bench(
            plan, Lookup(plan, cases), experiment, machine, backends, runners, asked, newsroom, base, packets, judging, source
        )
