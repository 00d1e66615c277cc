"""Whole suites in the dialect of each known tool, as its users write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skilltrial.load import project
from skilltrial.records.config import Config
from skilltrial.records.suite import Case

Write = Callable[[Mapping[str, Any]], Path]
DATA = Path(__file__).parent / "data"
EXTRA_FILES = {
    "handbook": {"evals/fixtures/notes.txt": "n"},
    "agent-skills-eval": {"evals/files/rows.csv": "1\n2\n3\n"},
    "agent-skill-eval": {"evals/files/in.json": {}},
    "skill-ab-eval": {"evals/letter.md": "Dear all"},
    "skill-creator": {},
}


def cases(write: Write, dialect: str) -> dict[str, Case]:
    value = json.loads((DATA / f"{dialect}.json").read_text(encoding="utf-8"))
    name = value["skill_name"]
    root = write(
        {
            f"{name}/SKILL.md": None,
            f"{name}/evals/evals.json": value,
            **{f"{name}/{path}": content for path, content in EXTRA_FILES[dialect].items()},
        }
    )
    loaded = project(Config(paths=(name,)), root)
    assert loaded.errors == (), [str(problem) for problem in loaded.errors]
    (suite,) = loaded.suites
    assert suite.dialect == dialect
    return {case.id: case for case in suite.cases}


@pytest.mark.parametrize("dialect", sorted(EXTRA_FILES))
def test_the_dialect_is_recognised_and_every_case_is_read(write: Write, dialect: str) -> None:
    value = json.loads((DATA / f"{dialect}.json").read_text(encoding="utf-8"))
    assert list(cases(write, dialect)) == [str(case["id"]) for case in value["evals"]]


def test_handbook(write: Write) -> None:
    one = cases(write, "handbook")["1"]
    assert [check.type for check in one.checks] == [
        "contains",
        "contains_all",
        "contains_any",
        "not_contains",
        "regex",
        "not_regex",
        "file_exists",
        "loaded_skill",
        "rubric",
    ]
    assert [check.id for check in one.checks if not check.scored] == ["activated"]
    assert [file.path for file in one.fixtures.files] == ["evals/fixtures/notes.txt"]


def test_agent_skills_eval(write: Write) -> None:
    found = cases(write, "agent-skills-eval")
    assert [check.type for check in found["tools"].checks] == [
        "tool_called",
        "tool_arg_equals",
        "tool_arg_contains",
        "tool_arg_matches",
        "tool_call_count",
        "tool_not_called",
    ]
    assert found["tools"].params == {"temperature": 0.5, "max_tokens": 50}
    assert found["tools"].tool_choice == "required"
    assert found["basic"].judge_params == {"temperature": 0}
    assert found["basic"].name == "basic behavior"
    assert [check.type for check in found["nothing"].checks] == ["quality"]
    assert found["2"].given_id == 2


def test_agent_skill_eval(write: Write) -> None:
    found = cases(write, "agent-skill-eval")
    assert [check.type for check in found["tidy"].checks] == [
        "contains",
        "valid_json",
        "file_exists",
        "file_exists",
        "json_path",
        "rubric",
    ]
    assert not found["2"].should_trigger
    assert [(check.type, check.options) for check in found["2"].checks] == [
        ("git_branch", {"absent": True}),
        ("git_commit", {"absent": True}),
    ]
    assert found["2"].side_effects is not None and found["2"].side_effects.contract == {"allow_worktree_changes": False}
    assert found["force"].forced


def test_skill_ab_eval(write: Write) -> None:
    found = cases(write, "skill-ab-eval")
    assert [[check.type for check in case.checks] for case in found.values()] == [["rubric", "rubric"], ["quality"]]


def test_skill_creator(write: Write) -> None:
    assert [check.text for check in cases(write, "skill-creator")["0"].checks] == ["There is a chart", "Axes are labelled"]
