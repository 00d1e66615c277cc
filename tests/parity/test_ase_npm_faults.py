"""The faults that agent-skills-eval 0.1.1 was seen to have, by number, each shown not to be here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skilltrial as library

from .npm import Home, asks_for_a_verdict, model, text_of, verdict

RUBRIC = {"id": 1, "prompt": "How many rows?", "assertions": ["It says how many."]}
TOOL = {"type": "function", "function": {"name": "count", "parameters": {"type": "object"}}}


def calls_of(*arguments: dict[str, Any], text: str = "") -> dict[str, Any]:
    """A reply that asks for calls of the tool."""
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": "count", "arguments": json.dumps(given)}}
        for number, given in enumerate(arguments)
    ]
    return {"content": text, "tool_calls": calls}


def rates(said: Any) -> dict[str, float | None]:
    return {row["arm"]: row["pass_rate"] for row in said.summary["rates"]}


# ---------------------------------------------------------------- 1, 2: what is run
def test_01_the_baseline_gets_the_same_fixtures(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    home.skill("tables", {**RUBRIC, "files": ["evals/files/rows.csv"]}, files={"evals/files/rows.csv": "north,3\nsouth,4\n"})
    home.settings(server.url, baseline=True)
    said = home.run("--format", "json")
    users = [request["messages"][-1]["content"] for request in server.requests if not asks_for_a_verdict(request)]
    assert len(users) == 2 and users[0] == users[1] and "north,3" in users[0]
    assert said.summary["lifts"][0]["lift"] == 0.0


def test_02_a_pattern_of_the_readme_matches_and_no_skill_at_all_is_no_success(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url, include=["skills/**"])
    assert home.run("--format", "json").summary["coverage"]["graded"] == 1
    home.settings(serve(model()).url, include=["other/**"])
    said = home.run()
    assert said.code == 2 and "leave none of 1 skills" in said.err
    assert not (home.workspace / "iteration-2").exists()


# ---------------------------------------------------------------- 3 to 5, 13: what is said
def test_03_a_silent_run_says_nothing(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    said = home.run("--log-format", "silent")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_04_no_color_is_no_colour_and_a_file_has_none_either(
    home: Home, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    assert "\x1b" not in home.run().out, "the output is no terminal"
    home.settings(serve(model()).url, logging={"color": True})
    assert "\x1b" in home.run().out
    assert "\x1b" not in home.run("--no-color").out


def test_05_news_as_json_and_the_result_do_not_share_a_stream(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    said = home.run("--log-format", "jsonl", "--format", "json")
    assert json.loads(said.out)["coverage"]["graded"] == 1
    assert all(isinstance(json.loads(line), dict) for line in said.err.splitlines())


def test_13_a_reader_that_goes_away_loses_nothing_of_the_run(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    read, write = os.pipe()
    os.close(read)
    argv = [
        sys.executable,
        "-m",
        "skilltrial",
        "run",
        "--config",
        "agent-skills-eval.yaml",
        "--log-format",
        "jsonl",
        "--log-file",
        "-",
    ]
    ran = subprocess.run(argv, cwd=home.folder, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stderr
    assert json.loads((home.workspace / "iteration-1" / "summary.json").read_text())["coverage"]["graded"] == 1


# ---------------------------------------------------------------- 6, 15, 16: what is kept
def test_06_evals_and_skills_that_are_called_alike_keep_their_results_apart(
    home: Home, serve: Callable[..., Any], tmp_path: Path
) -> None:
    alike = [{**RUBRIC, "id": number, "name": name} for number, name in ((1, "Count rows"), (2, "count-rows"), (3, "Else"))]
    for folder, name in (("one", "my-tables"), ("two", "My Tables")):
        home.skill(folder, *alike)
        (home.folder / "skills" / folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Tables.\n---\nx\n")
    home.settings(serve(model(lambda request: f"answer to {text_of(request)[-20:]}")).url)
    said = home.run("--format", "json")
    assert len({(row["skill"], row["case"]) for row in said.summary["cases"]}) == 6
    skills = {row["skill"].casefold() for row in said.summary["cases"]}
    assert len(skills) == 2
    grading = list((home.workspace / "iteration-1").glob("*/eval-*/with_skill/grading.json"))
    assert len(grading) == 6, "also in that tool's own layout"
    assert {path.parents[1].name for path in grading} == {"eval-1", "eval-2", "eval-else"}


def test_15_a_skill_that_is_refused_leaves_no_folder_behind(home: Home, serve: Callable[..., Any]) -> None:
    place = home.skill("tables", RUBRIC)
    (place / "SKILL.md").write_text("---\nname: Another_Name\ndescription: d\n---\nx\n")
    home.settings(serve(model()).url, strict=True)
    assert home.run().code == 2
    assert not home.workspace.exists()


def test_16_an_eval_that_breaks_takes_no_other_along(home: Home, serve: Callable[..., Any], tmp_path: Path) -> None:
    home.skill(
        "tables", *[{"id": n, "prompt": f"Task {n}.", "checks": [{"type": "contains", "value": "yes"}]} for n in (1, 2, 3)]
    )

    def target(prompt: str) -> str:
        if "Task 2." in prompt:
            raise SystemExit("thrown inside one eval")
        return "yes"

    summary = library.evaluate(home.folder / "skills" / "tables", target, "none", retries=0)
    assert (summary.coverage.planned, summary.coverage.graded) == (6, 4)
    assert {rate.pass_rate for rate in summary.rates} == {1.0}
    assert {error.cell.split("/")[1] for error in summary.errors} == {"2"}
    folder = home.folder / "skilltrial-workspace" / summary.experiment
    assert json.loads((folder / "tables" / "benchmark.json").read_text())["run_summary"]["with_skill"]["graded"] == 2


# ---------------------------------------------------------------- 7 to 9: what is no verdict
def test_07_a_case_with_nothing_to_check_is_in_no_rate(home: Home, serve: Callable[..., Any]) -> None:
    def half(request: dict[str, Any]) -> str:
        return "three rows" if request["messages"][0]["role"] == "system" else "no idea"

    checked = {"id": 1, "prompt": "How many rows?", "checks": [{"type": "contains", "value": "three"}]}
    home.skill("tables", checked, {"id": 2, "prompt": "Say something."})
    url = serve(model(half)).url
    refused = home.call("run", "skills/tables", "--target", "openai:m", "--base-url", url, "--judge", "none", "--format", "json")
    assert refused.code == 2 and "nothing that can grade them" in refused.err and "tables::2" in refused.err
    later = home.call(
        "run", "skills/tables", "--target", "openai:m", "--base-url", url, "--judge", "none", "--grade-later", "--format", "json",
        "--gate", "none",
    )  # fmt: skip
    assert rates(later) == {"with_skill": 1.0, "without_skill": 0.0}
    assert later.summary["lifts"][0]["lift"] == 1.0, "not diluted to 0.5"


def test_08_an_outage_is_never_graded_and_a_judge_that_is_down_fails_no_skill(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    down = serve(model(), faults={"status": 503, "retry_after": "0"})
    home.settings(down.url)
    said = home.run("--retries", 0, "--format", "json")
    assert said.code == 2 and rates(said) == {"with_skill": None}
    assert not any(asks_for_a_verdict(request) for request in down.requests), "a lenient judge could pass 'ERROR: …'"
    up = serve("three rows")
    said = home.run("--base-url", up.url, "--judge-base-url", down.url, "--format", "json")
    assert said.code == 2 and rates(said) == {"with_skill": None}
    assert said.summary["coverage"]["failed_measurements"] == {"judge_error": 1}


@pytest.mark.parametrize("path", ["evals/files/missing.csv", "../../secret.txt", "/etc/hostname", "evals/files"])
def test_09_a_fixture_that_is_missing_or_elsewhere_stops_the_run_before_any_call(
    home: Home, serve: Callable[..., Any], path: str
) -> None:
    server = serve(model())
    home.skill("tables", {**RUBRIC, "files": [path]})
    (home.folder / "secret.txt").write_text("hidden")
    home.settings(server.url)
    said = home.run()
    assert said.code == 2 and path in said.err
    assert server.requests == []


# ---------------------------------------------------------------- 10 to 12, 14: requests and verdicts
@pytest.mark.parametrize("key", ["model", "messages"])
@pytest.mark.parametrize("place", ["eval", "target", "judge"])
def test_10_parameters_of_a_suite_replace_neither_model_nor_messages(
    home: Home, serve: Callable[..., Any], place: str, key: str
) -> None:
    server = serve(model())
    params = {"params": {key: "x"}}
    if place == "eval":
        home.skill("tables", {**RUBRIC, **params})
    else:
        home.skill("tables", RUBRIC, defaults={place: params})
    home.settings(server.url)
    said = home.run()
    assert said.code == 2 and f"'{key}'" in said.err and "evals.json" in said.err
    assert server.requests == []


def test_11_verdicts_are_matched_by_id_whatever_their_order_and_lines_stay_as_they_are(
    home: Home, serve: Callable[..., Any]
) -> None:
    answer = "one\n\n\ntwo"

    def judge(request: dict[str, Any]) -> str:
        if not asks_for_a_verdict(request):
            return answer
        rows = json.loads(verdict(request, {"a": True, "b": False, "c": True}))["verdicts"]
        return json.dumps({"verdicts": rows[::-1]})

    server = serve(judge)
    home.skill("tables", {"id": 1, "prompt": "p", "checks": [{"id": name, "text": f"It is {name}."} for name in "abc"]})
    home.settings(server.url)
    home.run()
    lines = (home.workspace / "iteration-1" / "results.jsonl").read_text().splitlines()
    (grades,) = [json.loads(line)["grades"] for line in lines if '"kind":"grades"' in line]
    assert {grade["check"]: grade["state"] for grade in grades} == {"a": "passed", "b": "failed", "c": "passed"}
    (asked,) = [request for request in server.requests if asks_for_a_verdict(request)]
    assert json.dumps(answer) in text_of(asked)


def test_11_a_verdict_that_the_judge_left_out_is_none(home: Home, serve: Callable[..., Any]) -> None:
    def judge(request: dict[str, Any]) -> str:
        if not asks_for_a_verdict(request):
            return "x"
        return json.dumps({"verdicts": json.loads(verdict(request))["verdicts"][1:]})

    home.skill("tables", {"id": 1, "prompt": "p", "assertions": ["It is a.", "It is b."]})
    home.settings(serve(judge).url)
    said = home.run("--format", "json")
    assert said.summary["coverage"]["failed_measurements"] == {"judge_error": 1} and rates(said) == {"with_skill": None}


@pytest.mark.parametrize("flags", ["g", "y", "gi"])
def test_12_flags_of_a_pattern_keep_nothing_between_calls(flags: str) -> None:
    check = {"type": "tool-arg-matches", "name": "count", "path": "file", "pattern": "rows", "flags": flags}
    call = ("count", {"file": "rows.csv"})
    for _ in range(3):
        (grade,) = library.grade([check], "", tool_calls=[call, call, call])
        assert grade.state == "passed"
        (grade,) = library.grade([check], "", tool_calls=[("count", {"file": "none"}), call])
        assert grade.state == "passed"


def test_14_runs_are_repeated_and_the_judge_sees_task_and_expected_output(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    home.skill("tables", {**RUBRIC, "expected_output": "THE NUMBER OF ROWS"})
    home.settings(server.url, baseline=True)
    said = home.run("--repetitions", 3, "--format", "json")
    row = said.summary["lifts"][0]
    assert row["repetitions"] == 3 and row["low"] < row["lift"] < row["high"]
    questions = [text_of(request) for request in server.requests if asks_for_a_verdict(request)]
    assert len(questions) == 6
    assert all("THE NUMBER OF ROWS" in text and "How many rows?" in text for text in questions)


# ---------------------------------------------------------------- what it does that we do too
def test_tools_are_offered_and_all_six_assertions_read_what_was_asked_for(home: Home, serve: Callable[..., Any]) -> None:
    def call(request: dict[str, Any]) -> Any:
        return calls_of({"path": {"files": ["rows.csv"], "deep": True}, "how": "By line"}, {"how": "again"})

    server = serve(model(call))
    assertions = [
        {"type": "tool-called", "name": "count"},
        {"type": "tool-not-called", "name": "remove", "description": "never removes"},
        {"type": "tool-arg-equals", "name": "count", "path": "path", "value": {"deep": True, "files": ["rows.csv"]}},
        {"type": "tool-arg-contains", "name": "count", "path": "path.files[0]", "value": "rows"},
        {"type": "tool-arg-matches", "name": "count", "path": "how", "pattern": "^by LINE$", "flags": "i"},
        {"type": "tool-call-count", "min": 2, "max": 2},
    ]
    case = {"id": 1, "prompt": "Count.", "tools": [TOOL], "tool_choice": "required", "tool_assertions": assertions}
    home.skill("tables", case, {"id": 2, "prompt": "Again.", "tool_assertions": assertions[:1]}, defaults={"tools": [TOOL]})
    home.settings(server.url)
    said = home.run("--format", "json")
    assert said.code == 0 and rates(said) == {"with_skill": 1.0}, said.err
    assert all(request["tools"] == [TOOL] for request in server.requests)
    assert sorted(str(request.get("tool_choice")) for request in server.requests) == ["None", "required"]
    assert "never removes" in home.call("show", "tables/1/openai-gpt-4o-mini").out
    assert "requested, not executed" in home.call("show", "tables/1/openai-gpt-4o-mini").out


def test_a_reasoning_model_is_given_its_own_name_for_the_longest_answer(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    home.skill("tables", {**RUBRIC, "params": {"max_tokens": 50}})
    for name in ("gpt-5-mini", "vendor/o3", "gpt-4o"):
        home.settings(server.url, target=name, judge="gpt-4o")
        assert home.run().code == 0
    asked = {
        request["model"]: [key for key in request if key.startswith("max_")]
        for request in server.requests
        if not asks_for_a_verdict(request)
    }
    assert asked == {"gpt-5-mini": ["max_completion_tokens"], "vendor/o3": ["max_completion_tokens"], "gpt-4o": ["max_tokens"]}


def test_the_variable_ci_changes_nothing(home: Home, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    for _ in range(2):
        home.run()
    assert {path.name for path in home.workspace.glob("iteration-*")} == {"iteration-1", "iteration-2"}
