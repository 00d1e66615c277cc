"""forecast: what `plan` prints, as numbers."""

from __future__ import annotations

from typing import Any

from tests.plan.conftest import ADAPTER, CONTAINS, HTTP, PROGRAM, RUBRIC, Plan_, case, judge, target, tree

from skilltrial.plan import Candidate, Endpoints, Forecast, concurrency_of, forecast
from skilltrial.plan.making import History

TARGETS = (Candidate(target("http"), HTTP), Candidate(target("agent", "codex"), PROGRAM))


def seen(planned: Plan_, *cases: Any, targets: Any = TARGETS, history: History | None = None, **more: Any) -> Forecast:
    plan = planned(*cases, targets=targets, **more).plan
    able = {candidate.target.name: candidate.capabilities for candidate in targets}
    return forecast(
        plan, able, concurrency_of(plan, able), Endpoints({"http": "api.example.org/v1"}, "judge.example.org"), history
    )


def test_cells_calls_and_endpoints(planned: Plan_) -> None:
    found = seen(planned, case("a", checks=(CONTAINS, RUBRIC)), case("b"), judge=judge(), repetitions=3)
    assert (found.cells, found.target_calls, found.judge_calls) == (24, 24, 12)
    assert found.by_arm == {"with_skill": 12, "without_skill": 12}
    assert [(row.endpoint, row.concurrency, row.timeout_s) for row in found.targets] == [
        ("api.example.org/v1", 16, 120),
        (None, 2, 600),
    ]
    assert found.judge_endpoint == "judge.example.org"


def test_without_a_judge_no_judge_is_called(planned: Plan_) -> None:
    assert seen(planned, case(checks=(CONTAINS, RUBRIC))).judge_calls == 0


def test_the_smallest_lift_of_a_design_follows_its_cells(planned: Plan_) -> None:
    small = seen(planned, *(case(f"c{number}") for number in range(3)))
    wide = seen(planned, *(case(f"c{number}") for number in range(8)), repetitions=3)
    assert small.sights[0].on_these_cases is None
    assert small.sights[0].on_cases_like_these is None
    assert (wide.sights[0].cells_per_arm, wide.sights[0].cases) == (24, 8)
    assert wide.sights[0].on_these_cases is not None
    assert 0 < wide.sights[0].on_these_cases < 1


def test_where_files_land(planned: Plan_) -> None:
    three = (*TARGETS, Candidate(target("old", "adapter", "x"), ADAPTER))
    found = seen(planned, case(fixtures=tree("evals/files/a.csv")), targets=three)
    assert [(row.target, row.lands) for row in found.fixtures] == [
        ("http", None),
        ("agent", "a.csv"),
        ("old", "inputs/evals/files/a.csv"),
    ]


def test_time_and_cost_come_from_history_or_stay_unknown(planned: Plan_) -> None:
    assert seen(planned).expected_s is None
    assert seen(planned).expected_cost_usd is None
    history = {f"demo/sum/{name}/{arm}": (8.0, 0.5) for name in ("http", "agent") for arm in ("with_skill", "without_skill")}
    found = seen(planned, history=history, repetitions=4)
    assert found.expected_s == 8 * 8.0 / 2  # the agent's eight cells, two at a time
    assert found.expected_cost_usd == 8.0


def test_agent_programs_share_the_machine_and_their_times_add_up(planned: Plan_) -> None:
    assert seen(planned).together is None
    four = tuple(Candidate(target(name, "codex"), PROGRAM) for name in "abcd")
    history = {f"demo/sum/{name}/{arm}": (8.0, 0.5) for name in "abcd" for arm in ("with_skill", "without_skill")}
    found = seen(planned, targets=four, history=history, repetitions=4)
    assert found.together == 2
    assert found.expected_s == 4 * 8 * 8.0 / 2  # thirty-two cells, two at a time


def test_by_the_adapters_rules_one_cell_runs_at_a_time(planned: Plan_) -> None:
    assert [row.concurrency for row in seen(planned, adapter_rules=True, concurrency=8).targets] == [1, 1]
