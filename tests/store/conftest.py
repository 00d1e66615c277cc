"""Plans and runs to store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skilltrial.records.evidence import Evidence, Outcome, Timing, Usage
from skilltrial.records.grades import Grade, Grading, JudgeCall
from skilltrial.records.plan import Arm, Cell, CellGroup, Plan, Shard, Target, cells
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Skill, Suite, Tree
from skilltrial.store import Experiment, create

TREE = Tree(digest="sha256:" + "1" * 64)
WHERE = Where(file="evals.json")


def make_plan(
    name: str, *, cases: int = 2, repetitions: int = 2, shard: Shard | None = None, salt: str = "", at: str = ""
) -> Plan:
    groups = tuple(
        CellGroup(
            skill="demo",
            case=f"c{number}",
            target="fake",
            arm=arm,
            repetitions=repetitions,
            inputs=f"sha256:{salt}{arm}{number}",
            checks="sha256:checks",
        )
        for number in range(cases)
        for arm in ("with_skill", "without_skill")
    )
    return Plan(
        experiment=name,
        created_at=at or "2026-01-01T00:00:00Z",
        skilltrial="0",
        skills=(Skill(id="demo", name="demo", description="d", body="b", tree=TREE, frontmatter={}, where=WHERE),),
        suites=(
            Suite(
                skill="demo",
                dialect="standard",
                cases=tuple(Case(id=f"c{n}", prompt=f"Say {n}", where=WHERE) for n in range(cases)),
                digest="sha256:0",
                where=WHERE,
            ),
        ),
        arms=(
            Arm(name="with_skill", skill="demo", trees=(TREE,), subject="demo"),
            Arm(name="without_skill", skill="demo"),
        ),
        targets=(Target(name="fake", backend="fake"),),
        groups=groups,
        seed=7,
        shard=shard,
    )


def run_of(
    cell: Cell,
    *,
    outcome: Outcome = "ok",
    text: str = "hello",
    attempt: int = 1,
    started: str = "2026-01-01T00:00:00Z",
    **more: object,
) -> Evidence:
    return Evidence.model_validate(
        {
            "cell": cell.id,
            "inputs": cell.inputs,
            "attempt": attempt,
            "outcome": outcome,
            "text": text,
            "usage": Usage(input_tokens=10, output_tokens=5, cost_usd=0.25),
            "timing": Timing(started_at=started, duration_s=2.0),
            **more,
        }
    )


def grades_of(
    cell: Cell, evidence: str, *, state: str = "passed", method: str = "check", number: int = 1, ask: bool = False
) -> Grading:
    grade = Grade.model_validate({"check": "k1", "state": state, "method": method, "reason": "looked"})
    call = JudgeCall(prompt="p", reply="r", usage=Usage(input_tokens=3, cost_usd=0.5))
    return Grading(
        cell=cell.id,
        evidence=evidence,
        checks="sha256:checks",
        number=number,
        grades=(grade,),
        calls=(call,) if ask else (),
    )


def finish(experiment: Experiment, cell: Cell) -> None:
    line = experiment.append_evidence(run_of(cell))
    experiment.append_grading(grades_of(cell, line.digest), 1)


Make = Callable[..., Experiment]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def new(**options: object) -> Experiment:
        return create(tmp_path / "w", lambda name: make_plan(name, **options), {}, None)  # type: ignore[arg-type]

    return new


def planned(experiment: Experiment) -> list[Cell]:
    return list(cells(experiment.plan))
