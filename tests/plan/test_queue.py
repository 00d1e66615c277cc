"""CellQueue: order, limits per target, set-up failures, outages, budgets."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.plan.conftest import HTTP, PROGRAM, Plan_, case, target

from skilltrial.plan import Candidate, CellQueue
from skilltrial.records.evidence import Usage
from skilltrial.records.plan import Cell, Plan
from skilltrial.seams import Done


def done(cell: Cell, outcome: str = "ok", reason: str | None = None, **more: Any) -> Done:
    usage = more.pop("usage", Usage())
    judge = more.pop("judge_usage", None)
    return Done(cell, outcome, reason, usage, judge, more.pop("calls", 1), **more)


def drain(queue: CellQueue) -> list[Cell]:
    """Runs everything, one cell at a time."""
    cells = []
    while (cell := queue.take()) is not None:
        cells.append(cell)
        queue.tell(done(cell))
    return cells


def many(planned: Plan_, count: int = 3, **config: Any) -> Plan:
    return planned(*(case(f"c{number}") for number in range(count)), **config).plan


def take(queue: CellQueue) -> Cell:
    cell = queue.take()
    assert cell is not None
    return cell


# ---------------------------------------------------------------- order
def test_each_cell_is_handed_out_once(planned: Plan_) -> None:
    plan = many(planned, 4, repetitions=3)
    queue = CellQueue(plan, concurrency={"one": 2})
    cells = drain(queue)
    assert len(cells) == len({cell.id for cell in cells}) == queue.planned == 24
    assert queue.left == 0
    assert queue.stops("now") == ()


def test_arms_of_a_block_run_side_by_side_and_repetitions_of_a_case_apart(planned: Plan_) -> None:
    cells = drain(CellQueue(many(planned, 3, repetitions=2), concurrency={"one": 1}))
    blocks = [cell.block for cell in cells]
    assert blocks[::2] == blocks[1::2]
    assert [cell.repetition for cell in cells] == [1] * 6 + [2] * 6
    assert {cell.arm for cell in cells[::2]} == {"with_skill", "without_skill"}  # neither arm is always first


def test_by_the_adapters_rules_the_baseline_goes_first(planned: Plan_) -> None:
    cells = drain(CellQueue(many(planned, 3, repetitions=2, adapter_rules=True), concurrency={"one": 1}))
    assert {cell.arm for cell in cells[::2]} == {"without_skill"}


def test_the_longest_known_block_starts_first_after_the_unknown_ones(planned: Plan_) -> None:
    history = {
        f"demo/c{number}/one/{arm}": (float(number), None) for number in (0, 1, 2) for arm in ("with_skill", "without_skill")
    }
    cells = drain(CellQueue(many(planned, 4, more={"history": history}), concurrency={"one": 1}))
    assert [cell.case for cell in cells[::2]] == ["c3", "c2", "c1", "c0"]


def test_finished_cells_are_left_out(planned: Plan_) -> None:
    plan = many(planned, 2, repetitions=2)  # c0 with, c0 without, c1 with, c1 without, two each
    queue = CellQueue(plan, bytes([0, 1, 0, 0, 2, 0, 0, 0]), concurrency={"one": 4})
    assert queue.planned == 2
    assert queue.workers == 2
    assert {cell.id for cell in drain(queue)} == {"demo/c0/one/with_skill/2", "demo/c1/one/with_skill/1"}


def test_a_shard_hands_out_only_its_own_blocks(planned: Plan_) -> None:
    parts = [CellQueue(many(planned, 8, repetitions=2, shard=f"{index}/2"), concurrency={"one": 1}) for index in (1, 2)]
    counts = [part.planned for part in parts]
    cells = [cell.id for part in parts for cell in drain(part)]
    assert len(cells) == len(set(cells)) == sum(counts) == 32


# ---------------------------------------------------------------- limits
def test_each_target_keeps_to_its_own_limit(planned: Plan_) -> None:
    two = (Candidate(target("slow"), HTTP), Candidate(target("wide", value="w"), HTTP))
    queue = CellQueue(many(planned, 4, targets=two), concurrency={"slow": 1, "wide": 3})
    assert queue.workers == 4
    first = [take(queue) for _ in range(4)]
    assert sorted(cell.target for cell in first) == ["slow", "wide", "wide", "wide"]
    came: list[Cell | None] = []
    waiting = threading.Thread(target=lambda: came.append(queue.take()))
    waiting.start()
    queue.tell(done(next(cell for cell in first if cell.target == "slow")))
    waiting.join(30)
    assert [cell.target for cell in came if cell] == ["slow"]


def test_targets_that_share_a_limit_keep_to_it_together_and_take_turns(planned: Plan_) -> None:
    """Four agent programs with a limit of 3 are 3 at once, not 12; an endpoint keeps its own limit beside them."""
    programs = tuple(Candidate(target(name, "codex"), PROGRAM) for name in "abcd")
    plan = many(planned, 4, targets=(*programs, Candidate(target("http"), HTTP)))
    queue = CellQueue(plan, concurrency={**dict.fromkeys("abcd", 3), "http": 2}, shared=set("abcd"))
    assert queue.workers == 5
    running = [take(queue) for _ in range(5)]
    assert sorted(cell.target for cell in running) == ["a", "b", "c", "http", "http"]
    came: list[Cell | None] = []
    waiting = threading.Thread(target=lambda: came.append(queue.take()))
    waiting.start()
    queue.tell(done(running[0]))
    waiting.join(30)
    assert [cell.target for cell in came if cell] == ["d" if running[0].target != "http" else "http"]


def test_programs_of_one_cell_each_fill_the_limit_that_they_share(planned: Plan_) -> None:
    programs = tuple(Candidate(target(name, "codex"), PROGRAM) for name in "abcd")
    plan = many(planned, 1, targets=programs)
    needs = bytes([1, 0] * 4)
    queue = CellQueue(plan, needs, concurrency=dict.fromkeys("abcd", 3), shared=set("abcd"))
    assert queue.workers == 3 and len({take(queue).target for _ in range(3)}) == 3


def test_a_waiting_thread_ends_when_the_queue_is_closed(planned: Plan_) -> None:
    queue = CellQueue(many(planned), concurrency={"one": 1})
    take(queue)
    came: list[Cell | None] = []
    waiting = threading.Thread(target=lambda: came.append(queue.take()))
    waiting.start()
    queue.close("interrupted")
    waiting.join(30)
    assert came == [None]
    (line,) = queue.stops("now")
    assert (line.rule, line.after_blocks) == ("interrupted", 0)


def test_many_threads_share_the_work(planned: Plan_) -> None:
    queue = CellQueue(many(planned, 50, repetitions=4), concurrency={"one": 8})
    seen: list[str] = []

    def serve() -> None:
        while (cell := queue.take()) is not None:
            seen.append(cell.id)
            queue.tell(done(cell))

    threads = [threading.Thread(target=serve) for _ in range(12)]  # more than may run at once
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == len(set(seen)) == 400


# ---------------------------------------------------------------- set-up and outages
def test_a_set_up_failure_before_anything_worked_ends_its_target_alone(planned: Plan_) -> None:
    two = (Candidate(target("bad"), HTTP), Candidate(target("good", value="g"), HTTP))
    queue = CellQueue(many(planned, 4, targets=two), concurrency={"bad": 1, "good": 1})
    cells = []
    while (cell := queue.take()) is not None:
        cells.append(cell)
        bad = cell.target == "bad"
        queue.tell(done(cell, "infrastructure_error", "wrong key", setup=True) if bad else done(cell))
    assert sorted(cell.target for cell in cells) == ["bad"] + ["good"] * 8
    assert queue.stopped["bad"] == ("setup", "wrong key")
    assert queue.closed_reason is None
    (line,) = queue.stops("now")
    assert (line.rule, line.reason) == ("setup", "bad: wrong key")


def test_a_set_up_failure_after_a_success_is_one_failure(planned: Plan_) -> None:
    queue = CellQueue(many(planned), concurrency={"one": 1})
    queue.tell(done(take(queue)))
    queue.tell(done(take(queue), "infrastructure_error", "wrong key", setup=True))
    assert queue.stopped == {}
    assert len(drain(queue)) == 4


def test_a_pilot_runs_alone_until_it_comes_back(planned: Plan_) -> None:
    queue = CellQueue(many(planned), concurrency={"one": 4}, pilots={"one"})
    pilot = take(queue)
    came: list[Cell | None] = []
    waiting = threading.Thread(target=lambda: came.append(queue.take()))
    waiting.start()
    assert came == []
    queue.tell(done(pilot, "agent_error", "turn limit"))
    waiting.join(30)
    assert [take(queue), take(queue), take(queue)]
    assert len(came) == 1


def test_a_pilot_that_cannot_be_set_up_costs_one_cell(planned: Plan_) -> None:
    queue = CellQueue(many(planned, 20), concurrency={"one": 8}, pilots={"one"})
    queue.tell(done(take(queue), "infrastructure_error", "not logged in", setup=True))
    assert queue.take() is None
    assert queue.left == 39


def test_a_run_of_equal_outages_ends_the_target_and_says_so(planned: Plan_) -> None:
    queue = CellQueue(many(planned, 20), concurrency={"one": 2})
    for number in range(5):
        queue.tell(done(take(queue), "infrastructure_error", f"503 from server, request {number}a9f0c1d2"))
    assert queue.take() is None
    assert queue.stopped["one"].rule == "outage"
    assert queue.stopped["one"].reason.startswith("5 runs in a row failed alike: 503")


def test_outages_of_another_kind_or_with_work_between_go_on(planned: Plan_) -> None:
    queue = CellQueue(many(planned, 20), concurrency={"one": 2})
    for number in range(12):
        queue.tell(done(take(queue), "infrastructure_error", "refused" if number % 4 else "reset"))
    for number in range(12):
        queue.tell(done(take(queue), "ok" if number % 4 == 0 else "infrastructure_error", "refused"))
    assert queue.stopped == {}


# ---------------------------------------------------------------- budgets
@pytest.mark.parametrize(
    ("budgets", "said"),
    [({"max_cost_usd": 1.0}, "1 of 1 US dollars"), ({"max_calls": 8}, "8 of 8 calls")],
)
def test_a_spent_budget_ends_everything(planned: Plan_, budgets: dict[str, Any], said: str) -> None:
    queue = CellQueue(many(planned, 20, budgets=budgets), concurrency={"one": 1})
    count = 0
    while (cell := queue.take()) is not None:
        count += 1
        queue.tell(done(cell, usage=Usage(cost_usd=0.2), judge_usage=Usage(cost_usd=0.05), calls=2))
    assert count == 4
    assert queue.closed_reason is not None
    assert said in queue.closed_reason
    (line,) = queue.stops("now")
    assert (line.rule, line.after_blocks) == ("budget", 2)


def test_unknown_costs_never_trip_a_budget(planned: Plan_) -> None:
    queue = CellQueue(many(planned, 2, budgets={"max_cost_usd": 0.01}), concurrency={"one": 1})
    assert len(drain(queue)) == 4


def test_what_earlier_attempts_spent_counts(planned: Plan_) -> None:
    queue = CellQueue(many(planned, 2, budgets={"max_cost_usd": 1.0}), concurrency={"one": 1}, spent=(1.5, 9))
    assert queue.take() is None
    assert queue.closed_reason is not None


def test_the_time_budget_is_looked_at_before_each_cell(planned: Plan_) -> None:
    now = [100.0]
    queue = CellQueue(many(planned, budgets={"max_duration_s": 60.0}), concurrency={"one": 1}, clock=lambda: now[0])
    queue.tell(done(take(queue)))
    now[0] += 61
    assert queue.take() is None
    assert queue.closed_reason == "budget: 60 s have passed (max_duration_s)"


def test_a_resting_cell_counts_nowhere_and_stays_planned(planned: Plan_) -> None:
    queue = CellQueue(many(planned), concurrency={"one": 2})
    one = take(queue)
    queue.close("interrupted")
    queue.tell(done(one, "harness_error", resting=True, calls=0))
    assert (queue.left, queue.calls) == (6, 0)
