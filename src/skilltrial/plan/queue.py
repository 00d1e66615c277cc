"""What runs next, and when to stop: order, limits per target, set-up failures, outages, budgets, Ctrl-C."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from skilltrial.plan.order import Place, TargetOrder
from skilltrial.records.journal import StopLine
from skilltrial.records.plan import Budgets, Cell, Plan, cell_of
from skilltrial.seams import Done

_LONGEST_WAIT_S = 1.0
_VARIABLE = re.compile(r"\b[0-9a-fA-F-]{8,}\b|\d+")


class Stopped(NamedTuple):
    """A target whose remaining cells stay planned."""

    rule: str
    """`setup` or `outage`."""
    reason: str


class _Lane:
    """One target: its cells in order, how many may run, and what it told so far."""

    def __init__(self, order: TargetOrder, limit: int, pilot: bool, outage_after: int) -> None:
        self.left = order.count()
        self.blocks = order.blocks
        self.limit = min(limit, self.left)
        self.running = 0
        self.pilot = pilot
        self.stopped: Stopped | None = None
        self._cells = iter(order)
        self.head: Place | None = next(self._cells, None)
        self._outage_after = outage_after
        self._worked = False
        self._same = 0
        self._last: str | None = None

    def free(self) -> bool:
        return self.running < (1 if self.pilot else self.limit)

    def pop(self) -> Place:
        assert self.head is not None
        place, self.head = self.head, next(self._cells, None)
        self.left -= 1
        self.running += 1
        return place

    def heard(self, done: Done) -> None:
        """Judges a cell that came back: a failure of set-up before anything worked, or the same outage again and again."""
        if done.setup and not self._worked:
            self._stop("setup", done.reason or "set-up failed")
            return
        self.pilot = False
        if done.outcome != "infrastructure_error":
            self._worked = self._worked or done.outcome == "ok"
            self._same, self._last = 0, None
            return
        kind = _VARIABLE.sub("#", done.reason or "")
        self._same = self._same + 1 if kind == self._last else 1
        self._last = kind
        if self._same >= self._outage_after:
            self._stop("outage", f"{self._same} runs in a row failed alike: {done.reason}")

    def _stop(self, rule: str, reason: str) -> None:
        if self.stopped is None:
            self.stopped = Stopped(rule, reason)
        self.head = None


class CellQueue:
    """The Queue seam over a plan and what is finished of it. Every method may be called from any thread.

    Args:
        needs: one byte per cell of the plan's grid, 0 where nothing is to be done; None: everything is.
        concurrency: how many cells of each target may run at once.
        shared: targets that share one limit, the largest of theirs: agent programs, which share the machine.
        pilots: targets of which one cell runs alone first.
        spent: known US dollars and calls of earlier attempts; they count against the budgets.
        outage_after: equal failures in a row that end a target; None: 5, or its concurrency where that is more.
    """

    def __init__(
        self,
        plan: Plan,
        needs: bytes | None = None,
        *,
        concurrency: Mapping[str, int],
        shared: Collection[str] = (),
        pilots: Collection[str] = (),
        spent: tuple[float, int] = (0.0, 0),
        outage_after: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._changed = threading.Condition()
        self._clock = clock
        self._started = clock()
        self._cost_usd, self._calls = spent
        self._lanes: dict[str, _Lane] = {}
        for target in plan.targets:
            limit = max(1, concurrency.get(target.name, 1))
            order = TargetOrder(plan, target.name, needs)
            self._lanes[target.name] = _Lane(order, limit, target.name in pilots, outage_after or max(5, limit))
        self._shared = [lane for name, lane in self._lanes.items() if name in shared]
        self._shared_limit = max((max(1, concurrency.get(name, 1)) for name in shared), default=0)
        self._turn = list(self._lanes.values())
        self._running: dict[Cell, Place] = {}
        self._open_blocks: dict[tuple[str, int], int] = {}
        self._whole_blocks = 0
        self._closed = _beyond(plan.budgets, *spent)
        self.planned = self.left

    # ------------------------------------------------------------ for the executor
    @property
    def workers(self) -> int:
        """The sum of what the targets can run at once."""
        apart = sum(lane.limit for lane in self._lanes.values() if lane not in self._shared)
        return apart + min(self._shared_limit, sum(lane.limit for lane in self._shared))

    def take(self) -> Cell | None:
        """The next cell; waits while every target that has cells is at its limit. None: nothing more will come."""
        with self._changed:
            while self._closed is None and not self._over_time():
                lane, more = self._next_lane()
                if lane is not None:
                    return self._hand_out(lane)
                if not more:
                    break
                self._changed.wait(self._longest_wait())
            self._changed.notify_all()  # the others need not wait either
            return None

    def tell(self, done: Done) -> None:
        with self._changed:
            place = self._running.pop(done.cell, None)
            lane = self._lanes.get(done.cell.target)
            if lane is None or place is None:
                return
            lane.running -= 1
            before = (lane.pilot, lane.stopped, self._closed)
            if done.resting:
                lane.left += 1
            else:
                self._settle(lane, done, place)
            if before == (lane.pilot, lane.stopped, self._closed):
                self._changed.notify()  # one slot is free, so one waiter is enough
            else:
                self._changed.notify_all()

    def close(self, reason: str) -> None:
        """Hands out nothing more. The first reason stays."""
        with self._changed:
            self._closed = self._closed or reason
            self._changed.notify_all()

    # ------------------------------------------------------------ for whoever reports
    @property
    def closed_reason(self) -> str | None:
        """Why everything was ended; starts with `budget` or is what `close` was given. None: it was not."""
        return self._closed

    @property
    def stopped(self) -> dict[str, Stopped]:
        """The targets that were ended before their cells were."""
        return {name: lane.stopped for name, lane in self._lanes.items() if lane.stopped}

    @property
    def left(self) -> int:
        """Cells that were not handed out."""
        return sum(lane.left for lane in self._lanes.values())

    @property
    def cost_usd(self) -> float:
        """Known costs so far, the judge's and earlier attempts included."""
        return self._cost_usd

    @property
    def calls(self) -> int:
        return self._calls

    def stops(self, at: str) -> tuple[StopLine, ...]:
        """Journal lines for whatever left cells unrun; () when all were handed out. `at`: UTC, ISO 8601."""
        lines = [
            StopLine(rule=why.rule, after_blocks=self._whole_blocks, reason=f"{name}: {why.reason}", at=at)
            for name, why in self.stopped.items()
            if self._lanes[name].left
        ]
        if self._closed is not None and self.left:
            rule = re.match(r"[\w-]*", self._closed)
            lines.append(StopLine(rule=rule[0] if rule else "", after_blocks=self._whole_blocks, reason=self._closed, at=at))
        return tuple(lines)

    # ------------------------------------------------------------ inside, with the lock held
    def _next_lane(self) -> tuple[_Lane | None, bool]:
        """A target with a cell and room for it, turn by turn; and whether any target has cells at all."""
        more, full = False, sum(lane.running for lane in self._shared) >= self._shared_limit
        for position, lane in enumerate(self._turn):
            if lane.head is None:
                continue
            if lane.free() and not (full and lane in self._shared):
                self._turn.append(self._turn.pop(position))
                return lane, True
            more = True
        return None, more

    def _hand_out(self, lane: _Lane) -> Cell:
        place = lane.pop()
        cell = cell_of(self._plan.groups[place.group], place.repetition, self._plan.seed)
        self._running[cell] = place
        if lane.head is None:
            self._changed.notify_all()
        return cell

    def _settle(self, lane: _Lane, done: Done, place: Place) -> None:
        costs = (done.usage.cost_usd, done.judge_usage.cost_usd if done.judge_usage else None)
        self._cost_usd += sum(cost for cost in costs if cost is not None)
        self._calls += done.calls
        lane.heard(done)
        block = (done.cell.target, place.block)
        told = self._open_blocks.pop(block, 0) + 1
        if told < place.arms:
            self._open_blocks[block] = told
        else:
            self._whole_blocks += 1
        reason = _beyond(self._plan.budgets, self._cost_usd, self._calls)
        if reason and self._closed is None:
            self._closed = reason

    def _over_time(self) -> bool:
        limit = self._plan.budgets.max_duration_s
        if limit is not None and self._clock() - self._started >= limit:
            self._closed = self._closed or f"budget: {limit:g} s have passed (max_duration_s)"
        return self._closed is not None

    def _longest_wait(self) -> float:
        limit = self._plan.budgets.max_duration_s
        if limit is None:
            return _LONGEST_WAIT_S
        return max(0.0, min(_LONGEST_WAIT_S, self._started + limit - self._clock()))


def _beyond(budgets: Budgets, cost_usd: float, calls: int) -> str | None:
    if budgets.max_cost_usd is not None and cost_usd >= budgets.max_cost_usd:
        return f"budget: {cost_usd:.4g} of {budgets.max_cost_usd:g} US dollars are spent (max_cost_usd)"
    if budgets.max_calls is not None and calls >= budgets.max_calls:
        return f"budget: {calls} of {budgets.max_calls} calls are made (max_calls)"
    return None
