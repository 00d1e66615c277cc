"""What graders may use: the judge, and scratch places for commands."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skilltrial import registry
from skilltrial.flows.bench import Bench
from skilltrial.flows.budgets import priced
from skilltrial.flows.places import workspace_for
from skilltrial.flows.watch import CellWatch
from skilltrial.records.evidence import AgentRun, Usage
from skilltrial.records.grades import JudgeCall
from skilltrial.records.plan import Cell
from skilltrial.records.suite import Limits
from skilltrial.seams import Access, Awaiting, EvidenceView, Job, Place, Question, Reply
from skilltrial.system.files import remove_tree

JUDGE_TIMEOUT_S = 120.0


class CellDesk:
    """The Desk seam for one cell. Every call to the judge is kept in `calls`; the store masks them."""

    def __init__(self, bench: Bench, cell: Cell) -> None:
        self.bench = bench
        self.cell = cell
        self.calls: list[JudgeCall] = []
        self.unable: str | None = None
        """Why the judge could not be asked, where that will be the same for every cell."""
        judge = bench.plan.judge
        self.judge = judge.target.name if judge and bench.judge else None

    def ask(self, question: Question) -> Reply:
        judge, backend = self.bench.plan.judge, self.bench.judge_backend
        assert judge and backend and self.bench.judge is not None, "graders ask only when there is a judge"
        case = self.bench.lookup.case(self.cell)
        limits = Limits(timeout_s=judge.target.timeout_s or JUDGE_TIMEOUT_S)
        with workspace_for(self.bench, judge.target, backend) as workspace:
            job = Job(
                cell=f"judge:{self.cell.id}",
                prompt=question.user,
                system=question.system,
                blobs=self.bench.experiment.blobs,
                seed=self.cell.seed,
                limits=limits,
                params={"temperature": 0, **judge.target.params, **case.judge_params, **(question.params or {})},
                json_schema=question.json_schema,
                place=workspace.place if workspace else None,
                judging=True,
            )
            run = self.bench.judge.run(job, CellWatch(limits, self.bench.machine.stopping))
        assert not isinstance(run, Awaiting), "a deferred backend cannot be the judge"
        run = priced(run, judge.target, backend)
        self.calls.append(_kept(question, run))
        if run.setup and self.unable is None:
            self.unable = f"the judge: {self.bench.machine.redactor.text(run.reason or '')[0]}"
        return Reply(run.text, run.outcome, run.reason, run.usage, run.model, run.timing.duration_s)

    @contextmanager
    def scratch(self, evidence: EvidenceView) -> Iterator[Place]:
        """Fixtures and delta in a fresh place of their own, gone afterwards."""
        folder = Path(tempfile.mkdtemp(prefix="skilltrial-check-", dir=self.bench.base or self.bench.machine.temp))
        try:
            sandbox = registry.get("sandboxes", "none")()
            access = Access(env={}, keep_home=False)
            with sandbox.enter(folder, access) as place:
                evidence.unpack(place.root)
                if self.bench.source is not None and evidence.record.delta is not None:
                    self.bench.source.fill(place.root, frozenset(evidence.record.delta.deleted))
                yield place
        finally:
            remove_tree(folder)


def _kept(question: Question, run: AgentRun) -> JudgeCall:
    return JudgeCall(
        prompt=f"{question.system}\n\n{question.user}",
        reply=run.text,
        model=run.model,
        outcome=run.outcome,
        reason=run.reason,
        usage=run.usage,
        duration_s=run.timing.duration_s,
    )


def total_usage(calls: list[JudgeCall]) -> Usage | None:
    """What all calls took together; a part that no call reported stays unknown."""
    if not calls:
        return None
    usages = [call.usage for call in calls]

    def added(name: str) -> int | None:
        known = [value for usage in usages if (value := getattr(usage, name)) is not None]
        return sum(known) if known else None

    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    return Usage(
        input_tokens=added("input_tokens"),
        cached_tokens=added("cached_tokens"),
        output_tokens=added("output_tokens"),
        reasoning_tokens=added("reasoning_tokens"),
        cost_usd=sum(costs) if costs else None,
        cost_source=next((usage.cost_source for usage in usages if usage.cost_source), None),
    )
