"""Money: what a run cost where its backend did not say, and the limits per case that are looked at after it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from skilltrial import prices
from skilltrial.flows.bench import Bench
from skilltrial.flows.newsroom import now
from skilltrial.records.evidence import AgentRun, Usage
from skilltrial.records.grades import Grade
from skilltrial.records.guards import Beyond, exceeded
from skilltrial.records.journal import StopLine
from skilltrial.records.plan import Cell, Target
from skilltrial.seams import Backend
from skilltrial.system.addresses import parts_of

MARKETS = {
    "api.openai.com": "openai", "api.anthropic.com": "anthropic", "generativelanguage.googleapis.com": "google",
    "openrouter.ai": prices.OPENROUTER,
}  # fmt: skip
"""Whose public list prices hold at a host."""


# ---------------------------------------------------------------- what it cost
def priced(run: AgentRun, target: Target, backend: Backend) -> AgentRun:
    """The run with its cost and who reckoned it; unknown stays unknown.

    What a provider reported stands. Prices in the settings win over what an agent program estimates at list prices, and so
    do the dated prices of OpenRouter for a model that was called there. Where neither knows the model such an estimate is
    `cli`, and `cli-unreconciled` where the program was sent elsewhere. Where nothing was reported the dated table of the
    provider that was called fills in.
    """
    usage, market = run.usage, market_of(target, backend)
    estimate = usage.cost_source == "cli" and backend.capabilities.program
    if usage.cost_usd is not None and not estimate:
        return run
    own = _by_prices(run, target, backend, market)
    if not estimate:
        return run if own is None else run.model_copy(update={"usage": own})
    if own is None or own.cost_source not in ("pricing-config", "openrouter-pricing"):
        moved = market == prices.OPENROUTER or (market is None and target.options.get("base_url"))
        return _sourced(run, "cli-unreconciled") if moved else run
    note = f"the program itself estimates {usage.cost_usd:.6g} US dollars"
    return run.model_copy(update={"usage": own, "warnings": (*run.warnings, note)})


def market_of(target: Target, backend: Backend) -> str | None:
    """Whose list prices hold for what the target calls; None: nobody's that we know."""
    able = backend.capabilities
    address = str(target.options.get("base_url") or "") if able.program else backend.endpoint_name()
    if address:
        host = parts_of(address if "//" in address else f"//{address}").hostname or ""
        return MARKETS.get(host.removeprefix("www."))
    return prices.market_of(target.value) if able.prices == "model" else able.prices


def _by_prices(run: AgentRun, target: Target, backend: Backend, market: str | None) -> Usage | None:
    """The usage with a cost by the prices that we know; None: they say nothing."""
    if not target.pricing and not backend.capabilities.paid:
        return None
    cost = prices.price(run.model or target.value, run.usage, target.pricing, market)
    return run.usage.model_copy(update={"cost_usd": cost.usd, "cost_source": cost.source}) if cost else None


def _sourced(run: AgentRun, source: str) -> AgentRun:
    return run.model_copy(update={"usage": run.usage.model_copy(update={"cost_source": source})})


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
