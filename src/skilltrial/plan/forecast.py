"""What an experiment will take and what it can show: what `plan` prints, as data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from skilltrial.plan.limits import stage_of
from skilltrial.plan.making import History
from skilltrial.records.checks import JUDGED
from skilltrial.records.plan import CellGroup, Plan, SetAside
from skilltrial.records.record import Record
from skilltrial.records.suite import Case, landing
from skilltrial.seams import Capabilities
from skilltrial.stats.power import smallest_lift_like_these, smallest_lift_on_these


class Endpoints(NamedTuple):
    """What is called."""

    targets: Mapping[str, str]
    """By target name."""
    judge: str | None = None


class TargetForecast(Record):
    """One target's share."""

    name: str
    backend: str
    value: str | None
    endpoint: str | None
    cells: int
    paid: bool
    concurrency: int
    timeout_s: float | None
    expected_s: float | None = None
    """Seconds of work, one after the other; None: no earlier run tells."""
    expected_cost_usd: float | None = None


class Landing(Record):
    """Where a listed file lies in the workspace."""

    skill: str
    case: str
    target: str
    listed: str
    lands: str | None
    """None: the target touches no files; text is put into the prompt."""


class Sight(Record):
    """What this design can see, with a chance of 80 %."""

    skill: str
    target: str
    cases: int
    cells_per_arm: int
    base_rate: float
    on_these_cases: float | None
    """Smallest lift that would be called `helps`; None: none would."""
    on_cases_like_these: float | None


class Forecast(Record):
    """Numbers for `plan`. Nothing was run for them."""

    cells: int
    by_arm: dict[str, int]
    paid_cells: int
    target_calls: int
    judge_calls: int
    """At most: one question per cell that has a rubric or a quality score."""
    judge: str | None
    judge_endpoint: str | None
    targets: tuple[TargetForecast, ...]
    together: int | None
    """Runs at once over all agent programs, which share the machine; None: there are not several of them."""
    fixtures: tuple[Landing, ...]
    set_aside: tuple[SetAside, ...]
    expected_s: float | None
    """Wall time at these concurrencies; None while a target has no history."""
    expected_cost_usd: float | None
    """The targets' cost; None while a paid target has no history."""
    sights: tuple[Sight, ...]
    warnings: tuple[str, ...]


def forecast(
    plan: Plan,
    capabilities: Mapping[str, Capabilities],
    concurrency: Mapping[str, int],
    endpoints: Endpoints,
    history: History | None = None,
    base_rates: Mapping[tuple[str, str], float] | None = None,
) -> Forecast:
    """What the plan takes, and the smallest lift it can see. `base_rates`: by skill and target, default 0.5.

    A shard's numbers are its share of the whole, cell counts rounded up.
    """
    share, shared = 1.0 / plan.shard.count if plan.shard else 1.0, shared_of(plan, capabilities)
    targets = tuple(_targets(plan, capabilities, concurrency, endpoints, history or {}, share))
    by_arm: dict[str, int] = {}
    for group in plan.groups:
        by_arm[group.arm] = by_arm.get(group.arm, 0) + group.repetitions
    return Forecast(
        cells=sum(target.cells for target in targets),
        by_arm={arm: ceil(count * share) for arm, count in by_arm.items()},
        paid_cells=sum(target.cells for target in targets if target.paid),
        target_calls=sum(target.cells for target in targets),
        judge_calls=ceil(share * _judge_calls(plan)),
        judge=plan.judge.target.name if plan.judge else None,
        judge_endpoint=endpoints.judge,
        targets=targets,
        together=max(concurrency[name] for name in shared) if len(shared) > 1 else None,
        fixtures=tuple(_landings(plan, capabilities)),
        set_aside=plan.set_aside,
        expected_s=_wall(targets, shared),
        expected_cost_usd=_total([target.expected_cost_usd for target in targets if target.paid]),
        sights=tuple(_sights(plan, base_rates or {})),
        warnings=plan.warnings,
    )


def concurrency_of(plan: Plan, capabilities: Mapping[str, Capabilities]) -> dict[str, int]:
    """How many cells of each target run at once: what was asked for, else its backend's own number; 1 by the adapter's rules."""
    asked = 1 if plan.options.adapter_rules else plan.options.concurrency
    return {target.name: asked or capabilities[target.name].concurrency for target in plan.targets}


def shared_of(plan: Plan, capabilities: Mapping[str, Capabilities]) -> frozenset[str]:
    """The targets that share one limit: agent programs, for each of them is a process tree on this machine."""
    return frozenset(target.name for target in plan.targets if capabilities[target.name].program)


def _targets(
    plan: Plan,
    capabilities: Mapping[str, Capabilities],
    concurrency: Mapping[str, int],
    endpoints: Endpoints,
    history: History,
    share: float,
) -> Iterator[TargetForecast]:
    for target in plan.targets:
        groups = [group for group in plan.groups if group.target == target.name]
        cells = ceil(share * sum(group.repetitions for group in groups))
        seconds, dollars = _expected(groups, history, cells)
        yield TargetForecast(
            name=target.name,
            backend=target.backend,
            value=target.value,
            endpoint=endpoints.targets.get(target.name),
            cells=cells,
            paid=capabilities[target.name].paid,
            concurrency=concurrency[target.name],
            timeout_s=target.timeout_s,
            expected_s=seconds,
            expected_cost_usd=dollars,
        )


def expected_cost_usd(groups: Sequence[CellGroup], history: History) -> float | None:
    """What all their cells cost by earlier runs of some; None: no earlier run tells."""
    return _expected(groups, history, sum(group.repetitions for group in groups))[1]


def _expected(groups: Sequence[CellGroup], history: History, cells: int) -> tuple[float | None, float | None]:
    """Means over the groups that ran before, for all cells."""
    known = [took for group in groups if (took := history.get(group.inputs) or history.get(_key(group)))]
    costs = [cost for _, cost in known if cost is not None]
    seconds = cells * sum(seconds for seconds, _ in known) / len(known) if known else None
    return seconds, cells * sum(costs) / len(costs) if costs else None


def _key(group: CellGroup) -> str:
    return f"{group.skill}/{group.case}/{group.target}/{group.arm}"


def _wall(targets: Sequence[TargetForecast], shared: Collection[str]) -> float | None:
    """Targets run side by side, so the slowest decides; those that share a limit take as long as all of them together."""
    apart = [[target] for target in targets if target.cells and target.name not in shared]
    together = [target for target in targets if target.cells and target.name in shared]
    spans = [_span(group) for group in (*apart, *([together] if together else ()))]
    known = [span for span in spans if span is not None]
    return max(known) if known and len(known) == len(spans) else None


def _span(targets: Sequence[TargetForecast]) -> float | None:
    """How long targets take that share one limit; None: of one of them that is not known."""
    known = [target.expected_s for target in targets if target.expected_s is not None]
    if len(known) < len(targets):
        return None
    return sum(known) / min(max(target.concurrency for target in targets), sum(target.cells for target in targets))


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _judge_calls(plan: Plan) -> int:
    if plan.judge is None:
        return 0
    if plan.judge.mode == "pairwise":
        arms = {(contrast.skill, contrast.arm) for contrast in plan.contrasts}
        return sum(group.repetitions for group in plan.groups if (group.skill, group.arm) in arms)
    aside = {(row.skill, row.case, row.check, row.target) for row in plan.set_aside}
    cases = _cases(plan)

    def asks(group: CellGroup) -> int:
        types = {
            check.type
            for check in cases[group.skill, group.case].checks
            if check.type in JUDGED
            and (check.arms is None or group.arm in check.arms)
            and not {(group.skill, group.case, check.id, target) for target in (None, group.target)} & aside
        }
        return len(types)

    return sum(group.repetitions * asks(group) for group in plan.groups)


def _cases(plan: Plan) -> dict[tuple[str, str], Case]:
    return {(suite.skill, case.id): case for suite in plan.suites for case in suite.cases}


def _landings(plan: Plan, capabilities: Mapping[str, Capabilities]) -> Iterator[Landing]:
    for (skill, name), case in _cases(plan).items():
        for target in plan.targets:
            has = capabilities[target.name]
            for file in case.fixtures.files:
                lands = landing(file.path, stage_of(case, has)) if has.files else None
                yield Landing(skill=skill, case=name, target=target.name, listed=file.path, lands=lands)


def _sights(plan: Plan, base_rates: Mapping[tuple[str, str], float]) -> Iterator[Sight]:
    """One row per contrast and target. A shard is judged as part of the whole."""
    clusters = {key: case.cluster or case.id for key, case in _cases(plan).items()}
    for contrast in plan.contrasts:
        for target in plan.targets:
            groups = [g for g in plan.groups if (g.skill, g.target, g.arm) == (contrast.skill, target.name, contrast.arm)]
            cells = sum(group.repetitions for group in groups)
            rate = base_rates.get((contrast.skill, target.name), 0.5)
            yield Sight(
                skill=contrast.skill,
                target=target.name,
                cases=len(groups),
                cells_per_arm=cells,
                base_rate=rate,
                on_these_cases=smallest_lift_on_these(cells, rate),
                on_cases_like_these=smallest_lift_like_these(len({clusters[g.skill, g.case] for g in groups})),
            )


__all__ = ["Endpoints", "Forecast", "Landing", "Sight", "TargetForecast", "concurrency_of", "forecast", "shared_of"]
