"""A question to a judge outside any experiment: one answer, nothing stored."""

from __future__ import annotations

from contextlib import ExitStack

from skilltrial import workspaces
from skilltrial.errors import UsageError
from skilltrial.flows import walls
from skilltrial.flows.bench import backend_of
from skilltrial.flows.watch import CellWatch
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.suite import EMPTY_TREE, Limits
from skilltrial.seams import Awaiting, Job, Machine, Place, Question
from skilltrial.store import FolderBlobs
from skilltrial.wording import words

TIMEOUT_S = 600.0


class Asker:
    """An opened judge. A context manager."""

    def __init__(self, target: Target, machine: Machine) -> None:
        self.target = target
        self.machine = machine
        self.backend = backend_of(target)
        self._stack = ExitStack()

    def __enter__(self) -> Asker:
        if self.backend.capabilities.deferred:
            raise UsageError(f"{self.target.backend} answers later, and here an answer is needed at once", "name another --judge")
        self.runner = self._stack.enter_context(self.backend.open(self.machine))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ask(self, about: str, question: Question) -> AgentRun:
        """The judge's answer. `about` is for its log only.

        Raises:
            UsageError: it cannot be asked at all, or gave no answer.
        """
        run = self.run(about, question)
        if run.outcome != "ok":
            reason = self.machine.redactor.text(run.reason or "no reason given")[0]
            raise UsageError(f"{self.target.backend} gave no answer: {words.outcome(run.outcome)}, {reason}")
        return run

    def run(self, about: str, question: Question) -> AgentRun:
        """The judge's run, whatever came of it."""
        limits = Limits(timeout_s=self.target.timeout_s or TIMEOUT_S)
        with ExitStack() as stack:
            job = Job(
                cell=f"judge:{about}",
                prompt=question.user,
                system=question.system,
                blobs=FolderBlobs(self.machine.temp),  # there are no files to be had
                seed=0,
                limits=limits,
                params={**self.target.params, **(question.params or {})},
                json_schema=question.json_schema,
                place=self._place(stack),
                judging=True,
            )
            run = self.runner.run(job, CellWatch(limits, self.machine.stopping))
        assert not isinstance(run, Awaiting), "refused above"
        return run

    def _place(self, stack: ExitStack) -> Place | None:
        able = self.backend.capabilities
        if not able.files:
            return None
        workspace = workspaces.fresh(
            sandbox=walls.sandbox_of(self.target),
            base=None,
            fixtures=EMPTY_TREE,
            stage="flat",
            skills=(),
            skill_dir=None,
            blobs=FolderBlobs(self.machine.temp),
            access=walls.access_of(self.target, self.backend, self.machine, {}),
            git=able.program,
            memory=self.backend.capabilities.memory,
        )
        return stack.enter_context(workspace).place
