"""Folders of cases for `claude plugin eval`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from skilltrial.load import project
from skilltrial.load.validate import examine
from skilltrial.records.config import Config

Reader = Callable[..., Any]
CASE = """\
schema_version: "1"
name: counting
description: A question that is none of the skill's business.
tags: [negative]
execution:
  prompt: How many words are in "one two three"?
  max_turns: 3
  timeout_seconds: 60
runs: 2
expected_outcome: Three.
"""
PROMPT = "---\nmax_turns: 5\nallowed_tools: [Read, Skill]\ntags: [smoke]\n---\nMake a table of a, b and c.\n"


def graders(read: Reader, *texts: str, **more: Any) -> Any:
    files = {f"evals/one/graders/g{number}.md": text for number, text in enumerate(texts, 1)}
    return read({"evals/one/prompt.md": "Do it.", **files, **more})


def test_cases_are_folders_with_a_case_file_a_prompt_or_both(read: Reader) -> None:
    found = read(
        {
            "evals/count/case.yaml": CASE,
            "evals/count/graders/never.md": "---\ntype: tool_used\ntool: Skill\nmin: 0\nmax: 0\narm: both\n---\n",
            "evals/table/prompt.md": PROMPT,
            "evals/table/graders/fired.md": "---\ntype: tool_used\ntool: Skill\n---\n",
            "evals/table/graders/mentions.md": "---\ntype: regex\npattern: LIGHT\nweight: 2\n---\n",
            "evals/table/graders/quality.md": "---\ntype: llm\n---\nThe table has three rows.\n",
            "evals/results/2026/x.json": "{}",
        }
    )
    assert found.errors == []
    assert found.suite.dialect == "plugin-eval"
    count, table = found.cases["count"], found.cases["table"]
    assert (count.name, count.prompt, count.expected_output) == ("counting", 'How many words are in "one two three"?', "Three.")
    assert (count.limits.max_turns, count.limits.timeout_s, count.tags) == (3, 60, ("negative",))
    assert count.extra == {"description": "A question that is none of the skill's business."}
    assert (table.prompt, table.limits.max_turns, table.tags) == ("Make a table of a, b and c.", 5, ("smoke",))
    assert found.checks("table") == [
        ("loaded_skill", {}),
        ("regex", {"pattern": "LIGHT", "case_sensitive": True}),
        ("rubric", {}),
    ]
    assert [check.id for check in table.checks] == ["fired", "mentions", "quality"]
    assert [check.weight for check in table.checks] == [1, 2, 1]


def test_that_the_skill_fired_is_an_indicator_unless_both_arms_are_asked(read: Reader) -> None:
    found = graders(
        read,
        "---\ntype: tool_used\ntool: Skill\n---\n",
        "---\ntype: tool_used\ntool: Skill\nmin: 0\nmax: 0\narm: both\n---\n",
        "---\ntype: tool_used\ntool: Skill\ninput_match: demo\n---\n",
        "---\ntype: tool_used\ntool: Skill\ninput_match: other\n---\n",
        "---\ntype: tool_used\ntool: Skill\nmin: 2\n---\n",
    )
    assert found.checks() == [
        ("loaded_skill", {}),
        ("loaded_skill", {"loaded": False}),
        ("loaded_skill", {}),
        ("tool_used", {"name": "Skill", "input_match": "other"}),
        ("tool_used", {"name": "Skill", "min": 2}),
    ]
    assert [check.scored for check in found.case.checks] == [False, True, False, False, False]


def test_a_grader_of_the_arm_with_the_plugin_alone_is_an_indicator(read: Reader) -> None:
    check = graders(read, "---\ntype: regex\npattern: x\narm: with-only\n---\n").check("g1")
    assert (check.arms, check.scored) == (("with_skill",), False)


def test_a_weight_of_zero_is_an_observation(read: Reader) -> None:
    check = graders(read, "---\ntype: regex\npattern: x\nweight: 0\n---\n").check("g1")
    assert (check.required, check.weight) == (False, 1)


@pytest.mark.parametrize(
    ("grader", "kind", "options"),
    [
        ("type: regex\npattern: a", "regex", {"pattern": "a", "case_sensitive": True}),
        ("type: regex\npattern: a\nflags: gi", "regex", {"pattern": "a", "flags": "i", "case_sensitive": False}),
        ("type: regex\npattern: a\nmatch: not_contains", "not_regex", {"pattern": "a", "case_sensitive": True}),
        ('type: regex\npattern: a\nmatch: "count:2"', "regex", {"pattern": "a", "case_sensitive": True, "count": 2}),
        ("type: regex\npattern: a\nmatch: 3", "regex", {"pattern": "a", "case_sensitive": True, "count": 3}),
        ("type: regex\npattern: a\ntarget: files", "regex", {"pattern": "a", "case_sensitive": True, "files": True}),
        (
            "type: regex\npattern: a\ntarget: {source: file, path: out/x.md}",
            "regex",
            {"pattern": "a", "case_sensitive": True, "path": "out/x.md"},
        ),
        (
            "type: tool_used\ntool: Bash\ninput_match: 'git \\w+'\nmax: 3",
            "tool_used",
            {"name": "Bash", "input_match": "git \\w+", "max": 3},
        ),
        ("type: tool_order\nbefore: Read\nafter: Write", "tool_order", {"before": {"name": "Read"}, "after": {"name": "Write"}}),
        (
            "type: tool_order\nbefore: {tool: Bash, input_match: test}\nafter: {tool: Bash, input_match: commit}",
            "tool_order",
            {"before": {"name": "Bash", "input_match": "test"}, "after": {"name": "Bash", "input_match": "commit"}},
        ),
        ("type: file_exists\npath: '**/*.md'", "file_exists", {"path": "**/*.md"}),
        ("type: file_exists\npath: x.md\nexists: false", "file_not_exists", {"path": "x.md"}),
    ],
)
def test_graders_of_the_program_become_checks(read: Reader, grader: str, kind: str, options: dict[str, Any]) -> None:
    found = graders(read, f"---\n{grader}\n---\n")
    assert found.errors == []
    assert found.checks() == [(kind, options)]


@pytest.mark.parametrize(
    ("grader", "why"),
    [
        ("type: regex\npattern: a\ntarget: trace", "raw transcript"),
        ("type: baseline\nbaseline_file: x.jsonl", "reference transcript"),
        ("type: file_exists\npath: ../outside", "leaves its folder"),
    ],
)
def test_what_has_no_counterpart_is_set_aside_with_the_reason(read: Reader, grader: str, why: str) -> None:
    found = graders(read, f"---\n{grader}\n---\n", "---\ntype: llm\n---\nIt is good.\n")
    assert found.errors == []
    assert [check.id for check in found.case.checks] == ["g2"]
    (row,) = found.suite.set_aside
    assert (row.case, row.check) == ("one", "g1")
    assert why in row.reason
    assert why in found.told("set-aside")[0]


def test_a_case_of_which_every_check_is_set_aside_says_what_is_judged_instead(read: Reader) -> None:
    found = graders(read, "---\ntype: baseline\n---\n")
    assert found.checks() == [("quality", {})]
    assert "every check" in found.told("nothing-to-grade")[0]


@pytest.mark.parametrize(
    "grader",
    [
        "---\ntype: magic\n---\n",
        "---\nweight: 1\n---\n",
        "---\ntype: regex\npattern: '('\n---\n",
        "---\ntype: regex\npattern: a\nmatch: sometimes\n---\n",
        "---\ntype: regex\npattern: a\ntarget: moon\n---\n",
        "---\ntype: tool_used\n---\n",
        "---\ntype: tool_used\ntool: Bash\nmin: 3\nmax: 1\n---\n",
        "---\ntype: tool_order\nbefore: Read\n---\n",
        "---\ntype: llm\n---\n",
        "---\ntype: llm\n",
        "---\n- a\n---\n",
        "---\ntype: llm\nweight: -1\n---\nGood.\n",
    ],
)
def test_a_grader_that_cannot_be_read_is_an_error_at_its_file(read: Reader, grader: str) -> None:
    found = graders(read, grader)
    assert found.errors
    assert found.errors[0].startswith("demo/evals/one/graders/g1.md")


def test_graders_may_stand_in_the_case_file(read: Reader) -> None:
    case = "execution: {prompt: p}\ngraders:\n- {type: llm, name: good, criteria: It is good.}\n- {type: regex, pattern: x}\n"
    found = read({"evals/one/case.yaml": case})
    assert [(check.id, check.type) for check in found.case.checks] == [("grader-2", "regex"), ("good", "rubric")]


def test_folders_of_a_case_are_fixtures_at_the_place_it_names(read: Reader) -> None:
    case = "execution: {prompt: Look at fixture.}\ncontext:\n  add_dirs: [fixture, ../shared, ../../assets/base]\n"
    found = read(
        {
            "evals/one/case.yaml": case,
            "evals/one/fixture/deep/a.yml": "a",
            "evals/one/graders/g.md": "---\ntype: llm\n---\nGood.\n",
            "evals/shared/b.txt": "b",
            "assets/base/c.txt": "c",
            "fixture/deep/a.yml": "another",
        }
    )
    assert found.errors == []
    assert [file.path for file in found.case.fixtures.files] == ["assets/base/c.txt", "fixture/deep/a.yml", "shared/b.txt"]
    assert found.case.stage == "keep"


def test_what_prepares_a_run_there_and_not_here_is_named(read: Reader) -> None:
    found = read(
        {
            "evals/one/case.yaml": "execution: {prompt: p, allowed_tools: [Read]}\ncontext: {history_file: h.jsonl}\nenv: {EVAL_X: y}\n",
            "evals/one/scaffold.sh": "true",
            "evals/one/graders/g.md": "---\ntype: llm\nfocus: trace\n---\nGood.\n",
            "evals/mocks/tracker/_server.md": "---\ntype: agent\ntools: [search, close]\n---\nYou are a tracker.\n",
        }
    )
    assert found.errors == []
    told = " ".join(found.told("not-run"))
    for word in ("search, close", "scaffold.sh", "history_file", "env"):
        assert word in told
    assert found.told("focus")


def test_stand_in_servers_of_the_suite_and_of_the_case_are_read(read: Reader) -> None:
    listing = {
        "tools": [{"name": "list_issues", "description": "Lists.", "inputSchema": {"required": ["state"]}}, {"name": "other"}]
    }
    found = read(
        {
            "evals/one/prompt.md": "Do it.",
            "evals/one/graders/g1.md": "---\ntype: regex\ntarget: mock_calls\npattern: open\n---\n",
            "evals/one/mocks/tracker/close.md": "---\nerror: true\n---\nNot allowed.\n",
            "evals/mocks/tracker/list_issues.md": "---\nexpect: {state: [open, closed]}\n---\n{{file:{input.state}.txt}} and {{input.n}}\n",
            "evals/mocks/tracker/close.md": "Closed.\n",
            "evals/mocks/tracker/open.txt": "PLUM-7",
            "evals/mocks/tracker/deep/closed.txt": "none",
            "evals/mocks/tracker/_tools.json": json.dumps({"result": listing}),
            "evals/mocks/empty/notes.txt": "x",
        }
    )
    assert found.errors == []
    (server,) = found.case.mocks
    assert (server.name, server.files) == ("tracker", {"open.txt": "PLUM-7", "deep/closed.txt": "none"})
    close, issues = sorted(server.tools, key=lambda tool: tool.name)
    assert (close.answer, close.error) == ("Not allowed.", True)
    assert (issues.description, issues.input_schema, issues.expect) == (
        "Lists.",
        {"required": ["state"]},
        {"state": ["open", "closed"]},
    )
    assert found.checks() == [("regex", {"pattern": "open", "case_sensitive": True, "mock_calls": True})]
    assert found.suite.set_aside == ()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("bad__name/x.md", "a", "a server is named by"),
        ("s/bad name.md", "a", "a tool is named by"),
        ("s/x.md", "---\nexpect: {a: []}\n---\na", "empty list"),
        ("s/x.md", "---\nexpect: {a: '/(/'}\n---\na", "is no pattern"),
        ("s/x.md", "---\nerror: maybe\n---\na", "valid boolean"),
        ("s/_tools.json", "[1]", "tools/list"),
    ],
)
def test_what_is_wrong_with_a_stand_in_is_told(read: Reader, file: str, text: str, words: str) -> None:
    found = graders(read, "---\ntype: llm\n---\nGood.\n", **{"evals/mocks/s/ok.md": "fine", f"evals/mocks/{file}": text})
    assert words in " ".join(found.errors)


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({"evals/one/case.yaml": "execution: [\n"}, "invalid-yaml"),
        ({"evals/one/case.yaml": "execution: p\n"}, "case-form"),
        ({"evals/one/case.yaml": "- a\n"}, "case-form"),
        ({"evals/one/case.yaml": "name: n\n"}, "prompt-empty"),
        ({"evals/one/prompt.md": "---\nmax_turns: 0\n---\np"}, "limits-form"),
        ({"evals/one/prompt.md": "---\nmax_turns: 1\np"}, "frontmatter"),
    ],
)
def test_a_case_that_cannot_be_read_is_an_error_and_the_others_are_read(read: Reader, files: dict[str, str], rule: str) -> None:
    found = read({**files, "evals/two/prompt.md": "p", "evals/two/graders/g.md": "---\ntype: llm\n---\nGood.\n"})
    assert rule in [problem.rule for problem in found.problems if problem.severity == "error"]
    assert "two" in found.cases


# ---------------------------------------------------------------- where they are found
PLUGIN = {
    "plug/.claude-plugin/plugin.json": {"name": "plug"},
    "plug/skills/demo/SKILL.md": None,
    "plug/evals/one/prompt.md": "Do it.",
    "plug/evals/one/graders/g.md": "---\ntype: llm\n---\nGood.\n",
}


@pytest.mark.parametrize("path", ["plug", "plug/skills", "plug/skills/demo", "plug/evals"])
def test_the_cases_of_a_plugin_belong_to_its_one_skill(write: Any, path: str) -> None:
    found = examine((path,), write(PLUGIN))
    assert found.errors == ()
    assert [(suite.skill, suite.where.file) for suite in found.suites] == [("demo", "plug/evals")]


def test_a_plugin_may_keep_its_cases_elsewhere(write: Any) -> None:
    moved = {name.replace("plug/evals", "plug/checks/e2e"): text for name, text in PLUGIN.items()}
    moved["plug/.claude-plugin/plugin.json"] = {"name": "plug", "experimental": {"evals": "checks/e2e"}}
    assert [suite.where.file for suite in examine(("plug",), write(moved)).suites] == ["plug/checks/e2e"]


def test_of_several_skills_the_user_says_which(write: Any) -> None:
    root = write({**PLUGIN, "plug/skills/other/SKILL.md": None})
    found = examine(("plug",), root)
    assert found.suites == ()
    assert "several-skills" in [problem.rule for problem in found.problems]
    loaded = project(Config(skill_names=("plug/skills/demo",), evals=("plug/evals",)), root)
    assert [suite.skill for suite in loaded.suites] == ["demo"]


def test_evals_json_beside_the_folders_wins_and_a_trigger_list_does_not(read: Reader) -> None:
    files = {"evals/one/prompt.md": "p", "evals/one/graders/g.md": "---\ntype: llm\n---\nGood.\n"}
    found = read({**files, "evals/evals.json": {"evals": [{"prompt": "q", "assertions": ["a"]}]}})
    assert [suite.dialect for suite in found.suites] == ["standard"]
    assert "one" in found.told("not-read")[0]


def test_a_trigger_list_beside_the_folders_is_read_too(read: Reader) -> None:
    found = read(
        {
            "evals/one/prompt.md": "p",
            "evals/one/graders/g.md": "---\ntype: llm\n---\nGood.\n",
            "evals/trigger-evals.json": [{"query": "q", "should_trigger": True}],
        }
    )
    assert sorted(suite.dialect for suite in found.suites) == ["plugin-eval", "trigger"]


def test_the_digest_changes_with_any_file_of_the_folder(write: Any) -> None:
    one = examine(("plug",), write(PLUGIN)).suites[0].digest
    two = examine(("plug",), write({"plug/evals/one/graders/g.md": "---\ntype: llm\n---\nBetter.\n"})).suites[0].digest
    assert one.startswith("sha256:") and two.startswith("sha256:") and one != two
