"""A small experiment made by hand: the reports under test read it as they would a stored one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skilltrial.records.evidence import Delta, Event, Evidence, Timing, Usage
from skilltrial.records.grades import Grade
from skilltrial.records.journal import EvidenceLine, GradingLine, Result
from skilltrial.records.plan import Arm, CellGroup, Contrast, Plan, Target, cells_of
from skilltrial.records.problems import Where
from skilltrial.records.suite import EMPTY_TREE, Case, Check, FileRef, Skill, Suite
from skilltrial.records.summary import (
    ActivationRow,
    Bound,
    CaseRow,
    Cost,
    Coverage,
    FailureRow,
    GateResult,
    GateRow,
    IsolationRow,
    JudgeRow,
    Lift,
    LikeThese,
    Rate,
    Spread,
    Summary,
    Tokens,
    Totals,
)

ARMS = ("with_skill", "without_skill")
WHERE = Where(file="skills/notes/SKILL.md")
DIGEST = "sha256:" + "0" * 64


class Words(NamedTuple):
    """The untrusted texts of an experiment."""

    prompt: str = "Write release notes for the commits in commits.txt."
    text: str = "# 2.0.0\n- login with passkeys"
    check: str = "The breaking change is mentioned prominently"
    reason: str = "looked for 'BREAKING', found none"
    quote: str = "- login with passkeys"
    target: str = "claude-code"


class FakeView:
    """An ExperimentView that makes its cells when asked."""

    def __init__(self, plan: Plan, letters: Callable[[str, str, int], str], words: Words) -> None:
        self.plan = plan
        self.folder = Path("skilltrial-workspace/iteration-7")
        self.letters = letters
        self.words = words

    def results(self) -> Iterator[Result]:
        for group in self.plan.groups:
            for cell in cells_of(group, 0):
                letter = self.letters(cell.case, cell.arm, cell.repetition)
                yield Result(cell, self._line(cell, letter), self._grades(cell, letter))

    def _line(self, cell: Any, letter: str) -> EvidenceLine | None:
        if letter == ".":
            return None
        return EvidenceLine(
            cell=cell.id,
            attempt=1,
            inputs=DIGEST,
            outcome="timeout" if letter == "X" else "ok",
            reason="no answer within 120 s" if letter == "X" else None,
            usage=Usage(input_tokens=1500, cached_tokens=700, output_tokens=340, cost_usd=0.0016),
            duration_s=41.0,
            started_at="2025-01-01T00:00:00Z",
            activation="activated" if cell.arm == "with_skill" else "none_expected",
            tool_calls=1,
            pack="evidence/a.jsonl",
            offset=0,
            size=1,
            digest=DIGEST,
        )

    def _grades(self, cell: Any, letter: str) -> GradingLine | None:
        if letter in ".X":
            return None
        state: Any = {"P": "passed", "F": "failed", "U": "ungraded"}[letter]
        grades = (
            Grade(check="1", state="passed" if letter == "P" else "failed", reason=self.words.reason, quote=self.words.quote),
            Grade(check="2", state=state, reason="judge reply had no verdict" if letter == "U" else None, method="judge"),
        )
        return GradingLine(cell=cell.id, attempt=1, evidence=DIGEST, checks=DIGEST, number=1, grades=grades, judge_calls=1)

    def evidence(self, result: Result) -> Evidence | None:
        if result.evidence is None:
            return None
        return Evidence(
            cell=result.cell.id,
            inputs=DIGEST,
            attempt=1,
            outcome=result.evidence.outcome,
            reason=result.evidence.reason,
            text=self.words.text,
            events=(
                Event(kind="tool_call", name="read", call="1", arguments={"path": "commits.txt"}),
                Event(kind="tool_result", call="1", ok=True, text="feat: passkeys"),
            ),
            activation=result.evidence.activation,
            usage=result.evidence.usage,
            timing=Timing(started_at="2025-01-01T00:00:00Z", duration_s=41.0, turns=3),
            delta=Delta(created=(FileRef(path="NOTES.md", size=12, digest=DIGEST),), deleted=("old.md",)),
            logs=(FileRef(path="stderr.log", size=20, digest="sha256:" + "1" * 64),),
            sandbox="bwrap",
            model="haiku-4.5",
        )

    def transcript(self, result: Result) -> tuple[dict[str, Any], ...]:
        if result.grading is None:
            return ()
        return ({"prompt": "Judge this.", "reply": f'{{"verdict": "{self.words.quote}"}}', "model": "sonnet", "outcome": "ok"},)

    def blob(self, digest: str) -> bytes | None:
        return b"warning: slow\nlast line" if digest.endswith("1") else b"# 2.0.0\n"


class Sample(NamedTuple):
    summary: Summary
    view: FakeView


def standing(case: str, arm: str, repetition: int) -> str:
    """With: passes but for repetition 3 of each third case. Without: fails but for repetition 2; one timeout, one ungraded."""
    number = int(case.rsplit("-", 1)[1])
    if arm == "with_skill":
        return "F" if number % 3 == 0 and repetition == 3 else "P"
    if number == 2 and repetition == 1:
        return "X"
    if number == 2 and repetition == 2:
        return "U"
    return "P" if repetition == 2 else "F"


def make(
    cases: int = 4,
    repetitions: int = 3,
    targets: int = 1,
    words: Words = Words(),  # noqa: B008
    letters: Callable[[str, str, int], str] = standing,
    backend: str = "claude-code",
    verdict: Any = "helps",
) -> Sample:
    """An experiment of `cases * repetitions * targets * 2` cells and a Summary that fits it."""
    skill = Skill(
        id="notes", name="notes", description="Writes notes.", body="Body.", tree=EMPTY_TREE, frontmatter={}, where=WHERE
    )
    checks = (
        Check(id="1", type="contains", text=words.check, options={"value": "BREAKING"}),
        Check(id="2", type="rubric", text="No change is invented"),
    )
    ids = [f"case-{number}" for number in range(cases)]
    suite = Suite(
        skill="notes",
        dialect="standard",
        digest=DIGEST,
        where=WHERE,
        cases=tuple(Case(id=name, prompt=words.prompt, checks=checks, where=WHERE) for name in ids),
    )
    names = [words.target if number == 0 else f"target-{number}" for number in range(targets)]
    plan = Plan(
        experiment="iteration-7",
        created_at="2025-01-01T00:00:00Z",
        skilltrial="0",
        skills=(skill,),
        suites=(suite,),
        arms=tuple(Arm(name=arm, skill="notes") for arm in ARMS),
        targets=tuple(Target(name=name, backend=backend, value="haiku-4.5") for name in names),
        contrasts=(Contrast(skill="notes"),),
        groups=tuple(
            CellGroup(skill="notes", case=case, target=name, arm=arm, repetitions=repetitions, inputs=DIGEST, checks=DIGEST)
            for name in names
            for case in ids
            for arm in ARMS
        ),
    )
    return Sample(_summary(plan, ids, names, repetitions, letters, verdict), FakeView(plan, letters, words))


def _summary(plan: Plan, ids: list[str], names: list[str], repetitions: int, letters: Any, verdict: Any) -> Summary:
    rows = [_row(case, name, arm, repetitions, letters) for name in names for case in ids for arm in ARMS]
    planned = len(rows) * repetitions
    measured = sum(row.measured for row in rows)
    failures = tuple(
        FailureRow(
            cell=f"notes/{row.case}/{row.target}/{row.arm}/{place}", state="failed", reason="1 of 2 checks failed", checks=("1",)
        )
        for row in rows
        if row.arm == "with_skill"
        for place, letter in enumerate(row.squares, 1)
        if letter == "F"
    )
    errors = tuple(
        FailureRow(cell=f"notes/{row.case}/{row.target}/{row.arm}/{place}", state="timeout", reason="no answer within 120 s")
        for row in rows
        for place, letter in enumerate(row.squares, 1)
        if letter == "X"
    )
    return Summary(
        experiment="iteration-7",
        coverage=Coverage(
            planned=planned,
            finished=planned,
            graded=measured,
            set_aside=0,
            failed_measurements={"timeout": len(errors)} if errors else {},
            by_arm={},
        ),
        rates=tuple(_rate(name, arm, len(ids)) for name in names for arm in ARMS),
        lifts=tuple(_lift(name, len(ids), repetitions, verdict) for name in names),
        cases=tuple(rows),
        judge=(JudgeRow(backend="openai", model="sonnet-4.6", calls=12),),
        activation=tuple(ActivationRow(skill="notes", target=name, arm="with_skill", activated=11, not_seen=1) for name in names),
        isolation=tuple(IsolationRow(target=name, level="bwrap", clean=True, reason="0 skills seen") for name in names),
        totals=Totals(
            cells=planned,
            attempts=planned,
            input_tokens=150000,
            cached_tokens=70000,
            output_tokens=34000,
            total_tokens=184000,
            cached_pct=46.7,
            cost_usd=1.94,
            cells_with_cost=planned,
            duration_s=900.0,
            wall_s=450.0,
        ),
        failures=failures,
        errors=errors,
        gate=GateResult(
            exit_code=0,
            passed=True,
            reasons=("all cases passed by majority",),
            by_skill=tuple(GateRow(skill="notes", target=name, exit_code=0, passed=True) for name in names),
        ),
        warnings=("2 cases are flaky",),
    )


def _row(case: str, target: str, arm: str, repetitions: int, letters: Any) -> CaseRow:
    squares = "".join(letters(case, arm, number) for number in range(1, repetitions + 1))
    measured = squares.count("P") + squares.count("F")
    passes = squares.count("P")
    rate = passes / measured if measured else None
    return CaseRow(
        skill="notes",
        case=case,
        target=target,
        arm=arm,
        rate=rate,
        passes=passes,
        measured=measured,
        planned=repetitions,
        state="open" if rate is None or rate == 0.5 else "pass" if rate > 0.5 else "fail",
        squares=squares,
    )


def _rate(target: str, arm: str, cases: int) -> Rate:
    good = arm == "with_skill"
    return Rate(
        skill="notes",
        target=target,
        arm=arm,
        cases=cases,
        cells=cases * 3,
        graded=cases * 3,
        ungraded=0,
        pass_rate=0.88 if good else 0.42,
        delivery="installed" if good else "none",
        time_seconds=Spread(mean=41.0, median=40.0),
        tokens=Tokens(total=1840.0),
        cost_usd=Cost(mean=0.0016, total=0.05, cells_with_cost=cases * 3),
        failures={} if good else {"timeout": 1},
    )


def _lift(target: str, cases: int, repetitions: int, verdict: Any) -> Lift:
    return Lift(
        skill="notes",
        target=target,
        arm="with_skill",
        baseline="without_skill",
        cases=cases,
        repetitions=repetitions,
        lift=0.46,
        low=0.24,
        high=0.68,
        verdict=verdict,
        reason="excludes_zero",
        worst=Bound(lift=0.43),
        best=Bound(lift=0.47),
        like_these=LikeThese(units=cases, verdict="inconclusive", reason=f"too_few_cases: {cases} cases; 6 are needed")
        if cases < 6
        else LikeThese(units=cases, low=0.05, high=0.87, verdict=verdict, reason="excludes_zero"),
        time_delta=-12.0,
        token_delta=-570.0,
        cost_delta=-0.0016,
    )


class FolderOut:
    """Writes below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def sample() -> Sample:
    return make()


@pytest.fixture
def make_sample() -> Callable[..., Sample]:
    return make


@pytest.fixture
def make_words() -> Callable[..., Words]:
    return Words


@pytest.fixture
def out(tmp_path: Path) -> FolderOut:
    return FolderOut(tmp_path)
