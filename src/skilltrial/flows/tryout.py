"""One tiny real task for a backend: `agents --probe`."""

from __future__ import annotations

from collections.abc import Iterator

from skilltrial import workspaces
from skilltrial.errors import CellError, UsageError
from skilltrial.flows import walls
from skilltrial.flows.watch import CellWatch
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.suite import EMPTY_TREE, Limits
from skilltrial.seams import Access, Awaiting, Backend, Job, Machine
from skilltrial.wording import words

PROMPT = "Answer with the single word READY."
TIMEOUT_S = 120.0


class NoBlobs:
    """The Blobs seam of a task without files."""

    def put_new(self, digest: str, data: bytes) -> bool:
        return False

    def get(self, digest: str) -> bytes:
        raise KeyError(digest)

    def keys(self, prefix: str = "") -> Iterator[str]:
        return iter(())


def try_out(backend: Backend, target: Target, machine: Machine) -> tuple[bool, str]:
    """Whether it answered, and one line about it. Spends one short run."""
    try:
        run = _run(backend, target, machine)
    except (CellError, UsageError) as error:
        return False, str(error)
    if run.outcome != "ok":
        return False, f"{words.outcome(run.outcome)}: {run.reason or 'no reason given'}"
    cost = "" if run.usage.cost_usd is None else f", {run.usage.cost_usd:.4f} USD"
    took = "" if run.timing.duration_s is None else f" in {run.timing.duration_s:.1f} s"
    model = f" ({run.model})" if run.model else ""
    return True, f"answered {run.text.strip()[:40]!r}{model}{took}{cost}"


def _run(backend: Backend, target: Target, machine: Machine) -> AgentRun:
    limits = Limits(timeout_s=TIMEOUT_S)
    able = backend.capabilities

    def ask(place: workspaces.Workspace | None) -> AgentRun | Awaiting:
        job = Job(
            cell=f"probe:{backend.name}",
            prompt=PROMPT,
            blobs=NoBlobs(),
            seed=0,
            limits=limits,
            place=place.place if place else None,
        )
        with backend.open(machine) as runner:
            return runner.run(job, CellWatch(limits, machine.stopping))

    if not able.files:
        run = ask(None)
    else:
        with workspaces.fresh(
            sandbox=walls.sandbox_of(target),
            base=None,
            fixtures=EMPTY_TREE,
            stage="flat",
            skills=(),
            skill_dir=None,
            blobs=NoBlobs(),
            access=Access(),
            git=able.program,
            memory=backend.capabilities.memory,
        ) as place:
            run = ask(place)
    if isinstance(run, Awaiting):
        raise UsageError("it answers later")
    return run
