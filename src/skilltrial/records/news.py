"""`progress.jsonl` and the live views: what happens while it runs."""

from __future__ import annotations

from typing import Literal

from skilltrial.records.record import Record

NewsType = Literal[
    "experiment_started",
    "cell_started",
    "cell_waiting",
    "agent_started",
    "agent_finished",
    "cell_graded",
    "cell_finished",
    "cell_failed",
    "budget_exceeded",
    "hook_finished",
    "experiment_finished",
]


class News(Record):
    """One line of news."""

    type: NewsType
    ts: str
    """UTC, ISO 8601."""
    elapsed_s: float
    experiment: str
    cell: str | None = None
    outcome: str | None = None
    state: str | None = None
    """passed, failed, ungraded or None while running."""
    passed: int | None = None
    total: int | None = None
    reason: str | None = None
    duration_s: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    done: int | None = None
    planned: int | None = None
    eta_s: float | None = None
    total_cost_usd: float | None = None
