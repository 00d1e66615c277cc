"""What graders may use: the judge, and scratch places for commands."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from skilltrial.flows import packets, walls
from skilltrial.flows.bench import JUDGES, Bench
from skilltrial.flows.budgets import priced
from skilltrial.flows.places import workspace_for
from skilltrial.flows.watch import CellWatch
from skilltrial.records.evidence import AgentRun, Usage, summed
from skilltrial.records.grades import JudgeCall
from skilltrial.records.plan import Cell
from skilltrial.records.suite import Limits
from skilltrial.seams import Awaiting, Backend, EvidenceView, Job, Place, Question, Reply
from skilltrial.system.files import remove_tree
from skilltrial.system.redaction import Redactor

JUDGE_TIMEOUT_S = 120.0


class CellDesk:
    """The Desk seam for one cell. Every call to the judge is kept in `calls`; the store masks them."""

    def __init__(self, bench: Bench, cell: Cell) -> None:
        self.bench = bench
        self.cell = cell
        self.calls: list[JudgeCall] = []
        self.unable: str | None = None
        """Why the judge could not be asked, where that will be the same for every cell."""
        self.waiting = False
        """A packet with a question has no reply yet."""
        self.heard: list[str] = []
        """Packets whose replies were used."""
        judge = bench.plan.judge
        self.judge = judge.target.name if judge and bench.judge else None

    @property
    def usage(self) -> Usage | None:
        """What all calls took together; None: the judge was not asked."""
        return summed(call.usage for call in self.calls) if self.calls else None

    def ask(self, question: Question) -> Reply:
        judge, backend = self.bench.plan.judge, self.bench.judge_backend
        assert judge and backend and self.bench.judge is not None, "graders ask only when there is a judge"
        case = self.bench.lookup.case(self.cell)
        limits = Limits(timeout_s=judge.target.timeout_s or JUDGE_TIMEOUT_S)
        with self._turn(backend), workspace_for(self.bench, judge.target, backend) as workspace:
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
            if backend.capabilities.deferred:
                return self._by_packet(question, job)
            run = self.bench.judge.run(job, CellWatch(limits, self.bench.machine.stopping))
        assert not isinstance(run, Awaiting), "a backend that says so answers at once"
        run = priced(run, judge.target, backend)
        self.calls.append(_kept(question, run, self.bench.machine.redactor))
        if run.setup and self.unable is None:
            self.unable = f"the judge: {self.bench.machine.redactor.text(run.reason or '')[0]}"
        return Reply(run.text, run.outcome, run.reason, run.usage, run.model, run.timing.duration_s)

    def _turn(self, backend: Backend) -> AbstractContextManager[None]:
        """A program that judges waits until few enough of its kind run; how many calls go out to an endpoint its client decides."""
        return self.bench.machine.limiter.slot(JUDGES) if backend.capabilities.program else nullcontext()

    def _by_packet(self, question: Question, job: Job) -> Reply:
        found = packets.ask(self.cell, question, job, self.bench)
        if found is None:
            self.waiting = True
            return Reply("", packets.WAITING, "its packet has no answer yet", Usage(), None, None)
        answer, asked = found
        usage = Usage(total_tokens=answer.total_tokens)
        self.heard.append(answer.packet)
        self.calls.append(JudgeCall(prompt=asked, reply=answer.text, usage=usage, duration_s=answer.duration_s))
        return Reply(answer.text, "ok", None, usage, None, answer.duration_s)

    @contextmanager
    def scratch(self, evidence: EvidenceView) -> Iterator[Place]:
        """Fixtures and delta in a fresh place of their own, gone afterwards."""
        folder = Path(tempfile.mkdtemp(prefix="skilltrial-check-", dir=self.bench.base or self.bench.machine.temp))
        try:
            sandbox, access = walls.for_checks(self.bench.lookup.targets[self.cell.target])
            with sandbox.enter(folder, access) as place:
                evidence.unpack(place.root)
                if self.bench.source is not None and evidence.record.delta is not None:
                    self.bench.source.fill(place.root, frozenset(evidence.record.delta.deleted))
                yield place
        finally:
            remove_tree(folder)


def _kept(question: Question, run: AgentRun, redactor: Redactor) -> JudgeCall:
    return JudgeCall(
        prompt=f"{question.system}\n\n{question.user}",
        reply=run.text,
        model=run.model,
        outcome=run.outcome,
        reason=run.reason,
        usage=run.usage,
        duration_s=run.timing.duration_s,
        warnings=tuple(redactor.text(warning)[0] for warning in run.warnings),
    )
