"""What every grader keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.errors import CellError
from skilltrial.records.evidence import Delta, Event, Evidence, Timing, Usage
from skilltrial.records.problems import Where
from skilltrial.records.record import Record
from skilltrial.records.suite import Case, Check, FileRef
from skilltrial.seams import EvidenceView, Place, Question, Reply

SAMPLES: dict[str, dict[str, Any]] = {
    "value": {"value": "x"},
    "values": {"values": ["x"]},
    "pattern": {"pattern": "x"},
    "path": {"path": "a.txt"},
    "contains": {"contains": "x"},
    "command": {"command": "x"},
    "json_path": {"json_path": "a"},
    "json_schema": {"json_schema": {"type": "object"}},
    "name": {"name": "x"},
    "paths": {"paths": ["a.txt"]},
    "commands": {"commands": ["x", "y"]},
    "before": {"before": {"name": "x"}},
    "after": {"after": {"name": "y"}},
}


def sample(options: type[Record]) -> dict[str, Any]:
    """Values for every option that must be given."""
    needed = [name for name, field in options.model_fields.items() if field.is_required()]
    found = {key: value for name in needed for key, value in SAMPLES.get(name, {}).items()}
    if options.__name__ == "CommandCheck":
        found["shell"] = "true"
    if options.__name__ == "Number":
        found["value"] = 1
    return found


class Bare:
    """A view of a run that left nothing but its record."""

    stored = False

    def __init__(self, record: Evidence) -> None:
        self.record = record

    def read(self, path: str, limit: int = 1_000_000) -> bytes | None:
        return None

    def fixture(self, path: str) -> FileRef | None:
        return None

    def masked(self, path: str | None) -> bool:
        return False

    def unpack(self, into: Path) -> None: ...


class Shut:
    """A desk whose judge is down and which has no scratch place."""

    judge = "judge"

    def ask(self, question: Question) -> Reply:
        return Reply("", "infrastructure_error", "down", Usage(), None, 0.0)

    def scratch(self, evidence: EvidenceView) -> AbstractContextManager[Place]:
        raise CellError("workspace", "no room")


def record(**fields: Any) -> Evidence:
    timing = Timing(started_at="2026-01-01T00:00:00Z", duration_s=1.0)
    return Evidence(cell="s/1/t/with_skill/1", inputs="i", attempt=1, outcome="ok", timing=timing, **fields)


ODD = Event(kind="tool_call", name=None, arguments=[None, {"a": [1]}], call=None)
RUNS = {
    "nothing at all": record(),
    "a folder": record(text="\0 \ud7ff x", delta=Delta()),
    "a cut folder": record(text="{" * 2000, delta=Delta(truncated=True), events=()),
    "odd events": record(text="```", events=(ODD, ODD)),
}


@pytest.fixture(params=registry.names("graders"))
def grader(request: Any) -> Any:
    plugin = registry.get("graders", request.param)
    return plugin() if isinstance(plugin, type) else plugin


def test_its_types_have_records_of_options(grader: Any) -> None:
    assert grader.types
    assert all(issubclass(options, Record) for options in grader.types.values())


@pytest.mark.parametrize("run", RUNS)
def test_it_gives_one_grade_per_check_in_order_and_a_reason_where_it_gives_no_verdict(grader: Any, run: str) -> None:
    checks = [
        Check(
            id=f"{type_}-{number}",
            type=type_,
            text=type_,
            required=number == 0,
            scored=number == 0,
            weight=number + 1,
            options=sample(options),
        )
        for type_, options in grader.types.items()
        for number in range(2)
    ]
    case = Case(id="1", prompt="p", where=Where(file="evals.json"))
    grades = grader.grade(case, checks, Bare(RUNS[run]), Shut())
    assert [(grade.check, grade.required, grade.scored, grade.weight) for grade in grades] == [
        (check.id, check.required, check.scored, check.weight) for check in checks
    ]
    assert all(grade.reason for grade in grades if grade.state == "ungraded")
    assert not any("options cannot be read" in (grade.reason or "") for grade in grades)
