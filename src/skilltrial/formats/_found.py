"""What a reader of another tool's tree hands over: runs and verdicts as they were stored, and what cannot be known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from skilltrial.records.evidence import Activation, Event, GitDelta, Outcome, Usage
from skilltrial.records.grades import State
from skilltrial.records.plan import WITH_SKILL, WITHOUT_SKILL, Budgets, Gate, Target
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import EMPTY_TREE, Tree
from skilltrial.system.files import safe_name

Method = Literal["check", "judge", "hook", "budget", "contract", "human"]
BASELINES = (WITHOUT_SKILL, "old_skill")
RECORDED = "recorded"
"""Type of a check of which only the verdict is known."""


@dataclass(slots=True)
class Row:
    """One check and the verdict on it, as another tool stored them."""

    text: str
    state: State
    reason: str | None = None
    method: Method = "judge"
    type: str = "rubric"
    id: str | None = None
    """None: known by its text."""
    options: JsonObject = field(default_factory=dict)
    required: bool = True
    scored: bool = True
    weight: float = 1.0
    score: float | None = None
    votes: tuple[str, ...] = ()
    arms: tuple[str, ...] | None = None
    unasked: bool = False
    """Nobody graded it. Where no run of the case has a verdict on it, it is set aside."""


@dataclass(slots=True)
class Run:
    """One run of one case, as another tool stored it."""

    skill: str
    case: str
    target: str
    arm: str
    repetition: int = 1
    outcome: Outcome = "ok"
    reason: str | None = None
    text: str = ""
    rows: Sequence[Row] | None = None
    """None: nobody graded it."""
    usage: Usage = field(default_factory=Usage)
    duration_s: float | None = None
    started_at: str = ""
    turns: int | None = None
    events: tuple[Event, ...] | None = None
    activation: Activation | None = None
    model: str | None = None
    version: str | None = None
    outputs: Mapping[str, Path] = field(default_factory=dict)
    """Files the run made, by path."""
    logs: Mapping[str, Path] = field(default_factory=dict)
    git: GitDelta | None = None
    sent: JsonObject | None = None
    calls: tuple[dict[str, Any], ...] = ()
    judge_usage: Usage | None = None
    warnings: tuple[str, ...] = ()

    @property
    def group(self) -> Group:
        return Group(self.skill, self.case, self.target, self.arm)

    @property
    def place(self) -> str:
        """For people."""
        return "/".join(self.group) + ("" if self.repetition == 1 else f"/{self.repetition}")


@dataclass(slots=True)
class Task:
    """What is known of a case besides its runs."""

    given_id: int | str | None = None
    name: str | None = None
    prompt: str = ""
    expected: str | None = None
    checks: Sequence[Row] = ()
    """Checks that the suite lists; verdicts are those of the runs."""
    should_trigger: bool = True
    forced: bool = False
    tags: tuple[str, ...] = ()
    extra: JsonObject = field(default_factory=dict)


class Group(NamedTuple):
    """All repetitions of one case, arm and target."""

    skill: str
    case: str
    target: str
    arm: str


class Found:
    """What a reader has found so far; `_foreign.experiment` makes the view of it."""

    def __init__(self, format_: str, folder: Path) -> None:
        self.format, self.folder = format_, folder
        self.name = f"{folder.parent.name}/{folder.name}" if folder.name.startswith("iteration-") else folder.name
        self.created_at = ""
        self.gate = Gate()
        self.budgets = Budgets()
        self.judge: Target | None = None
        self.home_field = False
        self.contrasts: dict[str, tuple[str, str]] = {}
        """Arm and baseline by skill, where the names of the arms do not tell."""
        self.skills: dict[str, Tree] = {}
        self.tasks: dict[tuple[str, str], Task] = {}
        self.targets: dict[str, Target] = {}
        self.runs: dict[tuple[Group, int], Run] = {}
        self.planned: dict[Group, int] = {}
        self.unmade: dict[tuple[Group, int], Run] = {}
        """Runs that were tried and of which the tree holds nothing."""
        self.stop_reason: str | None = None
        self._unknowns: dict[str, None] = {}

    # ------------------------------------------------------------ finding
    def unknown(self, text: str) -> None:
        """Something that the tree cannot tell, or tells wrongly; each once."""
        self._unknowns[text] = None

    @property
    def unknowns(self) -> tuple[str, ...]:
        return tuple(self._unknowns)

    def skill(self, name: str, tree: Tree = EMPTY_TREE) -> None:
        self.skills.setdefault(name, tree)

    def target(self, name: str, backend: str, value: str | None = None, **fields: Any) -> str:
        """The target's name, safe in paths."""
        safe = safe_name(name)
        self.targets.setdefault(safe, Target(name=safe, backend=backend, value=value, **fields))
        return safe

    def plan_for(self, group: Group, repetitions: int) -> None:
        """At least this many repetitions were to be run."""
        self.planned[group] = max(repetitions, self.planned.get(group, 0))

    def add(self, run: Run) -> None:
        if (run.group, run.repetition) in self.runs:
            self.unknown(f"{run.place} is there twice; the first is read")
            return
        self.runs[run.group, run.repetition] = run
        self.plan_for(run.group, run.repetition)

    def lost(self, run: Run) -> None:
        """A run that was tried, or reported, and of which the tree holds nothing."""
        self.unmade[run.group, run.repetition] = run
        self.plan_for(run.group, run.repetition)


# ---------------------------------------------------------------- names and words
def named(rows: Iterable[Row]) -> list[tuple[str, Row]]:
    """Rows with the id of their check; of two with the same text the second has its own."""
    found: dict[str, Row] = {}
    for row in rows:
        key, copy = row.id or row.text, 1
        while key in found:
            copy += 1
            key = f"{row.id or row.text} ({copy})"
        found[key] = row
    return list(found.items())


def contrasts(arms: Sequence[str], told: tuple[str, str] | None = None) -> list[tuple[str, str]]:
    """Which arm is compared with which baseline, the main one first; [] for arms of which none is a known baseline."""
    if told is not None:
        return [told]
    tested = [arm for arm in arms if arm not in BASELINES]
    best = next((arm for arm in (WITH_SKILL, "new_skill", *tested) if arm in tested), None)
    return [(best, baseline) for baseline in BASELINES if best is not None and baseline in arms]


def outcome_of(error: str) -> Outcome:
    """What kind of failure the words of another tool speak of; what is not known to be the agent's own is not blamed on it."""
    if re.search(r"tim(ed|e)[ -]?out", error, re.IGNORECASE):
        return "timeout"
    if re.search(r"max[_ -]?turns|turn limit|context (length|window|overflow)", error, re.IGNORECASE):
        return "agent_error"
    if re.search(r"budget|cost cap|max[_ -]?cost", error, re.IGNORECASE):
        return "budget"
    return "infrastructure_error"
