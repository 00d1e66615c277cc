"""A repository that every case starts from: cloned once, alike in both arms, with a remote that nobody else sees."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.flows.reviews import Provider, provider_of

from .git_agent import agent, git, states
from .stored import iteration, journal, packed

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
PUSHES = "git checkout -q -b feat && echo x > out.txt && git add . && git commit -qm 'Add out' && git push -q -u origin feat"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two commits, a folder, a link and an executable."""
    root = tmp_path / "widgets"
    (root / "docs").mkdir(parents=True)
    git(root, "init", "-q", "-b", "trunk")
    (root / "README.md").write_text("Widgets\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    (root / "docs" / "a.md").write_text("A page about gears\n")
    (root / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (root / "run.sh").chmod(0o755)
    (root / "link.md").symlink_to("docs/a.md")
    git(root, "add", ".")
    git(root, "commit", "-qm", "second")
    git(root, "branch", "old", "HEAD~1")
    git(root, "config", "receive.denyCurrentBranch", "refuse")
    return root


@pytest.fixture
def play(skilltrial: Any, new_skill: Any, tmp_path: Path, repository: Path) -> Callable[..., Any]:
    """`play(script, checks, case, files, *options)` runs one case from the repository; what the command said."""

    def run(
        script: str, checks: list[dict[str, Any]], case: dict[str, Any] | None = None, files: Any = None, *options: object
    ) -> Any:
        new_skill([{"id": 1, "prompt": "Do it.", "checks": checks, **(case or {})}], files=files)
        source = () if "--source-repo" in options else ("--source-repo", repository)
        return skilltrial("run", "colours", "--adapter", agent(tmp_path, script), "-n", 1, "--format", "json", *source, *options)

    return run


def by_arm(tmp_path: Path) -> dict[str, dict[str, str]]:
    return {cell.split("/")[3]: found for cell, found in states(iteration(tmp_path)).items()}


def test_every_cell_starts_from_the_repository_as_it_stands(play: Any, repository: Path, tmp_path: Path) -> None:
    script = (
        "git rev-parse HEAD > seen; git rev-parse --abbrev-ref HEAD >> seen; git log --format=%s >> seen; git branch -a >> seen\n"
        "./run.sh >> seen; cat link.md >> seen; git status --porcelain >> seen; git remote -v >> seen"
    )
    said = play(script, [{"type": "file_exists", "path": "seen"}])
    assert said.code == 0, said.err
    seen = [evidence["delta"]["created"][0]["digest"] for evidence in packed(iteration(tmp_path))]
    assert len(set(seen)) == 1
    text = (iteration(tmp_path) / "colours/eval-1/adapter-agent/with_skill/run-1/outputs/seen").read_text()
    assert text.startswith(f"{git(repository, 'rev-parse', 'HEAD').strip()}\ntrunk\nsecond\nfirst\n")
    assert "remotes/origin/old" in text and "ran\nA page about gears\n?? seen\n" in text
    assert str(repository) not in text


def test_a_push_goes_to_a_private_copy_and_is_graded_there(play: Any, repository: Path, tmp_path: Path) -> None:
    before = git(repository, "for-each-ref")
    types = ("git_branch", "git_commit", "git_pushed", "git_clean")
    said = play(
        f"[ $ARM_HAS_SKILL = 0 ] || {{ mkdir -p sub; cd sub; {PUSHES}; }}", [{"id": name, "type": name} for name in types]
    )
    assert by_arm(tmp_path) == {
        "with_skill": dict.fromkeys(types, "passed"),
        "without_skill": {**dict.fromkeys(types, "failed"), "git_clean": "passed"},
    }, said.err
    assert git(repository, "for-each-ref") == before
    assert not (iteration(tmp_path) / "cleanup.json").exists()


def states_of(folder: Path, arm: str = "with_skill") -> tuple[dict[str, Any], dict[str, Any]]:
    (cell,) = folder.glob(f"colours/eval-1/*/{arm}/run-1")
    before, after = (json.loads((cell / name).read_text()) for name in ("pre_state.json", "post_state.json"))
    return before, after


def test_the_states_tell_the_commits_that_head_reaches(play: Any, repository: Path, tmp_path: Path, monkeypatch: Any) -> None:
    log = tmp_path / "starts.log"
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    play(PUSHES.replace("git ", f"{shutil.which('git')} "), [{"type": "git_commit"}])
    second, first = git(repository, "log", "--format=%H").split()
    before, after = states_of(iteration(tmp_path))
    assert (before["commit_count"], before["commits"]) == (2, [f"{second[:7]} second", f"{first[:7]} first"])
    assert (after["commit_count"], after["commits"]) == (3, [f"{after['head_sha'][:7]} Add out", *before["commits"]])
    assert after["commit_shas"] == [after["head_sha"], second, first] and before["commit_shas"] == [second, first]
    assert before["open_prs"] is None and after["open_prs"] is None, "nobody asked"
    asked = [line for line in log.read_text().splitlines() if "--git-dir=.git" in line]
    # per cell two after the run; before it the status of one workspace and the history of one commit, asked once for both arms
    assert len(asked) <= 2 * 2 + 2, asked


def test_a_run_cannot_claim_a_push_by_writing_its_own_notes(play: Any, tmp_path: Path) -> None:
    script = "git checkout -q -b feat && git commit -q --allow-empty -m x && git update-ref refs/remotes/origin/feat HEAD"
    play(script, [{"id": "p", "type": "git_pushed"}])
    assert by_arm(tmp_path)["with_skill"] == {"p": "failed"}


def test_fixtures_and_the_skill_lie_over_the_repository_and_are_no_change(play: Any, tmp_path: Path) -> None:
    case = {"files": ["evals/files/n.txt"], "side_effect_contract": {"allow_worktree_changes": False}}
    play("true", [{"id": "clean", "type": "git_clean"}], case, {"evals/files/n.txt": "n"})
    assert set(map(str, by_arm(tmp_path).values())) == {
        str({"clean": "passed", "contract: no changes of the work tree": "passed"})
    }


def test_staged_fixtures_are_in_the_index_of_the_repository(play: Any, tmp_path: Path) -> None:
    case = {"files": ["evals/files/n.txt"], "stage_files": True}
    script = '[ "$(git diff --cached --name-only)" = inputs/evals/files/n.txt ] || touch wrong'
    play(script, [{"id": "clean", "type": "git_clean"}], case, {"evals/files/n.txt": "n"})
    assert by_arm(tmp_path)["without_skill"] == {"clean": "passed"}


CHECKS = [
    {"id": "same", "type": "file_unchanged", "path": "docs/a.md"},
    {"id": "text", "type": "file_contains", "path": "README.md", "contains": "widgets"},
    {"id": "gone", "type": "file_not_exists", "path": "run.sh"},
    {"id": "made", "type": "file_exists", "path": "README.md"},
    {"id": "cmd", "type": "command", "shell": "./run.sh && test -f new.txt && test ! -f docs/a.md"},
]


def test_files_of_the_repository_are_graded_as_the_run_left_them_also_later(
    play: Any, skilltrial: Any, tmp_path: Path, repository: Path
) -> None:
    """Known fault 3: a re-grading looked into another folder and turned passes into failures."""
    play("[ $ARM_HAS_SKILL = 0 ] || { rm docs/a.md; echo n > new.txt; }", CHECKS)
    untouched = {"same": "passed", "text": "passed", "gone": "failed", "made": "failed", "cmd": "failed"}
    first = {"without_skill": untouched, "with_skill": {**untouched, "same": "failed", "cmd": "passed"}}
    assert by_arm(tmp_path) == first
    shutil.rmtree(repository)
    assert skilltrial("grade").code in (0, 1)
    assert by_arm(tmp_path) == first


def test_a_resumed_trial_starts_from_the_same_commit(play: Any, skilltrial: Any, repository: Path, tmp_path: Path) -> None:
    up = tmp_path / "up"
    script = f"[ -e {up} ] || [ $ARM_HAS_SKILL = 0 ] || exit 1; git rev-parse HEAD > seen"
    play(script, [{"type": "file_exists", "path": "seen"}], None, None, "--retries", 0)
    git(repository, "commit", "-q", "--allow-empty", "-m", "third")
    up.touch()
    resumed = skilltrial("resume")
    assert "third" not in resumed.err and resumed.code in (0, 3), resumed.err
    seen = {file["digest"] for evidence in packed(iteration(tmp_path)) for file in evidence["delta"]["created"]}
    assert len(seen) == 1
    assert [row["outcome"] for row in journal(iteration(tmp_path), "evidence")].count("ok") == 2


def test_another_commit_is_another_input(play: Any, skilltrial: Any, repository: Path, tmp_path: Path) -> None:
    play("true", [{"type": "git_clean"}])
    git(repository, "commit", "-q", "--allow-empty", "-m", "third")
    skilltrial("run", "colours", "--adapter", tmp_path / "agent.sh", "-n", 1, "--source-repo", repository)
    inputs = [{row["inputs"] for row in journal(iteration(tmp_path, number), "evidence")} for number in (1, 2)]
    assert not inputs[0] & inputs[1]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nowhere.git", "--source-repo nowhere.git"),
        ("https://user:hunter2secret@example.invalid/x.git", "holds a login"),
        ("empty", "no commit yet"),
    ],
)
def test_a_repository_that_cannot_be_used_is_refused_before_any_run(play: Any, tmp_path: Path, source: str, words: str) -> None:
    git(tmp_path, "init", "-q", "empty")
    said = play("true", [{"type": "git_clean"}], None, None, "--source-repo", source)
    assert said.code == 2
    assert words in said.err and "hunter2secret" not in said.err and "Traceback" not in said.err
    assert not (tmp_path / "skilltrial-workspace").exists()


def test_a_repository_that_holds_the_skill_itself_is_refused(play: Any, repository: Path) -> None:
    spot = repository / ".claude" / "skills" / "colours" / "SKILL.md"
    spot.parent.mkdir(parents=True)
    spot.write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "with a skill")
    said = play("true", [{"type": "git_clean"}])
    assert said.code == 2
    assert "the baseline would have the skill too" in said.err


# ---------------------------------------------------------------- the real remote
LIVE = {"side_effect_level": "live-safe"}


@pytest.fixture
def bare(repository: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "remote.git")
    return tmp_path / "remote.git"


def test_a_live_case_reaches_the_real_remote_and_cleanup_takes_back_what_it_made_and_nothing_else(
    play: Any, skilltrial: Any, bare: Path, tmp_path: Path
) -> None:
    script = f"[ $ARM_HAS_SKILL = 0 ] || {{ {PUSHES}; git push -q origin HEAD:refs/heads/second; }}"
    said = play(script, [{"id": "p", "type": "git_pushed"}], LIVE, None, "--source-repo", bare)
    assert by_arm(tmp_path) == {"with_skill": {"p": "passed"}, "without_skill": {"p": "failed"}}, said.err
    assert said.summary["cleanup"] == {"remote_branches": 2}
    git(bare, "update-ref", "refs/heads/second", "refs/heads/old")  # somebody went on with it
    cleaned = skilltrial("cleanup", "--yes")
    assert f"removed branch feat of {bare}" in cleaned.out
    assert "it has moved since" in cleaned.err
    assert git(bare, "branch", "--format=%(refname:short)").split() == ["old", "second", "trunk"]
    left = json.loads((iteration(tmp_path) / "cleanup.json").read_text())
    assert [branch["name"] for branch in left["remote_branches"]] == ["second"]


def test_without_yes_nothing_is_removed(play: Any, skilltrial: Any, bare: Path) -> None:
    play(f"[ $ARM_HAS_SKILL = 0 ] || {{ {PUSHES}; }}", [{"type": "git_pushed"}], LIVE, None, "--source-repo", bare)
    assert skilltrial("cleanup").code == 2
    assert "feat" in git(bare, "branch")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://github.com/acme/widgets.git", Provider("github", "github.com", "acme/widgets")),
        ("git@github.com:acme/widgets.git", Provider("github", "github.com", "acme/widgets")),
        ("ssh://git@gitlab.example.org:2222/a/b/widgets", Provider("gitlab", "gitlab.example.org", "a/b/widgets")),
        ("https://example.org/acme/widgets", None),
        ("/home/me/github.com/widgets", None),
        (None, None),
    ],
)
def test_the_provider_is_told_by_the_address(address: str | None, expected: Provider | None) -> None:
    assert provider_of(address) == expected


@pytest.fixture
def github(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`https://github.com/acme/widgets` leads to the bare repository, and `gh` answers from `requests.json`."""
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[url "{bare}"]\n\tinsteadOf = https://github.com/acme/widgets\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    answers = tmp_path / "requests.json"
    answers.write_text("[]")
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ ! -e {tmp_path}/broken ] || {{ echo "HTTP 502" >&2; exit 1; }}\ncat {answers}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return answers


ROW = {
    "number": 5,
    "headRefName": "feat",
    "baseRefName": "trunk",
    "url": "https://github.com/acme/widgets/pull/5",
    "state": "OPEN",
}
AT_GITHUB = ("--source-repo", "https://github.com/acme/widgets", "-c", 1)


def test_a_pull_request_is_seen_through_gh_and_told_by_cleanup(play: Any, skilltrial: Any, github: Path, tmp_path: Path) -> None:
    opens = f"printf '%s' '{json.dumps([ROW])}' > {github}"
    script = f"[ $ARM_HAS_SKILL = 0 ] || {{ git checkout -q -b feat; {opens}; }}"
    case = {**LIVE, "side_effect_contract": {"allow_new_review_requests": False}}
    said = play(script, [{"id": "pr", "type": "pr_created"}], case, None, *AT_GITHUB)
    row = "contract: no new review requests"
    assert by_arm(tmp_path) == {
        "with_skill": {"pr": "passed", row: "failed"},
        "without_skill": {"pr": "failed", row: "passed"},
    }, said.err
    assert ROW["url"] in skilltrial("cleanup").err
    before, after = states_of(iteration(tmp_path))
    assert (before["open_prs"], after["open_prs"]) == ([], [ROW])


def test_an_error_of_the_provider_is_no_verdict(play: Any, github: Path, tmp_path: Path) -> None:
    said = play(f"touch {tmp_path}/broken", [{"id": "pr", "type": "pr_created"}], LIVE, None, *AT_GITHUB)
    assert {row["pr"] for row in by_arm(tmp_path).values()} == {"ungraded"}
    assert said.summary["coverage"]["graded"] == 0
    assert said.code == 2
    assert "HTTP 502" in json.dumps(said.summary["errors"])


@pytest.mark.parametrize(
    ("case", "options", "words"),
    [
        ({}, AT_GITHUB, "live-safe"),
        (LIVE, (), "only with a --source-repo at GitHub or GitLab"),
    ],
)
def test_where_no_request_can_be_seen_the_check_is_set_aside(
    play: Any, github: Path, case: dict[str, Any], options: tuple[Any, ...], words: str
) -> None:
    said = play("true", [{"id": "pr", "type": "pr_created"}, {"type": "git_clean"}], case, None, *options)
    assert [words in row["reason"] for row in said.summary["set_aside"]] == [True]
    assert said.summary["coverage"]["graded"] == 2
