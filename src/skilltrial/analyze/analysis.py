"""An experiment brought to its numbers, before they become rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from skilltrial.analyze.contests import Contest, contests
from skilltrial.analyze.gate import arms_under_test
from skilltrial.analyze.table import Key, Table, gather
from skilltrial.analyze.tallies import Metric, Tally, tally
from skilltrial.records.plan import Gate
from skilltrial.seams import ExperimentView

Scope = Literal["these", "like"]
MARGIN = 0.10


@dataclass(frozen=True, slots=True)
class Analysis:
    """One experiment under one metric and gate."""

    table: Table
    metric: Metric
    gate: Gate
    gates: Mapping[str, Gate]
    """Of single skills, over `gate`."""
    margin: float
    tested: frozenset[str]
    """Arms under test."""
    tallies: dict[Key, Tally]
    contests: list[Contest]


def analysed(
    view: ExperimentView, metric: Metric | None = None, scope: Scope | None = None, gate: Gate | None = None
) -> Analysis:
    """Reads the results once. None: what the plan says; a gate given here holds for every skill."""
    plan = view.plan
    own_gate = _scoped(gate or plan.gate, scope)
    gates = {} if gate else {skill: _scoped(one, scope) for skill, one in plan.gates.items()}
    own_metric = metric or own_gate.metric
    tested = arms_under_test(plan)
    margin = MARGIN if plan.stop.margin is None else plan.stop.margin
    table = gather(view, tested)
    tallies = tally(table, own_metric, own_gate, gates, tested)
    return Analysis(table, own_metric, own_gate, gates, margin, tested, tallies, contests(plan, tallies, margin))


def _scoped(gate: Gate, scope: Scope | None) -> Gate:
    return gate if scope is None else gate.model_copy(update={"scope": scope})
