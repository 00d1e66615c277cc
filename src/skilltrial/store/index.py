"""What is known of every planned cell, in about fifty bytes a cell: where its lines stand in the journal, not what they say."""

from __future__ import annotations

from array import array
from typing import Literal, NamedTuple

from skilltrial.records.evidence import Outcome
from skilltrial.records.grades import Grade
from skilltrial.records.plan import Cell, CellGroup, Plan, cell_of, in_shard
from skilltrial.records.record import Record

OUTCOMES: tuple[Outcome, ...] = ("ok", "agent_error", "infrastructure_error", "timeout", "budget", "harness_error")
AGAIN = frozenset({"infrastructure_error", "harness_error"})
"""Outcomes that say nothing of the agent: such a cell is run again."""
Need = Literal["nothing", "run", "grade"]
NEEDS: tuple[Need, ...] = ("nothing", "run", "grade")
OldKind = Literal["evidence", "unjudged", "judged"]
_GRADES: tuple[OldKind, OldKind] = ("unjudged", "judged")
"""Gradings by whether the judge was asked."""


class Spot(NamedTuple):
    """A line of the journal."""

    at: int
    size: int


class Spent(NamedTuple):
    """What all attempts took so far, superseded ones and the judge included."""

    cost_usd: float
    """Known costs only."""
    calls: int
    """Runs and judge calls."""


class GradeHead(Record):
    """The part of a Grade that says whether it is finished."""

    state: str
    method: str = "check"
    required: bool = True


def complete(grades: tuple[GradeHead, ...] | tuple[Grade, ...]) -> bool:
    """False when a required check is ungraded because of the judge: the judge is asked again. An empty answer is complete."""
    return not any(grade.state == "ungraded" and grade.required and grade.method == "judge" for grade in grades)


class Index:
    """Evidence and gradings by cell number: the place of a cell in the plan's grid, shards not taken out."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._first: dict[str, tuple[int, CellGroup]] = {}
        count = 0
        for group in plan.groups:
            self._first[f"{group.skill}/{group.case}/{group.target}/{group.arm}"] = (count, group)
            count += group.repetitions
        self.count = count
        self._at = array("q", bytes(8 * count))
        self._size = array("i", bytes(4 * count))
        self._graded_at = array("q", bytes(8 * count))
        self._graded_size = array("i", bytes(4 * count))
        self._evidence = array("Q", bytes(8 * count))  # first 64 bits of the digest: enough among one cell's attempts
        self._attempts = array("H", bytes(2 * count))
        self._outcome = bytearray(count)  # 0: no counted evidence, else 1 + place in OUTCOMES
        self._complete = bytearray(count)
        self._judged = bytearray(count)  # 1: the judge was asked for this grading
        self._older: dict[int, list[tuple[OldKind, Spot]]] = {}
        self._cost_usd = 0.0
        self._calls = 0
        self.comparisons: list[Spot] = []
        self.stops: list[Spot] = []

    def number(self, cell: str) -> int | None:
        """The number of a cell id; None: it is not in the plan."""
        group, _, repetition = cell.rpartition("/")
        found = self._first.get(group)
        number = int(repetition) if found and repetition.isdecimal() else 0
        return found[0] + number - 1 if found and 1 <= number <= found[1].repetitions else None

    def cell(self, cell: str) -> Cell | None:
        """The planned cell of that id; None: this plan, or this shard of it, does not run it."""
        if self.number(cell) is None:
            return None
        group, _, repetition = cell.rpartition("/")
        planned = cell_of(self._first[group][1], int(repetition), self._plan.seed)
        return planned if in_shard(planned.block, self._plan.shard) else None

    # ------------------------------------------------------------ what the journal says, in its order
    def saw_evidence(self, number: int, spot: Spot, outcome: str, digest: str, attempt: int, counted: bool) -> None:
        """The newest counted evidence is the cell's; what it had before, gradings included, is superseded."""
        self._attempts[number] = max(self._attempts[number], min(attempt, 65535))
        if not counted or outcome not in OUTCOMES:
            self._older.setdefault(number, []).append(("evidence", spot))
            return
        if self._size[number]:
            self._set_aside(number)
        self._at[number], self._size[number] = spot
        self._graded_size[number] = self._complete[number] = 0
        self._evidence[number] = _fingerprint(digest)
        self._outcome[number] = 1 + OUTCOMES.index(outcome)

    def saw_grading(self, number: int, spot: Spot, evidence: str, whole: bool, counted: bool, judged: bool) -> None:
        """The newest complete grading of the counted evidence wins; an incomplete one stands in while there is none.

        `judged`: the judge was asked for it.
        """
        if not counted or not self.is_about(number, evidence) or (self._complete[number] and not whole):
            self._older.setdefault(number, []).append((_GRADES[judged], spot))
            return
        if (old := self.grading(number)) is not None:
            self._older.setdefault(number, []).append((_GRADES[self._judged[number]], old))
        self._graded_at[number], self._graded_size[number] = spot
        self._complete[number] = whole
        self._judged[number] = judged

    def _set_aside(self, number: int) -> None:
        """What a cell had until now does not count any more."""
        evidence, grading, older = self.evidence(number), self.grading(number), self._older.setdefault(number, [])
        if evidence is not None:
            older.append(("evidence", evidence))
        if grading is not None:
            older.append((_GRADES[self._judged[number]], grading))

    def took(self, cost_usd: float | None, calls: int) -> None:
        self._cost_usd += cost_usd or 0.0
        self._calls += calls

    @property
    def spent(self) -> Spent:
        return Spent(self._cost_usd, self._calls)

    # ------------------------------------------------------------ what is known now
    def is_about(self, number: int, evidence: str) -> bool:
        """Whether this digest is that of the cell's counted evidence."""
        return bool(self._outcome[number]) and self._evidence[number] == _fingerprint(evidence)

    def evidence(self, number: int) -> Spot | None:
        return Spot(self._at[number], self._size[number]) if self._size[number] else None

    def grading(self, number: int) -> Spot | None:
        return Spot(self._graded_at[number], self._graded_size[number]) if self._graded_size[number] else None

    def older(self, number: int, *kinds: OldKind) -> tuple[Spot, ...]:
        """Lines that do not count, in the journal's order."""
        older = self._older.get(number)
        return tuple(sorted(spot for kind, spot in older if kind in kinds)) if older else ()

    def attempts(self, number: int) -> int:
        """Highest attempt so far; 0: never run."""
        return self._attempts[number]

    def outcome(self, number: int) -> Outcome | None:
        code = self._outcome[number]
        return OUTCOMES[code - 1] if code else None

    def need(self, number: int) -> Need:
        """What this cell still needs. Time-outs, agent errors and budget stops are finished and are not graded."""
        outcome = self.outcome(number)
        if outcome is None or outcome in AGAIN:
            return "run"
        return "grade" if outcome == "ok" and not self._complete[number] else "nothing"


def _fingerprint(digest: str) -> int:
    try:
        return int(digest.partition(":")[2][:16] or "0", 16)
    except ValueError:
        return 0
