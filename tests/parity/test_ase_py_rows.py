"""Rows of agent-skill-eval's parity table that no other test shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from skilltrial.load import project
from skilltrial.records.config import Config

from ..flows.conftest import script
from ..flows.git_agent import agent
from ..flows.stored import iteration, journal

SUITE = Path(__file__).parents[1] / "data/suites/agent-skill-eval/tidy-json"


def test_its_own_command_line_runs(skilltrial: Any, tmp_path: Path) -> None:
    shutil.copytree(SUITE, tmp_path / "skills/tidy-json")
    said = skilltrial(
        "run", "--skill", "skills/tidy-json", "--evals", "skills/tidy-json/evals/evals.json", "--agent", "fake",
        "--workspace", "eval-workspace", "--concurrency", 2, "--baseline", "--grader-model", "", "--runs", 2, "--timeout", 600,
        "--retries", 1, "--eval-id", "tidy", "--eval-id", "force", "--side-effect-level", "local-only", "--max-cost-per-case", 1,
        "--budget-action", "fail", "--pre-run-command", "true", "--post-run-command", "true", "--format", "json",
    )  # fmt: skip
    assert said.code in (0, 1), said.err
    assert said.summary["coverage"]["graded"] == 8
    assert {row["case"] for row in said.summary["cases"]} == {"tidy", "force"}
    assert (tmp_path / "eval-workspace/iteration-1/summary.json").is_file()


def test_plan_names_what_cannot_be_graded_here(skilltrial: Any, new_skill: Any) -> None:
    new_skill([{"id": 1, "prompt": "p", "assertions": [{"type": "contains", "value": "p"}, "It is polite."]}])
    said = skilltrial("plan", "colours", "--agent", "fake", "--grader-model", "")
    assert said.code == 0 and "set aside" in said.out and "no judge" in said.out


def test_a_named_model_beats_a_bare_one(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    new_skill(colours)
    words = ("plan", "colours", "-a", "claude-code", "-a", "codex", "-m", "codex=gpt-5", "-m", "haiku", "--format", "json")
    said = skilltrial(*words)
    assert [target["name"] for target in json.loads(said.out)["targets"]] == ["claude-code-haiku", "codex-gpt-5"], said.err


def test_a_retry_follows_an_outage_and_nothing_else(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "done"}]}])
    words = ("run", "colours", "--retries", 2, "--no-baseline", "--gate", "none", "--format", "json")

    def attempts(*target: object) -> list[str]:
        skilltrial(*words, *target)
        number = len(list((tmp_path / "skilltrial-workspace").glob("iteration-*")))
        return [row["outcome"] for row in journal(iteration(tmp_path, number), "evidence")]

    assert attempts("--adapter", agent(tmp_path, "exit 1", "down")) == ["infrastructure_error"] * 3
    flag = tmp_path / "flag"
    assert attempts("--adapter", agent(tmp_path, f"[ -e {flag} ] || {{ touch {flag}; exit 1; }}", "once")) == [
        "infrastructure_error", "ok",
    ]  # fmt: skip
    assert attempts("--adapter", agent(tmp_path, "touch made; exit 1", "wrote")) == ["infrastructure_error"]
    failing = script(tmp_path / "s.json", {"outcome": "agent_error", "reason": "lost its way"})
    assert attempts("--target", f"fake:{failing}") == ["agent_error"]


def test_prices_in_a_file_price_the_runs(skilltrial: Any, new_skill: Any, serve: Any, tmp_path: Path) -> None:
    server = serve("BLUE")
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "BLUE"}]}])
    (tmp_path / "prices.json").write_text('{"m": {"prompt": 0, "completion": 0.5}}')
    words = ("run", "colours", "-t", "openai:m", "--base-url", server.url, "--format", "json")
    said = skilltrial(*words, "--pricing-config", "prices.json")
    tokens = {rate["arm"]: rate["tokens"]["output"] for rate in said.summary["rates"]}
    assert said.summary["totals"]["cost_usd"] == pytest.approx(0.5 * sum(tokens.values())), said.err
    assert skilltrial(*words).summary["totals"]["cost_usd"] is None
    (tmp_path / "prices.json").write_text("{")
    assert skilltrial(*words, "--pricing-config", "prices.json").code == 2


def test_every_kind_of_sentence_becomes_its_check(tmp_path: Path) -> None:
    sentences = {
        "A new git branch was created": "git_branch",
        "A commit was created": "git_commit",
        "The branch was pushed to the remote": "git_pushed",
        "A pull request was opened": "pr_created",
        "The file `result.txt` exists": "file_exists",
        "It ran the npm command": "command_ran",
        'The output contains "ok"': "contains",
        "The output is valid JSON": "valid_json",
        "It is polite": "rubric",
    }
    (tmp_path / "demo/evals").mkdir(parents=True)
    (tmp_path / "demo/SKILL.md").write_text("---\nname: demo\ndescription: Does it. Use for it.\n---\nDo it.\n")
    case = {"id": 1, "prompt": "p", "expected_output": "x", "assertions": list(sentences), "side_effect_level": "local-only"}
    (tmp_path / "demo/evals/evals.json").write_text(json.dumps({"skill_name": "demo", "evals": [case]}))
    (suite,) = project(Config(paths=("demo",)), tmp_path).suites
    assert {check.text: check.type for check in suite.cases[0].checks} == sentences
