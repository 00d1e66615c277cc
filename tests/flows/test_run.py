"""The main job from the command line to the files on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import HELPFUL, script


def test_a_helpful_skill_gets_its_lift_and_exit_0(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skill = new_skill(colours)
    said = skilltrial("run", skill, "--target", f"fake:{script(tmp_path / 's.json', *HELPFUL)}", "-n", 1, "--format", "json")
    assert said.code == 0, said.err
    lift = said.summary["lifts"][0]
    assert (lift["lift"], lift["verdict"]) == (1.0, "helps")
    assert lift["low"] == pytest.approx(0.1481, abs=5e-5)
    assert lift["like_these"]["verdict"] == "inconclusive"
    folder = tmp_path / "skilltrial-workspace" / "iteration-1"
    for name in ("experiment.json", "results.jsonl", "summary.json", "report.md", "progress.jsonl", "report/index.html"):
        assert (folder / name).is_file(), name
    assert json.loads((folder / "colours" / "benchmark.json").read_text())["run_summary"]["delta"]["pass_rate"] == 1.0
    assert (folder / "colours/eval-1/fake-s/with_skill/run-1/grading.json").is_file()


def test_the_next_experiment_gets_the_next_number(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skill = new_skill(colours)
    for _ in range(2):
        skilltrial("run", skill, "--target", "fake")
    assert sorted(path.name for path in (tmp_path / "skilltrial-workspace").iterdir()) == [
        ".gitignore",
        "iteration-1",
        "iteration-2",
    ]


def test_a_skill_that_fails_its_cases_exits_1(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    said = skilltrial("run", new_skill(colours), "--target", "fake", "--format", "json")
    assert said.code == 1
    assert said.summary["gate"]["passed"] is False
    assert "colours" in said.err or said.summary["gate"]["reasons"]


def test_a_dead_run_is_not_measured_and_its_must_not_checks_do_not_pass(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    """FC-16."""
    evals = [
        {
            "id": 1,
            "prompt": "Look round.",
            "checks": [
                {"id": "a", "type": "not_contains", "value": "password"},
                {"id": "b", "type": "file_not_exists", "path": "secrets.txt"},
            ],
        }
    ]
    dead = {"outcome": "infrastructure_error", "reason": "rate limit"}
    said = skilltrial("run", new_skill(evals), "--target", f"fake:{script(tmp_path / 's.json', dead)}", "--format", "json")
    assert said.code == 2
    rate = said.summary["rates"][0]
    assert (rate["pass_rate"], rate["graded"]) == (None, 0)
    assert said.summary["lifts"][0]["verdict"] == "not measured"
    assert said.summary["coverage"]["failed_measurements"]["infrastructure_error"] == 2


def test_case_without_anything_to_grade_it_is_refused_before_the_first_call(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    evals = [{"id": "one", "prompt": "Hello"}, {"id": "two", "prompt": "Hello", "assertions": ["It greets."]}]
    said = skilltrial("run", new_skill(evals), "--target", "fake")
    assert said.code == 2
    assert "colours::one" in said.err and "colours::two" in said.err
    assert not (tmp_path / "skilltrial-workspace").exists()
    later = skilltrial("run", tmp_path / "colours", "--target", "fake", "--grade-later", "--format", "json")
    assert later.summary["coverage"]["finished"] == 4


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--repetitions", "0"], "repetitions"),
        (["--repetitions", "-1"], "repetitions"),
        (["--eval-id", "nope"], "1, 2, 3, 4"),
        (["--target", "fakk"], "OPENAI"),
        (["--minimum-pass-rate", "1"], "never"),
        (["--skill", "nobody"], "nobody"),
    ],
)
def test_wrong_input_is_one_clear_message_and_exit_2(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, wrong: list[str], words: str
) -> None:
    arguments = (
        ["run", new_skill(colours), *wrong] if "--target" in wrong else ["run", new_skill(colours), "--target", "fake", *wrong]
    )
    said = skilltrial(*arguments)
    assert said.code == 2
    assert words in said.err
    assert "Traceback" not in said.err
    assert not list(tmp_path.glob("skilltrial-workspace/iteration-*"))


def test_only_the_baseline_differs_in_what_the_model_receives(
    skilltrial: Any, new_skill: Any, colours: Any, serve: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    server = serve("BLUE", keep_requests=True) if False else serve("BLUE")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123")
    skill = new_skill(colours[:1])
    said = skilltrial("run", skill, "--target", "openai:m", "--base-url", server.url, "--format", "json")
    assert said.code in (0, 3), said.err
    bodies = [request["messages"] for request in server.requests]
    with_skill = [messages for messages in bodies if messages[0]["role"] == "system"]
    without = [messages for messages in bodies if messages[0]["role"] != "system"]
    assert len(with_skill) == len(without) == 1
    assert "single word BLUE" in with_skill[0][0]["content"]
    assert with_skill[0][1:] == without[0]
    stored = "".join(
        path.read_text(errors="replace") for path in (tmp_path / "skilltrial-workspace").rglob("*") if path.is_file()
    )
    assert "sk-test-0123456789abcdef0123" not in stored


def test_reused_baselines_are_said_marked_and_not_run_again(
    skilltrial: Any, new_skill: Any, colours: Any, serve: Callable[..., Any]
) -> None:
    server = serve("BLUE")
    arguments = ("run", new_skill(colours), "--target", "openai:m", "--base-url", server.url, "--format", "json", "--no-tree")
    first = skilltrial(*arguments)
    calls = server.stats.calls
    second = skilltrial(*arguments, "--reuse")
    assert server.stats.calls == calls + 4  # the arm with the skill alone
    assert "4 baseline runs reused from iteration-1" in second.err
    assert second.summary["reused"] == 4
    assert second.summary["lifts"][0]["lift"] == first.summary["lifts"][0]["lift"] == 0


def test_shards_put_together_give_the_same_numbers_as_one_run(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    skill, rules = new_skill(colours), script(tmp_path / "s.json", *HELPFUL)
    arguments = ("run", skill, "--target", f"fake:{rules}", "-n", 3, "--format", "json", "--seed", 1)
    whole = skilltrial(*arguments, "-w", "whole").summary
    for part in ("1/2", "2/2"):
        skilltrial(*arguments, "-w", "parts", "--shard", part)
    merged = skilltrial("merge", "parts/iteration-1", "parts/iteration-2", "-w", "merged", "--format", "json")
    assert merged.code == 0, merged.err
    for key in ("coverage", "rates", "lifts", "cases", "gate"):
        for row, other in zip(_rows(merged.summary[key]), _rows(whole[key]), strict=True):
            timed = {"time_seconds", "time_delta", "time_ratio"}
            assert {k: v for k, v in row.items() if k not in timed} == {k: v for k, v in other.items() if k not in timed}


def _rows(value: Any) -> list[dict[str, Any]]:
    return value if isinstance(value, list) else [value]


def test_a_task_typed_by_hand_gives_a_lift_on_this_case(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    judge = {"when": {"judge": True}, "passed": True}
    with_skill = {"when": {"arm": "with_skill"}, "text": "BLUE"}
    rules = script(tmp_path / "s.json", judge, with_skill)
    skill = new_skill(colours)
    said = skilltrial(
        "task", "Which colour?", "--skill", skill, "--assert", "It names a colour.",
        "--target", f"fake:{rules}", "--judge", f"fake:{rules}", "--format", "json",
    )  # fmt: skip
    assert said.code in (0, 3), said.err
    assert said.summary["coverage"]["graded"] == 6
    assert said.summary["lifts"][0]["like_these"]["reason"].startswith("one_case")


def test_a_task_without_skill_and_assertion_compares_targets_by_quality(skilltrial: Any, tmp_path: Path) -> None:
    rules = script(tmp_path / "s.json", {"when": {"judge": True}, "score": 7}, {"text": "An answer"})
    said = skilltrial(
        "task", "Explain async and await", "--target", f"fake:{rules}", "--target", "fake", "--judge", f"fake:{rules}",
        "--format", "json", "-n", 1,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert [row["mean_score"] for row in said.summary["rates"]] == [0.7, 0.7]
    assert said.summary["lifts"] == []
