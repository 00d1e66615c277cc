"""Whether the run ends green: conditions per skill and target, and the exit code they come to.

1: a condition is false. 2: nothing measured, or under `every` too many cells left unmeasured. 3: a condition is open. 0: all hold.
The first of 1, 2, 3 that any row has is the exit code of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from skilltrial.analyze.contests import Contest
from skilltrial.analyze.rates import rate_like, rate_these
from skilltrial.analyze.table import Key
from skilltrial.analyze.tallies import Tally, case_state
from skilltrial.errors import UsageError
from skilltrial.records.plan import WITH_SKILL, Gate, Plan
from skilltrial.records.summary import GateResult, GateRow
from skilltrial.stats.limits import TIE
from skilltrial.stats.missing import SHARE, filled
from skilltrial.stats.rates import RateEstimate, rate_on_cases_like_these, rate_on_these_cases
from skilltrial.stats.words import count, points

ALPHA = 0.05
_ORDER = (1, 2, 3, 0)
_PASSED: Mapping[int, bool | None] = {0: True, 1: False, 2: None, 3: None}


class Condition(NamedTuple):
    """One condition: its exit code, and why in words."""

    code: int
    reason: str


class Ends(NamedTuple):
    """What an interval gate compares: the ends that failing could reach, at two levels."""

    value: float | None
    low: float | None
    """At 95 %."""
    high: float | None
    """At 95 % shared among the rows."""
    note: str = ""


def decide(
    plan: Plan,
    gate: Gate,
    gates: Mapping[str, Gate],
    tallies: Mapping[Key, Tally],
    contests: Sequence[Contest],
    tested: frozenset[str],
) -> GateResult:
    """The gate of every skill and target, and of the whole. `gates`: of single skills, over `gate`. `tested`: arms under test."""
    by_row: dict[tuple[str, str], list[Tally]] = {}
    for tally in tallies.values():
        if tally.key.arm in tested:
            by_row.setdefault((tally.key.skill, tally.key.target), []).append(tally)
    main = _main_contests(contests)
    rows = [
        _Row(plan, gates.get(skill, gate), own, main.get((skill, target)), len(by_row)).decided(skill, target)
        for (skill, target), own in by_row.items()
    ]
    if not rows:
        return GateResult(exit_code=2, passed=None, reasons=("nothing was measured",))
    code = next(code for code in _ORDER if any(row.exit_code == code for row in rows))
    return GateResult(exit_code=code, passed=_PASSED[code], reasons=tuple(_reasons(rows, code)), by_skill=tuple(rows))


def arms_under_test(plan: Plan) -> frozenset[str]:
    """`with_skill`, or what the plan's main contrasts put in its place; where only a baseline is run, that one."""
    main = frozenset(contrast.arm for contrast in plan.contrasts if contrast.primary)
    arms = frozenset(arm.name for arm in plan.arms)
    return main or (arms if arms and WITH_SKILL not in arms else frozenset({WITH_SKILL}))


def unexpected_passes(plan: Plan, tallies: Mapping[Key, Tally], tested: frozenset[str]) -> list[str]:
    """Cases expected to fail that passed."""
    expected = frozenset(plan.options.xfail)
    return [
        f"{tally.key.skill}::{tally.key.case}"
        for tally in tallies.values()
        if tally.key.arm in tested and _name(tally) in expected and tally.state == "pass"
    ]


def allowance(text: str, planned: int) -> int:
    """Cells that may be left unmeasured: a number, or a share of the planned ones as `5%`.

    Raises:
        UsageError: it is neither.
    """
    try:
        return int(planned * float(text[:-1]) / 100.0 + TIE) if text.endswith("%") else int(text)
    except ValueError:
        raise UsageError(f"allow_unmeasured is {text!r}", "give a number of cells, or a share as 5%") from None


def _name(tally: Tally) -> str:
    return f"{tally.key.skill}::{tally.key.case}"


def _main_contests(contests: Sequence[Contest]) -> dict[tuple[str, str], Contest]:
    """The main contest by skill and target: the natural one where there is one."""
    return {(one.skill, one.target): one for one in sorted(contests, key=lambda one: not one.forced) if one.primary}


def _reasons(rows: Sequence[GateRow], code: int) -> list[str]:
    deciding = [row for row in rows if row.exit_code == code]
    if len(rows) == 1:
        return list(deciding[0].reasons)
    if code == 0:
        return [f"all conditions hold for {count(len(rows), 'row')}"]
    return [f"{row.skill} on {row.target}: {reason}" for row in deciding for reason in row.reasons]


class _Row:
    """One skill on one target."""

    def __init__(self, plan: Plan, gate: Gate, tallies: Sequence[Tally], contest: Contest | None, rows: int) -> None:
        self.plan, self.gate, self.tallies, self.contest, self.rows = plan, gate, tallies, contest, rows
        self.expected = frozenset(plan.options.xfail)

    def decided(self, skill: str, target: str) -> GateRow:
        conditions = self.conditions()
        code = next(code for code in _ORDER if any(condition.code == code for condition in conditions))
        ordered = sorted(conditions, key=lambda condition: _ORDER.index(condition.code))
        reasons = tuple(condition.reason for condition in ordered if condition.code == code)
        return GateRow(skill=skill, target=target, exit_code=code, passed=_PASSED[code], reasons=reasons)

    def conditions(self) -> list[Condition]:
        if waiting := sum(state == "waiting" for tally in self.both_arms for state in tally.lost_states):
            return [Condition(3, f"{count(waiting, 'run')} wait for answers to their packets")]
        if not any(tally.measured for tally in self.tallies):
            return [Condition(2, "nothing was measured")]
        found = []
        if self.gate.minimum_pass_rate is not None:
            found.append(self.pass_rate(self.gate.minimum_pass_rate))
        elif self.gate.cases == "majority":
            found.append(self.majority())
        elif self.gate.cases == "every":
            found.append(self.every())
        if self.gate.cases == "every":
            found.append(self.unmeasured())
        if self.gate.minimum_lift is not None:
            found.append(self.lift(self.gate.minimum_lift))
        return found or [Condition(0, "no condition was asked for")]

    @property
    def both_arms(self) -> list[Tally]:
        return [*self.tallies, *(both.baseline for both in (self.contest.cases if self.contest else ()))]

    # ------------------------------------------------------------ cases
    @property
    def watched(self) -> list[Tally]:
        """Cases that may fail the gate: not expected to fail, and with a check that gates or no grade yet."""
        return [tally for tally in self.tallies if _name(tally) not in self.expected and (tally.gated or not tally.measured)]

    def majority(self) -> Condition:
        states = {tally.key.case: case_state(tally.passed, tally.gated - tally.passed, tally.planned) for tally in self.watched}
        failed = [case for case, state in states.items() if state == "fail"]
        still_open = [case for case, state in states.items() if state == "open"]
        if failed:
            return Condition(1, f"{_of(failed, states)} failed by majority: {_listed(failed)}")
        if still_open:
            return Condition(3, f"{_of(still_open, states)} open, by a tie or missing cells: {_listed(still_open)}")
        return self._nothing_against(len(states), "passed by majority")

    def every(self) -> Condition:
        watched = self.watched
        failed = [tally.key.case for tally in watched if tally.passed < tally.gated]
        if failed:
            return Condition(1, f"{_of(failed, watched)} with a failed cell: {_listed(failed)}")
        return self._nothing_against(len(watched), "without a failed cell")

    def _nothing_against(self, cases: int, how: str) -> Condition:
        if not cases:
            return Condition(0, "no case has a check that gates (rubric sentences do with gate checks 'all')")
        return Condition(0, f"{count(cases, 'case')} {how}")

    def unmeasured(self) -> Condition:
        """Cells of both arms that ended without a grade, or never ran; a stop rule's own are not meant."""
        arms = [tally for tally in self.both_arms if _name(tally) not in self.expected]
        stops = self.plan.stop.kind != "none"
        lost = sum(sum(not (stops and state == "not_run") for state in tally.lost_states) for tally in arms)
        allowed = allowance(self.gate.allow_unmeasured, sum(tally.planned for tally in arms))
        if lost > allowed:
            return Condition(2, f"{count(lost, 'cell')} left unmeasured, {allowed} allowed")
        return Condition(0, f"{count(lost, 'cell')} left unmeasured, {allowed} allowed" if lost else "every cell was measured")

    # ------------------------------------------------------------ minima
    def lift(self, minimum: float) -> Condition:
        one = self.contest
        if one is None or one.paired is None:
            return Condition(3, f"the lift was not measured, at least {points(minimum)} points are asked for")
        text = f"lift {points(one.paired.lift)} points"
        if self.gate.on == "point":
            return _by_point(one.paired.lift, minimum, text, points(minimum))
        return _by_interval(self.lift_ends(one), minimum, text, points(minimum), self.scope_text)

    def lift_ends(self, one: Contest) -> Ends:
        """Low and high of the chosen scope; those of the worst and the best filling where too much is missing."""
        must, shared = one.must_survive, ALPHA / self.rows
        note = ", missing cells filled in both ways" if must else ""
        lift = one.paired.lift if one.paired else None
        if self.gate.scope == "like":
            low = one.wider(ALPHA, "worst" if must else "none").low
            return Ends(lift, low, one.wider(shared, "best" if must else "none").high, note)
        worst, best = one.ends if must and one.ends else (one.paired, one.paired)
        if worst is None or best is None:
            return Ends(lift, None, None)
        return Ends(lift, worst.interval(ALPHA).low, best.interval(shared).high, note)

    def pass_rate(self, minimum: float) -> Condition:
        scored = self.scored
        estimate = rate_these(scored)
        if estimate is None:
            return Condition(3, f"the pass rate was not measured, at least {minimum:.0%} is asked for")
        text = f"pass rate {estimate.rate:.1%}"
        if self.gate.on == "point":
            return _by_point(estimate.rate, minimum, text, f"{minimum:.0%}")
        return _by_interval(self.rate_ends(estimate), minimum, text, f"{minimum:.0%}", self.scope_text)

    @property
    def scored(self) -> list[Tally]:
        """Natural cases with a score; forced ones where there are no others."""
        natural = [tally for tally in self.tallies if tally.scores and not tally.group.forced]
        return natural or [tally for tally in self.tallies if tally.scores]

    def rate_ends(self, estimate: RateEstimate) -> Ends:
        forced = self.scored[0].group.forced
        planned = [tally for tally in self.tallies if tally.entered and tally.group.forced == forced]
        lost = 1.0 - sum(len(tally.scores) for tally in planned) / sum(tally.planned for tally in planned)
        shared = ALPHA / self.rows
        if lost <= SHARE:
            of = rate_like if self.gate.scope == "like" else rate_these
            low, high = of(self.scored, ALPHA), of(self.scored, shared)
        else:
            low, high = self._filled(planned, 0.0, ALPHA), self._filled(planned, 1.0, shared)
        note = ", missing cells filled in both ways" if lost > SHARE else ""
        return Ends(estimate.rate, low.low if low else None, high.high if high else None, note)

    def _filled(self, planned: Sequence[Tally], value: float, alpha: float) -> RateEstimate:
        scores = filled([tally.scores for tally in planned], [tally.planned for tally in planned], value)
        weights = [tally.weight for tally in planned]
        if self.gate.scope == "like":
            return rate_on_cases_like_these([sum(row) / len(row) for row in scores], weights, alpha)
        return rate_on_these_cases(scores, weights, alpha)

    @property
    def scope_text(self) -> str:
        return "on cases like these" if self.gate.scope == "like" else "on these cases"


def _by_point(value: float, minimum: float, text: str, asked: str) -> Condition:
    holds = value >= minimum - TIE
    return Condition(
        0 if holds else 1,
        f"{text}, {'at least' if holds else 'below'} {asked} (the estimate alone is compared, not its interval)",
    )


def _by_interval(ends: Ends, minimum: float, text: str, asked: str, scope: str) -> Condition:
    where = f"{scope}{ends.note}"
    if ends.low is None or ends.high is None:
        return Condition(3, f"{text}, no interval {where}: at least {asked} cannot be decided")
    if ends.low >= minimum - TIE:
        return Condition(0, f"{text}, the whole interval is at least {asked} ({where})")
    if ends.high < minimum - TIE:
        return Condition(1, f"{text}, the whole interval is below {asked} ({where})")
    return Condition(3, f"{text}, the interval reaches below and above {asked} ({where})")


def _of(some: Sequence[str], all_: Mapping[str, str] | Sequence[Tally]) -> str:
    return f"{len(some)} of {count(len(all_), 'case')}"


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"
