"""What is written in agent-skill-eval's form has the files and keys that its own trees have, and our own folders have them too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ..flows.conftest import script
from ..flows.stored import iteration
from .keys import key_paths

THEIRS = Path(__file__).parents[1] / "data/foreign/ase-py"
AGENTS = ("claude-code", "codex", "opencode")
pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


def keys(root: Path) -> dict[str, set[str]]:
    """By file name, the key paths of all JSON files, the name of the one agent in place of any."""
    found: dict[str, set[str]] = {}
    for path in root.rglob("*.json"):
        found.setdefault(path.name, set()).update(key_paths(json.loads(path.read_text())))
    for name, paths in found.items():
        for other in AGENTS:
            paths = {path.replace(other, "fake") for path in paths}
        found[name] = paths
    return found


@pytest.fixture
def ran(skilltrial: Any, new_skill: Any, tmp_path: Path) -> Path:
    """An experiment with all there is: a judged and a structured assertion, contract, hooks, a limit, an error, runs skipped."""
    contract = {"allow_new_local_branches": True, "allow_new_remote_branches": True, "allow_new_commits": False}
    contract |= {"allow_new_review_requests": True, "allow_worktree_changes": True}
    structured = [
        {"type": "json_path", "text": "t", "path": "out.json", "json_path": "a.0", "equals": 1},
        {"type": "file_contains", "path": "out.json", "contains": "a"},
        {"type": "command_not_ran", "command": "rm"},
    ]
    new_skill(
        [
            {"id": 2, "prompt": "Fail.", "assertions": [{"type": "git_clean"}], "side_effect_level": "static"},
            {"id": 1, "prompt": "Do it.", "expected_output": "x", "assertions": structured, "side_effect_contract": contract},
            {"id": 3, "prompt": "Never run.", "assertions": [{"type": "git_clean"}]},
        ]
    )
    broken = {"when": {"case": "2"}, "outcome": "agent_error", "reason": "crashed"}
    long = {"when": {"case": "3"}, "text": "word", "usage": {"output_tokens": 200, "cost_usd": 0.1}}
    rules = script(tmp_path / "s.json", broken, long, {"when": {"arm": "with_skill"}, "files": {"out.json": '{"a": [1]}'}})
    (tmp_path / "skilltrial.yaml").write_text(f"targets: [{{backend: fake, model: {rules}, name: fake}}]\n")
    said = skilltrial(
        "run", "colours", "-n", 2, "--retries", 0, "-c", 1, "--max-output-tokens-per-case", 50,
        "--budget-action", "stop-suite", "--pre-run-command", "true", "--post-run-command", "true", "--gate", "none", "--tree",
    )  # fmt: skip
    assert iteration(tmp_path).is_dir(), said.err
    return iteration(tmp_path)


def test_a_tree_written_in_its_form_has_every_file_and_key(ran: Path, skilltrial: Any, tmp_path: Path) -> None:
    assert skilltrial("export", "--format", "ase-py", "--output", "theirs").code == 0
    ours, wanted = keys(tmp_path / "theirs"), keys(THEIRS)
    absent = {name: paths - ours.get(name, set()) for name, paths in wanted.items()}
    assert {name: sorted(paths) for name, paths in absent.items() if paths} == {}
    summary = json.loads((tmp_path / "theirs/summary.json").read_text())
    assert summary["failed_runs"] and summary["cost"]["runs_total"] and summary["stability"]["groups"] == []


def test_our_own_folder_of_a_run_has_every_key_of_theirs(ran: Path) -> None:
    ours, wanted = keys(ran), keys(THEIRS)
    for name in ("grading.json", "timing.json", "run_meta.json", "pre_state.json", "post_state.json"):
        told = {"exit_code", "cost_usd_cli", "iteration"}  # an outcome, a note, and `run_id` tell these
        assert wanted[name] - ours[name] - told == set(), name


def test_cached_tokens_that_nobody_told_are_unknown_in_every_file_and_read_back(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"id": "a", "type": "contains", "value": "p"}]}])
    silent = {"when": {"arm": "with_skill"}, "usage": {"input_tokens": 100, "output_tokens": 5}}
    told = {"usage": {"input_tokens": 50, "cached_tokens": 20, "output_tokens": 5}}
    skilltrial("run", "colours", "--target", f"fake:{script(tmp_path / 's.json', silent, told)}", "--gate", "none", "--tree")
    ours = {path.parts[-3]: json.loads(path.read_text()) for path in iteration(tmp_path).rglob("timing.json")}
    assert {arm: timing["non_cached_input_tokens"] for arm, timing in ours.items()} == {"with_skill": None, "without_skill": 30}

    assert skilltrial("export", "--format", "ase-py", "--output", tmp_path / "theirs").code == 0
    (summary,) = (tmp_path / "theirs").rglob("summary.json")
    tokens = json.loads(summary.read_text())["tokens"]
    assert (tokens["input"], tokens["cached"], tokens["non_cached_input"], tokens["cached_pct"]) == (150, 20, 30, 40.0)
    back = skilltrial("report", summary.parent, "--format", "json").summary
    assert {rate["arm"]: rate["tokens"]["cached"] for rate in back["rates"]} == {"with_skill": None, "without_skill": 20}
