"""Faults that people really met, played through the command line with small programs of our own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from .stored import assert_sound, iteration, journal, packed, results

ADAPTER = f"""\
#!{sys.executable}
import json, sys
request = json.load(sys.stdin)
"""


def program(path: Path, body: str) -> Path:
    """An executable in Python that starts as an adapter does, or in shell when it says so itself."""
    path.write_text(body if body.startswith("#!") else ADAPTER + body, encoding="utf-8")
    path.chmod(0o755)
    return path


def reasons(folder: Path) -> set[str]:
    return {row["reason"] for row in packed(folder)}


# ---------------------------------------------------------------- FC-04: exit status 0, yet the model was never reached
NOT_FOUND = "ProviderModelNotFoundError: no such model"
SILENT = [
    ("--adapter", f"sys.stderr.write({NOT_FOUND!r})", NOT_FOUND),
    ("--adapter", f'print(json.dumps({{"type": "error", "error": {NOT_FOUND!r}}}))', "unknown keys 'error', 'type'"),
    ("--adapter", 'print(json.dumps({"output": None}))', "'output' must be a string"),
    ("--adapter", 'print("Error: " + "no key"); print(json.dumps({"output": "x"}))', "no JSON"),
    ("runner", f"#!/bin/sh\ncat >/dev/null\necho '{NOT_FOUND}' >&2\n", NOT_FOUND),
]


@pytest.mark.parametrize(("how", "body", "words"), SILENT)
def test_exit_status_0_without_an_answer_is_a_failed_measurement_with_the_error_streams_tail(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, how: str, body: str, words: str
) -> None:
    path = program(tmp_path / "agent.sh", body)
    target = ["--adapter", path] if how == "--adapter" else ["--target", f"runner:{path}"]
    said = skilltrial("run", new_skill(colours[:2]), *target, "--retries", 0, "--format", "json")
    assert said.code == 2
    assert said.summary["coverage"]["failed_measurements"] == {"infrastructure_error": 4}
    assert [rate["pass_rate"] for rate in said.summary["rates"]] == [None, None]
    assert said.summary["lifts"][0]["verdict"] == "not measured"
    assert all(words in reason for reason in reasons(iteration(tmp_path))), reasons(iteration(tmp_path))
    assert journal(iteration(tmp_path), "grades") == []


# ---------------------------------------------------------------- FC-09: every query failed, and the report looks normal
def queries() -> list[dict[str, Any]]:
    """Four that should be answered with a table and four that must not be."""
    wanted = [
        {"id": f"yes-{n}", "prompt": f"Make table {n}.", "checks": [{"id": "t", "type": "contains", "value": "|"}]}
        for n in range(4)
    ]
    unwanted = [
        {
            "id": f"no-{n}",
            "prompt": f"Say {n}.",
            "should_trigger": False,
            "checks": [{"id": "t", "type": "not_contains", "value": "|"}],
        }
        for n in range(4)
    ]
    return wanted + unwanted


def test_when_every_run_fails_there_is_no_rate_at_all(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    """Negatives without a completed run are no passes."""
    path = program(tmp_path / "agent", "sys.exit('cannot be started here')")
    said = skilltrial("run", new_skill(queries()), "--adapter", path, "--retries", 0, "--format", "json")
    assert said.code == 2
    coverage = said.summary["coverage"]
    assert (coverage["planned"], coverage["graded"]) == (16, 0)
    assert sum(coverage["failed_measurements"].values()) == 16
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {None}
    assert {case["rate"] for case in said.summary["cases"]} == {None}
    text = skilltrial("report").out
    assert "0 of 16 runs graded" in text
    assert "100 %" not in text


def test_when_some_runs_fail_rates_are_over_the_measured_ones_and_the_rest_is_counted(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    body = """
if request["prompt"] in ("Make table 0.", "Say 0.", "Say 1."):
    sys.exit("rate limit")
print(json.dumps({"output": "| a |" if request["skill"] and "table" in request["prompt"] else "no"}))
"""
    path = program(tmp_path / "agent", body)
    said = skilltrial("run", new_skill(queries()), "--adapter", path, "--retries", 0, "--gate", "majority", "--format", "json")
    rates = {rate["arm"]: rate for rate in said.summary["rates"]}
    assert {arm: (rate["graded"], rate["pass_rate"]) for arm, rate in rates.items()} == {
        "with_skill": (5, 1.0),
        "without_skill": (5, pytest.approx(2 / 5)),
    }
    assert rates["with_skill"]["failures"] == {"infrastructure_error": 3}
    states = {case["case"]: case["state"] for case in said.summary["cases"] if case["arm"] == "with_skill"}
    assert {case for case, state in states.items() if state != "pass"} == {"yes-0", "no-0", "no-1"}
    assert said.code == 3, "cases that nobody measured may not turn the gate green"
    assert_sound(iteration(tmp_path))


# ---------------------------------------------------------------- FC-15: nothing was measured
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--eval-id", "9"], "1, 2, 3, 4"),
        (["--skill", "nobody"], "colours"),
        (["--tag", "none"], "tag"),
        (["--include", "elsewhere/*"], "leave none"),
        (["--exclude", "*"], "leave none"),
        (["-n", "0"], "1 or more"),
        (["-n", "-1"], "1 or more"),
        (["--repetitions", "0"], "1 or more"),
        (["--shard", "3/2"], "shard"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_what_leaves_nothing_to_measure_is_refused_before_any_call(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, command: str, options: list[str], words: str
) -> None:
    said = skilltrial(command, new_skill(colours), "--target", "fake", *options)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert said.err.startswith(("error: ", "Usage: ")) or "\nerror: " in said.err or "\nError: " in said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "skilltrial-workspace").exists()


@pytest.mark.parametrize("suite", ["[]", '{"skill_name": "colours", "evals": []}', "", "{}"])
def test_an_empty_suite_is_an_error_and_not_a_pass(skilltrial: Any, new_skill: Any, colours: Any, suite: str) -> None:
    (new_skill(colours) / "evals" / "evals.json").write_text(suite, encoding="utf-8")
    said = skilltrial("run", "colours", "--target", "fake")
    assert (said.code, said.out) == (2, "")
    assert "evals.json" in said.err
    assert skilltrial("validate", "colours").code == 1


def test_three_cases_that_only_a_judge_could_grade_give_no_rate(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    evals = [{"id": n, "prompt": "Hello", "assertions": ["It greets."]} for n in range(3)]
    said = skilltrial("run", new_skill(evals), "--target", "fake", "--judge", "none")
    assert said.code == 2
    assert all(f"colours::{n}" in said.err for n in range(3))
    assert not (tmp_path / "skilltrial-workspace").exists()

    said = skilltrial("run", tmp_path / "colours", "--target", "fake", "--judge", "none", "--grade-later", "--format", "json")
    assert said.code == 2
    assert (said.summary["coverage"]["finished"], said.summary["coverage"]["graded"]) == (6, 0)
    assert [(rate["pass_rate"], rate["low"], rate["high"]) for rate in said.summary["rates"]] == [(None, None, None)] * 2
    assert (said.summary["lifts"][0]["lift"], said.summary["gate"]["passed"]) == (None, None)
    text = skilltrial("report").out
    assert "0 of 6 runs graded" in text
    assert "100 %" not in text


# ---------------------------------------------------------------- FC-16: a crash makes the "must not" checks pass
MUST_NOT = [
    {"id": "words", "type": "not_contains", "value": "password"},
    {"id": "file", "type": "file_not_exists", "path": "secrets.txt"},
    {"id": "skill", "type": "loaded_skill", "skill": "colours", "loaded": False},
    {"id": "command", "type": "command_not_ran", "command": "rm"},
]


@pytest.mark.parametrize("body", ["sys.exit(1)", "import os; os.kill(os.getpid(), 9)", "import os; os.abort()"])
def test_an_agent_that_dies_at_once_earns_nothing_for_what_it_did_not_do(
    skilltrial: Any, new_skill: Any, tmp_path: Path, body: str
) -> None:
    evals = [{"id": 1, "prompt": "Look round.", "checks": MUST_NOT[:2]}]
    path = program(tmp_path / "agent", body)
    said = skilltrial("run", new_skill(evals), "--adapter", path, "--retries", 0, "--format", "json")
    assert said.code == 2, said.err
    assert said.summary["coverage"]["failed_measurements"] == {"infrastructure_error": 2}
    assert journal(iteration(tmp_path), "grades") == []
    assert {case["rate"] for case in said.summary["cases"]} == {None}


def test_checks_about_skills_and_commands_need_a_record_of_them(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    """The adapter answers but records neither: what cannot be known is set aside or not graded, and never passed."""
    evals = [{"id": 1, "prompt": "Look round.", "checks": MUST_NOT}]
    path = program(tmp_path / "agent", 'print(json.dumps({"output": "ok"}))')
    said = skilltrial("run", new_skill(evals), "--adapter", path, "--retries", 0, "--format", "json")
    assert said.code != 1, said.err
    for result in results(iteration(tmp_path)):
        assert result.grading is not None
        states = {grade.check: grade.state for grade in result.grading.grades}
        assert {states["words"], states["file"]} == {"passed"}
        assert {states.get("skill"), states.get("command")} <= {None, "ungraded"}
