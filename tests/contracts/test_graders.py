"""What every grader keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

from typing import Any

import pytest

from skilltrial import registry
from skilltrial.flows.one_answer import LooseView
from skilltrial.records.record import Record
from skilltrial.testing.graders import CASE, RULES, RUNS, GraderCase, TestDesk

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


@pytest.fixture(params=registry.names("graders"))
def case(request: Any) -> GraderCase:
    plugin = registry.get("graders", request.param)
    grader = plugin() if isinstance(plugin, type) else plugin
    return GraderCase(plugin, {kind: sample(options) for kind, options in grader.types.items()}, ours=True)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_it_keeps_the_contract(case: GraderCase, rule: Any) -> None:
    rule(case)


def test_it_can_read_the_options_it_was_given(case: GraderCase) -> None:
    for run in RUNS.values():
        grades = case.grader.grade(CASE, case.checks(), LooseView(run), TestDesk())
        assert not any("options cannot be read" in (grade.reason or "") for grade in grades)
