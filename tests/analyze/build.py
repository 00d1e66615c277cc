"""Experiments in memory: a plan and the lines a journal would hold, from letters.

P all checks passed · F all failed · p the first of several passed · T timeout · A agent error · I infrastructure error
U the judge gave no verdict · N not graded yet · C contaminated · R reused and passed · . not run
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skilltrial.records.evidence import Evidence, Timing, Usage
from skilltrial.records.grades import Grade
from skilltrial.records.journal import EvidenceLine, GradingLine, Result, StopLine
from skilltrial.records.plan import (
    WITH_SKILL,
    WITHOUT_SKILL,
    Arm,
    Cell,
    CellGroup,
    Contrast,
    Gate,
    Options,
    Plan,
    SetAside,
    Target,
    cells_of,
)
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Check, Skill, Suite, Tree

HERE = Where(file="evals.json")
TREE = Tree(digest="sha256:" + "1" * 64)
OUTCOMES = {"T": "timeout", "A": "agent_error", "I": "infrastructure_error", "B": "budget", "H": "harness_error"}
ARMS = (WITH_SKILL, WITHOUT_SKILL)
Letters = Mapping[str, Sequence[str]]
"""Case -> one string per arm (and target), one letter per repetition."""


def check(name: str = "c1", type_: str = "contains", **more: Any) -> Check:
    return Check(id=name, type=type_, text=f"text of {name}", **more)


def case(name: str, *checks: Check, **more: Any) -> Case:
    return Case(id=name, prompt=f"do {name}", checks=checks or (check(),), where=HERE, **more)


def grade(one: Check, state: str, **more: Any) -> Grade:
    method = "judge" if one.type in ("rubric", "quality") else "check"
    given = {"check": one.id, "state": state, "method": method, "reason": f"{one.id} {state}"}
    given |= {"required": one.required, "scored": one.scored, "weight": one.weight}
    return Grade(**(given | more))


class View:
    """An ExperimentView over lists."""

    def __init__(self, plan: Plan, results: Sequence[Result], stops: Sequence[StopLine] = ()) -> None:
        self.plan = plan
        self.folder = Path("nowhere")
        self._results = list(results)
        self._stops = tuple(stops)

    def results(self) -> Iterator[Result]:
        yield from self._results

    def evidence(self, result: Result) -> Evidence | None:
        line = result.evidence
        if line is None:
            return None
        timing = Timing(started_at=line.started_at, duration_s=line.duration_s)
        return Evidence(cell=line.cell, inputs=line.inputs, attempt=line.attempt, outcome=line.outcome, timing=timing)

    def transcript(self, result: Result) -> tuple[dict[str, Any], ...]:
        return ()

    def blob(self, digest: str) -> bytes | None:
        return None

    def stops(self) -> tuple[StopLine, ...]:
        return self._stops

    def altered(self, cell: str, *, grades: Sequence[Grade] | None = None, **line: Any) -> View:
        """The same with one cell's grades, or fields of its evidence line, replaced."""
        changed = []
        for result in self._results:
            if result.cell.id == cell:
                if line and result.evidence:
                    result = result._replace(evidence=result.evidence.model_copy(update=line))
                if grades is not None:
                    grading = result.grading or grading_line(result.cell, grades)
                    result = result._replace(grading=grading.model_copy(update={"grades": tuple(grades)}))
            changed.append(result)
        return View(self.plan, changed, self._stops)

    def planned(self, **changes: Any) -> View:
        """The same results under a changed plan."""
        return View(self.plan.model_copy(update=changes), self._results, self._stops)


def evidence_line(cell: Cell, **more: Any) -> EvidenceLine:
    base: dict[str, Any] = {
        "cell": cell.id,
        "attempt": 1,
        "inputs": cell.inputs,
        "outcome": "ok",
        "duration_s": 2.0,
        "started_at": "2026-01-01T00:00:00Z",
        "clean": True,
        "activation": "none_expected" if cell.arm == WITHOUT_SKILL else "activated",
        "pack": "1",
        "offset": 0,
        "size": 1,
        "digest": "sha256:" + "2" * 64,
    }
    return EvidenceLine(**(base | more))


def grading_line(cell: Cell, grades: Sequence[Grade], **more: Any) -> GradingLine:
    base = {"cell": cell.id, "attempt": 1, "evidence": "e", "checks": "c", "number": 1, "grades": tuple(grades)}
    return GradingLine(**(base | more))


def result(cell: Cell, one: Case, letter: str) -> Result:
    if letter == ".":
        return Result(cell, None, None)
    if letter in OUTCOMES:
        return Result(cell, evidence_line(cell, outcome=OUTCOMES[letter], reason=f"{OUTCOMES[letter]} it was"), None)
    line = evidence_line(cell, clean=letter != "C", source="reused" if letter == "R" else "ran")
    asked = [check for check in one.checks if check.arms is None or cell.arm in check.arms]
    if letter == "N":
        return Result(cell, line, None)
    states = {"F": "failed", "U": "ungraded"}
    grades = [grade(check, states.get(letter, "passed")) for check in asked]
    if letter == "p":
        grades = [grade(check, "failed" if place else "passed") for place, check in enumerate(asked)]
    return Result(cell, line, grading_line(cell, grades))


def trial(
    letters: Letters,
    cases: Sequence[Case] = (),
    *,
    skill: str = "demo",
    targets: Sequence[str] = ("t1",),
    arms: Sequence[str] = ARMS,
    gate: Gate | None = None,
    set_aside: Sequence[SetAside] = (),
    xfail: Sequence[str] = (),
    stops: Sequence[StopLine] = (),
    **plan: Any,
) -> View:
    """One skill; a case without a definition has one check. Strings go arm by arm, then target by target."""
    known = {one.id: one for one in cases}
    suite = [known.get(name) or case(name) for name in letters]
    groups, results = [], []
    for one in suite:
        strings = iter(letters[one.id])
        for target in targets:
            for arm in arms:
                row = next(strings)
                group = CellGroup(
                    skill=skill,
                    case=one.id,
                    target=target,
                    arm=arm,
                    repetitions=len(row),
                    inputs=f"{one.id} {arm}",
                    checks=one.id,
                )
                groups.append(group)
                results += [result(cell, one, letter) for cell, letter in zip(cells_of(group, 0), row, strict=True)]
    made = Plan(
        experiment="iteration-1",
        created_at="2026-01-01T00:00:00Z",
        skilltrial="0",
        skills=(Skill(id=skill, name=skill, description="d", body="b", tree=TREE, frontmatter={}, where=HERE),),
        suites=(Suite(skill=skill, dialect="standard", cases=tuple(suite), digest="sha256:0", where=HERE),),
        arms=tuple(Arm(name=arm, skill=skill, trees=() if arm == WITHOUT_SKILL else (TREE,)) for arm in arms),
        targets=tuple(Target(name=name, backend="fake", value=name) for name in targets),
        contrasts=(Contrast(skill=skill),) if set(ARMS) <= set(arms) else (),
        groups=tuple(groups),
        set_aside=tuple(set_aside),
        gate=gate or Gate(),
        options=Options(
            xfail=tuple(xfail), repetitions=max(len(row) for rows in letters.values() for row in rows) if letters else 1
        ),
        **plan,
    )
    return View(made, results, stops)


def joined(*views: View) -> View:
    """Several skills in one experiment."""
    first = views[0].plan
    return View(
        first.model_copy(
            update={
                name: tuple(item for view in views for item in getattr(view.plan, name))
                for name in ("skills", "suites", "arms", "contrasts", "groups", "set_aside")
            }
        ),
        [one for view in views for one in view.results()],
    )


def priced(view: View, **by_arm: tuple[float, float, int]) -> View:
    """The same with (seconds, dollars, tokens in and out each) for all runs of an arm."""
    results = []
    for one in view.results():
        if one.evidence is not None and one.cell.arm in by_arm:
            seconds, dollars, tokens = by_arm[one.cell.arm]
            usage = Usage(input_tokens=tokens, output_tokens=tokens, cached_tokens=0, cost_usd=dollars)
            one = one._replace(evidence=one.evidence.model_copy(update={"duration_s": seconds, "usage": usage}))
        results.append(one)
    return View(view.plan, results)
