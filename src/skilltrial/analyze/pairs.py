"""Two-way judgements become one row per skill, target and pair of arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from skilltrial.records.grades import Comparison
from skilltrial.records.plan import Contrast, Plan, cells
from skilltrial.records.summary import GateResult, PairRow
from skilltrial.stats.limits import exact_limits
from skilltrial.stats.pairs import sign_test


def pair_rows(plan: Plan, comparisons: Iterable[Comparison]) -> tuple[PairRow, ...]:
    """Rows in the plan's order; () where the judge does not compare."""
    if plan.judge is None or plan.judge.mode != "pairwise":
        return ()
    planned = Counter((cell.skill, cell.target, cell.arm) for cell in cells(plan))
    said: dict[tuple[str, str, str, str], Counter[str]] = {}
    for one in comparisons:
        skill, _, target, _ = one.block.split("/")
        said.setdefault((skill, target, one.arm, one.baseline), Counter())[one.winner] += 1
    return tuple(_rows(plan, planned, said))


def _rows(
    plan: Plan, planned: Counter[tuple[str, str, str]], said: dict[tuple[str, str, str, str], Counter[str]]
) -> Iterator[PairRow]:
    for contrast in plan.contrasts:
        for target in plan.targets:
            pairs = planned[contrast.skill, target.name, contrast.arm]
            if pairs:
                found = said.get((contrast.skill, target.name, contrast.arm, contrast.baseline), Counter())
                yield _row(contrast, target.name, pairs, found)


def _row(contrast: Contrast, target: str, pairs: int, said: Counter[str]) -> PairRow:
    wins, losses, ties = said["arm"], said["baseline"], said["tie"]
    judged = wins + losses + ties
    rate = (wins + ties / 2) / judged if judged else None
    limits = exact_limits(rate, judged) if rate is not None else None
    return PairRow(
        skill=contrast.skill,
        target=target,
        arm=contrast.arm,
        baseline=contrast.baseline,
        wins=wins,
        losses=losses,
        ties=ties,
        not_judged=max(0, pairs - judged),
        win_rate=rate,
        low=limits.low if limits else None,
        high=limits.high if limits else None,
        p_value=sign_test(wins, losses),
    )


def gated(gate: GateResult, rows: Iterable[PairRow]) -> GateResult:
    """The gate, which nothing decides where pairs were to be judged and none was."""
    listed = list(rows)
    if not listed or any(row.wins + row.losses + row.ties for row in listed) or gate.exit_code in (1, 2):
        return gate
    return GateResult(exit_code=2, passed=None, reasons=("no pair was judged",), by_skill=gate.by_skill)
