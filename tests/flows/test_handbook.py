"""The handbook's own command lines, with its adapter protocol and its exit codes."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

SUITE = {
    "skill_name": "sample-skill",
    "evals": [
        {
            "id": 1,
            "prompt": "Perform the task.",
            "expected_output": "The required behaviour.",
            "assertions": ["The answer shows the required behaviour."],
            "files": ["evals/fixtures/input.txt"],
            "checks": [
                {"id": "required", "type": "contains", "value": "Required Phrase"},
                {"id": "no-secret", "type": "not_contains", "value": "hunter2"},
                {"id": "made-file", "type": "file_exists", "path": "result.json"},
                {"id": "activated", "type": "loaded_skill", "required": False},
            ],
        }
    ],
}
ADAPTER = """#!{python}
import json, os, sys
request = json.load(sys.stdin)
with open(os.environ["SEEN"], "a") as seen:
    seen.write(json.dumps(request) + "\\n")
with_skill = request["mode"] == "with_skill"
{body}
"""
GOOD = """
open("result.json", "w").write("{}")
events = [{"type": "skill_loaded", "name": "sample-skill"}] if with_skill else []
print(json.dumps({"output": "REQUIRED PHRASE" if with_skill else "No.", "events": events, "usage": {"input_tokens": 12}}))
"""
LEAK = 'open("result.json", "w").write("{}"); print(json.dumps({"output": "Required phrase. password: hunter2", "events": [], "usage": {}}))'
CRASH = 'sys.exit("provider said no") if with_skill else print(json.dumps({"output": "", "events": [], "usage": {}}))'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    skill = tmp_path / "skills" / "sample-skill"
    (skill / "evals" / "fixtures").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: sample-skill\ndescription: A sample.\n---\nSay the required phrase.\n")
    (skill / "evals" / "evals.json").write_text(json.dumps(SUITE))
    (skill / "evals" / "fixtures" / "input.txt").write_text("password: hunter2\n")
    return tmp_path


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`adapter(body)` is an executable; what it was asked is in `seen.jsonl`."""
    monkeypatch.setenv("SEEN", str(tmp_path / "seen.jsonl"))

    def make(body: str) -> Path:
        path = tmp_path / "adapter.py"
        path.write_text(ADAPTER.format(python=sys.executable, body=body))
        path.chmod(0o755)
        return path

    return make


def seen(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]


def test_the_adapter_is_asked_in_the_protocols_words_and_order(
    skilltrial: Any, repository: Path, adapter: Any, tmp_path: Path
) -> None:
    said = skilltrial("run", "--adapter", adapter(GOOD))
    assert said.code == 0, said.err
    baseline, with_skill = seen(tmp_path)
    assert list(baseline) == ["protocol_version", "mode", "skill", "prompt", "files", "workspace"]
    assert (baseline["protocol_version"], baseline["mode"], baseline["skill"]) == (1, "without_skill", None)
    assert [list(file) for file in baseline["files"]] == [["path", "sha256"]]
    assert baseline["files"][0]["path"] == "inputs/evals/fixtures/input.txt"
    assert baseline["files"][0]["sha256"] == hashlib.sha256(b"password: hunter2\n").hexdigest()
    assert with_skill["skill"] == {
        "name": "sample-skill",
        "path": f"{with_skill['workspace']}/skills/sample-skill",
    }
    assert with_skill["files"] == baseline["files"]
    hidden = {"expected_output", "assertions", "checks"}
    assert not hidden & baseline.keys() and not hidden & with_skill.keys()


@pytest.mark.parametrize(
    ("body", "more", "code"),
    [
        (GOOD, [], 0),
        (GOOD, ["--minimum-lift", "1"], 0),
        (GOOD, ["--iterations", "2", "--minimum-lift", "0.5"], 0),
        (LEAK, [], 1),
        (LEAK, ["--minimum-lift", "0.1"], 1),
        (CRASH, [], 2),
        (GOOD, ["--run-id", "../up"], 2),
        (GOOD, ["--minimum-lift", "2"], 2),
        (GOOD, ["--timeout-seconds", "0"], 2),
        (GOOD, ["--skill", "nobody"], 2),
    ],
)
def test_exit_codes_are_the_handbooks(
    skilltrial: Any, repository: Path, adapter: Any, body: str, more: list[str], code: int
) -> None:
    said = skilltrial("run", "--adapter", adapter(body), *more)
    assert said.code == code, said.err + said.out
    assert "Traceback" not in said.err


def test_the_handbooks_own_command_lines_run(skilltrial: Any, repository: Path, adapter: Any, tmp_path: Path) -> None:
    assert skilltrial("--repo-root", repository, "validate").code == 0
    said = skilltrial(
        "--repo-root", repository, "run", "--adapter", adapter(GOOD), "--adapter-arg", "x", "--skill", "sample-skill",
        "--iterations", 1, "--timeout-seconds", 60, "--max-output-bytes", 1048576, "--minimum-lift", "0.2",
        "--run-id", "first", "--output-root", tmp_path / "out",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert (tmp_path / "out" / "first" / "results.jsonl").is_file()
    again = skilltrial("run", "--adapter", adapter(GOOD), "--run-id", "first", "--output-root", tmp_path / "out")
    assert again.code == 2 and "first" in again.err


def test_assertions_without_a_judge_do_not_hinder_exit_0(skilltrial: Any, repository: Path, adapter: Any) -> None:
    said = skilltrial("run", "--adapter", adapter(GOOD), "--format", "json")
    assert said.code == 0
    assert said.summary["coverage"]["set_aside"] == 1
    assert said.summary["metric"] == "cases"


def test_a_leaked_password_fails_its_check_now_and_after_grade(
    skilltrial: Any, repository: Path, adapter: Any, tmp_path: Path
) -> None:
    skilltrial("run", "--adapter", adapter(LEAK))
    before = {cell: states(tmp_path, cell) for cell in ("with_skill", "without_skill")}
    assert before["with_skill"]["no-secret"] == "failed"
    (pack,) = (tmp_path / "skilltrial-workspace/iteration-1/evidence").iterdir()
    assert "password: hunter2" not in pack.read_text() and "password: [redacted]" in pack.read_text()
    said = skilltrial("grade")
    assert said.code == 1
    assert {cell: states(tmp_path, cell) for cell in before} == before


def states(tmp_path: Path, arm: str) -> dict[str, str]:
    """The newest grades of an arm's one cell."""
    lines = (tmp_path / "skilltrial-workspace/iteration-1/results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    newest = [row for row in rows if row["kind"] == "grades" and f"/{arm}/" in row["cell"]][-1]
    return {grade["check"]: grade["state"] for grade in newest["grades"]}
