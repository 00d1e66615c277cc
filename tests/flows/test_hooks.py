"""Hooks: what they are told, what they may add, and what their failures lead to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import store
from skilltrial.flows.hooks import grades_of, rows_in
from skilltrial.records.hooks import HookRun

from .stored import iteration, journal

SUITE = ("SKILL_NAME", "SKILL_HASH", "SKILL_DIR", "EVALS_PATH", "ITERATION", "ITERATION_DIR", "WORKSPACE_BASE", "SOURCE_REPO",
         "RUN_ID", "EVAL_IDS", "SIDE_EFFECT_LEVELS")  # fmt: skip
CELL = ("EVAL_ID", "AGENT", "WITH_SKILL", "RUN_INDEX", "WORKSPACE_PATH", "OUTPUT_DIR", "PRE_STATE_PATH", "POST_STATE_PATH",
        "TIMING_PATH", "RUN_META_PATH", "GRADING_PATH")  # fmt: skip
WITNESS = """
import json, os, sys
env = {name: value for name, value in os.environ.items() if name.startswith(("ASE_", "SKILLTRIAL_"))}
paths = {name: os.path.exists(value) for name, value in env.items() if name.endswith(("_PATH", "_DIR", "_BASE"))}
files = {}
for name in ("GRADING_PATH", "TIMING_PATH", "RUN_META_PATH"):
    if "ASE_" + name in env:
        files[name] = json.load(open(env["ASE_" + name]))
if env.get("ASE_WORKSPACE_PATH"):
    files["workspace"] = sorted(os.listdir(env["ASE_WORKSPACE_PATH"]))
with open(sys.argv[1], "a") as log:
    log.write(json.dumps({"env": env, "there": paths, "files": files, "cwd": os.getcwd()}) + chr(10))
"""


@pytest.fixture
def witness(tmp_path: Path) -> Callable[[str], str]:
    """`witness("a")` is a command that writes what it was told as a line of `a.jsonl`."""
    script = tmp_path / "witness.py"
    script.write_text(WITNESS)
    return lambda name: f'"{sys.executable}" "{script}" "{tmp_path / name}.jsonl"'


def told(tmp_path: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]


@pytest.fixture
def skill(new_skill: Any) -> Path:
    """Two cases; the second has an id that is no file name."""
    checks = [{"id": "blue", "type": "contains", "value": "blue"}]
    prompt = "Say blue. fake-create-file: made.txt"
    folder: Path = new_skill([{"id": 7, "prompt": prompt, "checks": checks}, {"id": "a/b", "prompt": prompt, "checks": checks}])
    return folder


def test_hooks_are_told_the_documented_variables_under_both_names_with_absolute_paths(
    skilltrial: Any, skill: Path, witness: Any, tmp_path: Path
) -> None:
    said = skilltrial(
        "run", skill, "--target", "fake", "--format", "json", "--pre-run-command", witness("pre"),
        "--post-grade-command", witness("grade"), "--post-run-command", witness("post"),
    )  # fmt: skip
    assert said.code == 0, said.err
    (pre,), (post,), cells = told(tmp_path, "pre"), told(tmp_path, "post"), told(tmp_path, "grade")
    for one in (pre, post, *cells):
        for name in SUITE:
            assert one["env"][f"ASE_{name}"] == one["env"][f"SKILLTRIAL_{name}"]
        assert one["cwd"] == str(tmp_path)
        assert all(Path(one["env"][name]).is_absolute() for name in one["there"])
    assert (pre["env"]["ASE_SKILL_NAME"], pre["env"]["ASE_ITERATION"]) == ("colours", "1")
    assert pre["env"]["ASE_EVAL_IDS"] == "7,a/b"
    assert all(there for name, there in pre["there"].items()), pre["there"]
    assert (iteration(tmp_path) / "summary.json").is_file()
    assert len(cells) == 4
    assert {(one["env"]["ASE_EVAL_ID"], one["env"]["ASE_WITH_SKILL"]) for one in cells} == {
        ("7", "1"), ("7", "0"), ("a/b", "1"), ("a/b", "0"),
    }  # fmt: skip


def test_the_guide_knows_every_variable() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "side-effects.md").read_text(encoding="utf-8")
    assert not [name for name in (*SUITE, *CELL, "TARGET", "ARM", "CELL_ID") if f"`{name}`" not in page]


def test_before_a_post_grade_hook_the_cells_folder_and_the_workspace_are_on_disk(
    skilltrial: Any, skill: Path, witness: Any, tmp_path: Path
) -> None:
    skilltrial("run", skill, "--target", "fake", "--no-tree", "--post-grade-command", witness("grade"))
    for one in told(tmp_path, "grade"):
        assert set(CELL) <= {name.removeprefix("ASE_") for name in one["env"]}
        assert one["files"]["GRADING_PATH"]["summary"]["total"] == 1
        assert one["files"]["RUN_META_PATH"]["agent"] == one["env"]["ASE_AGENT"] == "fake"
        assert "made.txt" in one["files"]["workspace"]
        assert (Path(one["env"]["ASE_OUTPUT_DIR"]) / "output.txt").is_file()
        assert not Path(one["env"]["ASE_WORKSPACE_PATH"]).exists()


def test_what_a_post_grade_hook_prints_becomes_grades_that_a_later_grading_keeps(
    skilltrial: Any, skill: Path, tmp_path: Path
) -> None:
    rows = json.dumps([{"text": "It builds", "passed": True, "evidence": "0 errors"}, {"text": "It is fast", "passed": False}])
    (tmp_path / "rows.json").write_text(rows)
    said = skilltrial(
        "run", skill, "--target", "fake", "--post-grade-command", "cat rows.json", "--eval-id", "7", "--format", "json"
    )
    assert [rate["pass_rate"] for rate in said.summary["rates"]] == [pytest.approx(2 / 3)] * 2
    (cell,) = (iteration(tmp_path) / "colours/eval-7/fake/with_skill").glob("run-1")
    grading = json.loads((cell / "grading.json").read_text())
    hooks = [row for row in grading["assertion_results"] if row["method"] == "hook"]
    assert [(row["text"], row["passed"]) for row in hooks] == [("hook: It builds", True), ("hook: It is fast", False)]
    raw = json.loads((cell / "outputs" / "post_grade_hooks.json").read_text())
    assert json.loads(raw[0]["stdout"])[0]["text"] == "It builds"
    again = skilltrial("grade", "--format", "json")
    assert again.summary["rates"] == said.summary["rates"]
    assert again.summary["hooks"] == said.summary["hooks"]


def test_a_post_grade_hook_that_fails_adds_one_failed_row(skilltrial: Any, skill: Path, tmp_path: Path) -> None:
    said = skilltrial(
        "run", skill, "--target", "fake", "--eval-id", "7", "--format", "json", "--post-grade-command", "echo broken >&2; exit 3"
    )
    assert said.summary["coverage"]["graded"] == 2
    grades = journal(iteration(tmp_path), "grades")[0]["grades"]
    assert [(row["method"], row["state"], row["reason"]) for row in grades if row["method"] == "hook"] == [
        ("hook", "failed", "it ended with status 3: broken")
    ]
    assert [hook["exit_code"] for hook in said.summary["hooks"]] == [3, 3]


def test_a_pre_run_hook_that_fails_stops_everything_before_any_run(skilltrial: Any, skill: Path, tmp_path: Path) -> None:
    said = skilltrial("run", skill, "--target", "fake", "--pre-run-command", "echo no database >&2; exit 1", "--no-certify")
    assert said.code == 2
    assert "no database" in said.err and "Traceback" not in said.err
    assert not journal(iteration(tmp_path), "evidence")


def test_a_post_run_hook_that_fails_is_recorded_and_changes_no_verdict(skilltrial: Any, skill: Path) -> None:
    plain = skilltrial("run", skill, "--target", "fake", "--format", "json")
    said = skilltrial("run", skill, "--target", "fake", "--format", "json", "--post-run-command", "exit 9")
    assert said.code == plain.code
    assert [(hook["stage"], hook["exit_code"]) for hook in said.summary["hooks"]] == [("post_run", 9)]
    assert "post_run: exit 9: exit 9" in skilltrial("status").out


@pytest.mark.parametrize("variable", ["ASE_HOOK_TIMEOUT", "SKILLTRIAL_HOOK_TIMEOUT", "SKILLTRIAL_HOOK_TIMEOUT_S"])
def test_a_hook_that_takes_too_long_is_ended(skilltrial: Any, skill: Path, monkeypatch: Any, variable: str) -> None:
    monkeypatch.setenv(variable, "0.2")
    said = skilltrial("run", skill, "--target", "fake", "--format", "json", "--post-run-command", "sleep 60")
    assert [(hook["exit_code"], hook["timed_out"]) for hook in said.summary["hooks"]] == [(None, True)]


def test_a_hook_sees_the_users_home_and_no_marker_of_an_enclosing_agent(
    skilltrial: Any, skill: Path, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDECODE", "1")
    skilltrial("run", skill, "--target", "fake", "--pre-run-command", 'echo "$HOME" "$CLAUDECODE" > seen.txt')
    assert (tmp_path / "seen.txt").read_text().split() == [str(tmp_path)]


def test_hooks_can_stand_in_the_settings_file(skilltrial: Any, skill: Path, tmp_path: Path) -> None:
    (tmp_path / "skilltrial.yaml").write_text("hooks:\n  post_run: [touch done.txt]\n")
    skilltrial("run", skill, "--target", "fake")
    assert (tmp_path / "done.txt").is_file()


def test_what_a_hook_prints_is_stored_masked(skilltrial: Any, skill: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MY_API_KEY", "abcdefgh-very-secret-42")
    skilltrial("run", skill, "--target", "fake", "--post-run-command", 'echo "$MY_API_KEY"')
    (run,) = store.open_(iteration(tmp_path)).hooks()
    assert run.stdout.strip() and "very-secret" not in run.stdout


def ran(stdout: str, code: int | None = 0) -> HookRun:
    return HookRun(stage="post_grade", command="check.sh", exit_code=code, duration_s=0.1, stdout=stdout)


@pytest.mark.parametrize("printed", ["", "all fine", '{"text": "a", "passed": true}', "[", "7"])
def test_output_that_is_no_list_gives_no_row(printed: str) -> None:
    assert list(rows_in(printed)) == []


def test_an_entry_that_is_no_verdict_is_shown_and_counts_nowhere() -> None:
    grades = list(grades_of(ran('[{"text": "a", "passed": "yes"}, {"text": "b", "passed": true}]')))
    assert [(grade.state, grade.required) for grade in grades] == [("ungraded", False), ("passed", True)]
