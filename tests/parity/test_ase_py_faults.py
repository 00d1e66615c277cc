"""The faults that agent-skill-eval 0.7.0 was seen to have, by number, each shown not to be here."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import graders, registry, store
from skilltrial.records.evidence import Event, Evidence, Timing
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Check, FileRef

from ..flows.conftest import script
from ..flows.git_agent import agent, states
from ..flows.stored import iteration, journal

needs_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


@pytest.fixture
def play(skilltrial: Any, new_skill: Any, tmp_path: Path) -> Callable[..., Any]:
    """`play(script, case, files, *options)`: one case, both arms, an agent of one shell script."""

    def run(lines: str, case: dict[str, Any], files: dict[str, str] | None = None, *options: object) -> Any:
        new_skill([{"id": 1, "prompt": "Do it.", **case}], files=files)
        return skilltrial("run", "colours", "--adapter", agent(tmp_path, lines), "-n", 1, "--format", "json", *options)

    return run


def by_arm(tmp_path: Path) -> dict[str, dict[str, str]]:
    return {cell.split("/")[3]: found for cell, found in states(iteration(tmp_path)).items()}


# ---------------------------------------------------------------- 1 to 3: state
@needs_git
def test_01_a_clean_tree_is_clean_in_both_arms_with_fixtures_and_under_a_contract(play: Any, tmp_path: Path) -> None:
    case = {
        "files": ["evals/files/a.txt"],
        "assertions": [{"type": "git_clean"}],
        "side_effect_contract": {"allow_worktree_changes": False},
    }
    said = play("true", case, {"evals/files/a.txt": "one"})
    assert {state for row in by_arm(tmp_path).values() for state in row.values()} == {"passed"}
    assert said.summary["lifts"][0]["lift"] == 0.0


@needs_git
def test_02_an_agent_that_adds_everything_does_not_commit_the_skill(play: Any, tmp_path: Path) -> None:
    lines = "echo x > out.txt; git add -A && git commit -qm all; git show --name-only --format= > listed.txt"
    check = {"type": "file_not_contains", "path": "listed.txt", "contains": "SKILL.md"}
    play(lines, {"checks": [{"id": "c", **check}]})
    assert by_arm(tmp_path) == {"with_skill": {"c": "passed"}, "without_skill": {"c": "passed"}}


@needs_git
def test_03_a_regrading_keeps_every_row_and_every_verdict_on_files(play: Any, skilltrial: Any, tmp_path: Path) -> None:
    checks = [
        {"id": "made", "type": "file_exists", "path": "out.txt"},
        {"id": "kept", "type": "file_unchanged", "path": "inputs/evals/files/a.txt"},
        {"id": "cmd", "type": "command", "shell": "test -f out.txt && test -f inputs/evals/files/a.txt"},
        {"id": "clean", "type": "git_clean"},
    ]
    case = {"files": ["evals/files/a.txt"], "checks": checks, "side_effect_contract": {"allow_new_commits": False}}
    said = play(
        "[ $ARM_HAS_SKILL = 0 ] || echo x > out.txt", case, {"evals/files/a.txt": "one"},
        "--post-grade-command", """echo '[{"text": "hook", "passed": true}]'""", "--max-duration-per-case", 0,
    )  # fmt: skip
    before = by_arm(tmp_path)
    methods = {grade["method"] for line in journal(iteration(tmp_path), "grades") for grade in line["grades"]}
    assert methods == {"check", "contract", "hook", "budget"}
    again = skilltrial("grade", "--format", "json")
    assert by_arm(tmp_path) == before
    assert again.summary["lifts"] == said.summary["lifts"]


# ---------------------------------------------------------------- 4, 5: many, and none
def test_04_suites_with_equal_ids_run_side_by_side_without_touching_each_other(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    names = [f"skill-{number}" for number in range(4)]
    for name in names:
        checks = [{"id": "own", "type": "file_contains", "path": "mine.txt", "contains": name}]
        prompt = f"Say {name}. fake-create-file: mine.txt"
        new_skill([{"id": "same", "prompt": prompt, "checks": checks}], name=name)
    rules = [{"when": {"skill": name}, "text": name} for name in names]
    said = skilltrial(
        "run", *[f"./{name}" for name in names], "--target", f"fake:{script(tmp_path / 's.json', *rules)}", "-n", 5, "-c", 8,
        "--format", "json",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert said.summary["coverage"] | {"by_arm": {}} == {
        "planned": 40, "finished": 40, "graded": 40, "set_aside": 0, "failed_measurements": {}, "by_arm": {},
    }  # fmt: skip
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}


def test_05_an_arm_without_a_completed_run_has_no_rate_and_the_exit_code_says_so(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}])
    down = script(tmp_path / "s.json", {"outcome": "infrastructure_error", "reason": "down"})
    said = skilltrial("run", "colours", "--target", f"fake:{down}", "--retries", 0, "--format", "json")
    assert said.code == 2
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {None}
    missing = skilltrial("run", "colours", "--adapter", tmp_path / "not-there")
    assert missing.code == 2 and "not-there" in missing.err


# ---------------------------------------------------------------- 6, 8, 9, 11: verdicts
class Bare:
    """A run that left its record alone."""

    stored = False

    def __init__(self, text: str, events: tuple[Event, ...] | None, outcome: str = "ok") -> None:
        timing = Timing(started_at="2026-01-01T00:00:00Z", duration_s=1.0)
        self.record = Evidence(
            cell="s/c/t/with_skill/1", inputs="i", attempt=1, outcome=outcome, text=text, events=events, timing=timing
        )  # type: ignore[arg-type]

    def read(self, path: str, limit: int = 0) -> bytes | None:
        return None

    def fixture(self, path: str) -> FileRef | None:
        return None

    def masked(self, path: str | None) -> bool:
        return False

    def unpack(self, into: Path) -> None: ...


def verdict(type_: str, options: dict[str, Any], view: Bare) -> str:
    check = Check(id="c", type=type_, text=type_, options=options)
    case = Case(id="c", prompt="p", where=Where(file="f"))
    (grade,) = graders.grade(case, [check], view, None)  # type: ignore[arg-type]
    return grade.state


def ran(command: str, output: str = "", ok: bool | None = True) -> tuple[Event, ...]:
    call = Event(kind="tool_call", name="Bash", call="1", arguments={"command": command})
    return (call, Event(kind="tool_result", name="Bash", call="1", ok=ok, text=output))


@pytest.mark.parametrize(
    ("output", "expected"),
    [("3 passed, 0 failed", "passed"), ("error handling: ok\n12 passed in 0.3s", "passed"), ("2 passed, 1 failed", "failed")],
)
def test_06_a_test_run_that_counts_no_failure_has_passed(output: str, expected: str) -> None:
    assert verdict("tests_pass", {}, Bare("", ran("pytest -q", output))) == expected


def test_08_a_command_that_was_only_mentioned_did_not_run() -> None:
    talk = "I would never run rm -rf here."
    assert verdict("command_not_ran", {"command": "rm -rf"}, Bare(talk, ran("ls"))) == "passed"
    assert verdict("command_ran", {"command": "rm -rf"}, Bare(talk, ran("ls"))) == "failed"
    assert verdict("command_not_ran", {"command": "rm -rf"}, Bare(talk, ran("rm -rf x"))) == "failed"
    assert verdict("command_not_ran", {"command": "rm -rf"}, Bare(talk, None)) == "ungraded"


def test_09_a_run_that_timed_out_or_failed_passes_no_check_by_its_absence(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    checks = [{"type": "file_not_exists", "path": "x"}, {"type": "command_not_ran", "command": "rm"}]
    new_skill([{"id": 1, "prompt": "p", "checks": checks}, {"id": 2, "prompt": "q", "checks": checks}])
    rules = script(tmp_path / "s.json", {"when": {"case": "1"}, "sleep": 60}, {"outcome": "agent_error", "reason": "crashed"})
    said = skilltrial("run", "colours", "--target", f"fake:{rules}", "--timeout", "0.1s", "--format", "json")
    assert said.code == 2
    assert journal(iteration(tmp_path), "grades") == []
    assert said.summary["coverage"]["failed_measurements"] == {"timeout": 2, "agent_error": 2}
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {None}


def test_11_a_cell_of_which_nothing_was_graded_is_not_a_zero(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "p", "assertions": ["It is polite."]}])
    silent = script(tmp_path / "s.json", {"when": {"judge": True}, "text": "no verdict"}, {"text": "hello"})
    said = skilltrial("run", "colours", "--target", "fake", "--judge", f"fake:{silent}", "--format", "json")
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {None}
    assert said.summary["coverage"]["failed_measurements"] == {"judge_error": 2}
    assert said.code == 2


# ---------------------------------------------------------------- 7, 10, 12, 13: folders
def test_07_paths_are_absolute_wherever_the_workspace_was_given_relative(play: Any, tmp_path: Path) -> None:
    hook = 'printf "%s\\n" "$ASE_WORKSPACE_PATH" "$ASE_OUTPUT_DIR" "$ASE_GRADING_PATH" "$ASE_ITERATION_DIR" >> paths.txt'
    said = play(
        "touch here.txt", {"checks": [{"type": "file_exists", "path": "here.txt"}]}, None, "--workspace", "some/where",
        "--post-grade-command", hook,
    )  # fmt: skip
    assert said.code == 0, said.err
    lines = (tmp_path / "paths.txt").read_text().split()
    assert len(lines) == 8 and all(Path(line).is_absolute() for line in lines)


def test_10_a_second_run_never_mixes_with_the_first(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}])
    skilltrial("run", "colours", "--target", "fake", "-n", 3)
    said = skilltrial("run", "colours", "--target", "fake", "-n", 1, "--format", "json")
    assert said.summary["experiment"] == "iteration-2"
    assert said.summary["coverage"]["planned"] == 2
    assert skilltrial("run", "colours", "--target", "fake", "--iteration", 1).code == 2


def test_12_ids_with_a_slash_are_found_again_by_every_reader(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": "a/b", "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}])
    said = skilltrial("run", "colours", "--target", "fake", "--format", "json")
    assert said.code == 0, said.err
    (case,) = {row["case"] for row in said.summary["cases"]}
    assert "/" not in case
    assert skilltrial("grade", "--format", "json").summary["coverage"] == said.summary["coverage"]
    assert skilltrial("report", "--format", "json").summary["rates"] == said.summary["rates"]
    assert "2 of 2" in skilltrial("status").out
    assert skilltrial("run", "colours", "--target", "fake", "--eval-id", "a/b").code == 0


def test_13_the_tenth_experiment_comes_after_the_second(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}])
    for _ in range(2):
        skilltrial("run", "colours", "--target", "fake")
    (tmp_path / "skilltrial-workspace" / "iteration-2").rename(tmp_path / "skilltrial-workspace" / "iteration-10")
    assert store.locate(tmp_path / "skilltrial-workspace", "latest").name == "iteration-10"
    assert store.locate(tmp_path / "skilltrial-workspace", "previous").name == "iteration-1"
    assert skilltrial("run", "colours", "--target", "fake", "--format", "json").summary["experiment"] == "iteration-11"


# ---------------------------------------------------------------- 15: what the baseline sees
LOOKS = """#!{python}
import json, os, sys
from pathlib import Path
if sys.argv[1:] == ["--version"]:
    sys.exit(print("9.9.9 (fake)"))
sys.stdin.read()
KNOWN = ("SKILL.md", "CLAUDE.md", "AGENTS.md", "plugin.json", "settings.json", "config.toml", "opencode.json")
here, homes = Path.cwd(), [value for name, value in os.environ.items() if name == "HOME" or name.endswith(("_HOME", "CONFIG_DIR"))]
seen = [path for place in (here, *map(Path, homes)) for path in place.rglob("*") if path.name in KNOWN]
seen += [path for above in here.parents for name in KNOWN for path in (*above.glob(name), *above.glob(".*/skills/*/" + name))]
with open({log!r}, "a") as log:
    log.write(json.dumps({{str(path): path.read_text() for path in seen}}) + chr(10))
print(Path({recording!r}).read_text(), end="")
"""
"""An agent program that reads all that such programs read by themselves, from its folder, those above it and its home."""
RECORDED = {"claude-code": "claude-code/2.1.332", "codex": "codex/0.171.0", "opencode": "opencode/1.18.33"}
MINE = "OF-THE-USER"


@pytest.fixture
def looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """`looking("codex")` puts such a program first on PATH, for a user with skills, instructions, plugins and settings."""
    places = [
        f"{at}/skills/{skill}/SKILL.md" for at in (".claude", ".codex", ".agents", ".opencode") for skill in ("a", "colours")
    ]
    places += [".claude/CLAUDE.md", ".claude/settings.json", ".claude/plugins/p/.claude-plugin/plugin.json", ".codex/AGENTS.md"]
    places += [
        ".codex/config.toml",
        "CLAUDE.md",
        "AGENTS.md",
        *(f".config/opencode/{at}" for at in ("AGENTS.md", "opencode.json")),
    ]
    for place in [tmp_path / above / path for above in ("home", "") for path in places]:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"---\nname: {place.parent.name}\ndescription: {MINE}\n---\n{MINE}\n")

    def program(name: str) -> Path:
        path, log = tmp_path / "bin" / registry.get("backends", name).program, tmp_path / "looks.jsonl"
        recording = Path(__file__).parents[1] / "recordings" / RECORDED[name] / "answer.jsonl"
        path.parent.mkdir()
        path.write_text(LOOKS.format(python=sys.executable, log=str(log), recording=str(recording)))
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        for variable in ("ANTHROPIC_API_KEY", "CODEX_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(variable, "k" * 20)
        return log

    return program


@pytest.mark.parametrize("name", RECORDED)
def test_15_the_baseline_sees_no_skill_no_instructions_no_plugin_and_no_settings_of_the_user(
    name: str, skilltrial: Any, new_skill: Any, looking: Callable[[str], Path]
) -> None:
    log = looking(name)
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}])
    said = skilltrial("run", "colours", "-t", f"{name}:m", "--sandbox", "none", "--no-certify", "-c", 1, "--format", "json")
    assert said.summary["coverage"]["finished"] == 2, said.err
    looks: list[dict[str, str]] = [json.loads(line) for line in log.read_text().splitlines()]
    assert not [path for look in looks for path, text in look.items() if MINE in text]
    skills = sorted([[Path(path).parent.name for path in look if path.endswith("SKILL.md")] for look in looks], key=len)
    assert skills == [[], ["colours"]], "the baseline sees none, the other arm the one under test"


# ---------------------------------------------------------------- 14, 16 to 18
def test_14_a_row_without_a_verdict_is_no_full_pass_in_any_table(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    checks = [{"id": "a", "type": "contains", "value": "p"}, {"id": "b", "type": "rubric", "text": "Polite."}]
    new_skill([{"id": 1, "prompt": "p", "checks": checks}])
    half = script(tmp_path / "s.json", {"when": {"judge": True, "repetition": 1}, "passed": {}}, {"when": {"judge": True}})
    said = skilltrial("run", "colours", "--target", "fake", "--judge", f"fake:{half}", "-n", 2, "--format", "json")
    for rate in said.summary["rates"]:
        assert (rate["full_pass_rate"], rate["graded"], rate["ungraded"]) == (1.0, 1, 1)
    assert all(row["full_passes"] <= 1 for row in said.summary["stability"])


def test_16_words_in_brackets_reach_the_terminal(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}])
    rules = script(tmp_path / "s.json", {"outcome": "agent_error", "reason": "stopped by [red]rule[/red] [label]"})
    skilltrial("run", "colours", "--target", f"fake:{rules}")
    assert "[red]rule[/red] [label]" in skilltrial("status").out


def test_17_resume_runs_the_missing_side_alone(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}])
    up = tmp_path / "up"
    lines = f"[ -e {up} ] || [ $ARM_HAS_SKILL = 1 ] || exit 1"
    skilltrial("run", "colours", "--adapter", agent(tmp_path, lines), "-n", 1, "--retries", 0)
    up.touch()
    skilltrial("resume")
    rows = [(row["cell"].split("/")[3], row["outcome"]) for row in journal(iteration(tmp_path), "evidence")]
    assert sorted(rows) == [("with_skill", "ok"), ("without_skill", "infrastructure_error"), ("without_skill", "ok")]


def test_18_a_suite_without_a_case_is_no_success(skilltrial: Any, new_skill: Any) -> None:
    new_skill([])
    said = skilltrial("run", "colours", "--target", "fake")
    assert said.code == 2
    assert "Traceback" not in said.err


# ---------------------------------------------------------------- what it does that we do too
def test_a_forced_case_calls_for_the_skill_in_the_arm_that_has_it_and_has_a_lift_row_of_its_own(
    skilltrial: Any, new_skill: Any
) -> None:
    checks = [{"id": "c", "type": "contains", "value": "use the colours skill."}]
    cases = [{"id": n, "prompt": "Which colour?", "checks": checks, "force_skill_invocation": n == 1} for n in (1, 2)]
    new_skill(cases)
    said = skilltrial("run", "colours", "--target", "fake", "--format", "json")
    lifts = {row["activation"]: row["lift"] for row in said.summary["lifts"]}
    assert lifts == {"natural": 0.0, "forced": 1.0}


def test_levels_choose_cases_and_an_unknown_one_is_refused(skilltrial: Any, new_skill: Any) -> None:
    checks = [{"type": "contains", "value": "p"}]
    levels = ("static", "local-only", "live-safe")
    new_skill([{"id": level, "prompt": "p", "checks": checks, "side_effect_level": level} for level in levels])
    said = skilltrial("run", "colours", "--target", "fake", "--side-effect-level", "static", "--format", "json")
    assert {row["case"] for row in said.summary["cases"]} == {"static"}
    assert skilltrial("run", "colours", "--target", "fake", "--side-effect-level", "stat").code == 2
    assert skilltrial("run", "colours", "--target", "fake", "--side-effect-level", "live-external").code == 2


def test_grading_json_has_the_keys_that_its_readers_know(play: Any, tmp_path: Path) -> None:
    play("true", {"checks": [{"id": "c", "type": "contains", "value": "done"}]}, None, "--max-duration-per-case", 0)
    (cell,) = (iteration(tmp_path) / "colours/eval-1").glob("*/with_skill/run-1")
    grading = json.loads((cell / "grading.json").read_text())
    assert [(row["text"], row["passed"], row["method"]) for row in grading["assertion_results"]][1] == (
        "budget:duration_s", False, "budget",
    )  # fmt: skip
    assert grading["summary"]["total"] == 2
    timing = json.loads((cell / "timing.json").read_text())
    assert timing["budget_exceeded"] is True and "limit 0" in timing["budget_reason"]
