"""Suites in the shared form, in every spelling of the known tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skilltrial.load import Loaded, project
from skilltrial.load.validate import Checked, examine
from skilltrial.records.config import Config
from skilltrial.records.suite import Case, Check, Suite

Write = Callable[[Mapping[str, Any]], Path]


def load(root: Path, **config: Any) -> Loaded:
    return project(Config(paths=("demo",), **config), root)


def suite_of(write: Write, *cases: Any, **top: Any) -> tuple[Suite, Checked]:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": {"evals": list(cases), **top}})
    checked = examine(("demo",), root)
    assert checked.errors == (), [str(problem) for problem in checked.errors]
    return checked.suites[0], checked


def case_of(write: Write, case: Any, **top: Any) -> Case:
    return suite_of(write, case, **top)[0].cases[0]


def check_of(write: Write, check: Any, key: str = "checks") -> Check:
    return case_of(write, {"prompt": "p", key: [check]}).checks[0]


def problems_of(write: Write, *cases: Any, level: Any = "standard", **top: Any) -> list[tuple[str, str | None]]:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": {"evals": list(cases), **top}})
    return [(problem.rule, problem.where.pointer) for problem in examine(("demo",), root, level).errors]


# ---------------------------------------------------------------- cases
def test_ids_keep_their_type_and_absent_ones_are_positions(write: Write) -> None:
    suite, _ = suite_of(write, {"id": 7, "prompt": "a"}, {"id": "two", "prompt": "b"}, {"prompt": "c"})
    assert [(case.id, case.given_id) for case in suite.cases] == [("7", 7), ("two", "two"), ("3", None)]


@pytest.mark.parametrize("ids", [(1, 1), (1, "1"), ("a", "A"), (2, None)])
def test_ids_that_would_name_one_case_are_an_error(write: Write, ids: tuple[Any, Any]) -> None:
    cases = [{"prompt": "p"} if id_ is None else {"id": id_, "prompt": "p"} for id_ in ids]
    (problem,) = problems_of(write, *cases)
    assert problem[0] == "duplicate-id"


@pytest.mark.parametrize("key", ["prompt", "query", "question"])
def test_the_prompt_has_several_names(write: Write, key: str) -> None:
    assert case_of(write, {key: "Do it", "assertions": ["Done"]}).prompt == "Do it"


@pytest.mark.parametrize("key", ["assertions", "expectations", "expected_behavior", "criteria"])
def test_sentences_have_several_names(write: Write, key: str) -> None:
    assert [check.text for check in case_of(write, {"prompt": "p", key: ["One", "Two"]}).checks] == ["One", "Two"]


def test_assertions_and_expectations_are_merged_once(write: Write) -> None:
    case = case_of(write, {"prompt": "p", "assertions": ["One", "Two"], "expectations": ["Two", "Three"]})
    assert [check.text for check in case.checks] == ["One", "Two", "Three"]
    assert len({check.id for check in case.checks}) == 3


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"text": "T", "kind": "k"}, "T"),
        ({"value": "V"}, "V"),
        ({"criterion": "C"}, "C"),
        ({"description": "D"}, "D"),
        ({"name": "short", "description": "D"}, "D"),
        ({"name": "short", "check": "K"}, "K"),
        ({"type": "llm", "text": "L"}, "L"),
    ],
)
def test_an_object_without_a_checkable_type_is_a_sentence(write: Write, item: dict[str, str], text: str) -> None:
    check = check_of(write, item, "assertions")
    assert (check.type, check.text) == ("rubric", text)


def test_expected_output_stands_in_only_where_nothing_else_is_checked(write: Write) -> None:
    suite, _ = suite_of(
        write,
        {"prompt": "a", "expected_output": "Blue."},
        {"prompt": "b", "expected_output": "Blue.", "assertions": ["It is blue"]},
        {"prompt": "c", "expected_output": "Blue.", "tool_assertions": [{"type": "tool-called", "name": "x"}]},
        {"prompt": "d"},
        {"prompt": "e", "assertions": []},
    )
    assert [[check.type for check in case.checks] for case in suite.cases] == [
        ["rubric"],
        ["rubric"],
        ["tool_called"],
        ["quality"],
        ["quality"],
    ]
    assert "Blue." in suite.cases[0].checks[0].text
    assert all(case.expected_output == "Blue." for case in suite.cases[:3])


def test_parameters_merge_and_never_touch_model_or_messages(write: Write) -> None:
    defaults = {"target": {"params": {"temperature": 0.5, "top_p": 1}}, "judge": {"params": {"seed": 1}}}
    case = case_of(write, {"prompt": "p", "params": {"temperature": 0, "max_tokens": 5}}, defaults=defaults)
    assert case.params == {"temperature": 0, "top_p": 1, "max_tokens": 5}
    assert case.judge_params == {"seed": 1}
    assert problems_of(write, {"prompt": "p", "params": {"model": "x"}}) == [("params-refused", "evals[0].params.model")]
    assert problems_of(write, {"prompt": "p"}, defaults={"target": {"params": {"messages": []}}}) == [
        ("params-refused", "defaults.target.params.messages")
    ]


def test_side_effects_limits_tags_and_weights_are_kept(write: Write) -> None:
    case = case_of(
        write,
        {
            "prompt": "p", "name": "N", "assertions": ["a"], "side_effect_level": "static", "side_effect_contract": {"allow_new_commits": False},
            "stage_files": True, "limits": {"max_turns": 3}, "timeout_s": 9, "weight": 2, "tags": ["slow"], "cluster": "c", "own": {"k": 1},
        },
    )  # fmt: skip
    assert case.side_effects is not None
    assert (case.side_effects.level, case.side_effects.contract) == ("static", {"allow_new_commits": False})
    assert (case.limits.max_turns, case.limits.timeout_s, case.weight, case.tags, case.cluster, case.name) == (
        3,
        9,
        2,
        ("slow",),
        "c",
        "N",
    )
    assert case.stage_files
    assert case.extra == {"own": {"k": 1}}


@pytest.mark.parametrize(
    ("case", "rule", "pointer"),
    [
        ("text", "case-form", "evals[0]"),
        ({"id": 1}, "prompt-missing", "evals[0]"),
        ({"prompt": ""}, "prompt-empty", "evals[0].prompt"),
        ({"prompt": 3}, "prompt-form", "evals[0].prompt"),
        ({"prompt": "a\0b"}, "prompt-form", "evals[0].prompt"),
        ({"id": 1.5, "prompt": "p"}, "case-id", "evals[0].id"),
        ({"id": True, "prompt": "p"}, "case-id", "evals[0].id"),
        ({"id": "", "prompt": "p"}, "case-id", "evals[0].id"),
        ({"prompt": "p", "expected_output": 1}, "text-form", "evals[0].expected_output"),
        ({"prompt": "p", "should_trigger": "no"}, "flag-form", "evals[0].should_trigger"),
        (
            {"prompt": "p", "should_trigger": False, "force_skill_invocation": True},
            "forced-negative",
            "evals[0].force_skill_invocation",
        ),
        ({"prompt": "p", "side_effect_level": "wild"}, "side-effect-level", "evals[0].side_effect_level"),
        (
            {"prompt": "p", "side_effect_contract": {"allow_all": True}},
            "side-effect-contract",
            "evals[0].side_effect_contract.allow_all",
        ),
        ({"prompt": "p", "assertions": [""]}, "assertion-empty", "evals[0].assertions[0]"),
        ({"prompt": "p", "assertions": [3]}, "assertion-form", "evals[0].assertions[0]"),
        ({"prompt": "p", "assertions": {"a": 1}}, "assertion-form", "evals[0].assertions"),
        ({"prompt": "p", "assertions": [{"points": 3}]}, "assertion-form", "evals[0].assertions[0]"),
        ({"prompt": "p", "limits": {"max_turns": 0}}, "limits-form", "evals[0].limits.max_turns"),
        ({"prompt": "p", "limits": {"max_turn": 1}}, "limits-form", "evals[0].limits.max_turn"),
        ({"prompt": "p", "tools": [{"name": "x"}]}, "tools-form", "evals[0].tools[0]"),
        ({"prompt": "p", "tool_choice": "always"}, "tool-choice", "evals[0].tool_choice"),
        ({"prompt": "p", "weight": -1}, "weight-form", "evals[0].weight"),
        ({"prompt": "p", "files": "a.csv"}, "files-form", "evals[0].files"),
    ],
)
def test_what_is_wrong_with_a_case_is_told_at_its_place(write: Write, case: Any, rule: str, pointer: str) -> None:
    assert problems_of(write, case) == [(rule, pointer)]


def test_every_problem_of_a_file_is_reported_at_once_with_line_and_column(write: Write) -> None:
    text = '{\n "evals": [\n  {"prompt": ""},\n  {"prompt": "p", "checks": [\n    {"id": "a", "type": "contain", "value": "x"},\n    {"id": "b", "type": "regex", "pattern": "("}]}\n ]\n}'
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": text})
    errors = examine(("demo",), root).errors
    assert [(problem.rule, problem.where.line, problem.where.column) for problem in errors] == [
        ("prompt-empty", 3, 14),
        ("unknown-check-type", 5, 25),
        ("check-pattern", 6, 45),
    ]
    assert "did you mean 'contains'?" in (errors[1].hint or "")


def test_unknown_keys_are_kept_and_warned_about_and_schema_is_known(write: Write) -> None:
    _, checked = suite_of(
        write,
        {"prompt": "p", "assertion": ["a"], "must_contain": ["x"], "notes": "n"},
        **{"$schema": "s", "version": 2, "fixture_root": "f"},
    )
    told = {problem.where.pointer: problem for problem in checked.problems if problem.rule == "unknown-key"}
    assert set(told) == {"evals[0].assertion", "evals[0].must_contain", "fixture_root"}
    assert "did you mean 'assertions'?" in (told["evals[0].assertion"].hint or "")
    assert ("unknown-key", "evals[0].must_contain") in problems_of(write, {"prompt": "p", "must_contain": ["x"]}, level="strict")


def test_an_empty_suite_is_an_error_and_never_zero_cases(write: Write) -> None:
    assert problems_of(write) == [("no-cases", "evals")]
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": {"evals": {"a": 1}}})
    assert [problem.rule for problem in examine(("demo",), root).errors] == ["evals-form"]


def test_another_skill_name_is_a_warning(write: Write) -> None:
    _, checked = suite_of(write, {"prompt": "p"}, skill_name="other")
    assert [(problem.rule, problem.severity) for problem in checked.problems] == [("skill-name", "warning")]
    assert problems_of(write, {"prompt": "p"}, skill_name="other", level="strict") == [("skill-name", "skill_name")]


# ---------------------------------------------------------------- checks
HANDBOOK = [
    {"id": "a", "type": "contains", "value": "Phrase"},
    {"id": "b", "type": "contains_all", "values": ["x", "y"]},
    {"id": "c", "type": "contains_any", "values": ["x"]},
    {"id": "d", "type": "not_contains", "value": "secret", "case_sensitive": True},
    {"id": "e", "type": "regex", "pattern": "^x"},
    {"id": "f", "type": "not_regex", "pattern": "y"},
    {"id": "g", "type": "file_exists", "path": "out/r.json"},
    {"id": "h", "type": "loaded_skill", "required": False},
]


def test_the_handbooks_checks_keep_id_required_and_case(write: Write) -> None:
    suite, _ = suite_of(write, {"id": 1, "prompt": "p", "expected_output": "e", "checks": HANDBOOK, "assertions": ["s"]})
    checks = suite.cases[0].checks
    assert suite.markers == ("handbook",)
    assert suite.dialect == "handbook"
    assert [(check.id, check.type) for check in checks[:8]] == [(one["id"], one["type"]) for one in HANDBOOK]
    assert [check.options.get("case_sensitive") for check in checks[:6]] == [False, False, False, True, False, False]
    assert (checks[7].required, checks[7].scored) == (False, False)
    assert all(check.scored for check in checks[:7])
    assert checks[8].type == "rubric"


@pytest.mark.parametrize(
    ("check", "kind", "options"),
    [
        ({"type": "tool-called", "name": "bash"}, "tool_called", {"name": "bash"}),
        ({"type": "tool-not-called", "name": "rm"}, "tool_not_called", {"name": "rm"}),
        (
            {"type": "tool-arg-equals", "name": "b", "path": "o", "value": {"b": 2}},
            "tool_arg_equals",
            {"name": "b", "path": "o", "value": {"b": 2}},
        ),
        (
            {"type": "tool-arg-equals", "name": "b", "path": "o", "value": None},
            "tool_arg_equals",
            {"name": "b", "path": "o", "value": None},
        ),
        (
            {"type": "tool-arg-contains", "name": "b", "path": "files[0]", "value": "x"},
            "tool_arg_contains",
            {"name": "b", "path": "files[0]", "value": "x"},
        ),
        (
            {"type": "tool-arg-matches", "name": "b", "path": "c", "pattern": "(?<n>x)", "flags": "giu"},
            "tool_arg_matches",
            {"name": "b", "path": "c", "pattern": "(?<n>x)", "flags": "i"},
        ),
        ({"type": "tool-call-count", "max": 0}, "tool_call_count", {"max": 0}),
    ],
)
def test_tool_assertions_become_checks(write: Write, check: Any, kind: str, options: Any) -> None:
    suite, _ = suite_of(write, {"prompt": "p", "tool_assertions": [{**check, "description": "Why"}]})
    (made,) = suite.cases[0].checks
    assert (made.type, made.options, made.text) == (kind, options, "Why")
    assert suite.dialect == "agent-skills-eval"


@pytest.mark.parametrize(
    "check",
    [
        {"type": "file_exists", "path": "a"},
        {"type": "file_not_exists", "path": "a"},
        {"type": "file_contains", "path": "a", "contains": "x"},
        {"type": "file_not_contains", "contains": "x"},
        {"type": "file_unchanged", "path": "a"},
        {"type": "command_ran", "command": "git status"},
        {"type": "command_not_ran", "command": "rm"},
        {"type": "tests_pass"},
        {"type": "tests_pass", "command": "pytest"},
        {"type": "git_clean"},
        {"type": "json_path", "json_path": "a.0.b", "equals": 3, "path": "x.json"},
        {"type": "json_path_not_exists", "json_path": "a"},
    ],
)
def test_structured_assertions_become_checks(write: Write, check: Any) -> None:
    suite, _ = suite_of(write, {"prompt": "p", "assertions": [{**check, "text": "Why"}]})
    (made,) = suite.cases[0].checks
    assert made.type == check["type"]
    assert made.text == "Why"
    assert {**made.options, "case_sensitive": False} == {
        **{key: value for key, value in check.items() if key != "type"},
        "case_sensitive": False,
    }
    assert suite.markers == ("ase-py",)


@pytest.mark.parametrize(
    ("check", "kind", "options"),
    [
        ({"type": "file-exists", "path": "a.md"}, "file_exists", {"path": "a.md"}),
        (
            {"type": "regex-match", "pattern": "x", "flags": "gi", "target": "assistant-text"},
            "regex",
            {"pattern": "x", "flags": "i", "case_sensitive": False},
        ),
        (
            {"type": "regex-match", "pattern": "x", "target": {"file": "a.md"}},
            "regex",
            {"pattern": "x", "path": "a.md", "case_sensitive": True},
        ),
        ({"type": "valid_json", "path": "a.json"}, "valid_json", {"path": "a.json"}),
        ({"type": "json_schema", "schema": {"type": "object"}}, "json_schema", {"json_schema": {"type": "object"}}),
        ({"type": "number", "value": 3, "tolerance": 0.1}, "number", {"value": 3, "tolerance": 0.1}),
        ({"type": "command", "argv": ["true"], "exit_code": 0}, "command", {"argv": ["true"], "exit_code": 0}),
        (
            {"type": "run_command", "command": "make test", "expected_exit_code": 2},
            "command",
            {"shell": "make test", "exit_code": 2},
        ),
        ({"type": "regex", "pattern": r"\p{Lu}(?<=a|bc)"}, "regex", {"pattern": r"\p{Lu}(?<=a|bc)", "case_sensitive": False}),
    ],
)
def test_other_spellings_of_checks(write: Write, check: Any, kind: str, options: Any) -> None:
    made = check_of(write, check)
    assert (made.type, made.options) == (kind, options)
    assert made.text


@pytest.mark.parametrize(
    "check",
    [
        {"type": "loaded_skill"},
        {"type": "tool_used", "tool": "Skill"},
        {"type": "tool_used", "tool": "Skill", "min": 0, "max": 0},
        {"type": "tool_called", "name": "Skill"},
        {"type": "contains", "value": "x", "arm": "with-only"},
        {"type": "contains", "value": "x", "arms": ["with_skill"]},
    ],
)
def test_what_only_one_arm_can_fulfil_is_an_indicator(write: Write, check: Any) -> None:
    assert not check_of(write, check).scored


def test_arm_both_is_an_ordinary_check(write: Write) -> None:
    check = check_of(write, {"type": "contains", "value": "x", "arm": "both"})
    assert (check.scored, check.arms) == (True, None)


@pytest.mark.parametrize(
    ("check", "rule", "word"),
    [
        ({"type": "contain", "value": "x"}, "unknown-check-type", "contain"),
        ({"type": "quality"}, "unknown-check-type", "quality"),
        ({"type": 3}, "check-type", "text"),
        ({"type": "contains"}, "check-option", "needs 'value'"),
        ({"type": "contains", "value": " "}, "check-option", "empty"),
        ({"type": "contains", "value": 3}, "check-option", "value"),
        ({"type": "contains", "values": ["x"]}, "unknown-key", "values"),
        ({"type": "contains_all", "values": []}, "check-option", "at least one"),
        ({"type": "contains_all", "values": ["x", ""]}, "check-option", "empty"),
        ({"type": "contains", "value": "x", "case_sensitive": "yes"}, "check-option", "true or false"),
        ({"type": "contains", "value": "x", "case_sensitve": True}, "unknown-key", "case_sensitve"),
        ({"type": "contains", "value": "x", "required": 1}, "check-required", "true or false"),
        ({"type": "contains", "value": "x", "weight": 0}, "check-weight", "above 0"),
        ({"type": "contains", "value": "x", "id": ""}, "check-id", "text"),
        ({"type": "contains", "value": "x", "arms": []}, "check-arms", "arms"),
        ({"type": "regex", "pattern": "("}, "check-pattern", "regular expression"),
        ({"type": "regex", "pattern": "x", "flags": "iq"}, "pattern-flags", "q"),
        ({"type": "file_exists", "path": "../x"}, "check-path", ".."),
        ({"type": "file_exists", "path": "/etc/passwd"}, "check-path", "absolute"),
        ({"type": "file_exists", "path": "C:/x"}, "check-path", "absolute"),
        ({"type": "file_exists", "path": "a\\b"}, "check-path", "backslash"),
        ({"type": "tool_call_count", "name": "x"}, "check-option", "min"),
        ({"type": "tool_call_count", "min": 3, "max": 2}, "check-option", "above"),
        ({"type": "number", "value": "3"}, "check-option", "value"),
        ({"type": "number", "value": 3, "tolerance": -1}, "check-option", "0 or more"),
        ({"type": "command"}, "check-option", "exactly one"),
        ({"type": "command", "argv": ["a"], "shell": "b"}, "check-option", "exactly one"),
        ({"type": "json_schema", "schema": 3}, "check-option", "json_schema"),
        ({"type": "json_schema", "schema": {"type": "nonsense"}}, "check-schema", "nonsense"),
    ],
)
def test_a_wrong_check_is_named(write: Write, check: Any, rule: str, word: str) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": {"evals": [{"prompt": "p", "checks": [check]}]}})
    errors = examine(("demo",), root).errors
    assert rule in {problem.rule for problem in errors}
    assert any(word in problem.found for problem in errors)
    assert all(problem.where.line == 1 and problem.where.column for problem in errors)


def test_an_unknown_tool_assertion_is_named_with_the_known_ones(write: Write) -> None:
    root = write(
        {
            "demo/SKILL.md": None,
            "demo/evals/evals.json": {"evals": [{"prompt": "p", "tool_assertions": [{"type": "tool-caled", "name": "x"}]}]},
        }
    )
    (error,) = examine(("demo",), root).errors
    assert "did you mean 'tool-called'?" in (error.hint or "")


def test_unknown_keys_of_structured_assertions_are_refused(write: Write) -> None:
    assert problems_of(write, {"prompt": "p", "assertions": [{"type": "file_exists", "path": "a", "zzz": 1}]}) == [
        ("unknown-key", "evals[0].assertions[0].zzz")
    ]


def test_two_checks_of_one_id_are_an_error(write: Write) -> None:
    assert problems_of(write, {"prompt": "p", "checks": [HANDBOOK[0], HANDBOOK[0]]}) == [("check-id", "evals[0]")]


# ---------------------------------------------------------------- agent-skill-eval's sentences
def routed(write: Write, *sentences: str, prose: Any = None, **case: Any) -> tuple[list[Check], list[str]]:
    root = write(
        {"demo/SKILL.md": None, "demo/evals/evals.json": {"evals": [{"prompt": "p", "assertions": list(sentences), **case}]}}
    )
    loaded = load(root, prose_checks=prose)
    return list(loaded.suites[0].cases[0].checks), [problem.rule for problem in loaded.problems]


@pytest.mark.parametrize(
    ("sentence", "kind", "options"),
    [
        ('The output contains "ok"', "contains", {"value": "ok", "case_sensitive": False}),
        ('It includes "a" or `b`', "contains_any", {"values": ["a", "b"], "case_sensitive": False}),
        ("The output is valid JSON", "valid_json", {}),
        ("The file `result.txt` exists", "file_exists", {"path": "result.txt", "anywhere": True}),
        ("report.md was created", "file_exists", {"path": "report.md", "anywhere": True}),
        ("It ran the npm command", "command_ran", {"command": "npm"}),
        ("A new git branch was created", "git_branch", {}),
        ("A branch named `fix/x` exists", "git_branch", {}),
        ("A commit was created with a message", "git_commit", {}),
        ("A new commit exists on the branch", "git_commit", {}),
        ("The branch was pushed to the remote", "git_pushed", {}),
        ("Changes are pushed to a remote branch", "git_pushed", {}),
        ("A pull request was opened against main", "pr_created", {}),
        ("It opened a PR", "pr_created", {}),
        ("A merge PR exists", "pr_created", {}),
    ],
)
def test_sentences_are_routed_where_the_markers_are_seen_and_each_routing_is_told(
    write: Write, sentence: str, kind: str, options: Any
) -> None:
    (check,), told = routed(write, sentence, should_trigger=True)
    assert (check.type, check.options, check.text) == (kind, options, sentence)
    assert told == ["prose-routed"]
    (check,), told = routed(write, sentence)
    assert (check.type, told) == ("rubric", [])
    (check,), _ = routed(write, sentence, prose="ase")
    assert check.type == kind
    (check,), _ = routed(write, sentence, prose="off", should_trigger=True)
    assert check.type == "rubric"


@pytest.mark.parametrize(
    "sentence",
    [
        "No files were created.",
        "The profile exists in full",
        "A guarantee about go",
        "The answer never contains `x`",
        "It is not valid JSON",
        "No new branch was created",
        "The newly committed change explains why",
        "The commit message explains the new option",
        "Brand new config lies on the branch",
        "The pull request template is cited",
    ],
)
def test_false_routes_go_to_the_judge_with_a_warning(write: Write, sentence: str) -> None:
    (check,), told = routed(write, sentence, prose="ase")
    assert check.type == "rubric"
    assert told == ["prose-not-routed"]


INVERTIBLE = ("A new git branch was created", "A commit exists", "The branch was pushed to the remote", "A PR was opened")


ODD = ("No commit was created", "Brand new config lies on the branch", "The pull request template is cited")
"""Sentences that agent-skill-eval turns round as well, whatever they say."""


@pytest.mark.parametrize("sentence", [*INVERTIBLE, *ODD])
def test_a_negative_control_never_sends_an_invertible_sentence_to_a_judge(write: Write, sentence: str) -> None:
    root = write(
        {
            "demo/SKILL.md": None,
            "demo/evals/evals.json": {
                "evals": [{"id": "n", "prompt": "p", "assertions": [sentence, "It is polite"], "should_trigger": False}]
            },
        }
    )
    loaded = load(root)
    git, polite = loaded.suites[0].cases[0].checks
    assert git.type in ("git_branch", "git_commit", "git_pushed", "pr_created")
    assert (git.options, git.text) == ({"absent": True}, f"Not: {sentence}")
    assert (polite.type, polite.text) == ("rubric", "It is polite")
    errors = load(root, prose_checks="off").errors
    assert [(problem.rule, problem.where.pointer, problem.where.line) for problem in errors] == [
        ("uninverted-sentence", "evals[0].assertions[0]", 1)
    ]


@pytest.mark.parametrize("key", ["checks", "assertions"])
def test_a_typed_check_on_git_is_turned_round_too_unless_it_says_what_it_wants(write: Write, key: str) -> None:
    given = [{"type": "git_commit"}, {"type": "git_branch", "absent": False}, {"type": "git_clean"}]
    suite, _ = suite_of(write, {"prompt": "p", key: given, "should_trigger": False})
    assert [check.options for check in suite.cases[0].checks] == [{"absent": True}, {"absent": False}, {}]
    assert suite.cases[0].checks[0].text == "no commit is created"
    suite, _ = suite_of(write, {"prompt": "p", key: given})
    assert [check.options for check in suite.cases[0].checks] == [{}, {"absent": False}, {}]


# ---------------------------------------------------------------- dialects
@pytest.mark.parametrize(
    ("case", "top", "dialect", "markers"),
    [
        ({"prompt": "p", "assertions": ["a"]}, {}, "standard", ()),
        ({"prompt": "p", "expectations": ["a"]}, {}, "skill-creator", ("skill-creator",)),
        ({"prompt": "p", "params": {}}, {}, "agent-skills-eval", ("ase-npm",)),
        ({"prompt": "p"}, {"defaults": {}}, "agent-skills-eval", ("ase-npm",)),
        ({"prompt": "p", "stage_files": False}, {}, "agent-skill-eval", ("ase-py",)),
        ({"prompt": "p", "checks": HANDBOOK}, {}, "handbook", ("handbook",)),
        ({"prompt": "p", "checks": [{"type": "number", "value": 1}]}, {}, "standard", ()),
        ({"prompt": "p", "params": {}, "should_trigger": True}, {}, "standard", ("ase-npm", "ase-py")),
    ],
)
def test_the_dialect_is_told_by_its_marks(write: Write, case: Any, top: Any, dialect: str, markers: tuple[str, ...]) -> None:
    suite, _ = suite_of(write, case, **top)
    assert (suite.dialect, suite.markers) == (dialect, markers)


def test_placeholders_of_listed_files_mark_skill_ab_eval(write: Write) -> None:
    write({"demo/evals/files/a.md": "x"})
    suite, _ = suite_of(write, {"prompt": "Sum up {{a.md}} and {{other}}", "files": ["evals/files/a.md"]})
    assert suite.dialect == "skill-ab-eval"


TRIGGERS = [
    [{"query": "q1", "should_trigger": True, "rationale": "r"}, {"query": "q2", "should_trigger": False}],
    [{"prompt": "q1", "should_trigger": True, "notes": "n"}, {"prompt": "q2", "should_trigger": False}],
    {"skill_name": "demo", "queries": [{"query": "q1", "should_trigger": True}, {"query": "q2", "should_trigger": False}]},
    {"covers": {"skill": "demo"}, "cases": [{"query": "q1", "should_trigger": True}, {"query": "q2", "should_trigger": False}]},
    {"should_trigger": ["q1"], "should_not_trigger": ["q2"]},
    {"evals": [{"query": "q1", "expect_skill": "demo", "why": "w"}, {"query": "q2", "expect_skill": None, "why": "w"}]},
    {
        "evals": [
            {"query": "q1", "skills": ["demo"], "should_trigger": True, "expected_behavior": ["x"]},
            {"query": "q2", "should_trigger": False},
        ]
    },
]


@pytest.mark.parametrize("value", TRIGGERS)
@pytest.mark.parametrize(
    "name", ["trigger-eval.json", "trigger_eval_set.json", "trigger-queries.json", "eval_queries.json", "evals.json"]
)
def test_trigger_lists_become_cases_with_an_indicator(write: Write, value: Any, name: str) -> None:
    root = write({"demo/SKILL.md": None, f"demo/evals/{name}": value})
    (suite,) = load(root).suites
    assert suite.dialect == "trigger"
    assert [(case.prompt, case.should_trigger) for case in suite.cases] == [("q1", True), ("q2", False)]
    for case in suite.cases:
        (check,) = case.checks
        assert (check.type, check.scored, check.options) == ("loaded_skill", False, {"loaded": case.should_trigger})


def test_a_trigger_list_beside_output_cases_is_not_part_of_a_run_unless_named(write: Write) -> None:
    root = write(
        {
            "demo/SKILL.md": None,
            "demo/evals/evals.json": {"evals": [{"prompt": "p"}]},
            "demo/evals/trigger-eval.json": TRIGGERS[0],
        }
    )
    loaded = load(root)
    assert ([suite.dialect for suite in loaded.suites], [suite.dialect for suite in loaded.triggers]) == (
        ["standard"],
        ["trigger"],
    )
    named = project(Config(paths=("demo/evals/trigger-eval.json",)), root)
    assert [suite.dialect for suite in named.suites] == ["trigger"]


def test_yaml_holds_the_same_forms(write: Write) -> None:
    text = "skill_name: demo\nevals:\n  - id: one\n    prompt: |\n      Do it\n    assertions:\n      - It is done\n    added: 2024-01-01\n"
    root = write(
        {"demo/SKILL.md": None, "demo/evals/evals.yaml": text, "demo/evals/triggers.yml": "- query: q\n  should_trigger: false\n"}
    )
    loaded = load(root)
    assert loaded.suites[0].cases[0].prompt == "Do it\n"
    assert loaded.suites[0].cases[0].extra == {"added": "2024-01-01"}
    assert len(loaded.triggers) == 1
    bad = write({"demo/evals/evals.yaml": "evals:\n  - id: 1\n    prompt: p\n    id: 2\n"})
    (error,) = load(bad).errors
    assert (error.rule, error.where.line) == ("duplicate-key", 4)


UNREAD = [
    ("tasks with setup and assert code", {"skills": ["demo"], "tasks": [{"name": "n", "assert": "x"}]}),
    ("suite with targets", {"providers": [], "tests": []}),
    ("stimuli", {"name": "n", "stimuli": [{"name": "n", "prompt": "p"}]}),
    ("one case of a plugin-eval folder", {"schema_version": "1", "execution": {"prompt": "p"}}),
]


@pytest.mark.parametrize(("name", "value"), UNREAD)
def test_forms_that_are_not_read_yet_are_named_with_the_keys_seen(write: Write, name: str, value: Any) -> None:
    for place, file in (("one", "evals.json"), ("two", "tasks.json")):
        root = write({f"{place}/demo/SKILL.md": None, f"{place}/demo/evals/{file}": value})
        (error,) = examine((f"{place}/demo",), root).errors
        assert error.rule == "unknown-dialect"
        assert str(next(iter(value[0] if isinstance(value, list) else value))) in error.found
        if file == "evals.json":
            assert f"'{name}'" in error.found


def test_broken_suite_files_are_errors_with_their_place(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": '{"evals": [\n {"prompt": "p",}]}'})
    (error,) = examine(("demo",), root).errors
    assert (error.rule, error.where.line) == ("invalid-json", 2)
