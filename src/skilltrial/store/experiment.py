"""One experiment: its plan, what is finished, and the only way to add to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from skilltrial.errors import UsageError
from skilltrial.records.evidence import Evidence, Usage, summed
from skilltrial.records.grades import Comparison, Grading, JudgeCall
from skilltrial.records.hooks import HookRun
from skilltrial.records.journal import ComparisonLine, EvidenceLine, GradingLine, StopLine
from skilltrial.records.plan import Plan
from skilltrial.store.blobs import files_of
from skilltrial.store.index import Index, complete
from skilltrial.store.lock import WriterLock
from skilltrial.store.masking import masked_calls, masked_comparison, masked_grading, masked_stop
from skilltrial.store.reading import Reading
from skilltrial.store.writer import Packed, Writer
from skilltrial.system.files import digest as digest_of
from skilltrial.system.files import write_atomic
from skilltrial.system.redaction import Redactor

if TYPE_CHECKING:  # records that nothing needs before the first call
    from skilltrial.records.summary import Summary


class Experiment(Reading):
    """An opened experiment. A context manager; `close` syncs and gives the lock back.

    Threads may append at the same time. When an `append_…` returns, its step is finished: a killed process keeps it.
    """

    def __init__(self, folder: Path, plan: Plan, index: Index, redactor: Redactor | None, lock: WriterLock | None) -> None:
        super().__init__(folder, plan, index)
        self._redactor = redactor
        self._lock = lock
        self._writer = Writer(folder) if lock else None
        if self._writer:
            self._guard = self._writer.lock

    # ------------------------------------------------------------ steps
    def append_evidence(
        self,
        evidence: Evidence,
        *,
        counted: bool = True,
        clean: bool | None = None,
        clean_reason: str | None = None,
        tool_calls: int | None = None,
        durable: bool = False,
    ) -> EvidenceLine:
        """Stores a finished run: evidence into the pack, then its line. It supersedes what the cell had.

        `evidence` is redacted already. `tool_calls` None: counted from its events, where it has any.
        """
        number = self._number(evidence.cell)
        body = evidence.to_json().encode()
        digest = digest_of(body)
        if tool_calls is None and evidence.events is not None:
            tool_calls = sum(event.kind == "tool_call" for event in evidence.events)
        writer = self._open_writer()
        if durable:
            with _told(self.folder):
                self.blobs.sync(files_of(evidence))
        with writer.lock:
            packed = writer.put(body)
            line = _evidence_line(evidence, counted, (clean, clean_reason), tool_calls, packed, digest)
            spot = writer.step(line.to_json(), durable)
            self._index.took(line.usage.cost_usd, 1)
            self._index.saw_evidence(number, spot, line.outcome, digest, line.attempt, counted)
        return line

    def append_grading(
        self,
        grading: Grading,
        attempt: int,
        *,
        counted: bool = True,
        judge_usage: Usage | None = None,
        judge_calls: int | None = None,
        durable: bool = False,
    ) -> GradingLine:
        """Stores grades of the cell's counted evidence; the judge's calls go into the pack.

        `judge_usage` and `judge_calls` None: summed over the calls.

        Raises:
            ValueError: `grading.evidence` is not the digest of the cell's counted evidence.
        """
        number = self._number(grading.cell)
        grading = masked_grading(grading, self._redactor)
        calls = as_json(grading.calls) if grading.calls else None
        usage = judge_usage or (summed(call.usage for call in grading.calls) if grading.calls else None)
        asked = len(grading.calls) if judge_calls is None else judge_calls
        writer = self._open_writer()
        with writer.lock:
            if not self._index.is_about(number, grading.evidence):
                raise ValueError(f"{grading.cell}: these grades are not about its counted evidence")
            packed = writer.put(calls) if calls else None
            line = _grading_line(grading, attempt, counted, usage, asked, packed)
            spot = writer.step(line.to_json(), durable)
            self._index.took(usage.cost_usd if usage else None, asked)
            self._index.saw_grading(number, spot, grading.evidence, complete(grading.grades), counted, bool(asked or usage))
        return line

    def append_comparison(
        self,
        comparison: Comparison,
        calls: Sequence[JudgeCall] = (),
        *,
        attempt: int = 1,
        counted: bool = True,
        durable: bool = False,
    ) -> ComparisonLine:
        """Stores a judge's choice between two arms of a block; its questions and replies go into the pack."""
        comparison = masked_comparison(comparison, self._redactor)
        body = as_json(masked_calls(calls, self._redactor)) if calls else None
        writer = self._open_writer()
        with writer.lock:
            packed = writer.put(body) if body else None
            line = ComparisonLine(
                block=comparison.block,
                attempt=attempt,
                counted=counted,
                comparison=comparison,
                **(packed._asdict() if packed else {}),
            )
            self._index.comparisons.append(writer.step(line.to_json(), durable))
            self._index.took(comparison.usage.cost_usd if comparison.usage else None, comparison.calls)
        return line

    def append_stop(self, line: StopLine) -> StopLine:
        """Stores why the experiment was ended before its plan; synced at once."""
        line = masked_stop(line, self._redactor)
        writer = self._open_writer()
        with writer.lock:
            self._index.stops.append(writer.step(line.to_json(), True))
        return line

    def append_hook(self, run: HookRun) -> None:
        """Stores that a hook ran, in `hooks.jsonl`; `run` is redacted already. Synced at once."""
        self._open_writer().hook(run.to_json())

    # ------------------------------------------------------------ views of it
    def write(self, name: str, text: str) -> Path:
        """The Out seam: writes a report below the experiment's folder, redacted."""
        path = self.folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(f"{name!r} leads out of the experiment's folder")
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, text, self._redactor)
        return path

    def write_summary(self, summary: Summary) -> Path:
        """Writes `summary.json`."""
        return self.write("summary.json", summary.to_json(indent=2) + "\n")

    # ------------------------------------------------------------ the end
    def seal(self) -> None:
        """After Ctrl-C: syncs; whatever late threads append is refused. The lock stays until `close`."""
        if self._writer:
            self._writer.seal()

    def close(self) -> None:
        """Syncs, closes, and lets the next writer in. May be called twice."""
        try:
            self._files.close()
            if self._writer:
                self._writer.close()
        finally:
            if self._lock:
                self._lock.release()
                self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            with suppress(UsageError):  # the first error is the one to show
                self.close()

    def _open_writer(self) -> Writer:
        if self._writer is None:
            raise ValueError(f"{self.folder} was opened for reading only")
        return self._writer

    def _number(self, cell: str) -> int:
        number = self._index.number(cell)
        if number is None:
            raise ValueError(f"the plan has no cell {cell}")
        return number


class _told:  # noqa: N801
    """Turns the system's refusal to write `path` into a UsageError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            raise UsageError(f"{self._path}: cannot be written: {error.strerror or error}") from error


def _evidence_line(
    evidence: Evidence, counted: bool, clean: tuple[bool | None, str | None], tool_calls: int | None, packed: Packed, digest: str
) -> EvidenceLine:
    return EvidenceLine(
        cell=evidence.cell,
        attempt=evidence.attempt,
        counted=counted,
        inputs=evidence.inputs,
        outcome=evidence.outcome,
        reason=evidence.reason,
        usage=evidence.usage,
        duration_s=evidence.timing.duration_s,
        started_at=evidence.timing.started_at,
        activation=evidence.activation,
        clean=clean[0],
        clean_reason=clean[1],
        tool_calls=tool_calls,
        model=evidence.model,
        redactions=evidence.redactions,
        source=evidence.source,
        digest=digest,
        **packed._asdict(),
    )


def as_json(calls: Sequence[JudgeCall]) -> bytes:
    return json.dumps([call.model_dump(mode="json") for call in calls]).encode()


def _grading_line(
    grading: Grading, attempt: int, counted: bool, usage: Usage | None, calls: int, packed: Packed | None
) -> GradingLine:
    return GradingLine(
        cell=grading.cell,
        attempt=attempt,
        counted=counted,
        evidence=grading.evidence,
        checks=grading.checks,
        number=grading.number,
        grades=grading.grades,
        judge_usage=usage,
        judge_calls=calls,
        judge=grading.judge,
        **(packed._asdict() if packed else {}),
    )
