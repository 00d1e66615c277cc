"""agent-skill-eval's own spellings: they do here what they did there, or are refused with the way that works."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ..flows.conftest import HELPFUL, script
from ..flows.git_agent import agent
from ..flows.stored import iteration, journal


@pytest.fixture
def skill(new_skill: Any, colours: Any) -> Path:
    folder: Path = new_skill(colours)
    return folder


# ---------------------------------------------------------------- keys
def test_a_dot_env_is_read_when_named_only_and_its_secrets_are_masked(
    skill: Path, skilltrial: Any, serve: Any, tmp_path: Path
) -> None:
    server = serve("BLUE, by the-key-of-the-file")
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY=the-key-of-the-file\nOPENAI_BASE_URL='{server.url}'\n")
    words = ("run", "colours", "--target", "openai:m", "--eval-id", 1)
    without = skilltrial(*words)
    assert without.code == 2 and "OPENAI_API_KEY" in without.err and server.stats.calls == 0
    said = skilltrial(*words, "--env-file", ".env", "--format", "json")
    assert said.code == 0, said.err
    assert said.summary["coverage"]["graded"] == 2, said.err
    stored = b"".join(path.read_bytes() for path in iteration(tmp_path).rglob("*") if path.is_file())
    assert b"the-key-of-the-file" not in stored and b"BLUE, by" in stored


def test_the_environment_wins_over_the_file(
    skill: Path, skilltrial: Any, serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("BLUE")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "the-key-of-the-caller")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=x\nOPENAI_BASE_URL=http://127.0.0.1:9\n")
    said = skilltrial("run", "colours", "-t", "openai:m", "--eval-id", 1, "--env-file", ".env", "--format", "json")
    assert said.summary["coverage"]["graded"] == 2, said.err


def test_agents_and_generate_take_the_file_too(skill: Path, skilltrial: Any, serve: Any, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"OPENAI_API_KEY=k\nOPENAI_BASE_URL={serve('no suite').url}\n")
    assert skilltrial("agents", "openai:m").code == 1
    assert skilltrial("agents", "openai:m", "--env-file", "keys").code == 0
    words = ("generate", "colours", "--judge", "openai:m", "--dry-run")
    assert "OPENAI_API_KEY" in skilltrial(*words).err
    assert "OPENAI_API_KEY" not in skilltrial(*words, "--env-file", "keys").err
    missing = skilltrial("agents", "openai:m", "--env-file", "absent")
    assert missing.code == 2 and "absent: cannot be read" in missing.err


@pytest.mark.parametrize("command", ["run", "grade"])
def test_a_key_in_a_file_and_the_openwebui_switch_are_refused_with_what_to_write(command: str, skilltrial: Any) -> None:
    said = skilltrial(command, "--grader-key-file", "key.txt")
    assert said.code == 2 and "--judge-api-key-env" in said.err
    said = skilltrial(command, "--grader-openwebui")
    assert said.code == 2 and "--judge-base-url" in said.err


def test_an_empty_grader_model_is_no_judge(new_skill: Any, skilltrial: Any) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}], "assertions": ["It is polite."]}])
    said = skilltrial("run", "colours", "--agent", "fake", "--grader-model", "", "--format", "json")
    assert said.code == 0 and said.summary["coverage"]["set_aside"] == 1


# ---------------------------------------------------------------- commands
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("run-all", "run FOLDER"), ("validate-all", "validate FOLDER"), ("report-all", "report"), ("portfolio", "list --portfolio"),
        ("archive-run", "export --format archive"), ("rerun-failed", "run --last-failed"),
    ],
)  # fmt: skip
def test_a_command_of_theirs_is_answered_with_ours(theirs: str, ours: str, skilltrial: Any) -> None:
    said = skilltrial(theirs, "--root", ".")
    assert said.code == 2 and f"`skilltrial {ours}`" in said.err


def test_no_command_is_the_help_and_no_fault(skilltrial: Any) -> None:
    said = skilltrial()
    assert said.code == 0 and "Start here:" in said.out
    assert skilltrial("-v").out == skilltrial("--version").out != ""


# ---------------------------------------------------------------- run-all
@pytest.fixture
def library(new_skill: Any, colours: Any, tmp_path: Path) -> Path:
    """Three skills below `lib`: `good` and `poor`, and one without a suite."""
    for name in ("good", "poor", "bare"):
        (tmp_path / "lib").mkdir(exist_ok=True)
        new_skill(colours, name=name).rename(tmp_path / "lib" / name)
    shutil.rmtree(tmp_path / "lib/bare/evals")
    return tmp_path / "lib"


@pytest.fixture
def run_all(library: Path, skilltrial: Any, tmp_path: Path) -> Any:
    rules = script(tmp_path / "s.json", {"when": {"skill": "poor"}, "text": "RED"}, *HELPFUL)
    return lambda *words: skilltrial("run", "--root", "lib", "--agent", f"fake:{rules}", *words)


def test_a_root_of_skills_is_one_experiment_with_a_row_and_a_gate_per_skill(run_all: Any) -> None:
    said = run_all("--format", "json")
    assert said.code == 1
    assert {row["skill"]: row["exit_code"] for row in said.summary["gate"]["by_skill"]} == {"good": 0, "poor": 1}
    assert {row["skill"] for row in said.summary["lifts"]} == {"good", "poor"}
    assert [row["cell"] for row in said.summary["skipped"]] == ["bare"]


def test_plan_only_makes_nothing(run_all: Any, tmp_path: Path) -> None:
    said = run_all("--plan-only")
    assert said.code == 0 and said.out.startswith("16 cells")
    assert not (tmp_path / "skilltrial-workspace").exists()


def test_failed_assertions_are_the_exit_code_unless_told_otherwise(run_all: Any) -> None:
    assert run_all().code == 1
    assert run_all("--fail-on-assertions").code == 1
    assert run_all("--no-fail-on-assertions").code == 0


@pytest.mark.parametrize(("rate", "code"), [("0.5", 1), ("0", 0)])
def test_a_minimum_pass_rate_holds_for_each_skill(rate: str, code: int, run_all: Any) -> None:
    assert run_all("--min-pass-rate", rate, "--gate-on", "point").code == code


def test_junit_has_a_suite_per_skill_and_names_what_failed(run_all: Any, tmp_path: Path) -> None:
    import xml.etree.ElementTree as ET

    run_all("--junit-xml", "out.xml")
    suites = {suite.get("name", "").split()[0]: suite for suite in ET.parse(tmp_path / "out.xml").getroot()}
    assert {name: (suite.get("tests"), suite.get("failures")) for name, suite in suites.items()} == {
        "good": ("4", "0"), "poor": ("4", "4"), "skills": ("1", "0"),  # left out: the one without a suite
    }  # fmt: skip


def test_gates_tags_and_expected_failures_of_the_settings_file(run_all: Any, tmp_path: Path) -> None:
    settings = tmp_path / "skilltrial.yaml"
    settings.write_text("gates: {poor: none}\n")
    assert run_all().code == 0
    settings.write_text("xfail: ['poor::1', 'poor::2', 'poor::3', 'poor::4', 'good::1']\n")
    said = run_all("--format", "json")
    assert said.code == 0
    assert "good::1 passed, though it is expected to fail" in said.summary["warnings"]
    settings.write_text("tags: {smoke: ['good::2', 'poor::3']}\n")
    said = run_all("--tag", "smoke", "--format", "json")
    assert {(row["skill"], row["case"]) for row in said.summary["cases"]} == {("good", "2"), ("poor", "3")}
    assert run_all("--tag", "unknown").code == 2


# ---------------------------------------------------------------- variables, workspaces, stability
def test_their_variables_are_read_where_ours_are_not_set(
    skill: Path, skilltrial: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TIMEOUT": "7", "RETRIES": "3"}.items():
        monkeypatch.setenv(f"ASE_AGENT_{name}", value)
    monkeypatch.setenv("ASE_HOOK_TIMEOUT", "9")
    monkeypatch.setenv("ASE_KEEP_WORKSPACE", "1")
    said = skilltrial("run", "colours", "--agent", "fake", "--eval-id", 1)
    plan = json.loads((iteration(tmp_path) / "experiment.json").read_text())
    assert (plan["options"]["limits"]["timeout_s"], plan["options"]["retries"]) == (7.0, 3)
    assert (plan["hooks"]["timeout_s"], plan["options"]["keep_workspaces"]) == (9.0, "all")
    for name in ("ASE_AGENT_TIMEOUT", "ASE_AGENT_RETRIES", "ASE_HOOK_TIMEOUT", "ASE_KEEP_WORKSPACE"):
        assert name in said.err
    monkeypatch.setenv("SKILLTRIAL_RETRIES", "2")
    skilltrial("run", "colours", "--agent", "fake", "--eval-id", 1)
    assert json.loads((iteration(tmp_path, 2) / "experiment.json").read_text())["options"]["retries"] == 2


def test_cleanup_right_after_the_run_leaves_nothing(skill: Path, skilltrial: Any, tmp_path: Path) -> None:
    words = ("run", "colours", "--adapter", agent(tmp_path, "touch x"), "--keep-workspaces", "all", "--workspaces-dir", "w")
    kept = skilltrial(*words, "--format", "json")
    assert kept.summary["cleanup"] == {"workspaces": 8} and len(list((tmp_path / "w").rglob("x"))) == 8
    skilltrial("cleanup", "--yes")
    said = skilltrial(*words, "--cleanup", "--format", "json")
    assert not any(said.summary["cleanup"].values()) and not list((tmp_path / "w").rglob("x"))


def test_repetitions_that_do_not_agree_are_a_flaky_group(skill: Path, skilltrial: Any, tmp_path: Path) -> None:
    rules = script(tmp_path / "s.json", {"when": {"case": "2", "repetition": 1}, "text": "RED"}, *HELPFUL)
    said = skilltrial("run", "colours", "--agent", f"fake:{rules}", "-n", 3, "--format", "json")
    rows = {(row["case"], row["arm"]): row for row in said.summary["stability"]}
    flaky = rows["2", "with_skill"]
    assert (flaky["full_passes"], flaky["failures"], flaky["flaky"], flaky["failed_checks"]) == (
        2, 1, True, {"the answer contains 'BLUE'": 1},
    )  # fmt: skip
    assert [key for key, row in rows.items() if row["flaky"]] == [("2", "with_skill")]
    assert "repetitions disagree: 2 (with skill, fake-s)" in skilltrial("report").out


def test_failures_only_and_the_evidence_of_each_check(skill: Path, skilltrial: Any, tmp_path: Path) -> None:
    rules = script(tmp_path / "s.json", {"when": {"case": "3"}, "text": "RED"}, *HELPFUL)
    skilltrial("run", "colours", "--agent", f"fake:{rules}")
    said = skilltrial("report", "-w", "skilltrial-workspace", "-i", 1, "-f", "table", "--failures-only", "--show-evidence")
    assert said.code == 0
    assert "colours/3/" in said.out and "'BLUE' is not in the fi" in said.out and "colours/1/" not in said.out


def test_grade_takes_the_iteration_as_the_workspace_too(skill: Path, skilltrial: Any, tmp_path: Path) -> None:
    skilltrial("run", "colours", "--agent", "fake", "--eval-id", 1)
    said = skilltrial("grade", "-w", iteration(tmp_path), "--recompute-benchmark", "--format", "json")
    assert said.summary["experiment"] == "iteration-1"
    assert len(journal(iteration(tmp_path), "grades")) == 4
