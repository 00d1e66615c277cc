"""The commits of a repository, told from its files as git itself tells them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from skilltrial.system.git_history import ASKED, NONE, Commit, History, Listing, grown, loose, only

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
WHO = {f"GIT_{who}_{what}": f"t@{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, **WHO}


class Repo:
    """A repository with dates of its own, a minute apart."""

    def __init__(self, root: Path) -> None:
        self.root, self.minute = root, 0
        root.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        self.minute += 1
        when = f"{1_000_000_000 + 60 * self.minute} +0000"
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        run = subprocess.run(
            ["git", *arguments], cwd=self.root, env={**CLEAN, **dates}, capture_output=True, text=True, check=True
        )
        return run.stdout

    def commit(self, subject: str) -> str:
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def asked(self) -> History:
        """What git says."""
        listing = Listing()
        for line in subprocess.run(ASKED, cwd=self.root, env=CLEAN, capture_output=True, check=True).stdout.splitlines(True):
            listing.add(line)
        return listing.history()

    def grown(self, before: History) -> History | None:
        return grown(self.root / ".git", self.head(), before)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit("base")
    return made


def test_new_commits_stand_on_what_was_known(repo: Repo) -> None:
    before = repo.asked()
    assert before == only(repo.head(), "base")
    repo.commit("Add a — ü")
    repo.commit("two lines\nof one subject\n\nand a body")
    assert repo.grown(before) == repo.asked()
    assert [subject for _, subject in repo.asked().newest] == ["two lines of one subject", "Add a — ü", "base"]


def test_an_unchanged_head_is_what_it_was(repo: Repo) -> None:
    assert repo.grown(repo.asked()) == repo.asked()


def test_a_merge_of_new_branches_is_counted_once_and_in_gits_order(repo: Repo) -> None:
    before = repo.asked()
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side 1")
    repo.git("checkout", "-q", "main")
    repo.commit("main 1")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    found = repo.grown(before)
    assert found is not None and found.total == 4
    assert found == repo.asked()


def test_the_first_commit_of_all_stands_on_nothing(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.commit("first")
    assert repo.grown(NONE) == repo.asked()


@pytest.mark.parametrize("how", ["reset", "older branch", "packed", "another root"])
def test_where_files_do_not_tell_git_has_to_be_asked(repo: Repo, how: str) -> None:
    first = repo.head()
    repo.commit("second")
    before = repo.asked()
    if how == "reset":
        repo.git("reset", "-q", "--hard", first)
    elif how == "older branch":
        repo.git("checkout", "-q", "-b", "old", first)
        repo.commit("from there")
    elif how == "packed":
        repo.commit("third")
        repo.git("gc", "-q")
    else:
        repo.git("checkout", "-q", "--orphan", "other")
        repo.commit("alone")
    assert repo.grown(before) is None


def test_a_long_history_is_counted_whole_and_told_in_part(repo: Repo) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    head = repo.head()
    for number in range(60):
        head = repo.git("commit-tree", tree, "-p", head, "-m", f"commit {number}").strip()
    before = repo.asked()
    repo.git("reset", "-q", "--hard", head)
    found = repo.grown(before)
    assert found is not None
    assert (found.total, len(found.newest), found.newest[0][1], found.newest[-1][1]) == (61, 50, "commit 59", "commit 10")
    assert found == repo.asked()


def test_what_is_no_commit_is_none(repo: Repo) -> None:
    folder, head = repo.root / ".git", repo.head()
    assert isinstance(loose(folder, head), Commit)
    blob = repo.git("hash-object", "-w", os.devnull).strip()
    assert loose(folder, blob) is None
    assert loose(folder, "0" * 40) is None
    file = folder / "objects" / head[:2] / head[2:]
    file.chmod(0o644)
    file.write_bytes(b"not compressed")
    assert loose(folder, head) is None
