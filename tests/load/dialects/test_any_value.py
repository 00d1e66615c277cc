"""Whatever stands in a suite of a foreign form, reading it gives problems and no traceback."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilltrial.load.dialects import all_dialects
from skilltrial.load.validate import examine

GOOD: dict[str, Any] = {
    "scenarios": {
        "scenarios": [
            {
                "name": "n", "prompt": "p", "rubric": ["r"], "timeout": 1, "expect_tools": ["t"], "expect_activation": True, "max_turns": 2,
                "setup": {"copy_test_files": True, "files": [{"path": "a", "content": "c"}], "commands": ["x"]},
                "assertions": [{"type": "output_matches", "pattern": "x"}, {"type": "file_contains", "path": "*", "value": "v"}, {"type": "exit_success"}],
            }
        ],
        "config": {},
    },
    "cases-acceptance": {
        "skill_name": "demo",
        "cases": [{"id": 1, "name": "n", "prompt": "p", "should_trigger": True, "acceptance": [{"type": "regex", "value": "x"}, {"type": "skill_selected"}, "s"]}],
    },
    "one-case": {"name": "n", "skills": ["demo"], "query": "q", "files": ["SKILL.md"], "expected_behavior": ["x"], "success_criteria": ["y"]},
    "questions": [{"id": 1, "question": "q", "expected_skill": "demo", "expected_script": "s", "ground_truth": "g", "expected_behavior": ["b"], "acceptable_skills": ["o"]}],
    "case-list": [{"prompt": "p", "expect": ["x"], "fail": ["y"]}, {"prompt": "q", "assertions": ["a"]}],
    "test-cases": {"test_cases": [{"id": 1, "prompt": "p", "evaluation_criteria": {"a": "b", "c": {"text": "t", "weight": 1}, "d": 1}, "expected_behavior": "x"}], "scoring": {}},
    "samples": {"samples": [{"sample_id": 1, "prompt": "p", "context": "c", "rubric": "r", "dimensions": {"d": "t"}, "assertions": [{"type": "tools_called", "value": ["a"]}, {"type": "min_length", "value": 3}]}]},
    "command-task": {
        "task_id": "t", "initial_prompt": "p", "run_limits": {"max_turns": 3}, "tags": ["a"], "sandbox": {"template_sources": [{"type": "template_dir", "path": "."}]},
        "success_criteria": [{"type": "run_command", "command": "c", "weight": 1}, {"type": "file_contains", "path": "p", "includes": ["x"]}, {"type": "llm_judge", "prompt": "p"}],
    },
    "judge-weighted": {"name": "n", "prompt": "p", "judge": [{"check": "c", "weight": 1}], "setup": [{"action": "a"}]},
    "tasks": {
        "skill": "demo", "config": {"trials_per_task": 1}, "graders": [{"type": "text", "name": "n", "config": {"contains": ["a"]}}],
        "tasks": [{
            "id": 1, "inputs": {"prompt": "p", "files": [{"path": "a", "content": "b"}]}, "expected": {"should_trigger": True, "output_contains": ["x"]},
            "graders": [{"type": "file", "config": {"content_patterns": [{"path": "p", "must_match": ["x"]}]}}, {"type": "tool_constraint", "config": {"expect_tools": [{"tool": "b", "args_pattern": "x"}]}}, {"type": "prompt", "config": {"prompt": "p"}}],
        }, "tasks/*.yaml"],
    },
}  # fmt: skip
CASE: dict[str, Any] = {
    "schema_version": "1", "name": "n", "tags": ["a"], "context": {"add_dirs": ["fixture"], "scaffold_script": "s"}, "execution": {"prompt": "p", "max_turns": 1, "allowed_tools": ["x"]},
    "runs": 1, "expected_outcome": "e",
    "graders": [
        {"type": "regex", "pattern": "x", "flags": "i", "match": "count:1", "target": {"source": "file", "path": "p"}, "weight": 1}, {"type": "llm", "criteria": "c", "focus": "trace"},
        {"type": "tool_used", "tool": "Skill", "input_match": "demo", "min": 1}, {"type": "tool_order", "before": {"tool": "a", "input_match": "x"}, "after": "b"},
        {"type": "file_exists", "path": "*", "exists": False, "arm": "with-only"},
    ],
}  # fmt: skip
LEAVES = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1.5,
        10**30,
        "",
        " ",
        "\0",
        "../x",
        "/x",
        "(",
        "x" * 300,
        "::",
        "regex",
        "*",
        [],
        {},
        [[]],
        {"a": []},
        ["", 7],
    ]
)
SETTINGS = settings(max_examples=120, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))


def spots(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value, the whole left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*at, key)
        yield from spots(one, (*at, key))


def changed(value: Any, spot: tuple[Any, ...], new: Any) -> Any:
    made = copy.deepcopy(value)
    holder = made
    for key in spot[:-1]:
        holder = holder[key]
    holder[spot[-1]] = new
    return made


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "demo/evals/one/fixture").mkdir(parents=True)
        (folder / "demo/evals/one/fixture/a").write_text("a")
        (folder / "demo/SKILL.md").write_text("---\nname: demo\ndescription: d\n---\nBody\n")
        yield folder


def survives(root: Path, path: str, value: Any) -> None:
    file = root / path
    file.write_text(json.dumps(value), encoding="utf-8")
    try:
        found = examine((path if path.endswith("suite.json") else "demo",), root, "strict")
    finally:
        file.unlink()
    for problem in found.problems:
        str(problem).encode("utf-8")
    for suite in found.suites:
        json.loads(suite.to_json())


def test_every_form_of_one_file_is_fuzzed() -> None:
    assert {dialect.name for dialect in all_dialects()} - {"standard", "trigger", "plugin-eval"} == set(GOOD)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_no_value_of_a_form_breaks_its_reading(root: Path, name: str) -> None:
    whole = GOOD[name]

    @SETTINGS
    @given(st.sampled_from(list(spots(whole))), LEAVES)
    def check(spot: tuple[Any, ...], new: Any) -> None:
        survives(root, "demo/evals/suite.json", changed(whole, spot, new))

    check()


@SETTINGS
@given(spot=st.sampled_from(list(spots(CASE))), new=LEAVES)
def test_no_value_of_a_case_folder_breaks_its_reading(root: Path, spot: tuple[Any, ...], new: Any) -> None:
    survives(root, "demo/evals/one/case.yaml", changed(CASE, spot, new))
