"""`results.jsonl`: one line per finished step, written before the step is announced."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from skilltrial.records.evidence import Activation, Outcome, Source, Usage
from skilltrial.records.grades import Comparison, Grade, JudgedBy
from skilltrial.records.plan import Cell
from skilltrial.records.record import Record


class EvidenceLine(Record):
    """A run has finished; its Evidence lies at `offset` of the pack."""

    kind: Literal["evidence"] = "evidence"
    cell: str
    attempt: int
    counted: bool = True
    """False: superseded by another attempt; its cost still counts in the totals."""
    inputs: str
    outcome: Outcome
    reason: str | None = None
    usage: Usage = Usage()
    duration_s: float | None = None
    started_at: str
    activation: Activation = "unknown"
    clean: bool | None = None
    """Baseline: no sign of the skill; arm under test: the skill was there. None: this backend cannot tell."""
    clean_reason: str | None = None
    """Why it is not clean, or why that cannot be told."""
    tool_calls: int | None = None
    model: str | None = None
    redactions: int = 0
    source: Source = "ran"
    pack: str
    offset: int
    size: int
    digest: str


class GradingLine(Record):
    """A cell has been graded."""

    kind: Literal["grades"] = "grades"
    cell: str
    attempt: int
    counted: bool = True
    evidence: str
    checks: str
    number: int
    grades: tuple[Grade, ...]
    judge_usage: Usage | None = None
    judge_calls: int = 0
    judge: JudgedBy | None = None
    """Who was asked, where that is not the plan's judge."""
    pack: str | None = None
    offset: int | None = None
    size: int | None = None


class ComparisonLine(Record):
    """Two arms of a block have been compared."""

    kind: Literal["comparison"] = "comparison"
    block: str
    attempt: int = 1
    counted: bool = True
    comparison: Comparison
    pack: str | None = None
    """Where the questions to the judge and its replies lie; None: it was not asked, or they were not kept."""
    offset: int | None = None
    size: int | None = None


class StopLine(Record):
    """The experiment was ended before its plan: by a rule, a budget, an outage or the user."""

    kind: Literal["stop"] = "stop"
    rule: str
    after_blocks: int
    reason: str
    at: str


JournalLine = Annotated[EvidenceLine | GradingLine | ComparisonLine | StopLine, Field(discriminator="kind")]


class Pair(NamedTuple):
    """A judge's choice between two arms, and what was asked and answered about it."""

    comparison: Comparison
    calls: tuple[dict[str, Any], ...]
    """JudgeCalls as stored; () when the judge was not asked."""


class Result(NamedTuple):
    """One planned cell and what is known of it. The state of a cell is derived from this, never stored."""

    cell: Cell
    evidence: EvidenceLine | None
    """The counted one; None: not run yet."""
    grading: GradingLine | None
    """The newest complete one about that evidence; None: not graded."""
    superseded: tuple[EvidenceLine, ...] = ()
    regraded: tuple[GradingLine, ...] = ()
    """Gradings that a later one replaced and for which the judge was asked: what its calls took still counts in the totals."""
