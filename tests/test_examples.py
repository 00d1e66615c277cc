"""The examples are true: the settings file shows every key, and the demo suite is sound."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from skilltrial.load.config import read
from skilltrial.load.validate import check
from skilltrial.records.config import Config, GateConfig, LoggingConfig, ReportConfig, TargetConfig
from skilltrial.records.config_file import ConfigFile
from skilltrial.records.plan import Budgets, Hooks

EXAMPLES = Path(__file__).parent.parent / "examples"
SETTINGS = (EXAMPLES / "skilltrial.yaml").read_text(encoding="utf-8")
ALL_ON = re.sub(r"^#(?=\S|  )", "", SETTINGS, flags=re.MULTILINE)
SAID: dict[str, Any] = yaml.load(ALL_ON, Loader=yaml.BaseLoader)


def keys_of(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_the_settings_file_is_read_as_it_stands() -> None:
    config = read(EXAMPLES / "skilltrial.yaml")
    assert config == Config(baseline=True, repetitions=3, gate=GateConfig(cases="majority"))


def test_the_settings_file_shows_every_key() -> None:
    assert set(SAID) == keys_of(ConfigFile) - {"$schema"}
    mapping = next(target for target in SAID["targets"] if isinstance(target, dict))
    for said, model in (
        (mapping, TargetConfig), (SAID["gates"]["notes"], GateConfig), (SAID["budgets"], Budgets), (SAID["hooks"], Hooks),
        (SAID["report"], ReportConfig), (SAID["logging"], LoggingConfig),
    ):  # fmt: skip
        assert set(said) == keys_of(model), model.__name__


def test_with_every_key_switched_on_every_setting_is_set(tmp_path: Path) -> None:
    path = tmp_path / "skilltrial.yaml"
    path.write_text(ALL_ON, encoding="utf-8")
    unset = set(Config.model_fields) - read(path).model_fields_set
    assert unset == {"source_commit", "changed_only", "base_ref", "last_failed"}  # found out, or asked of one run only


def test_every_key_has_a_comment() -> None:
    keys = [line for line in SETTINGS.splitlines() if re.match(r"#?\s*[a-z_]+:|#  - ", line) and not line.startswith("# ")]
    bare = [line for line in keys if " # " not in line and not line.rstrip().endswith(":")]
    assert not bare


@pytest.mark.parametrize("name", ["short-answers"])
def test_an_example_skill_is_valid_under_the_strict_rules(name: str) -> None:
    assert not [str(problem) for problem in check((name,), EXAMPLES, level="strict")]


@pytest.mark.parametrize("name", ["short-answers"])
def test_an_example_suite_fits_the_published_schema(name: str) -> None:
    import jsonschema

    schema = json.loads((EXAMPLES.parent / "schemas" / "evals.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((EXAMPLES / name / "evals" / "evals.json").read_text(encoding="utf-8")), schema)


def test_the_demo_asks_enough_and_grades_without_a_judge() -> None:
    suite = json.loads((EXAMPLES / "short-answers" / "evals" / "evals.json").read_text(encoding="utf-8"))
    assert len(suite["evals"]) >= 8
    for case in suite["evals"]:
        assert {check["type"] for check in case["checks"]} <= {"contains", "contains_any", "regex"} and len(case["checks"]) == 2
        assert "assertions" not in case
    skill = (EXAMPLES / "short-answers" / "SKILL.md").read_text(encoding="utf-8").lower()
    answers = [check["value"].lower() for case in suite["evals"] for check in case["checks"] if "value" in check]
    assert len(answers) >= 6
    assert not [answer for answer in answers if answer in skill], "the skill must not give the answers away"
