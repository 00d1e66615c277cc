"""skill-ab-eval's harness axis: several programs on one task or suite, by its own command lines, with ties that are ties."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..flows.conftest import script

TESTS = Path(__file__).parents[1]
FAKE = TESTS / "fakes" / "agent.py"
CLAUDE = """
import json, os, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("2.1.332 (Claude Code)"))
asked = sys.stdin.read()
text = json.dumps({"score": 7, "evidence": "await"}) if "Score the quality" in asked else "await pauses a coroutine."
print(json.dumps({"type": "assistant", "message": {"id": "m", "model": "claude-x", "role": "assistant",
    "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 5, "output_tokens": 2}}}))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": text,
    "usage": {"input_tokens": 5, "output_tokens": 2}}))
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skilltrial: Any) -> Path:
    """claude, codex and gemini on PATH, with keys, none of them real."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("claude", CLAUDE), ("codex", FAKE.read_text()), ("gemini", FAKE.read_text())):
        (folder / name).write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        (folder / name).chmod(0o755)
    for name, version in (("codex", "0.171.0"), ("gemini", "0.61.0")):
        recording = TESTS / "recordings" / name / version / "noskill.jsonl"
        (folder / f"{name}.json").write_text(json.dumps({"recording": str(recording), "version": version}))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "secret-of-the-user-1234567890")
    return folder


def test_the_first_documented_task_command_runs_with_a_quality_score_and_no_assertion(skilltrial: Any, programs: Path) -> None:
    said = skilltrial(
        "task", "Explain async/await to a beginner", "--runners", "claude,codex,gemini", "--judge", "claude", "--trials", "1",
        "--sandbox", "none", "--format", "json",
    )  # fmt: skip
    assert said.code == 0, said.err
    summary = said.summary
    assert summary["metric"] == "score"
    assert [(rate["target"], rate["mean_score"]) for rate in summary["rates"]] == [
        ("claude-code", 0.7), ("codex", 0.7), ("gemini", 0.7),
    ]  # fmt: skip
    assert summary["lifts"] == []
    board = summary["leaderboard"]
    assert {(row["rank_low"], row["rank_high"]) for row in board} == {(1, 3)}
    assert [row["note"] for row in board] == ["", "program and model differ", "program and model differ"]
    assert any("also under test" in text for text in summary["warnings"])


def test_without_a_target_several_agents_are_a_question_with_a_line_to_copy(
    skilltrial: Any, new_skill: Any, colours: Any, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_skill(colours)
    monkeypatch.setenv("PATH", str(programs))
    said = skilltrial("plan", "colours")
    assert said.code == 2
    assert "several agents are installed: claude-code, codex, gemini" in said.err and "--target claude-code" in said.err


def test_without_a_target_the_one_agent_that_is_there_is_taken_and_said(
    skilltrial: Any, new_skill: Any, colours: Any, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_skill(colours)
    monkeypatch.setenv("PATH", str(programs))
    for name in ("codex", "gemini"):
        (programs / name).unlink()
    said = skilltrial("run", "colours", "--eval-id", 1, "--gate", "none", "--sandbox", "none", "--no-certify", "--format", "json")
    assert said.code == 0, said.err
    assert "no --target given: using claude-code" in said.err
    assert {rate["target"] for rate in said.summary["rates"]} == {"claude-code"}


def rules(*texts: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"when": {"arm": arm}, "text": text} for arm, text in texts]


@pytest.fixture
def three(skilltrial: Any, new_skill: Any, tmp_path: Path) -> Callable[..., Any]:
    """Three targets: two that gain from the skill, one that does not."""

    def run(*more: object) -> Any:
        checks = [{"id": "blue", "type": "contains", "value": "BLUE"}]
        new_skill([{"id": n, "prompt": f"Colour {n}?", "checks": checks} for n in range(1, 7)])
        good = rules(("with_skill", "BLUE"), ("without_skill", "I do not know"))
        for name, played in (("one", good), ("two", good), ("three", rules(("with_skill", "no"), ("without_skill", "no")))):
            script(tmp_path / f"{name}.json", *played)
        targets = [part for name in ("one", "two", "three") for part in ("--target", f"fake:{tmp_path / name}.json")]
        return skilltrial("run", "colours", *targets, "-n", 3, "--gate", "none", *more)

    return run


def test_each_target_has_its_own_lift_and_equal_ones_are_tied(three: Any) -> None:
    summary = three("--format", "json").summary
    assert {row["target"]: row["lift"] for row in summary["lifts"]} == pytest.approx(
        {"fake-one": 1.0, "fake-two": 1.0, "fake-three": 0.0}
    )
    assert {row["target"]: row["point_label"] for row in summary["lifts"]}["fake-one"] == "clear positive"
    assert [(row["target"], row["rank_low"], row["rank_high"]) for row in summary["leaderboard"]] == [
        ("fake-one", 1, 2), ("fake-two", 1, 2), ("fake-three", 3, 3),
    ]  # fmt: skip


def test_ties_are_shown_as_ties_in_every_report(three: Any, skilltrial: Any, tmp_path: Path) -> None:
    three()
    folder = tmp_path / "skilltrial-workspace/iteration-1"
    terminal = [" ".join(line.split()) for line in skilltrial("report").out.splitlines()]
    assert sum(line.startswith("1-2 (tied) fake-") for line in terminal) == 2
    assert any(line.startswith("3 fake-three") for line in terminal)
    markdown = skilltrial("report", "--format", "markdown").out
    assert "| 1-2 (tied) | fake-one |" in markdown and "| 3 | fake-three |" in markdown
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count("<td>1-2 (tied)</td>") == 2 and "Leaderboard" in page


def test_one_target_has_no_leaderboard_in_reports(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    new_skill(colours)
    said = skilltrial("run", "colours", "--target", "fake", "--gate", "none")
    assert "tied" not in said.out and "rank" not in said.out


@pytest.mark.parametrize("skill", [False, True])
def test_a_task_typed_by_hand_runs_with_and_without_a_skill(skilltrial: Any, new_skill: Any, tmp_path: Path, skill: bool) -> None:
    new_skill([{"id": 1, "prompt": "Not used."}])
    played = script(tmp_path / "t.json", *rules(("with_skill", "BLUE"), ("without_skill", "no")))
    judge = script(
        tmp_path / "j.json",
        {"when": {"judge": True, "contains": "BLUE"}, "passed": True},
        {"when": {"judge": True}, "passed": False},
    )
    more = ["--skill", "colours"] if skill else []
    said = skilltrial(
        "task", "Which colour?", *more, "--assert", "It is blue.", "--runners", f"fake:{played},fake:other", "--judge", f"fake:{judge}",
        "--gate", "none", "--format", "json",
    )  # fmt: skip
    assert said.code == 0, said.err
    arms = {rate["arm"] for rate in said.summary["rates"]}
    assert arms == ({"with_skill", "without_skill"} if skill else {"without_skill"})
    assert {row["target"] for row in said.summary["leaderboard"]} == {"fake-t", "fake-other"}
    assert all(rate["cells"] == 3 for rate in said.summary["rates"])


@pytest.mark.parametrize("place", ["runners", ".", "colours/evals/runners", "colours/evals", "colours/runners"])
def test_a_runner_script_is_found_here_and_next_to_the_suite(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, place: str
) -> None:
    new_skill(colours)
    (tmp_path / place).mkdir(exist_ok=True)
    (tmp_path / place / "mine.sh").write_text('case "$PROMPT" in *BLUE*) echo BLUE;; *) echo no;; esac\n')
    said = skilltrial("run", "colours", "--runners", "mine", "--format", "json")
    assert said.code == 0, said.err
    assert said.summary["lifts"][0]["lift"] == 1.0


def test_a_runner_is_also_found_by_path_and_one_that_is_nowhere_is_told_before_the_first_run(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    new_skill(colours)
    (tmp_path / "elsewhere.sh").write_text("echo BLUE\n")
    assert skilltrial("run", "colours", "--target", "runner:./elsewhere.sh", "--gate", "none").code == 0
    said = skilltrial("run", "colours", "--runners", "nobody")
    assert said.code == 2 and "there is no runner 'nobody'; looked for" in said.err and "runners/nobody.sh" in said.err


def test_the_commands_of_the_guide_are_commands(skilltrial: Any) -> None:
    """Their options exist; that they run is shown above and in tests/flows/test_pairs.py."""
    import shlex

    from skilltrial.cli import skilltrial as group

    page = (TESTS.parent / "docs" / "guides" / "comparing-agents.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in page.splitlines() if line.startswith("    skilltrial ")]
    assert len(lines) == 4
    for line in lines:
        _, name, *args = shlex.split(line)
        command = group.get_command(group.make_context("skilltrial", ["--help"], resilient_parsing=True), name)
        assert command is not None
        command.make_context(name, args)


def test_the_four_words_of_skill_ab_eval_label_each_targets_lift(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    """One case with ten words to say; each target says so many with the skill and five without."""
    checks = [{"id": f"w{n}", "type": "contains", "value": f"word{n}."} for n in range(10)]
    new_skill([{"id": 1, "prompt": "Say your words.", "checks": checks}])
    words = {"a": (8, "clear positive"), "b": (6, "marginal"), "c": (5, "no measurable effect"), "d": (4, "negative")}
    targets = []
    for name, (count, _) in words.items():
        said = {"with_skill": count, "without_skill": 5}
        rules = [{"when": {"arm": arm}, "text": " ".join(f"word{n}." for n in range(many))} for arm, many in said.items()]
        (tmp_path / f"{name}.json").write_text(json.dumps({"rules": rules}))
        targets += ["--target", f"fake:{name}.json"]
    summary = skilltrial("run", "colours", *targets, "--format", "json").summary
    assert {row["target"][-1]: row["point_label"] for row in summary["lifts"]} == {
        name: word for name, (_, word) in words.items()
    }


@pytest.mark.parametrize(("judge", "kin"), [("openai:gpt-5-mini", True), ("openai:qwen3-32b", False)])
def test_a_judge_of_the_makers_own_family_is_named(
    skilltrial: Any, new_skill: Any, monkeypatch: pytest.MonkeyPatch, judge: str, kin: bool
) -> None:
    new_skill([{"id": 1, "prompt": "Which colour?", "assertions": ["It names a colour."]}])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123")
    said = skilltrial("plan", "colours", "--target", "openai:gpt-5", "--judge", judge)
    assert ("it may favour its kin" in said.out + said.err) is kin


def test_a_judge_called_openai_takes_the_model_of_their_options(skilltrial: Any, tmp_path: Path) -> None:
    found = skilltrial("plan", "--runners", "fake", "--judge", "openai", "--openai-model", "m1", *_a_skill(tmp_path))
    assert "judge judge-openai-m1" in found.out, found.err
    found = skilltrial("plan", "--runners", "fake", "--judge", "openai", *_a_skill(tmp_path))
    assert "judge judge-openai-gpt-4o-mini" in found.out, found.err


def test_their_list_of_runners_is_named(skilltrial: Any) -> None:
    assert "skilltrial agents" in skilltrial("runners").err


def _a_skill(tmp_path: Path) -> list[str]:
    folder = tmp_path / "notes"
    (folder / "evals").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text("---\nname: notes\ndescription: Notes.\n---\nBody.\n")
    suite = {"skill_name": "notes", "evals": [{"id": "1", "prompt": "Say hi", "assertions": ["It greets."]}]}
    (folder / "evals" / "evals.json").write_text(json.dumps(suite))
    return [str(folder)]
