"""What single tools of the shared form ask for beyond it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from skilltrial.records.suite import landing

Reader = Callable[..., Any]


def suite(*cases: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {"evals/evals.json": {"evals": [{"prompt": "p", **case} for case in cases], **top}}


# ---------------------------------------------------------------- agent-skills-eval: runs of agents
def test_runtime_checks_become_checks(read: Reader) -> None:
    runtime = {
        "requiredCommands": ["node"],
        "forbiddenCommands": ["rm -rf"],
        "commandOrder": ["npm install", "npm test"],
        "requiredFiles": ["report.json"],
        "forbiddenFiles": ["package-lock.json"],
        "fileContents": [{"path": "report.json", "contains": "v1"}],
        "allowedChanges": ["report.json", "out/**"],
        "maxCommands": 15,
        "noPermissionDenials": True,
    }
    verification = [
        {"name": "contract", "command": "node", "args": ["-e", "1"], "timeoutMs": 10000},
        {"name": "server", "command": "node", "url": "http://localhost:3000"},
    ]
    case = {
        "id": "one",
        "should_trigger": True,
        "assertions": ["The file report.json exists"],
        "captured_files": ["report.json"],
        "runtime_checks": runtime,
        "verification": verification,
    }
    found = read(suite(case, skill_name="demo"))
    assert found.errors == []
    assert found.suite.dialect == "agent-skills-eval"
    assert [(check.id, check.type, check.options) for check in found.case.checks] == [
        ("required-command-1", "command_ran", {"command": "node"}),
        ("forbidden-command-1", "command_not_ran", {"command": "rm -rf"}),
        ("required-file-1", "file_exists", {"path": "report.json"}),
        ("forbidden-file-1", "file_not_exists", {"path": "package-lock.json"}),
        ("file-content-1", "file_contains", {"path": "report.json", "contains": "v1", "case_sensitive": True}),
        ("command-order", "command_order", {"commands": ["npm install", "npm test"]}),
        ("allowed-changes", "only_changed", {"paths": ["report.json", "out/**"]}),
        ("contract", "command", {"argv": ["node", "-e", "1"], "timeout_s": 10}),
        ("triggered", "loaded_skill", {}),
        ("assertion-1", "rubric", {}),
    ]
    assert [row.check for row in found.suite.set_aside] == ["maxCommands", "noPermissionDenials", "server"]


def test_a_case_that_may_change_nothing(read: Reader) -> None:
    found = read(suite({"runtime_checks": {"allowedChanges": []}}))
    assert found.checks() == [("only_changed", {"paths": []})]


@pytest.mark.parametrize(
    "case",
    [
        {"runtime_checks": []},
        {"runtime_checks": {"requiredCommand": ["x"]}},
        {"runtime_checks": {"requiredCommands": "x"}},
        {"runtime_checks": {"requiredCommands": [7]}},
        {"runtime_checks": {"requiredFiles": ["../x"]}},
        {"runtime_checks": {"allowedChanges": ["/x"]}},
        {"runtime_checks": {"commandOrder": []}},
        {"runtime_checks": {"fileContents": ["x"]}},
        {"runtime_checks": {"fileContents": [{"path": "x"}]}},
        {"verification": [{"name": "n"}]},
        {"verification": [{"name": "n", "command": "c", "args": "x"}]},
        {"verification": {}},
        {"captured_files": "x"},
    ],
)
def test_runtime_checks_that_cannot_be_read_are_errors(read: Reader, case: dict[str, Any]) -> None:
    found = read(suite(case))
    assert found.errors
    assert "evals[0]." in found.errors[0]


def test_defaults_hold_for_every_case_and_a_case_may_differ(read: Reader) -> None:
    tool = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
    defaults = {"target": {"params": {"temperature": 0.5, "top_p": 1}}, "judge": {"params": {"temperature": 0}}, "tools": [tool]}
    found = read(suite({"id": "a"}, {"id": "b", "params": {"temperature": 0}, "tools": []}, defaults=defaults))
    assert found.cases["a"].params == {"temperature": 0.5, "top_p": 1}
    assert found.cases["b"].params == {"temperature": 0, "top_p": 1}
    assert (len(found.cases["a"].tools), len(found.cases["b"].tools)) == (1, 0)
    assert found.cases["b"].judge_params == {"temperature": 0}


# ---------------------------------------------------------------- agent-skill-eval: where fixtures lie
@pytest.mark.parametrize(
    ("listed", "places"),
    [
        (["files/sparse/README.md", "files/sparse/src/a.py"], ["README.md", "src/a.py"]),
        (["files/sparse/README.md", "files/x.txt"], ["README.md", "x.txt"]),
        (["files/sparse/README.md", "files/full/README.md"], ["full/README.md", "sparse/README.md"]),
        (["files/sparse"], ["sparse/README.md", "sparse/src/a.py"]),
        (["evals/files/sparse/README.md"], ["sparse/README.md"]),  # written from the skill: not that tool's way
        (["files/x.txt"], ["x.txt"]),
    ],
)
def test_the_folder_of_a_case_is_the_root_of_its_workspace(read: Reader, listed: list[str], places: list[str]) -> None:
    files = {f"evals/files/{name}": name for name in ("sparse/README.md", "sparse/src/a.py", "full/README.md", "x.txt")}
    found = read({**suite({"files": listed, "should_trigger": True, "assertions": ["a"]}), **files})
    assert found.errors == []
    assert sorted(landing(file.path, found.case.stage) for file in found.case.fixtures.files) == places


def test_in_other_suites_the_folder_stays(read: Reader) -> None:
    files = {"evals/files/sparse/README.md": "r"}
    plain = read({**suite({"files": ["files/sparse/README.md"], "assertions": ["a"]}), **files}).case
    assert [landing(file.path, plain.stage) for file in plain.fixtures.files] == ["sparse/README.md"]
    asked = read({**suite({"files": ["files/sparse/README.md"], "should_trigger": True}, stage="keep"), **files}).case
    assert [landing(file.path, asked.stage) for file in asked.fixtures.files] == ["files/sparse/README.md"]
