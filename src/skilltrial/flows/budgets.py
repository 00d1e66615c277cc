"""Money: what a run cost where its backend did not say, and the limits per case that are looked at after it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

from skilltrial import prices
from skilltrial.flows.bench import Bench
from skilltrial.flows.newsroom import now
from skilltrial.records.evidence import AgentRun, Usage
from skilltrial.records.grades import Grade
from skilltrial.records.guards import Beyond, exceeded
from skilltrial.records.journal import StopLine
from skilltrial.records.plan import Cell, Target
from skilltrial.seams import Backend

LIST_PRICED = frozenset({"api.openai.com", "api.anthropic.com"})
"""Where the public list prices hold."""


# ---------------------------------------------------------------- what it cost
def priced(run: AgentRun, target: Target, backend: Backend) -> AgentRun:
    """The run with its cost and who reckoned it; unknown stays unknown.

    Prices in the settings win over what an agent program estimates at list prices. Such an estimate is `cli`, and
    `cli-unreconciled` where the program was sent to another endpoint. The dated table of list prices fills in where
    nothing was reported and the provider's own endpoint was used.
    """
    usage = run.usage
    own = _by_prices(run, target, backend)
    if own is not None and usage.cost_usd is not None:
        note = f"the program itself estimates {usage.cost_usd:.6g} US dollars"
        return run.model_copy(update={"usage": own, "warnings": (*run.warnings, note)})
    if own is not None:
        return run.model_copy(update={"usage": own})
    if usage.cost_source == "cli" and backend.capabilities.program and target.options.get("base_url"):
        return run.model_copy(update={"usage": usage.model_copy(update={"cost_source": "cli-unreconciled"})})
    return run


def _by_prices(run: AgentRun, target: Target, backend: Backend) -> Usage | None:
    """The usage with a cost by the prices that we know; None: they say nothing, or the provider's word stands."""
    able, usage = backend.capabilities, run.usage
    estimate = usage.cost_source == "cli" and able.program
    if usage.cost_usd is not None and not (estimate and target.pricing):
        return None
    if not target.pricing and not (able.paid and _at_the_provider(target, backend)):
        return None
    cost = prices.price(run.model or target.value, usage, target.pricing)
    return usage.model_copy(update={"cost_usd": cost.usd, "cost_source": cost.source}) if cost else None


def _at_the_provider(target: Target, backend: Backend) -> bool:
    if backend.capabilities.program:
        return not target.options.get("base_url")
    name = backend.endpoint_name()
    return urlsplit(name if "//" in name else f"//{name}").hostname in LIST_PRICED


# ---------------------------------------------------------------- limits per case
def beyond(cell: Cell, bench: Bench) -> tuple[Beyond, ...]:
    """Limits that the stored run of a cell went beyond."""
    limits = bench.plan.budgets.per_case
    line = bench.experiment.result_of(cell).evidence if limits else None
    return exceeded(limits, line.usage, line.duration_s, line.tool_calls) if line else ()


def grades(cell: Cell, bench: Bench) -> Iterator[Grade]:
    """A failed grade per limit that the run exceeded; the cell stays measured. Under `warn` there are none."""
    if bench.plan.budgets.action == "warn":
        return
    for over in beyond(cell, bench):
        yield Grade(check=f"budget:{over.name}", state="failed", reason=f"the run took {over}", method="budget")


class Suites:
    """Tells of every limit that was exceeded, and under `stop-suite` lets no further case of that skill begin."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._stopped: dict[str, str] = {}
        self._left: dict[str, int] = {}
        self._lock = threading.Lock()

    def rests(self, cell: Cell) -> str | None:
        """Why the cell is not begun; None: it is."""
        with self._lock:
            reason = self._stopped.get(cell.skill)
            if reason:
                self._left[cell.skill] = self._left.get(cell.skill, 0) + 1
            return reason

    def look(self, cell: Cell) -> None:
        """Looks at a finished cell."""
        over = beyond(cell, self.bench)
        if not over:
            return
        reason = "; ".join(map(str, over))
        self.bench.newsroom.tell("budget_exceeded", cell=cell.id, reason=reason)
        if self.bench.plan.budgets.action == "stop-suite":
            with self._lock:
                self._stopped.setdefault(cell.skill, f"budget: {cell.id} took {reason}")

    def stops(self) -> tuple[StopLine, ...]:
        """Journal lines for the suites of which cells were left."""
        return tuple(StopLine(rule="budget", after_blocks=0, reason=self._stopped[skill], at=now()) for skill in self._left)
