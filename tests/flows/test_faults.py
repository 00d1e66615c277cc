"""A run against a model server on loopback: the numbers it must give, and what it does when the server fails."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from skilltrial import evaluate
from skilltrial.flows import cell as cell_flow

from .stored import assert_sound, assert_whole, iteration, journal, packed

KEY = "sk-test-0123456789abcdef0123"
PASSED = json.dumps({"verdicts": [{"id": "short", "passed": True, "evidence": "one word"}]})


@pytest.fixture(autouse=True)
def key(skilltrial: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def has_skill(request: dict[str, Any]) -> bool:
    return request["messages"][0]["role"] == "system"


def questions(count: int, *, rubric: bool = False) -> list[dict[str, Any]]:
    """Cases with one deterministic check, and a rubric sentence where asked for."""
    checks: list[dict[str, Any]] = [{"id": "blue", "type": "contains", "value": "BLUE"}]
    if rubric:
        checks.append({"id": "short", "type": "rubric", "text": "The answer is short."})
    return [{"id": n, "prompt": f"What is the colour of sky number {n}?", "checks": checks} for n in range(1, count + 1)]


def answering(request: dict[str, Any]) -> str:
    return "BLUE" if has_skill(request) else "I do not know"


# ---------------------------------------------------------------- numbers
def metered(request: dict[str, Any]) -> dict[str, Any]:
    """With the skill 300 tokens in (100 of them cached), 10 out, 0.003 USD; without it 100, 0, 20, 0.001."""
    with_skill = has_skill(request)
    used = (300, 100, 10, 0.003) if with_skill else (100, 0, 20, 0.001)
    usage = {
        "prompt_tokens": used[0],
        "prompt_tokens_details": {"cached_tokens": used[1]},
        "completion_tokens": used[2],
        "cost": used[3],
    }
    message = {"role": "assistant", "content": answering(request)}
    return {"model": "m-2026", "choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}


def judging(request: dict[str, Any]) -> dict[str, Any]:
    """Every statement holds; 50 tokens in, 5 out, 0.0005 USD."""
    message = {"role": "assistant", "content": PASSED}
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "cost": 0.0005}
    return {"model": "j-2026", "choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}


def test_a_run_with_target_judge_and_both_arms_gives_the_numbers_worked_out_by_hand(
    skilltrial: Any, new_skill: Any, serve: Callable[..., Any]
) -> None:
    """4 cases x 2 repetitions. With the skill both checks pass in each of 8 cells, without it the rubric alone: 1 against 0.5.

    With: every cell 1, so T = 0 and n* = 8: low = 0.025^(1/8) = 0.630583, high = 1.
    Without: every cell 0.5, so T = 0.25, S = 0, f = 4 x (2 - 1) = 4, r = (0/0.25 + 4)/(4 + 4) = 0.5, n* = 8/0.5 = 16;
    exact limits of 8 in 16 are 0.246510 and 0.753490 (symmetric).
    Lift 0.5; low = 0.5 - sqrt((1 - 0.630583)^2 + (0.753490 - 0.5)^2) = 0.5 - sqrt(0.136469 + 0.064257) = 0.051976,
    high = 0.5 + sqrt(0 + (0.5 - 0.246510)^2) = 0.753490.
    Cases like these: 4 equal gains, so two pseudo-cases +1 and -1: mean (4 x 0.5 + 1 - 1)/6 = 1/3,
    V = (4 (1/6)^2 + (2/3)^2 + (4/3)^2)/36/(5/6) = 0.0777778, half-width t(0.975, 5) x 0.278887 = 2.570582 x 0.278887 = 0.716901:
    -0.383568 to 1 (cut); sign-flip p = 2/2^4 = 0.125.
    Tokens: 8 x 310 + 8 x 120 = 3440; dollars: 8 x 0.003 + 8 x 0.001 = 0.032. Judge: 16 x 55 = 880 tokens, 16 x 0.0005 = 0.008.
    """
    model, judge = serve(metered), serve(judging)
    said = skilltrial(
        "run", new_skill(questions(4, rubric=True)), "--target", "openai:m", "--base-url", model.url, "-n", 2, "-c", 4,
        "--judge", "openai:j", "--judge-base-url", judge.url, "--format", "json",
    )  # fmt: skip
    assert said.code == 0, said.err
    summary = said.summary
    about = pytest.approx

    (lift,) = summary["lifts"]
    assert (lift["lift"], lift["verdict"], lift["cases"], lift["repetitions"]) == (0.5, "helps", 4, 2)
    assert (lift["low"], lift["high"]) == (about(0.051976, abs=2e-6), about(0.753490, abs=2e-6))
    assert (lift["better"], lift["equal"], lift["worse_cases"]) == (4, 0, [])
    like = lift["like_these"]
    assert (like["low"], like["high"], like["p_value"]) == (about(-0.383568, abs=2e-6), 1.0, about(0.125))
    assert (like["verdict"], like["pseudo_cases"]) == ("inconclusive", True)
    assert like["reason"].startswith("too_few_cases")
    assert (lift["token_delta"], lift["cost_delta"]) == (about(310 - 120), about(0.003 - 0.001))

    rates = {rate["arm"]: rate for rate in summary["rates"]}
    with_skill, without = rates["with_skill"], rates["without_skill"]
    assert (with_skill["pass_rate"], without["pass_rate"]) == (1.0, 0.5)
    assert (with_skill["low"], with_skill["high"]) == (about(0.630583, abs=2e-6), 1.0)
    assert (without["low"], without["high"]) == (about(0.246510, abs=2e-6), about(0.753490, abs=2e-6))
    assert (with_skill["full_pass_rate"], without["full_pass_rate"]) == (1.0, 0.0)
    tokens = with_skill["tokens"]
    assert (tokens["input"], tokens["cached"], tokens["non_cached_input"], tokens["output"], tokens["total"]) == (
        300, 100, 200, 10, 310,
    )  # fmt: skip
    assert without["cost_usd"] == {"mean": about(0.001), "median": about(0.001), "total": about(0.008), "cells_with_cost": 8}

    totals = summary["totals"]
    assert (totals["input_tokens"], totals["cached_tokens"], totals["output_tokens"]) == (
        8 * 300 + 8 * 100,
        8 * 100,
        8 * 10 + 8 * 20,
    )
    assert (totals["total_tokens"], totals["cost_usd"], totals["attempts"]) == (3440, about(0.032), 16)
    assert totals["judge_cost_usd"] == about(0.008)
    (row,) = summary["judge"]
    assert (row["model"], row["calls"], row["tokens"], row["cost_usd"]) == ("j", 16, 880, about(0.008))
    assert (model.stats.calls, judge.stats.calls) == (16, 16)


# ---------------------------------------------------------------- a server that fails now and then
@pytest.mark.parametrize("retry_after", ["0", None])
def test_a_server_that_refuses_one_call_in_three_loses_no_cell(
    skilltrial: Any, new_skill: Any, serve: Callable[..., Any], tmp_path: Path, retry_after: str | None
) -> None:
    model = serve(answering, faults={"refuse_every": 3, "retry_after": retry_after})
    said = skilltrial(
        "run", new_skill(questions(8)), "--target", "openai:m", "--base-url", model.url, "-c", 4, "--format", "json"
    )  # fmt: skip
    assert said.code == 0, said.err
    assert (said.summary["coverage"]["graded"], said.summary["totals"]["attempts"]) == (16, 16)
    assert said.summary["lifts"][0]["lift"] == 1.0
    assert model.stats.answered == 16
    assert model.stats.refused == (model.stats.calls // 3) > 0
    assert_whole(iteration(tmp_path))


def settings(tmp_path: Path, **keys: Any) -> Path:
    path = tmp_path / "skilltrial.yaml"
    path.write_text(json.dumps(keys), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "death",
    [{"die_after": 1}, {"status": 502, "error": "<h1>BLUE</h1> says the gateway"}, {"page": "<h1>BLUE</h1> says the gateway"}],
    ids=["connections cut", "error page", "page with status 200"],
)
def test_a_server_that_dies_half_way_loses_no_cell_and_no_error_text_is_graded(
    skilltrial: Any, new_skill: Any, serve: Callable[..., Any], tmp_path: Path, death: dict[str, Any]
) -> None:
    def until_the_ninth(request: dict[str, Any]) -> str:
        if model.stats.answered == 9:
            model.faults = type(model.faults)(**death)
        return answering(request)

    model = serve(until_the_ninth)
    settings(
        tmp_path,
        targets=[{"backend": "openai", "model": "m", "base_url": model.url, "options": {"attempts": 2}}],
        concurrency=2,
        retries=0,
    )
    said = skilltrial("run", new_skill(questions(20)), "--format", "json")
    folder = iteration(tmp_path)
    assert said.code == 3, said.err
    coverage = said.summary["coverage"]
    failed = coverage["failed_measurements"]
    assert coverage["graded"] == model.stats.answered == 9
    assert failed["infrastructure_error"] + failed["not_run"] == 31
    assert 5 <= failed["infrastructure_error"] <= 15, "it goes on although every run fails alike"
    assert said.err.count("ended early") == 1
    assert "runs in a row failed alike" in said.summary["stopped"]
    assert_sound(folder)
    assert not any("gateway" in row["text"] for row in packed(folder))

    model.reply, model.faults = answering, type(model.faults)()
    said = skilltrial("resume", "--format", "json")
    assert said.code == 0, said.err
    assert (said.summary["coverage"]["graded"], said.summary["stopped"]) == (40, None)
    assert said.summary["lifts"][0]["lift"] == 1.0
    assert_whole(folder)
    assert model.stats.answered == 40
    assert said.summary["totals"]["attempts"] == len(journal(folder, "evidence")) == 40 + failed["infrastructure_error"]


SERVER = """
import sys
sys.path.insert(0, sys.argv[1])
import model_server

def reply(request):
    if server.stats.calls == int(sys.argv[2]):
        print("enough", flush=True)
    return "BLUE" if request["messages"][0]["role"] == "system" else "I do not know"

with model_server.serving(reply, latency_s=0.01) as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def serving_apart(tell_at: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A model server in a process of its own, which says so when call `tell_at` has come; and its port."""
    arguments = [sys.executable, "-c", SERVER, str(Path(__file__).parents[2] / "benchmarks"), str(tell_at)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, int(server.stdout.readline())
        finally:
            server.kill()


def killed_when_it_tells(server: subprocess.Popen[str]) -> threading.Thread:
    """Ends the server with its next line."""

    def work() -> None:
        assert server.stdout is not None
        if server.stdout.readline():
            server.kill()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_server_that_is_gone_ends_the_run_early_and_resume_finishes_on_the_same_address(
    skilltrial: Any, new_skill: Any, model_server_module: Any, tmp_path: Path
) -> None:
    """Killed while calls are in flight: some connections break, all later ones are refused."""
    skill, folder = new_skill(questions(20)), iteration(tmp_path)
    with serving_apart(tell_at=9) as (server, port):
        killer = killed_when_it_tells(server)
        said = skilltrial(
            "run", skill, "--target", "openai:m", "--base-url", f"http://127.0.0.1:{port}/v1", "-c", 2, "--format", "json"
        )
        killer.join(10)
    assert said.code == 3, said.err
    failed = said.summary["coverage"]["failed_measurements"]
    assert said.summary["coverage"]["graded"] >= 7, "two calls are in flight when the ninth comes in"
    assert 5 <= failed["infrastructure_error"] <= 20, "five alike in a row; at first two kinds may take turns"
    assert said.err.count("ended early") == 1
    assert f"nothing listens at http://127.0.0.1:{port}/v1" in said.summary["stopped"]
    assert_sound(folder)

    said = skilltrial("resume")
    assert (said.code, said.err.count("nothing listens")) == (2, 1), "a resume without a server is refused before the first call"
    with model_server_module.serving(answering, port=port):
        said = skilltrial("resume", "--format", "json")
    assert said.code == 0, said.err
    assert said.summary["coverage"]["graded"] == 40
    assert_whole(folder)


# ---------------------------------------------------------------- what the user can mend
NO_KEY = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
NO_MODEL = {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"status": 401, "error": NO_KEY}, "check the key in OPENAI_API_KEY"),
        ({"status": 404, "error": NO_MODEL}, "model 'm' is not known there"),
        ({"status": 404, "error": "<h1>Not Found</h1>"}, "check the base URL"),
    ],
    ids=["wrong key", "unknown model", "wrong path"],
)
@pytest.mark.parametrize("cases", [2, 40])
def test_a_wrong_key_model_or_address_is_one_message_after_a_handful_of_calls(
    skilltrial: Any, new_skill: Any, serve: Callable[..., Any], tmp_path: Path, fault: dict[str, Any], words: str, cases: int
) -> None:
    model = serve("BLUE", faults=fault)
    said = skilltrial("run", new_skill(questions(cases)), "--target", "openai:m", "--base-url", model.url, "-c", 4)
    assert said.code == 2
    assert said.err.count("error: ") == 1
    assert words in said.err.split("error: ")[1]
    assert said.err.count(words) <= 3, "the first run, the last line of the run, and the message"
    assert "skilltrial resume" in said.err
    assert "Traceback" not in said.err + said.out
    assert KEY not in said.err + said.out
    assert said.out == ""
    assert model.stats.calls <= 8
    folder = iteration(tmp_path)
    assert journal(folder, "grades") == []
    assert {row["text"] for row in packed(folder)} == {""}
    assert not any(KEY.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())

    model.faults = type(model.faults)()
    assert skilltrial("resume").code == 0
    assert_whole(folder)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (["--target", "openai:m", "--base-url", "http://127.0.0.1:1/v1"], "nothing listens at http://127.0.0.1:1/v1"),
        (["--target", "openai:m", "--base-url", "127.0.0.1:1"], "is no address"),
        (["--target", "openai:m", "--base-url", "http://127.0.0.1:1/v1", "--api-key-env", "NOT_SET"], "NOT_SET is not set"),
        (["--adapter", "./nowhere.py"], "there is no adapter './nowhere.py'"),
        (["--adapter", "colours/SKILL.md"], "not executable"),
        (["--target", "runner:nowhere"], "nowhere"),
    ],
    ids=["refused connection", "no address", "no key", "missing adapter", "adapter not executable", "missing runner"],
)
def test_what_can_be_told_without_a_call_is_told_before_an_experiment_is_made(
    skilltrial: Any, new_skill: Any, tmp_path: Path, target: list[str], words: str
) -> None:
    said = skilltrial("run", new_skill(questions(4)), *target)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert said.err.count("error: ") == 1
    assert "Traceback" not in said.err
    assert not (tmp_path / "skilltrial-workspace").exists()


# ---------------------------------------------------------------- code that is not ours, and faults that are
def never(prompt: str) -> str:
    threading.Event().wait()
    return ""


def leaving(prompt: str) -> str:
    sys.exit("the function thought it was a program")


ODD = [
    (never, "timeout", "time limit of 0.2 s reached"),
    (leaving, "infrastructure_error", "SystemExit: the function thought it was a program"),
    (lambda prompt: 1 / 0, "infrastructure_error", "ZeroDivisionError: division by zero"),
    (lambda prompt: None, "infrastructure_error", "the object's answer cannot be used: expected a string"),
    (lambda prompt: {"output": "x", "input_tokens": "many"}, "infrastructure_error", "cannot be used: input_tokens"),
    (lambda prompt: {"output": "x", "tool_calls": ["ls"]}, "infrastructure_error", "cannot be used"),
    (lambda prompt: {"output": "BLUE", "error": "quota"}, "infrastructure_error", "quota"),
]


@pytest.mark.parametrize(("function", "outcome", "words"), ODD)
def test_whatever_a_function_does_is_a_measurement_or_a_failed_one(
    skilltrial: Any, new_skill: Any, tmp_path: Path, function: Any, outcome: str, words: str
) -> None:
    summary = evaluate([new_skill(questions(2))], targets=function, judge="none", timeout_s=0.2, retries=0)
    assert summary.coverage.failed_measurements == {outcome: 4}
    assert summary.gate.exit_code == 2
    assert {row["text"] for row in packed(iteration(tmp_path))} == {""}
    assert all(words in row["reason"] for row in packed(iteration(tmp_path)))


def test_a_listener_that_raises_hears_no_more_and_takes_nothing_along(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    heard: list[str] = []

    def listen(news: Any) -> None:
        heard.append(news.type)
        if news.type == "agent_finished":
            raise KeyError("a fault of the caller's")

    with pytest.warns(RuntimeWarning, match="hears no more news, it raised KeyError"):
        summary = evaluate([new_skill(questions(2))], targets=lambda prompt: "BLUE", judge="none", on_event=listen)
    assert summary.coverage.graded == 4
    assert heard.count("agent_finished") == 1
    assert_whole(iteration(tmp_path))


def test_a_fault_of_our_own_is_said_kept_with_its_traceback_and_run_again(
    skilltrial: Any, new_skill: Any, serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, folder = serve(answering), iteration(tmp_path)
    sound = cell_flow.measure

    def faulty(cell: Any, *more: Any) -> Any:
        return sound(cell, *more) if cell.case != "2" else 1 / 0

    with monkeypatch.context() as patch:
        patch.setattr(cell_flow, "measure", faulty)
        said = skilltrial("run", new_skill(questions(4)), "--target", "openai:m", "--base-url", model.url, "--format", "json")
    assert said.code == 3
    assert "ended early: 2 runs met a fault of skilltrial's own (ZeroDivisionError" in said.err
    assert "Traceback" not in said.err
    assert (folder / "faults.log").read_text("utf-8").count("Traceback (most recent call last)") == 2
    assert (said.summary["coverage"]["graded"], said.summary["coverage"]["failed_measurements"]) == (6, {"not_run": 2})
    assert skilltrial("resume").code == 0
    assert_whole(folder)
