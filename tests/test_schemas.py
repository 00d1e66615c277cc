"""The JSON Schemas in schemas/: up to date, described, and true of what we read and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from skilltrial.errors import UsageError
from skilltrial.records.evidence import Evidence, Timing
from skilltrial.records.schema import as_text, emit, schemas
from skilltrial.records.summary import Coverage, GateResult, Summary

FOLDER = Path(__file__).parent.parent / "schemas"
NAMES = (
    "archive-manifest", "benchmark", "certificates", "cleanup", "compared", "config", "evals", "event", "evidence", "grading", "history", "hooks",
    "journal", "judge", "news", "packets", "pair", "plan", "portfolio", "post_grade_hooks", "run_meta", "state", "summary", "timing",
)  # fmt: skip
MADE = schemas()


def fits(name: str, value: object) -> bool:
    return bool(jsonschema.Draft202012Validator(MADE[name]).is_valid(value))


def test_there_is_one_file_per_schema() -> None:
    assert tuple(MADE) == NAMES
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.schema.json" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_what_the_records_say(name: str) -> None:
    written = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert written == as_text(MADE[name]) + "\n", "run: make docs"


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_valid_schema_with_title_and_description(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(MADE[name])
    assert MADE[name]["title"] and MADE[name]["description"]


def test_every_setting_is_described() -> None:
    schema: dict[str, Any] = MADE["config"]
    for record in ("TargetConfig", "GateConfig", "ReportConfig", "LoggingConfig", "Budgets", "Hooks", "ArmsFile", "SuiteConfig"):
        bare = [key for key, field in schema["$defs"][record]["properties"].items() if "description" not in field]
        assert not bare, record
    assert not [key for key, field in schema["properties"].items() if "description" not in field]


def test_strings_under_fields_become_descriptions() -> None:
    usage: Any = MADE["evidence"]["$defs"]
    assert usage["Usage"]["properties"]["input_tokens"]["description"] == "Prompt tokens, cache reads included."


def test_what_we_write_fits_and_may_gain_keys() -> None:
    coverage = Coverage(planned=0, finished=0, graded=0, set_aside=0, failed_measurements={}, by_arm={})
    summary = Summary(experiment="iteration-1", coverage=coverage, gate=GateResult(exit_code=2, passed=None))
    evidence = Evidence(
        cell="a/b/c/d/1", inputs="sha256:0", attempt=1, outcome="ok", timing=Timing(started_at="", duration_s=0.1)
    )
    assert fits("summary", {**json.loads(summary.to_json()), "later": 1})
    assert fits("evidence", json.loads(evidence.to_json()))
    assert not fits("evidence", {**json.loads(evidence.to_json()), "outcome": "fine"})


@pytest.mark.parametrize(
    ("settings", "good"),
    [
        ({"targets": ["fake", {"backend": "openai", "model": "m"}], "gate": "every", "judge": "none"}, True),
        ({"gate": {"cases": "every", "minimum_lift": 0.1}, "$schema": "x"}, True),
        ({"repititions": 3}, False),
        ({"repetitions": 0}, False),
        ({"targets": [{"model": "m"}]}, False),
    ],
)
def test_settings_are_judged_as_the_reader_does(settings: object, good: bool) -> None:
    assert fits("config", settings) is good


@pytest.mark.parametrize(
    ("case", "good"),
    [
        ({"prompt": "p", "checks": [{"id": "a", "type": "contains", "value": "x"}]}, True),
        ({"prompt": "p", "assertions": ["It is so.", {"text": "It is."}, {"type": "file_exists", "path": "a.txt"}]}, True),
        ({"prompt": "p", "tool_assertions": [{"type": "tool-called", "name": "bash"}], "id": 3, "unknown": 1}, True),
        ({"prompt": "p", "checks": [{"type": "json_schema", "schema": {"type": "object"}}]}, True),
        ({"prompt": "p", "checks": [{"type": "contain", "value": "x"}]}, False),
        ({"prompt": "p", "checks": [{"type": "contains"}]}, False),
        ({"id": 1}, False),
        ({"prompt": "p", "params": {"model": "other"}}, False),
    ],
)
def test_suites_of_every_dialect_fit(case: object, good: bool) -> None:
    assert fits("evals", {"evals": [case]}) is good


def test_the_command_lists_names_and_knows_near_ones() -> None:
    assert emit(None).splitlines() == list(NAMES)
    assert json.loads(emit("plan")) == MADE["plan"]
    assert emit("plan.schema.json") == emit("plan")
    with pytest.raises(UsageError, match="did you mean 'summary'"):
        emit("sumary")
