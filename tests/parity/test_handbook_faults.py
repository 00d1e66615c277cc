"""What was seen in the handbook's harness, by number, each shown not to be here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.system.redaction import Redactor

from ..flows.conftest import script


@pytest.fixture
def adapter(tmp_path: Path) -> Callable[[str], Path]:
    def make(body: str) -> Path:
        path = tmp_path / "adapter.py"
        path.write_text(f"#!{sys.executable}\nimport json, os, sys\nrequest = json.load(sys.stdin)\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def suite(*checks: dict[str, Any], cases: int = 1) -> list[dict[str, Any]]:
    return [{"id": n, "prompt": f"Do task {n}.", "expected_output": "x", "checks": list(checks)} for n in range(1, cases + 1)]


BLUE = {"id": "blue", "type": "contains", "value": "blue"}


# ---------------------------------------------------------------- 1: redaction
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('api_key="s3cretvalue123"', "s3cretvalue123"),
        ('{"api_key": "s3cretvalue123"}', "s3cretvalue123"),
        ("refresh_token=s3cretvalue123", "s3cretvalue123"),
        ("token=s3cretvalue123456", "s3cretvalue123456"),
        ("use sk-proj-abcdefghijklmnopqrstuvwxyz123456 now", "sk-proj-abcdefghijklmnopqrstuvwxyz123456"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
    ],
)  # fmt: skip
def test_1_secrets_are_masked_in_every_shape(text: str, secret: str) -> None:
    masked, count = Redactor().text(text)
    assert secret not in masked and count >= 1


@pytest.mark.parametrize("text", ["Bearer token is used in docs", "password: none", "The password is asked for."])
def test_1_words_about_secrets_stay(text: str) -> None:
    assert Redactor().text(text) == (text, 0)


def test_1_a_key_that_only_sounds_sensitive_keeps_its_value() -> None:
    value = {"password_policy": "twelve letters", "input_tokens": 12}
    assert Redactor().value(value)[0] == value


def test_1_a_prompt_and_an_adapters_failure_are_masked_too(skilltrial: Any, new_skill: Any, adapter: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": 'Use {"api_key": "s3cretvalue123"}.', "checks": [BLUE]}])
    skilltrial("run", "colours", "--adapter", adapter('sys.exit("failed with token=s3cretvalue123")'), "--retries", 0)
    stored = [path for path in (tmp_path / "skilltrial-workspace").rglob("*") if path.is_file() and "blobs" not in path.parts]
    assert not [path.name for path in stored if b"s3cretvalue123" in path.read_bytes()]


# ---------------------------------------------------------------- 2: one error does not discard the rest
def test_2_an_adapter_error_loses_its_own_cell_and_no_other(skilltrial: Any, new_skill: Any, adapter: Any) -> None:
    new_skill(suite(BLUE, cases=4))
    broken = 'if "task 2" in request["prompt"]: sys.exit("provider said no")\nprint(json.dumps({"output": "blue"}))'
    said = skilltrial("run", "colours", "--adapter", adapter(broken), "--retries", 0, "--format", "json")
    assert said.code == 2, "the exit code is the handbook's"
    assert {rate["graded"] for rate in said.summary["rates"]} == {3}
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}
    assert len(said.summary["errors"]) == 2


def test_2_a_time_out_loses_its_own_cell_and_no_other(skilltrial: Any, new_skill: Any, adapter: Any) -> None:
    new_skill(suite(BLUE, cases=2))
    slow = 'import signal\nwhile "task 2" in request["prompt"] and request["skill"]: signal.pause()\nprint(json.dumps({"output": "blue"}))'
    said = skilltrial("run", "colours", "--adapter", adapter(slow), "--timeout-seconds", 4, "--format", "json")
    assert said.code == 2
    assert said.summary["coverage"]["failed_measurements"] == {"timeout": 1}
    assert said.summary["coverage"]["graded"] == 3


# ---------------------------------------------------------------- 3: messages
def test_3_a_contains_any_that_passed_names_what_was_found_and_misses_nothing(
    skilltrial: Any, new_skill: Any, adapter: Any, tmp_path: Path
) -> None:
    new_skill(suite({"id": "any", "type": "contains_any", "values": ["green", "blue"]}))
    said = skilltrial("run", "colours", "--adapter", adapter('print(json.dumps({"output": "deep blue of the sea"}))'))
    assert said.code == 0, said.err
    lines = (tmp_path / "skilltrial-workspace/iteration-1/results.jsonl").read_text().splitlines()
    grades = [json.loads(line)["grades"] for line in lines if '"kind":"grades"' in line]
    for (grade,) in grades:
        assert grade["state"] == "passed" and "blue" in grade["reason"]
        assert grade["reason"].startswith("found 'blue'") and not grade["reason"].startswith("missing")


# ---------------------------------------------------------------- 4: the same run twice
def test_4_the_same_run_id_is_refused_and_nothing_is_overwritten(
    skilltrial: Any, new_skill: Any, adapter: Any, tmp_path: Path
) -> None:
    new_skill(suite(BLUE))
    program = adapter('print(json.dumps({"output": "blue"}))')
    assert skilltrial("run", "colours", "--adapter", program, "--run-id", "first").code == 0
    folder = tmp_path / "skilltrial-workspace" / "first"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    said = skilltrial("run", "colours", "--adapter", program, "--run-id", "first")
    assert said.code == 2 and "first" in said.err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


# ---------------------------------------------------------------- 5: what is graded
def test_5_assertions_are_graded_where_there_is_a_judge(skilltrial: Any, new_skill: Any, adapter: Any, tmp_path: Path) -> None:
    new_skill([{**suite(BLUE)[0], "assertions": ["It names one colour."]}])
    judge = script(tmp_path / "judge.json", {"when": {"judge": True}, "passed": False})
    said = skilltrial(
        "run",
        "colours",
        "--adapter",
        adapter('print(json.dumps({"output": "blue"}))'),
        "--judge",
        f"fake:{judge}",
        "--format",
        "json",
    )
    assert said.summary["coverage"]["set_aside"] == 0
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {0.0}


@pytest.mark.parametrize("asked", ["nothing said", "--judge none"])
def test_5_a_run_of_deterministic_checks_alone_needs_no_judge(skilltrial: Any, new_skill: Any, adapter: Any, asked: str) -> None:
    new_skill([{**suite(BLUE)[0], "assertions": ["It names one colour."]}])
    more = ["--judge", "none"] if asked == "--judge none" else []
    said = skilltrial("run", "colours", "--adapter", adapter('print(json.dumps({"output": "blue"}))'), *more, "--format", "json")
    assert said.code == 0, said.err
    assert said.summary["judge"] == [] and said.summary["totals"]["judge_cost_usd"] is None
    assert {row["reason"] for row in said.summary["set_aside"]} == {"no judge"}
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}


# ---------------------------------------------------------------- 6: what lies in the workspace is no proof
@pytest.mark.parametrize("path", ["inputs/notes.txt", "skills/colours/SKILL.md"])
def test_6_a_fixture_and_the_skill_do_not_satisfy_file_exists(skilltrial: Any, new_skill: Any, adapter: Any, path: str) -> None:
    case = {**suite({"id": "made", "type": "file_exists", "path": path})[0], "files": ["notes.txt"]}
    new_skill([case], files={"notes.txt": "alpha"})
    said = skilltrial("run", "colours", "--adapter", adapter('print(json.dumps({"output": "blue"}))'), "--format", "json")
    assert said.code == 1, said.err
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {0.0}


def test_a_whole_repository_of_skills_is_validated_at_once(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        folder = tmp_path / "skills" / name
        (folder / "evals").mkdir(parents=True)
        head = "name: one" if name == "one" else "nam: x" if name == "two" else "name: other"
        (folder / "SKILL.md").write_text(f"---\n{head}\ndescription: A sample of a skill.\n---\nText.\n")
        (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": name, "evals": suite(BLUE)}))
    (tmp_path / "skills" / "empty").mkdir()
    said = skilltrial("--repo-root", tmp_path, "validate")
    assert said.code == 1
    told = said.out + said.err
    assert all(f"skills/{name}" in told for name in ("two", "three", "empty"))
