"""What a run did to its repository, recorded by what changed, alike in both arms."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import store

from .git_agent import agent, states
from .stored import iteration, journal, packed

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
ALL = [{"id": type_, "type": type_} for type_ in ("git_branch", "git_commit", "git_pushed", "git_clean")]


@pytest.fixture
def play(skilltrial: Any, new_skill: Any, tmp_path: Path) -> Callable[..., dict[str, dict[str, str]]]:
    """`play(script, case, files, *options)` runs one case with an agent of that shell script; the states of its checks by arm."""

    def run(
        script: str, case: dict[str, Any] | None = None, files: dict[str, str] | None = None, *options: object
    ) -> dict[str, dict[str, str]]:
        new_skill([{"id": 1, "prompt": "Do it.", "checks": ALL, **(case or {})}], files=files)
        said = skilltrial("run", "colours", "--adapter", agent(tmp_path, script), "-n", 1, *options)
        assert "Traceback" not in said.err
        assert journal(iteration(tmp_path), "evidence"), said.err
        return {cell.split("/")[3]: found for cell, found in states(iteration(tmp_path)).items()}

    return run


COMMITS = "git checkout -q -b feat && echo x > out.txt && git add . && git commit -qm 'Add out'"


def both(**states_: str) -> dict[str, dict[str, str]]:
    return {"with_skill": states_, "without_skill": states_}


def test_a_run_that_commits_on_a_new_branch_is_seen_to(play: Any, tmp_path: Path) -> None:
    found = play(COMMITS)
    assert found == both(git_branch="passed", git_commit="passed", git_pushed="failed", git_clean="passed")
    for evidence in packed(iteration(tmp_path)):
        delta = evidence["delta"]["git"]
        assert (delta["branches"], delta["branch"], delta["branch_before"]) == (["feat"], "feat", "main")
        assert [commit.partition(" ")[2] for commit in delta["commits"]] == ["Add out"]
        assert delta["head"] == delta["branch_heads"]["feat"] != delta["head_before"]
        assert evidence["delta"]["created"][0]["path"] == "out.txt"


def test_the_staged_skill_and_the_fixtures_are_never_part_of_git_clean(play: Any) -> None:
    """Known fault 1: the tree was dirty in the arm with the skill alone, and wherever there were fixtures."""
    case = {"files": ["evals/files/a.txt"], "side_effect_contract": {"allow_worktree_changes": False}}
    found = play("true", case, {"evals/files/a.txt": "one"})
    quiet = {"git_clean": "passed", "contract: no changes of the work tree": "passed"}
    assert {arm: {name: row[name] for name in quiet} for arm, row in found.items()} == both(**quiet)


def test_fixtures_that_are_staged_only_are_no_change_but_a_change_of_them_is(play: Any) -> None:
    case = {"files": ["evals/files/a.txt"], "stage_files": True}
    files = {"evals/files/a.txt": "one"}
    spot = "inputs/evals/files/a.txt"
    script = f'[ "$(git diff --cached --name-only)" = {spot} ] || touch odd.txt; [ $ARM_HAS_SKILL = 0 ] || echo two > {spot}'
    found = play(script, case, files)
    assert {arm: row["git_clean"] for arm, row in found.items()} == {"with_skill": "failed", "without_skill": "passed"}


def test_git_add_all_never_commits_the_skill(play: Any, tmp_path: Path) -> None:
    """Known fault 2."""
    play(f"{COMMITS}; git show --name-only --format= > ../listed; cp ../listed seen.txt")
    for evidence in packed(iteration(tmp_path)):
        seen = next(file for file in evidence["delta"]["created"] if file["path"] == "seen.txt")
        assert store.open_(iteration(tmp_path)).blob(seen["digest"]) == b"out.txt\n"


def test_a_skill_that_git_was_told_to_see_is_left_out_all_the_same(play: Any) -> None:
    found = play("echo > .git/info/exclude; touch x; rm x")
    assert {row["git_clean"] for row in found.values()} == {"passed"}


def test_a_negative_control_passes_when_nothing_was_made_and_fails_when_something_was(play: Any) -> None:
    sentences = ["A new git branch was created", "A git commit was created", "The branch was pushed"]
    case = {"checks": [], "assertions": sentences, "should_trigger": False, "expected_output": "x"}
    found = play(f"[ $ARM_HAS_SKILL = 0 ] || {{ {COMMITS}; }}", case)
    assert list(found["without_skill"].values()) == ["passed"] * 3
    assert list(found["with_skill"].values()) == ["failed", "failed", "passed"]


def test_the_contract_is_held_to_what_changed_and_its_rows_survive_a_regrading(
    play: Any, skilltrial: Any, tmp_path: Path
) -> None:
    """Known faults 1 and 3."""
    terms = {"allow_new_local_branches": False, "allow_new_commits": False, "allow_worktree_changes": True}
    found = play(f"[ $ARM_HAS_SKILL = 0 ] || {{ {COMMITS}; }}", {"checks": [], "assertions": [], "side_effect_contract": terms,
                 "expected_output": "done"}, None, "--grade-later", "--judge", "none")  # fmt: skip
    names = ("contract: no new local branches", "contract: no new commits")
    assert [found["with_skill"][name] for name in names] == ["failed", "failed"]
    assert [found["without_skill"][name] for name in names] == ["passed", "passed"]
    before = states(iteration(tmp_path), "contract")
    skilltrial("grade")
    assert states(iteration(tmp_path), "contract") == before


def test_hooks_and_programs_that_a_run_leaves_in_the_repository_are_not_started_by_us(play: Any, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    play(
        f"printf '#!/bin/sh\\ntouch {trap}\\n' > /tmp/trap-$$; chmod +x /tmp/trap-$$; cp /tmp/trap-$$ .git/hooks-x; rm /tmp/trap-$$\n"
        f"mkdir -p .git/hooks; for hook in post-index-change post-checkout reference-transaction; do cp .git/hooks-x .git/hooks/$hook; done\n"
        "git config core.fsmonitor .git/hooks-x; git config filter.f.clean .git/hooks-x; git config core.hooksPath .git/hooks\n"
        f"rm -f {trap}; printf '*.txt filter=f\\n' > .gitattributes; echo y > b.txt"
    )
    assert not trap.exists()


def test_a_run_that_deletes_the_repository_fails_instead_of_vanishing(play: Any) -> None:
    assert play("rm -rf .git") == both(git_branch="failed", git_commit="failed", git_pushed="failed", git_clean="failed")


def test_git_is_started_not_at_all_before_and_at_most_twice_after_a_run(play: Any, tmp_path: Path, monkeypatch: Any) -> None:
    log = tmp_path / "starts.log"
    real = shutil.which("git")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    play(f"[ $ARM_HAS_SKILL = 0 ] || {{ {COMMITS.replace('git ', f'{real} ')}; }}")
    starts = [line for line in log.read_text().splitlines() if "--git-dir=.git" in line]
    assert len(starts) == 2  # status and log where something changed, nothing where nothing did
    assert len(starts) == len(log.read_text().splitlines())


def test_without_a_check_or_a_contract_git_is_never_asked(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "done"}]}])
    skilltrial("run", "colours", "--adapter", agent(tmp_path, "[ ! -d .git ] || echo no >&2"), "-n", 1)
    assert {evidence["delta"]["git"] for evidence in packed(iteration(tmp_path))} == {None}
    skilltrial("run", "colours", "--adapter", tmp_path / "agent.sh", "-n", 1, "--tree")
    (cell,) = iteration(tmp_path, 2).glob("colours/eval-1/*/with_skill/run-1")
    before, after = (json.loads((cell / name).read_text()) for name in ("pre_state.json", "post_state.json"))
    assert before == after
    assert before["current_branch"] == "main" and before["local_branches"] == ["main"]
    assert (before["commit_count"], before["commits"]) == (1, [f"{before['head_sha'][:7]} base"])
    assert before["commit_shas"] == [before["head_sha"]]


def test_a_check_on_git_gives_every_target_a_repository_that_works_in_a_folder(play: Any) -> None:
    found = play("[ -d .git ] || touch none")
    assert {row["git_clean"] for row in found.values()} == {"passed"}


def test_an_agent_started_inside_a_git_hook_is_looked_at_in_its_own_repository(
    play: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere.index"))
    found = play("touch new.txt")
    assert {row["git_clean"] for row in found.values()} == {"failed"}


def test_names_that_git_quotes_are_counted_once(play: Any, tmp_path: Path) -> None:
    play("printf x > 'späß ü.txt'; printf x > 'a \"b\".txt'")
    for evidence in packed(iteration(tmp_path)):
        assert len(evidence["delta"]["git"]["status"]) == 2


def test_branch_names_and_subjects_with_secrets_are_stored_masked(play: Any, tmp_path: Path, monkeypatch: Any) -> None:
    secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
    monkeypatch.setenv("MY_API_KEY", secret)
    found = play(f"git checkout -q -b {secret} && git commit -q --allow-empty -m 'use {secret}'")
    assert found["with_skill"]["git_commit"] == "passed"
    stored = b"".join(path.read_bytes() for path in iteration(tmp_path).rglob("*") if path.is_file())
    assert secret.encode() not in stored


def test_git_checks_are_set_aside_where_git_is_not_installed(
    skilltrial: Any, new_skill: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    new_skill([{"id": 1, "prompt": "p", "checks": [{"type": "contains", "value": "p"}, *ALL]}])
    monkeypatch.setenv("PATH", str(tmp_path))
    said = skilltrial("run", "colours", "--target", "fake", "--format", "json")
    assert {row["reason"] for row in said.summary["set_aside"]} == {"git is not installed here"}
    assert said.summary["coverage"]["graded"] == 2
