"""What must hold of every experiment, however its cells ended."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analyze.build import View, case, check, trial

from skilltrial.analyze import compare, summary
from skilltrial.records.plan import Gate
from skilltrial.records.summary import Summary

quiet = settings(max_examples=150, derandomize=True, deadline=None)
row = st.text("PPPFFpTAIUNCR.", min_size=1, max_size=4)
letters = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(row, row), max_size=8)
gates = st.builds(
    Gate,
    cases=st.sampled_from(["majority", "every", "none"]),
    minimum_lift=st.none() | st.floats(-1, 1),
    minimum_pass_rate=st.none() | st.floats(0, 1),
    on=st.sampled_from(["interval", "point"]),
    scope=st.sampled_from(["these", "like"]),
    metric=st.sampled_from(["checks", "cases"]),
    count_as_failed=st.sampled_from([(), ("timeout",), ("timeout", "agent_error")]),
)


def made(of: dict[str, tuple[str, str]], gate: Gate) -> View:
    cases = [case(name, check("c1"), check("c2"), forced=name == "h", cluster="x" if name in "ab" else None) for name in of]
    return trial(of, cases, gate=gate)


@quiet
@given(letters, gates)
def test_numbers_exist_where_something_was_measured_and_nowhere_else(of: dict[str, tuple[str, str]], gate: Gate) -> None:
    found = summary(made(of, gate))
    assert found.gate.exit_code in (0, 1, 2, 3)
    for rate in found.rates:
        assert (rate.pass_rate is None) == (rate.cases == 0) == (rate.low is None)
        assert rate.graded + rate.ungraded == rate.cells
    for lift in found.lifts:
        assert (lift.lift is None) == (lift.cases == 0) == (lift.verdict == "not measured")
        assert lift.better + lift.equal + len(lift.worse_cases) == lift.cases
        if lift.worst.lift is not None and lift.best.lift is not None:
            assert lift.worst.lift <= lift.best.lift + 1e-9
        if lift.verdict in ("helps", "hurts", "no meaningful effect"):
            assert min(lift.cells.values()) >= 4
        if lift.like_these.verdict not in ("inconclusive", "not measured"):
            assert lift.like_these.verdict == lift.verdict
    if not found.coverage.graded:
        assert found.gate.exit_code == 2
    assert Summary.from_stored(found.to_json()) == found


@quiet
@given(letters, gates, st.randoms(use_true_random=False))
def test_the_order_of_results_changes_no_number(of: dict[str, tuple[str, str]], gate: Gate, chooser: random.Random) -> None:
    view = made(of, gate)
    mixed = list(view.results())
    chooser.shuffle(mixed)
    one, other = summary(view), summary(View(view.plan, mixed))
    assert one.gate.exit_code == other.gate.exit_code
    assert one.totals == other.totals
    assert {(row.skill, row.activation): (row.cells, row.verdict) for row in one.lifts} == {
        (row.skill, row.activation): (row.cells, row.verdict) for row in other.lifts
    }
    assert {row.case + row.arm: row.squares for row in one.cases} == {row.case + row.arm: row.squares for row in other.cases}


@quiet
@given(letters, gates)
def test_nothing_changes_between_an_experiment_and_itself(of: dict[str, tuple[str, str]], gate: Gate) -> None:
    view = made(of, gate)
    found = compare(view, view)
    assert {row.change for row in found.cases} <= {"same", "not measured"}
    assert not found.got_worse
    assert found.warnings == ()
