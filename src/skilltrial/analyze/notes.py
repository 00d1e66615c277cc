"""Warnings that belong beside the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from skilltrial.analyze.contests import Contest
from skilltrial.analyze.gate import unexpected_passes
from skilltrial.analyze.table import Key, Table
from skilltrial.analyze.tallies import Tally
from skilltrial.records.plan import Gate
from skilltrial.records.summary import IsolationRow, Lift
from skilltrial.stats.limits import TIE
from skilltrial.stats.words import count, points

UNEQUAL = 2
"""Times as many repetitions in one case as in another from which it is said."""


def warnings_of(
    table: Table,
    tallies: Mapping[Key, Tally],
    contests: Sequence[Contest],
    lifts: Sequence[Lift],
    isolation: Sequence[IsolationRow],
    gate: Gate,
    tested: frozenset[str],
) -> tuple[str, ...]:
    """What the plan said beforehand, then what the results say; each once."""
    plan = table.plan
    found = [*plan.warnings]
    if invalid := [*plan.options.invalid_skills]:
        found.append(f"{count(len(invalid), 'invalid skill')} left out: {', '.join(invalid[:5])}{', …' if invalid[5:] else ''}")
    found += _lifts(lifts)
    found += _designs(tallies, contests, gate)
    if not plan.contrasts:
        found.append("no baseline: there will be pass rates, and no lift")
    found += [f"{row.target}: {row.reason}" for row in isolation if row.clean is False]
    found += [f"{count(cells, 'cell')} of {arm} reused from an earlier experiment" for arm, cells in table.reused.items()]
    found += [f"{name} passed, though it is expected to fail" for name in dict.fromkeys(unexpected_passes(plan, tallies, tested))]
    return tuple(dict.fromkeys(found))


def _lifts(lifts: Sequence[Lift]) -> Iterator[str]:
    for row in lifts:
        name = f"{row.skill} on {row.target}" + (" (forced)" if row.activation == "forced" else "")
        if row.verdict == "not measured":
            yield f"{name}: lift not measured; {row.reason.partition(': ')[2]}"
        elif row.verdict == "hurts":
            yield f"{name}: the skill hurts, lift {points(row.lift or 0.0)} points"
        elif row.lift is not None and row.lift <= TIE:
            yield f"{name}: {'no lift at all' if row.lift >= -TIE else f'a negative lift, {points(row.lift)} points'}"


def _designs(tallies: Mapping[Key, Tally], contests: Sequence[Contest], gate: Gate) -> Iterator[str]:
    for one in contests:
        sizes = [size for both in one.used for size in (len(both.arm.scores), len(both.baseline.scores))]
        if sizes and max(sizes) > UNEQUAL * min(sizes):
            yield f"{one.skill} on {one.target}: between {min(sizes)} and {max(sizes)} repetitions per case; cases count alike all the same"
    if gate.cases == "majority" and gate.minimum_pass_rate is None:
        for planned in sorted({tally.planned for tally in tallies.values() if tally.planned % 2 == 0}):
            yield f"{planned} repetitions can tie, and a tie leaves the gate open: {planned + 1} cannot"
