"""One arm against its baseline: both scopes, bounds, words, and what the skill costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from skilltrial.analyze.table import Key
from skilltrial.analyze.tallies import Tally
from skilltrial.records.plan import Plan
from skilltrial.records.summary import Bound, Interval, Lift, LikeThese, Ratio
from skilltrial.stats import words
from skilltrial.stats.lift import Estimate, Paired, p_equivalence, p_value, pair
from skilltrial.stats.like import NO_UNITS, Wider, on_cases_like_these
from skilltrial.stats.limits import TIE
from skilltrial.stats.missing import Attempted, bounds, filled, must_survive
from skilltrial.stats.ratios import RatioEstimate, per_dollar, typical_ratio
from skilltrial.stats.several import holm

Fill = Literal["none", "worst", "best"]


class Both(NamedTuple):
    """A case in both arms."""

    arm: Tally
    baseline: Tally

    @property
    def used(self) -> bool:
        return bool(self.arm.scores and self.baseline.scores)

    @property
    def difference(self) -> float:
        return (self.arm.mean or 0.0) - (self.baseline.mean or 0.0)


class Contest:
    """All cases of one skill on one target, one arm against one baseline."""

    def __init__(
        self,
        skill: str,
        target: str,
        arm: str,
        baseline: str,
        forced: bool,
        primary: bool,
        cases: Sequence[Both],
        margin: float,
        seed: str,
    ) -> None:
        self.skill, self.target, self.arm, self.baseline = skill, target, arm, baseline
        self.forced, self.primary, self.margin, self.seed = forced, primary, margin, seed
        self.cases = [both for both in cases if both.arm.entered and both.baseline.entered]
        self.used = [both for both in self.cases if both.used]

    # ------------------------------------------------------------ on these cases
    @cached_property
    def paired(self) -> Paired | None:
        if not self.used:
            return None
        arm, baseline = [both.arm.scores for both in self.used], [both.baseline.scores for both in self.used]
        return pair(arm, baseline, [both.arm.weight for both in self.used])

    @cached_property
    def estimate(self) -> Estimate | None:
        paired = self.paired
        if paired is None:
            return None
        return Estimate(paired.lift, *paired.interval(0.05), *paired.interval(0.10), p_value(paired))

    @property
    def cells(self) -> tuple[int, int]:
        """Graded cells of used cases, by arm."""
        return sum(len(both.arm.scores) for both in self.used), sum(len(both.baseline.scores) for both in self.used)

    # ------------------------------------------------------------ what is missing
    @cached_property
    def attempted(self) -> tuple[Attempted, Attempted]:
        return (
            Attempted(sum(both.arm.planned for both in self.cases), sum(len(both.arm.scores) for both in self.cases)),
            Attempted(sum(both.baseline.planned for both in self.cases), sum(len(both.baseline.scores) for both in self.cases)),
        )

    @cached_property
    def must_survive(self) -> bool:
        return must_survive(*self.attempted)

    @cached_property
    def ends(self) -> tuple[Paired, Paired] | None:
        """Worst and best for the arm; None without a planned case."""
        if not self.cases:
            return None
        return bounds(
            [both.arm.scores for both in self.cases],
            [both.arm.planned for both in self.cases],
            [both.baseline.scores for both in self.cases],
            [both.baseline.planned for both in self.cases],
            [both.arm.weight for both in self.cases],
        )

    @cached_property
    def bound_records(self) -> tuple[words.Bounds, words.Bounds] | None:
        if self.estimate and all(arm.graded == arm.planned for arm in self.attempted):
            whole = words.Bounds(*self.estimate[:5])
            return whole, whole
        ends = self.ends
        return (_bounds(ends[0]), _bounds(ends[1])) if ends else None

    # ------------------------------------------------------------ on cases like these
    def wider(self, alpha: float = 0.05, fill: Fill = "none") -> Wider:
        """The wider scope, with missing cells filled in one way."""
        cases = self.used if fill == "none" else self.cases
        if not cases:
            return NO_UNITS
        differences = [both.difference if fill == "none" else _filled_difference(both, fill) for both in cases]
        clusters = [_cluster(both, place) for place, both in enumerate(cases)] if self.clustered else None
        return on_cases_like_these(differences, [both.arm.weight for both in cases], clusters, alpha, self.seed)

    @property
    def clustered(self) -> bool:
        return any(both.arm.group.case is not None and both.arm.group.case.cluster is not None for both in self.cases)

    # ------------------------------------------------------------ words
    @cached_property
    def word(self) -> words.Word:
        """On these cases, missing cells reckoned with, other rows not yet."""
        own = words.of_these(self.estimate, *self.cells, self.margin)
        found = self.bound_records
        return own if found is None else words.after_missing(own, *self.attempted, self.must_survive, *found, self.margin)


def contests(plan: Plan, tallies: Mapping[Key, Tally], margin: float) -> list[Contest]:
    """Every contrast on every target, forced cases apart from natural ones."""
    by_arm: dict[tuple[str, str, str], list[Tally]] = {}
    targets: dict[str, dict[str, None]] = {}
    for key, tally in tallies.items():
        by_arm.setdefault((key.skill, key.target, key.arm), []).append(tally)
        targets.setdefault(key.skill, {})[key.target] = None
    found = []
    for contrast in plan.contrasts:
        for target in targets.get(contrast.skill, ()):
            baseline = {tally.key.case: tally for tally in by_arm.get((contrast.skill, target, contrast.baseline), ())}
            arm = by_arm.get((contrast.skill, target, contrast.arm), ())
            cases = [Both(tally, baseline[tally.key.case]) for tally in arm if tally.key.case in baseline]
            natural = [both for both in cases if not both.arm.group.forced]
            forced = [both for both in cases if both.arm.group.forced]
            for is_forced, own in ((False, natural), (True, forced)):
                if own or not (cases or is_forced):
                    found.append(
                        Contest(
                            contrast.skill,
                            target,
                            contrast.arm,
                            contrast.baseline,
                            is_forced,
                            contrast.primary,
                            own,
                            margin,
                            plan.experiment,
                        )
                    )
    return found


def lift_rows(found: Sequence[Contest]) -> tuple[Lift, ...]:
    """A row per contest. Primary natural rows are one family for Holm's correction, all others a second."""
    adjusted: dict[int, tuple[words.Word, float | None]] = {}
    for family in (True, False):
        adjusted |= _family([one for one in found if (one.primary and not one.forced) is family])
    return tuple(_lift(one, *adjusted[id(one)]) for one in found)


def _family(rows: Sequence[Contest]) -> dict[int, tuple[words.Word, float | None]]:
    """The final word and Holm's p of each contest. A row that was not measured claims nothing and is not counted."""
    known = [(one, one.paired, one.estimate) for one in rows]
    measured = [(one, paired, estimate) for one, paired, estimate in known if paired and estimate]
    result: dict[int, tuple[words.Word, float | None]] = {id(one): (one.word, None) for one in rows}
    if len(measured) < 2:
        return result | {id(one): (one.word, estimate.p_value) for one, _, estimate in measured}
    against_zero = holm([estimate.p_value for _, _, estimate in measured])
    inside = [one.word.verdict == "no meaningful effect" for one, _, _ in measured]
    same = holm([p_equivalence(paired, one.margin) for one, paired, _ in measured]) if any(inside) else against_zero
    for (one, _, _), zero, margin, is_inside in zip(measured, against_zero, same, inside, strict=True):
        result[id(one)] = (words.after_several(one.word, margin if is_inside else zero, len(measured)), zero)
    return result


def _lift(one: Contest, word: words.Word, p_adjusted: float | None) -> Lift:
    estimate, ends, attempted = one.estimate, one.bound_records, one.attempted
    arm_cells, baseline_cells = one.cells
    differences = [(both.arm.key.case, both.difference) for both in one.used]
    costs = _Costs(one)
    return Lift(
        skill=one.skill,
        target=one.target,
        arm=one.arm,
        baseline=one.baseline,
        activation="forced" if one.forced else "natural",
        cases=len(one.used),
        cases_dropped=len(one.cases) - len(one.used),
        repetitions=max((both.arm.planned for both in one.cases), default=0),
        cells={one.arm: arm_cells, one.baseline: baseline_cells},
        lift=estimate.lift if estimate else None,
        low=estimate.low if estimate else None,
        high=estimate.high if estimate else None,
        low90=estimate.low90 if estimate else None,
        high90=estimate.high90 if estimate else None,
        p_value=estimate.p_value if estimate else None,
        p_adjusted=p_adjusted,
        verdict=word.verdict,
        reason=word.reason,
        point_label=words.point_label(estimate.lift) if estimate else None,
        margin=one.margin,
        coverage={one.arm: attempted[0].coverage, one.baseline: attempted[1].coverage} if one.cases else {},
        worst=Bound(**ends[0]._asdict()) if ends else Bound(),
        best=Bound(**ends[1]._asdict()) if ends else Bound(),
        bounds_rule=one.must_survive,
        better=sum(difference > TIE for _, difference in differences),
        equal=sum(abs(difference) <= TIE for _, difference in differences),
        worse_cases=tuple(case for case, difference in differences if difference < -TIE),
        like_these=_like(one, word),
        time_delta=costs.delta("seconds"),
        token_delta=costs.delta("tokens"),
        cost_delta=costs.delta("cost"),
        time_ratio=_ratio(costs.ratio("seconds")),
        token_ratio=_ratio(costs.ratio("tokens")),
        cost_ratio=_ratio(costs.ratio("cost")),
        lift_per_usd=costs.lift_per_usd(estimate),
    )


def _like(one: Contest, word: words.Word) -> LikeThese:
    wider = one.wider()
    own = words.of_like(wider, word, one.margin, "cluster" if one.clustered else "case")
    return LikeThese(
        units=wider.units,
        low=wider.low,
        high=wider.high,
        p_value=wider.p_value,
        verdict=own.verdict,
        reason=own.reason,
        pseudo_cases=wider.pseudo_cases,
    )


class _Costs:
    """Time, tokens and dollars of both arms, paired by case over runs that ended well."""

    def __init__(self, one: Contest) -> None:
        self.means = {
            what: [(getattr(both.arm.group, what).mean, getattr(both.baseline.group, what).mean) for both in one.cases]
            for what in ("seconds", "tokens", "cost")
        }

    def delta(self, what: str) -> float | None:
        """Mean of the differences of means."""
        known = [arm - baseline for arm, baseline in self.means[what] if arm is not None and baseline is not None]
        return sum(known) / len(known) if known else None

    def ratio(self, what: str) -> RatioEstimate:
        return typical_ratio([arm for arm, _ in self.means[what]], [baseline for _, baseline in self.means[what]])

    def lift_per_usd(self, estimate: Estimate | None) -> Interval:
        """None unless the skill surely costs more."""
        found = per_dollar(estimate[:3], self.delta("cost"), self.ratio("cost")) if estimate else None
        return Interval(value=found[0], low=found[1], high=found[2]) if found else Interval()


def _ratio(estimate: RatioEstimate) -> Ratio:
    return Ratio(**estimate._asdict())


def _bounds(paired: Paired) -> words.Bounds:
    return words.Bounds(paired.lift, *paired.interval(0.05), *paired.interval(0.10))


def _filled_difference(both: Both, fill: Fill) -> float:
    high, low = (0.0, 1.0) if fill == "worst" else (1.0, 0.0)
    arm = filled([both.arm.scores], [both.arm.planned], high)[0]
    baseline = filled([both.baseline.scores], [both.baseline.planned], low)[0]
    return sum(arm) / len(arm) - sum(baseline) / len(baseline)


def _cluster(both: Both, place: int) -> str | int:
    case = both.arm.group.case
    return case.cluster if case is not None and case.cluster is not None else place
