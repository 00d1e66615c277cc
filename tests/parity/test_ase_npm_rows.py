"""Rows of the parity table of agent-skills-eval that no other test shows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import skilltrial as library

from ..flows.conftest import script
from .npm import Home, model

TREE = Path(__file__).parents[1] / "data" / "foreign" / "ase-npm" / "iteration-single"
RUBRIC = {"id": 1, "prompt": "How many rows?", "assertions": ["It says how many."]}


def keys_of(path: Path) -> set[str]:
    return set(json.loads(path.read_text(encoding="utf-8")))


# ---------------------------------------------------------------- options and printed results
def test_a_number_with_a_letter_is_no_number(home: Home) -> None:
    said = home.call("run", "skills", "--concurrency", "2x")
    assert said.code == 2 and "2x" in said.err


def test_the_result_on_standard_output_is_the_summary(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC, {**RUBRIC, "id": 2})
    home.settings(serve(model(passed=False)).url)
    said = home.run("--format", "json")
    (rate,) = said.summary["rates"]
    assert (rate["skill"], rate["cases"], rate["pass_rate"]) == ("tables", 2, 0.0)
    assert len(said.summary["failures"]) == 2
    assert said.summary["experiment"] == "iteration-1"
    assert f"report: {home.workspace / 'iteration-1' / 'report' / 'index.html'}" not in said.out
    plain = home.run()
    assert str(home.workspace / "iteration-2" / "report" / "index.html") in plain.err


def test_a_listed_file_that_is_no_text_is_an_error(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", {**RUBRIC, "files": [7]})
    home.settings(serve(model()).url)
    said = home.run()
    assert said.code == 2 and "evals[0].files[0]" in said.err


def test_a_user_agent_of_ones_own_goes_with_target_and_judge(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model(), faults={"status": 500, "status_calls": 1, "retry_after": "0"})
    home.skill("tables", RUBRIC)
    entry = {"backend": "openai", "model": "m", "base_url": server.url, "headers": {"uSER-aGENT": "mine/2"}}
    settings = {"skills": ["skills"], "targets": [entry], "judge": {**entry, "model": "j"}, "arms": {"baseline": False}}
    (home.folder / "skilltrial.yaml").write_text(json.dumps(settings), encoding="utf-8")
    said = home.call("run", "--format", "json")
    assert said.summary["coverage"]["graded"] == 1, said.err
    assert [request["model"] for request in server.requests] == ["m", "m", "j"]
    assert {headers["user-agent"] for headers in server.headers} == {"mine/2"}


# ---------------------------------------------------------------- files
def test_its_files_have_its_keys(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url, baseline=True)
    home.run()
    root = home.workspace / "iteration-1"
    assert keys_of(root / "meta.json") == {"name", "slug", "relPath", "target", "judge", "modes", "generated_at"}
    summary = json.loads((root / "benchmark.json").read_text())["run_summary"]
    assert summary.keys() == {"with_skill", "without_skill", "delta"}
    assert all(
        side[name].keys() == {"mean", "stddev"} for side in (summary["with_skill"], summary["without_skill"]) for name in side
    )
    assert summary["delta"].keys() == summary["with_skill"].keys() == {"pass_rate", "time_seconds", "tokens"}
    leaf = root / "eval-1" / "with_skill"
    assert keys_of(leaf / "timing.json") == {"total_tokens", "duration_ms"}
    assert keys_of(leaf / "prompts.json") == {"system", "user", "judgePrompt", "fileCount"}
    grading = json.loads((leaf / "grading.json").read_text())
    assert grading["summary"] == {"passed": 1, "failed": 0, "total": 1, "pass_rate": 1.0}
    assert [row.keys() for row in grading["assertion_results"]] == [{"text", "passed", "evidence"}]


def test_what_was_asked_is_kept(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", {**RUBRIC, "files": ["evals/files/a.csv"]}, files={"evals/files/a.csv": "north,3\n"})
    home.settings(serve(model("there are three")).url)
    assert home.run("--tree").code == 0
    (leaf,) = (home.workspace / "iteration-1").glob("tables/eval-1/*/with_skill/run-1")
    assert "north,3" in (leaf / "prompt.json").read_text() and "How many rows?" in (leaf / "prompt.json").read_text()
    assert "It says how many." in (leaf / "judge.json").read_text()
    assert (leaf / "outputs" / "output.txt").read_text().strip() == "there are three"


def test_what_a_run_made_is_kept_whatever_the_suite_lists(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    case = {"id": 1, "prompt": "p", "captured_files": ["listed.txt"], "checks": [{"type": "file_exists", "path": "other.txt"}]}
    new_skill([case])
    said = skilltrial(
        "run", "colours", "--target", f"fake:{script(tmp_path / 's.json', {'files': {'other.txt': 'made'}})}", "--tree"
    )
    assert said.code == 0, said.err
    (leaf,) = (tmp_path / "skilltrial-workspace" / "iteration-1").glob("colours/eval-1/*/with_skill/run-1")
    assert (leaf / "outputs" / "other.txt").read_text() == "made"
    assert (leaf / "run_meta.json").is_file() and (leaf / "events.jsonl").is_file()


def test_activation_is_counted_apart_from_rates(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    checks = [{"type": "contains", "value": "p"}]
    new_skill([{"id": 1, "prompt": "p", "checks": checks}, {"id": 2, "prompt": "p", "checks": checks}])
    rules = script(tmp_path / "s.json", {"when": {"case": "2", "arm": "with_skill"}, "events": []})
    said = skilltrial("run", "colours", "--target", f"fake:{rules}", "--format", "json")
    row = next(row for row in said.summary["activation"] if row["arm"] == "with_skill")
    assert (row["activated"], row["not_seen"], row["unknown"]) == (1, 1, 0)
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}


def test_a_category_is_a_remark(skilltrial: Any, new_skill: Any) -> None:
    rows = [{"text": "It is kind.", "category": "style"}, {"text": "It is done.", "category": "outcome"}]
    new_skill([{"id": 1, "prompt": "p", "category": "process", "assertions": rows}])
    said = skilltrial("run", "colours", "--target", "fake", "--judge", "fake", "--format", "json")
    assert said.code == 0 and "category" not in said.err
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}


# ---------------------------------------------------------------- events
def test_news_come_in_order_and_carry_what_their_events_do(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    home.run("--log-format", "jsonl", "--log-file", "log.jsonl")
    rows = [json.loads(line) for line in (home.folder / "log.jsonl").read_text().splitlines()]
    assert [row["type"] for row in rows] == [
        "experiment_started", "cell_started", "agent_started", "agent_finished", "cell_graded", "cell_finished", "experiment_finished",
    ]  # fmt: skip
    assert all(row["ts"] and row["elapsed_s"] >= 0 and row["experiment"] == "iteration-1" for row in rows)
    assert rows[0]["planned"] == 1
    assert {row.get("cell") for row in rows[1:-1]} == {"tables/1/openai-gpt-4o-mini/with_skill/1"}
    assert (rows[5]["passed"], rows[5]["total"], rows[5]["state"]) == (1, 1, "passed")
    assert rows[5]["input_tokens"] > 0


# ---------------------------------------------------------------- library
def test_an_object_tells_tokens_cost_and_calls_and_an_error_is_no_answer(home: Home) -> None:
    class Provider:
        name = "mine"
        model = "mine-1"

        def complete(self, prompt: str) -> dict[str, Any]:
            if "Task 2." in prompt:
                return {"output": "", "error": "the provider is down"}
            call = {"id": "1", "type": "function", "function": {"name": "count", "arguments": "{}"}}
            return {
                "output": "yes",
                "input_tokens": 7,
                "output_tokens": 3,
                "cost_usd": 0.5,
                "model": "mine-1",
                "tool_calls": [call],
            }

    checks = [{"type": "tool-called", "name": "count"}]
    home.skill("tables", *[{"id": n, "prompt": f"Task {n}.", "tool_assertions": checks} for n in (1, 2)])
    summary = library.evaluate(home.folder / "skills" / "tables", Provider(), "none", arms=["with_skill"], retries=0)
    (rate,) = summary.rates
    assert (rate.target, rate.pass_rate, rate.graded) == ("mine", 1.0, 1)
    assert rate.tokens.input == 7 and rate.tokens.output == 3 and summary.totals.cost_usd == 0.5
    assert [error.reason for error in summary.errors] == ["the provider is down"]


def test_an_object_that_chats_gets_system_tools_and_parameters_apart(home: Home) -> None:
    heard: list[dict[str, Any]] = []

    class Provider:
        name = "chatty"
        model = "c-1"

        def complete(self, prompt: str) -> str:
            raise AssertionError("it can chat")

        def complete_chat(self, **asked: Any) -> str:
            heard.append(asked)
            return "yes"

    tool = {"type": "function", "function": {"name": "count"}}
    case = {"id": 1, "prompt": "Do it.", "files": ["a.csv"], "tools": [tool], "tool_choice": "auto", "params": {"top_p": 0.5},
            "checks": [{"type": "contains", "value": "yes"}]}  # fmt: skip
    home.skill("tables", case, files={"a.csv": "north,3"})
    library.evaluate(home.folder / "skills" / "tables", Provider(), "none", arms=["with_skill"])
    (asked,) = heard
    assert "COUNT THE ROWS." in asked["system"] and "Do it." in asked["user"] and "north,3" in asked["user"]
    assert (asked["tools"], asked["tool_choice"], asked["params"]) == ([tool], "auto", {"top_p": 0.5})


def test_its_own_results_are_read_in_a_workspace_that_holds_ours_too(home: Home, serve: Callable[..., Any]) -> None:
    shutil.copytree(TREE, home.workspace / "iteration-1")
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    assert home.run("--format", "json").summary["experiment"] == "iteration-2"
    names = [line.split()[1] for line in home.call("history").out.splitlines() if "iteration-" in line]
    assert sorted(names) == ["iteration-1", "iteration-2"]
    theirs = home.call("report", 1, "--format", "json").summary
    assert {rate["skill"] for rate in theirs["rates"]} == {"alpha"}
    assert {rate["skill"] for rate in home.call("report", "--format", "json").summary["rates"]} == {"tables"}
    assert home.call("show", "alpha/tools/t1/with_skill/1", 1).code == 0


def test_either_layout_is_written_later_too(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    home.run()
    for layout, place in (("iteration", "eval-1"), ("flat", "tables/eval-1")):
        said = home.call("export", "--format", "ase-npm", "--layout", layout, "-o", layout)
        assert said.code == 0, said.err
        assert (home.folder / layout / place / "with_skill" / "grading.json").is_file()
        read = home.call("report", layout, "--format", "json").summary
        assert {rate["pass_rate"] for rate in read["rates"]} == {1.0}
    assert home.call("export", "--format", "sab", "--layout", "flat").code == 2


def test_a_listener_that_is_not_installed_is_told_before_anything_is_begun(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    home.skill("tables", RUBRIC)
    home.settings(server.url)
    said = home.run("--listener", "nobody")
    assert said.code == 2 and "no listener called 'nobody'" in said.err
    assert server.requests == [] and not home.workspace.exists()
