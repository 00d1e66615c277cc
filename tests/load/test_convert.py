"""Suites of every form, written in the shared form: they validate and load to the same cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skilltrial.cli import exit_code_of
from skilltrial.errors import BadInput, UsageError
from skilltrial.load import project
from skilltrial.load.convert import Conversion, convert
from skilltrial.load.validate import examine
from skilltrial.records.config import Config
from skilltrial.records.suite import Case, landing

Write = Callable[[Mapping[str, Any]], Path]
DATA = Path(__file__).parent / "data"
GRADERS = {
    "fired": "---\ntype: tool_used\ntool: Skill\n---\n",
    "never": "---\ntype: tool_used\ntool: Skill\nmin: 0\nmax: 0\narm: both\n---\n",
    "order": "---\ntype: tool_order\nbefore: {tool: Bash, input_match: test}\nafter: Edit\nweight: 2\n---\n",
    "count": "---\ntype: regex\npattern: 'a\\d'\nflags: i\nmatch: count:2\narm: with-only\n---\n",
    "made": "---\ntype: file_exists\npath: '*.md'\n---\n",
    "note": "---\ntype: llm\nweight: 0\n---\nA commit was created.\n",
    "good": "---\ntype: llm\n---\nThe file x.md exists\n\nand is short.\n",
}
SUITES: dict[str, dict[str, Any]] = {
    "handbook": {"evals/evals.json": "handbook.json", "evals/fixtures/notes.txt": "n"},
    "agent-skills-eval": {"evals/evals.json": "agent-skills-eval.json", "evals/files/rows.csv": "1"},
    "agent-skill-eval": {"evals/evals.json": "agent-skill-eval.json", "evals/files/in.json": {}},
    "skill-ab-eval": {"evals/evals.json": "skill-ab-eval.json", "evals/letter.md": "Dear all"},
    "skill-creator": {"evals/evals.json": "skill-creator.json"},
    "agent runs": {
        "evals/evals.json": {
            "evals": [
                {
                    "id": 1, "prompt": "p", "should_trigger": False, "assertions": ["The file x exists", "The file `y.md` exists"],
                    "runtime_checks": {"requiredCommands": ["node"], "allowedChanges": [], "fileContents": [{"path": "a", "contains": "b"}]},
                    "verification": [{"name": "v", "command": "node", "args": ["-e", "1"]}], "files": ["evals/files/deep/a.txt"],
                }
            ]
        },
        "evals/files/deep/a.txt": "a",
    },
    "case folders of fixtures": {
        "evals/evals.json": {"evals": [{"prompt": "p", "files": ["files/one/a.txt"], "force_skill_invocation": True, "assertions": ["Fine."]}]},
        "evals/files/one/a.txt": "a",
    },
    "plugin eval": {
        "evals/one/prompt.md": "---\nmax_turns: 5\ntags: [x]\n---\nDo it.\n",
        **{f"evals/one/graders/{name}.md": text for name, text in GRADERS.items()},
        "evals/two/case.yaml": "name: second\nexecution: {prompt: p, timeout_seconds: 9.5}\ncontext: {add_dirs: [fixture, ../shared]}\nexpected_outcome: Fine.\ndescription: d\n",
        "evals/two/fixture/a/b.txt": "b",
        "evals/shared/c.bin": b"\xff\x00",
        "evals/mocks/tracker/list_issues.md": "---\nexpect: {state: open}\n---\n{{file:a.txt}}\n",
        "evals/mocks/tracker/close.md": "Closed.\n",
        "evals/mocks/tracker/a.txt": "PLUM-7",
        "evals/one/graders/asked.md": "---\ntype: regex\ntarget: mock_calls\npattern: list_issues\n---\n",
    },
    "scenarios": {
        "tests/eval.yaml": """\
scenarios:
  - name: Builds it
    prompt: p
    setup: {copy_test_files: true, files: [{path: in.txt, content: "text"}, {path: d.csv, source: assets/data.csv}]}
    assertions: [{type: output_matches, pattern: "x"}, {type: exit_success}, {type: file_contains, path: "*.cs", value: v}]
    rubric: [Good, A branch was created]
    reject_tools: [rm]
    expect_activation: false
    timeout: 60
""",
        "tests/Program.cs": "c",
        "assets/data.csv": "1",
    },
    "acceptance": {"references/evals.yaml": {"skill_name": "demo", "cases": [{"id": "a", "prompt": "p", "should_trigger": False, "acceptance": [{"type": "skill_not_selected"}, "The file is created."]}]}},
    "one case": {
        "evaluations/one.json": {"name": "First", "query": "q", "files": ["in/a.txt"], "expected_behavior": ["x"], "note": "n"},
        "evaluations/two.json": {"query": "r", "success_criteria": ["y"]},
        "in/a.txt": "a",
    },
    "questions": {"evals/questions.json": [{"question": "q", "expected_skill": "demo", "expected_script": "run.py", "ground_truth": "g", "expected_behavior": ["b"], "files": ["evals/files/x.txt"]}, {"id": 7, "question": "r", "should_trigger": False}], "evals/files/x.txt": "x"},
    "list": {"evals/cases.json": [{"prompt": "p", "expect": ["x"], "fail": ["y"]}, {"prompt": "q", "checks": [{"type": "contains", "value": "v"}]}]},
    "test cases": {"evals/cases.json": {"test_cases": [{"id": "t", "prompt": "p", "evaluation_criteria": {"tone": {"text": "t", "weight": 2}}}], "purpose": "p"}},
    "samples": {"evals/cases.json": [{"sample_id": "s", "prompt": "p", "rubric": "r", "assertions": [{"type": "tools_called", "value": ["a"], "weight": 0.5}, {"type": "max_length", "value": 9}], "metadata": {"k": 1}}]},
    "command task": {"evals/task.json": {"task_id": "t", "initial_prompt": "p", "run_limits": {"max_turns": 3}, "success_criteria": [{"type": "run_command", "command": "true", "description": "It runs", "weight": 5, "timeout": 3}]}},
    "judge": {"evals/judged.json": {"name": "n", "prompt": "p", "judge": [{"check": "c", "weight": 0.25}]}},
    "tasks": {
        "evals/eval.yaml": {"skill": "demo", "tasks": ["tasks/*.yaml"], "config": {"timeout_seconds": 5}, "graders": [{"type": "text", "name": "n", "config": {"contains": ["a"]}}]},
        "evals/tasks/one.yaml": "id: o\ninputs: {prompt: p, files: [{path: m/a.tf}]}\nexpected: {should_trigger: true}\n",
        "evals/fixtures/m/a.tf": "t",
    },
    "trigger list": {"evals/trigger-evals.json": [{"query": "q", "should_trigger": True, "why": "w"}, {"query": "r", "should_trigger": False}]},
}  # fmt: skip


def laid_out(write: Write, files: Mapping[str, Any]) -> Path:
    texts = {
        name: (DATA / text).read_text(encoding="utf-8") if str(text).endswith(".json") else text for name, text in files.items()
    }
    value = next((json.loads(text) for name, text in texts.items() if name == "evals/evals.json" and isinstance(text, str)), {})
    skill = value.get("skill_name", "demo")
    return write(
        {
            "demo/SKILL.md": f"---\nname: {skill}\ndescription: d\n---\nBody\n",
            **{f"demo/{name}": text for name, text in texts.items()},
        }
    )


def cases_of(root: Path, path: str = "demo") -> list[Case]:
    loaded = project(Config(paths=(path,)), root)
    assert loaded.errors == (), [str(problem) for problem in loaded.errors]
    return [case for suite in loaded.suites for case in suite.cases]


def same(one: Case, other: Case) -> None:
    """Equal in all but where they stand, with fixtures at the same places."""
    ours: dict[str, Any] = {"where": one.where, "fixtures": one.fixtures, "stage": one.stage}
    if one.given_id is None and other.given_id == one.id:
        ours["given_id"] = None  # a form that counts its cases otherwise
    assert other.model_copy(update=ours) == one
    assert [(landing(file.path, other.stage), file.digest) for file in other.fixtures.files] == [
        (landing(file.path, one.stage), file.digest) for file in one.fixtures.files
    ]


@pytest.mark.parametrize("name", sorted(SUITES))
def test_what_is_written_validates_and_loads_to_the_same_cases(write: Write, name: str) -> None:
    root = laid_out(write, SUITES[name])
    before = cases_of(root)
    made = convert("demo", root, root / "demo/evals/new/evals.json")
    assert made.lost == ()
    assert made.cases == len(before)
    write({"demo/evals/new/evals.json": made.text})
    assert examine(("demo/evals/new",), root, suite_only=True).errors == ()
    after = cases_of(root, "demo/evals/new")
    for one, other in zip(before, after, strict=True):
        same(one, other)


def test_what_was_written_is_what_is_written_again(write: Write) -> None:
    root = laid_out(write, SUITES["plugin eval"])
    first = convert("demo", root, root / "demo/evals/new/evals.json")
    write({"demo/evals/new/evals.json": first.text})
    assert convert("demo/evals/new", root, root / "demo/evals/new/evals.json").text == first.text


def test_plain_sentences_stay_plain(write: Write) -> None:
    value = json.loads(convert("demo", laid_out(write, SUITES["skill-creator"])).text)
    assert value["evals"][0]["assertions"] == ["There is a chart", "Axes are labelled"]
    assert "stage" not in value and "prose_checks" not in value


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("plugin eval", "demo/evals/evals.json"),
        ("one case", "demo/evals/evals.json"),
        ("scenarios", "demo/evals/evals.json"),
        ("questions", "demo/evals/evals.json"),
    ],
)
def test_it_goes_to_where_the_skill_keeps_its_suites(write: Write, name: str, goal: str) -> None:
    root = laid_out(write, SUITES[name])
    assert convert("demo", root).path == root / goal


def test_a_suite_outside_the_skill_stays_outside(write: Write) -> None:
    root = write(
        {
            "repo/.git/HEAD": "x",
            "repo/skills/demo/SKILL.md": None,
            "repo/tests/demo/eval.yaml": "scenarios: [{prompt: p, rubric: [r]}]",
        }
    )
    assert convert("repo/skills/demo", root).path == root / "repo/tests/demo/evals.json"


def test_a_fixture_that_cannot_be_listed_goes_into_the_suite_or_is_named(write: Write) -> None:
    suite = "scenarios: [{prompt: p, rubric: [r], setup: {copy_test_files: true}}]"
    root = write(
        {"skills/demo/SKILL.md": None, "tests/demo/eval.yaml": suite, "tests/demo/a.txt": "text", "tests/demo/b.bin": b"\xff\x00"}
    )
    far = convert("skills/demo", root, root / "elsewhere/evals.json")
    (case,) = json.loads(far.text)["evals"]
    assert case["files"][0] == {"path": "a.txt", "content": "text"}
    assert "b.bin" in far.lost[0]


def test_keys_that_would_mean_something_else_are_named(write: Write) -> None:
    root = write(
        {
            "demo/SKILL.md": None,
            "demo/evals/evals.yaml": {
                "scenarios": [{"name": "n", "prompt": "p", "rubric": ["r"], "criteria": ["x"]}],
                "defaults": 1,
            },
        }
    )
    made = convert("demo", root, root / "demo/evals/new.json")
    assert [what.split(" of ")[0] for what in made.lost] == ["'criteria'", "'defaults'"]


def test_there_must_be_one_skill_with_a_readable_suite(write: Write) -> None:
    root = write({"a/SKILL.md": None, "b/SKILL.md": None, "c/SKILL.md": None, "c/evals/evals.json": {"evals": [{"id": 1}]}})
    with pytest.raises(UsageError, match="no suite"):
        convert("a", root)
    with pytest.raises(BadInput, match="no 'prompt'"):
        convert("c", root)
    write({f"{name}/evals/evals.json": {"evals": [{"prompt": "p", "assertions": ["x"]}]} for name in ("a", "b")})
    with pytest.raises(UsageError, match="skills have suites"):
        convert(".", root)


# ---------------------------------------------------------------- the command
def run(root: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.chdir(root)
    return exit_code_of(["convert", *words])


def test_the_command_writes_once_and_says_what_has_no_counterpart(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {**SUITES["plugin eval"], "evals/one/graders/trace.md": "---\ntype: regex\npattern: x\ntarget: trace\n---\n"}
    root = laid_out(write, files)
    assert run(root, monkeypatch, "demo") == 0
    out, err = capsys.readouterr()
    assert out.strip() == str(root / "demo/evals/evals.json")
    assert "'trace' is set aside" in err and "2 cases from" in err
    written = (root / "demo/evals/evals.json").read_text(encoding="utf-8")
    assert run(root, monkeypatch, "demo") == 2
    assert "left as it is" in capsys.readouterr().err
    assert (root / "demo/evals/evals.json").read_text(encoding="utf-8") == written


def test_the_text_may_go_to_stdout(write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    root = laid_out(write, SUITES["one case"])
    assert run(root, monkeypatch, "demo/evaluations/one.json", "-o", "-", "--to", "standard") == 0
    assert [case["id"] for case in json.loads(capsys.readouterr().out)["evals"]] == ["one"]
    assert not (root / "demo/evals").exists()


def test_a_conversion_is_plain_data(write: Write) -> None:
    made = convert("demo", laid_out(write, SUITES["list"]))
    assert isinstance(made, Conversion) and made.text.endswith("}\n")


@pytest.mark.parametrize("drafts", [("evals.json",), ("evals.json", "more.json")])
def test_a_draft_stays_a_draft(write: Write, drafts: tuple[str, ...]) -> None:
    suites = {
        f"evals/{name}": {"reviewed": number > 0, "evals": [{"id": name, "prompt": "p"}]} for number, name in enumerate(drafts)
    }
    root = laid_out(write, suites)
    made = convert("demo", root, root / "demo" / "out.json")
    assert json.loads(made.text)["reviewed"] is False
    assert made.lost == ()
    assert "reviewed" not in json.loads(convert("demo/evals/more.json", root, root / "o.json").text) if len(drafts) > 1 else True


@pytest.mark.parametrize(
    "form",
    [
        [{"query": "q", "should_trigger": True, "rationale": "r", "id": 3}],
        [{"prompt": "q", "should_trigger": True, "notes": "n"}],
        {
            "skill_name": "demo",
            "queries": [{"query": "q", "should_trigger": True}],
            "harness": "x",
            "notes": "y",
            "distractors": ["a"],
        },
        {"covers": {"skill": "demo"}, "cases": [{"query": "q", "should_trigger": True}]},
        {"should_trigger": ["q"], "should_not_trigger": ["r"]},
        {"evals": [{"query": "q", "expect_skill": "demo", "why": "w"}]},
    ],
    ids=["list", "list of prompts", "queries", "covers", "two lists", "evals"],
)
def test_every_form_of_a_trigger_list_is_written_with_nothing_lost(write: Write, form: Any) -> None:
    root = laid_out(write, {"evals/trigger-eval.json": form})
    made = convert("demo", root, root / "demo" / "out.json")
    assert made.lost == ()
    first = json.loads(made.text)["evals"][0]
    assert (first["prompt"], first["checks"][0]["type"], first["checks"][0]["loaded"]) == ("q", "loaded_skill", True)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ({"providers": ["x"], "tests": [{"vars": {}, "assert": []}]}, "suite with targets"),
        (
            {"skills": ["a"], "tasks": [{"name": "n", "activates": True, "setup": "x", "prompt": "p", "assert": "pass"}]},
            "assert code",
        ),
        ({"foo": [1]}, "no form of suite we know"),
    ],
)
def test_a_form_that_is_not_read_is_named_with_the_keys_seen(write: Write, form: Any, name: str) -> None:
    root = laid_out(write, {"evals/suite.json": form})
    with pytest.raises(BadInput) as refused:
        convert("demo/evals/suite.json", root)
    assert name in str(refused.value) and next(iter(form)) in str(refused.value)


def test_what_the_shared_form_cannot_say_is_named(write: Write) -> None:
    evals = [{"query": "q", "skills": ["demo"], "should_trigger": True, "expected_behavior": ["b"]}]
    root = laid_out(write, {"evals/trigger-evals.json": {"evals": evals}})
    assert convert("demo", root, root / "demo" / "out.json").lost == ("'expected_behavior' of the case 'trigger-1'",)
