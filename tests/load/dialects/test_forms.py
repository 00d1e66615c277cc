"""Forms of suites that whole repositories use: every one is read, and what of it has no counterpart is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Reader = Callable[..., Any]


# ---------------------------------------------------------------- scenarios
SCENARIOS = """\
config: {max_parallel_scenarios: 1}
scenarios:
  - name: "Finds the failing build"
    prompt: Why does this not build?
    setup:
      copy_test_files: true
      files:
        - {path: in/notes.txt, content: "line one\\n"}
        - {path: data.csv, source: fixtures/sample.csv}
      commands: ["make log"]
    assertions:
      - {type: output_contains, value: CS1002}
      - {type: output_not_contains, value: sorry}
      - {type: output_matches, pattern: "CS\\\\d{4}"}
      - {type: output_not_matches, pattern: "(?i)cannot"}
      - {type: file_exists, path: "*.log"}
      - {type: file_not_exists, path: "**/*.tmp"}
      - {type: file_contains, path: "*.cs", value: stackalloc}
      - {type: exit_success}
    rubric:
      - Names the root cause
      - Proposes one fix
    expect_tools: [bash]
    reject_tools: [create_file]
    expect_activation: false
    max_turns: 15
    max_tokens: 5000
    timeout: 120
"""


def test_scenarios(read: Reader) -> None:
    found = read(
        {"tests/eval.yaml": SCENARIOS, "tests/Program.cs": "c", "tests/eval.other.yaml": "x", "fixtures/sample.csv": "1"}
    )
    assert found.errors == []
    assert found.suite.dialect == "scenarios"
    case = found.case
    assert (case.id, case.name) == ("finds-the-failing-build", "Finds the failing build")
    assert (case.limits.timeout_s, case.limits.max_turns, case.limits.max_tokens) == (120, 15, 5000)
    assert not case.should_trigger
    assert case.stage == "keep"
    assert [file.path for file in case.fixtures.files] == ["Program.cs", "data.csv", "in/notes.txt"]
    assert found.checks() == [
        ("contains", {"value": "CS1002", "case_sensitive": False}),
        ("not_contains", {"value": "sorry", "case_sensitive": False}),
        ("regex", {"pattern": "CS\\d{4}", "case_sensitive": False}),
        ("not_regex", {"pattern": "(?i)cannot", "case_sensitive": False}),
        ("file_exists", {"path": "*.log"}),
        ("file_not_exists", {"path": "**/*.tmp"}),
        ("file_contains", {"path": "*.cs", "contains": "stackalloc", "case_sensitive": False}),
        ("regex", {"pattern": "\\S", "case_sensitive": False}),
        ("tool_called", {"name": "bash"}),
        ("tool_not_called", {"name": "create_file"}),
        ("rubric", {}),
        ("rubric", {}),
    ]
    assert "commands" in found.told("not-run")[0]


def test_a_path_that_leaves_the_workspace_is_set_aside(read: Reader) -> None:
    suite = "scenarios: [{name: n, prompt: p, assertions: [{type: file_contains, path: ../x, value: y}], rubric: [r]}]"
    found = read({"evals/eval.yaml": suite})
    assert found.errors == []
    assert found.checks() == [("rubric", {})]
    assert found.suite.set_aside[0].check == "file_contains"


@pytest.mark.parametrize("place", ["tests/demo", "tests/group/demo"])
def test_suites_of_a_repository_lie_under_the_name_of_the_skill(write: Any, place: str) -> None:
    from skilltrial.load.validate import examine

    root = write(
        {
            "repo/.git/HEAD": "x",
            "repo/plugins/group/skills/demo/SKILL.md": None,
            f"repo/{place}/eval.yaml": "scenarios: [{name: n, prompt: p, rubric: [r]}]",
            "repo/tests/other/elsewhere/eval.yaml": "scenarios: [{name: x, prompt: p, rubric: [r]}]",
        }
    )
    found = examine(("repo/plugins",), root)
    assert [suite.where.file for suite in found.suites] == [f"repo/{place}/eval.yaml"]


# ---------------------------------------------------------------- cases with acceptance
def test_cases_with_acceptance(read: Reader) -> None:
    cases = [
        {"id": "in", "name": "in scope", "prompt": "p", "should_trigger": True, "acceptance": [{"type": "skill_selected"}]},
        {
            "id": "out",
            "prompt": "p",
            "should_trigger": False,
            "acceptance": [{"type": "skill_not_selected", "expected_skill": "demo"}],
        },
        {
            "name": "Words",
            "prompt": "p",
            "acceptance": [{"type": "contains", "value": "x"}, {"type": "regex", "value": "(?i)no"}, "Good."],
        },
    ]
    found = read({"references/evals.yaml": {"schema_version": "2.0", "skill_name": "demo", "cases": cases}})
    assert found.errors == []
    assert found.suite.dialect == "cases-acceptance"
    assert found.checks("in") == [("loaded_skill", {})]
    assert found.checks("out") == [("loaded_skill", {"loaded": False})]
    assert not found.cases["out"].should_trigger
    assert found.checks("words") == [
        ("contains", {"value": "x", "case_sensitive": False}),
        ("regex", {"pattern": "(?i)no", "case_sensitive": False}),
        ("rubric", {}),
    ]


def test_no_agent_sees_a_suite_that_lies_inside_the_skill(write: Any) -> None:
    from skilltrial.load import project
    from skilltrial.records.config import Config

    root = write(
        {
            "demo/SKILL.md": None,
            "demo/references/evals.yaml": {"cases": [{"prompt": "p", "acceptance": ["Good."]}]},
            "demo/references/guide.md": "g",
            "demo/evaluations/one.json": {"query": "q", "expected_behavior": ["x"]},
            "demo/tests/eval.yaml": "scenarios: []",
        }
    )
    (skill,) = project(Config(paths=("demo",)), root).skills
    assert [file.path for file in skill.tree.files] == ["SKILL.md", "references/guide.md"]


# ---------------------------------------------------------------- one case per file
def test_one_case_per_file(read: Reader) -> None:
    one = {
        "name": "Without a command line",
        "skills": ["demo"],
        "query": "List my flows.",
        "files": ["test-files/a.txt"],
        "expected_behavior": ["Looks for the program", "Falls back"],
        "success_criteria": ["No token is shown"],
    }
    two = {"query": "Again.", "success_criteria": ["It works"]}
    found = read({"evaluations/fall-back.json": one, "evaluations/two.json": two, "test-files/a.txt": "a"})
    assert found.errors == []
    assert [suite.dialect for suite in found.suites] == ["one-case", "one-case"]
    case = found.cases["fall-back"]
    assert (case.name, case.prompt) == ("Without a command line", "List my flows.")
    assert [check.text for check in case.checks] == ["Looks for the program", "Falls back", "No token is shown"]
    assert [file.path for file in case.fixtures.files] == ["test-files/a.txt"]
    assert found.cases["two"].checks[0].text == "It works"


@pytest.mark.parametrize("path", ["demo/evaluations", "demo/evaluations/one.json"])
def test_a_folder_of_cases_or_one_of_them_can_be_named(read: Reader, path: str) -> None:
    files = {f"evaluations/{name}.json": {"query": name, "expected_behavior": ["x"]} for name in ("one", "two")}
    assert list(read(files, path).cases) == (["one", "two"] if path.endswith("ations") else ["one"])


def test_a_case_of_another_skill_is_warned_about(read: Reader) -> None:
    found = read({"evaluations/one.json": {"query": "q", "skills": ["other"], "expected_behavior": ["x"]}})
    assert found.told("skill-name")


# ---------------------------------------------------------------- question lists
def test_question_lists(read: Reader) -> None:
    listed = [
        {
            "id": "q-1",
            "question": "How many?",
            "expected_skill": "demo",
            "expected_script": "scripts/count.py",
            "ground_truth": "42 in all.",
            "expected_behavior": ["Counts", "Shows the sum"],
        },
        {"id": 2, "question": "Who?", "expected_skill": None, "ground_truth": "Nobody.", "should_trigger": False},
        {"question": "Why?", "ground_truth": "Because."},
    ]
    found = read({"evals/evals.json": listed})
    assert found.errors == []
    assert found.suite.dialect == "questions"
    one = found.cases["q-1"]
    assert (one.prompt, one.expected_output) == ("How many?", "42 in all.")
    assert [(check.id, check.type, check.scored) for check in one.checks] == [
        ("expected-skill", "loaded_skill", False),
        ("expected-script", "command_ran", False),
        ("assertion-1", "rubric", True),
        ("assertion-2", "rubric", True),
    ]
    assert found.checks("2") == [("loaded_skill", {"loaded": False})]
    assert found.checks("3") == [("rubric", {})]
    assert "Because." in found.cases["3"].checks[0].text


# ---------------------------------------------------------------- bare lists
def test_expect_and_fail_lists(read: Reader) -> None:
    found = read({"evals/evals.json": [{"id": 1, "prompt": "p", "expect": ["Says why"], "fail": ["Guesses a number"]}]})
    assert found.errors == []
    assert [check.text for check in found.case.checks] == ["Says why", "The answer does not do this: Guesses a number"]


def test_a_bare_list_of_cases_is_read_as_the_shared_form_is(read: Reader) -> None:
    listed = [
        {"prompt": "p", "assertions": ["a"], "files": ["evals/files/x.txt"]},
        {"prompt": "q", "checks": [{"type": "contains", "value": "x"}]},
    ]
    found = read({"evals/evals.json": listed, "evals/files/x.txt": "x"})
    assert found.errors == []
    assert found.suite.dialect == "case-list"
    assert (found.cases["1"].stage, found.cases["1"].fixtures.files[0].path) == ("flat", "evals/files/x.txt")
    assert found.checks("2") == [("contains", {"value": "x", "case_sensitive": False})]


# ---------------------------------------------------------------- test_cases
def test_an_object_of_test_cases(read: Reader) -> None:
    cases = [
        {
            "id": "a",
            "prompt": "p",
            "expected_behavior": "Answers in one line",
            "evaluation_criteria": {
                "accuracy": "Names the right year",
                "tone": {"description": "Is friendly", "weight": 2},
                "sources_cited": True,
                "depth": 0.5,
            },
        },
        {"id": "b", "input": "q", "evaluation_criteria": ["Is short"]},
    ]
    found = read({"evals/evals.json": {"skill_name": "demo", "test_cases": cases, "scoring": {"pass": 0.8}}})
    assert found.errors == []
    assert [(check.id, check.text, check.weight) for check in found.cases["a"].checks] == [
        ("assertion-1", "Answers in one line", 1),
        ("accuracy", "accuracy: Names the right year", 1),
        ("tone", "tone: Is friendly", 2),
        ("sources_cited", "sources cited", 1),
        ("depth", "depth", 0.5),
    ]
    assert found.cases["b"].prompt == "q"
    assert "scoring" in found.told("not-of-a-suite")[0]


# ---------------------------------------------------------------- samples
def test_samples(read: Reader) -> None:
    assertions = [
        {"type": "contains", "value": "both modes", "weight": 0.5},
        {"type": "tools_called", "value": ["Read", "Grep"]},
        {"type": "tools_count_min", "value": 3},
        {"type": "min_length", "value": 10},
        {"type": "json_valid"},
        {"type": "turns_max", "value": 15},
        {"type": "sentiment", "value": "happy"},
    ]
    sample = {
        "sample_id": "gap-1",
        "prompt": "Which modes?",
        "context": "The page.",
        "rubric": "Names both modes.",
        "assertions": assertions,
        "dimensions": {"depth": "Explains each"},
        "metadata": {"level": 2},
    }
    found = read({"evals/evals.json": [sample]})
    assert found.errors == []
    assert found.case.prompt == "Which modes?\n\nThe page."
    assert [check.type for check in found.case.checks] == [
        "contains",
        "tool_called",
        "tool_called",
        "tool_call_count",
        "regex",
        "valid_json",
        "rubric",
        "rubric",
    ]
    assert found.case.checks[0].weight == 0.5
    assert found.case.checks[4].options["pattern"] == r"\A.{10,}\Z"
    assert [row.check for row in found.suite.set_aside] == ["turns_max", "sentiment"]
    assert [case.id for case in read({"evals/evals.json": {"samples": [sample]}}).cases.values()] == ["gap-1"]


# ---------------------------------------------------------------- tasks graded by commands
TASK = """\
task_id: group-by
description: A script that groups rows.
tags: [smoke]
run_limits: {expected_turns: 20, max_turns: 55}
sandbox:
  template_sources:
    - {type: template_dir, path: ../../start}
    - {type: template_dir, path: ../..}
    - {type: git, url: "https://example.org/x"}
initial_prompt: Write group.py.
success_criteria:
  - {type: file_exists, description: The script is there, path: group.py, weight: 1.0, pass_threshold: 1.0}
  - {type: file_contains, path: group.py, includes: [def, return], excludes: [eval]}
  - {type: run_command, description: It runs, command: "python3 group.py", timeout: 30, expected_exit_code: 0, weight: 5.0}
  - {type: run_command, description: Own checker, command: "python3 $TASK_DIR/check.py"}
  - {type: llm_judge, prompt: The code is tidy, weight: 2}
  - {type: moon_phase}
"""


def test_tasks_graded_by_commands(read: Reader) -> None:
    found = read({"evals/tasks/group.yaml": TASK, "start/rows.csv": "1"}, "demo/evals/tasks")
    assert found.errors == []
    assert found.suite.dialect == "command-task"
    case = found.cases["group-by"]
    assert (case.limits.max_turns, case.tags, case.prompt) == (55, ("smoke",), "Write group.py.")
    assert [file.path for file in case.fixtures.files] == ["rows.csv"]
    assert [(check.type, check.weight) for check in case.checks] == [
        ("file_exists", 1),
        ("file_contains", 1),
        ("file_contains", 1),
        ("file_not_contains", 1),
        ("command", 5),
        ("rubric", 2),
    ]
    assert case.checks[4].options == {"shell": "python3 group.py", "timeout_s": 30, "exit_code": 0}
    assert case.checks[4].text == "It runs"
    assert [row.check for row in found.suite.set_aside] == ["Own checker", "moon_phase"]
    assert found.told("skill-as-fixture") and found.told("not-run")


# ---------------------------------------------------------------- a judge with weights
def test_a_judge_with_weights(read: Reader) -> None:
    value = {
        "name": "Short",
        "prompt": "Draft it.",
        "judge": [{"check": "The title fits.", "weight": 0.25}, {"check": "No headings.", "weight": 0.75}],
        "setup": [{"action": "run_script", "command": "git init"}],
    }
    found = read({"evals/scenarios/short-one.json": value}, "demo/evals/scenarios")
    assert found.errors == []
    case = found.cases["short-one"]
    assert [(check.text, check.weight) for check in case.checks] == [("The title fits.", 0.25), ("No headings.", 0.75)]
    assert "setup" in found.told("not-run")[0]


# ---------------------------------------------------------------- tasks in files of their own
CONFIG = """\
name: demo-eval
skill: demo
config: {trials_per_task: 3, timeout_seconds: 300, executor: mock}
metrics: [{name: m, weight: 1}]
graders:
  - {type: code, name: has_output, config: {assertions: ["len(output) > 0"]}}
  - {type: text, name: no_error, config: {regex_not_match: ["(?i)fatal"]}}
tasks: ["tasks/*.yaml"]
"""
ONE = """\
id: positive-1
name: Migrates
tags: [positive]
inputs:
  prompt: Migrate the module.
  files:
    - path: module/main.tf
    - {path: notes.md, content: "hi"}
expected:
  should_trigger: true
  output_contains: [removed]
graders:
  - {type: text, name: words, weight: 2, config: {contains: [a, b], not_contains: [c], regex_match: ["^x"]}}
  - {type: file, config: {must_exist: [out.md], must_not_exist: [tmp], content_patterns: [{path: out.md, must_match: [y]}]}}
  - {type: tool_constraint, config: {expect_tools: [bash], reject_tools: [{tool: bash, command_pattern: rm}]}}
  - {type: behavior, config: {max_tool_calls: 9, max_tokens: 5}}
  - {type: prompt, name: judge, config: {prompt: It is complete.}}
  - {type: skill_invocation, config: {required_skills: [other]}}
  - {type: json_schema, config: {schema: {type: object}}}
"""


def test_tasks_in_files_of_their_own(read: Reader) -> None:
    found = read(
        {
            "evals/eval.yaml": CONFIG,
            "evals/tasks/one.yaml": ONE,
            "evals/tasks/two.yaml": "id: two\nname: Stays away\ninputs: {prompt: p}\nexpected: {should_trigger: false}\n",
            "evals/tasks/off.yaml": "id: off\nenabled: false\ninputs: {prompt: p}\n",
            "evals/fixtures/module/main.tf": "m",
        }
    )
    assert found.errors == []
    assert found.suite.dialect == "tasks"
    assert list(found.cases) == ["positive-1", "two"]
    case = found.cases["positive-1"]
    assert (case.limits.timeout_s, case.tags) == (300, ("positive",))
    assert [file.path for file in case.fixtures.files] == ["module/main.tf", "notes.md"]
    assert [(check.id, check.type) for check in case.checks] == [
        ("check-1", "contains"),
        ("triggered", "loaded_skill"),
        ("words", "contains"),
        ("words-2", "contains"),
        ("words-3", "not_contains"),
        ("words-4", "regex"),
        ("file", "file_exists"),
        ("file-2", "file_not_exists"),
        ("file-3", "regex"),
        ("tool_constraint", "tool_called"),
        ("tool_constraint-2", "tool_used"),
        ("behavior", "tool_call_count"),
        ("skill_invocation", "loaded_skill"),
        ("json_schema", "json_schema"),
        ("no_error", "not_regex"),
        ("judge", "rubric"),
    ]
    assert found.check("words-2", "positive-1").weight == 2
    assert [(row.case, row.check) for row in found.suite.set_aside] == [
        ("positive-1", "behavior.max_tokens"),
        ("positive-1", "has_output"),
        ("two", "has_output"),
    ]
    assert not found.cases["two"].should_trigger


def test_tasks_that_are_not_there_are_an_error(read: Reader) -> None:
    found = read({"evals/eval.yaml": 'skill: demo\ntasks: ["tasks/*.yaml"]\n'})
    assert "no file fits" in found.errors[0]


def test_tasks_may_stand_in_the_configuration_itself(read: Reader) -> None:
    task = {"id": "in", "inputs": {"prompt": "p"}, "graders": [{"type": "text", "config": {"contains": "x"}}]}
    found = read({"evals/eval.yaml": {"skill": "demo", "tasks": [task]}})
    assert found.errors == []
    assert found.checks("in") == [("contains", {"value": "x", "case_sensitive": False})]


# ---------------------------------------------------------------- whatever the form
BAD: list[tuple[str, Any]] = [
    ("scenarios", {"scenarios": ["x"]}),
    ("no prompt", {"scenarios": [{"name": "n"}]}),
    ("a bad pattern", {"scenarios": [{"prompt": "p", "assertions": [{"type": "output_matches", "pattern": "("}]}]}),
    ("an unknown type", {"cases": [{"prompt": "p", "acceptance": [{"type": "contain", "value": "x"}]}]}),
    ("acceptance", {"cases": [{"acceptance": ["a"]}, 7]}),
    ("a question", [{"question": ""}]),
    ("no object", [{"question": "q", "ground_truth": "g"}, 7]),
    ("test cases", {"test_cases": [{"id": 1}]}),
    ("a criterion", {"test_cases": [{"prompt": "p", "evaluation_criteria": 7}]}),
    ("a sample", [{"sample_id": "x"}]),
    ("an assertion", [{"sample_id": "x", "prompt": "p", "assertions": [{"type": "regex", "value": "("}]}]),
    ("a query", {"query": 7, "expected_behavior": ["x"]}),
    ("a criterion of a task", {"task_id": "t", "initial_prompt": "p", "success_criteria": [{"type": "run_command"}]}),
    ("a task", {"task_id": "t", "success_criteria": []}),
    ("a judge", {"prompt": "p", "judge": [{"weight": 1}]}),
    ("twice", [{"question": "q", "id": 1, "ground_truth": "g"}, {"question": "r", "id": 1, "ground_truth": "g"}]),
]


@pytest.mark.parametrize(("what", "value"), BAD, ids=[what for what, _ in BAD])
def test_what_cannot_be_read_is_an_error_with_its_place(read: Reader, what: str, value: Any) -> None:
    found = read({"evals/evals.json": value})
    assert found.errors
    assert found.errors[0].startswith("demo/evals/evals.json")


@pytest.mark.parametrize("extra", ["prio", "notes"])
def test_keys_that_nobody_reads_are_kept_and_told(read: Reader, extra: str) -> None:
    found = read({"evals/evals.json": {"scenarios": [{"name": "n", "prompt": "p", "rubric": ["r"], extra: 7}]}})
    assert found.case.extra == {extra: 7}
    assert bool(found.told("unknown-key")) == (extra == "prio")
