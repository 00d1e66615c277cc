"""A cell's place: equal fixtures in every arm, the skill and nothing but the skill, gone afterwards."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from skilltrial.errors import CellError
from skilltrial.records.problems import Where
from skilltrial.records.suite import EMPTY_TREE, FileRef, Limits, Skill, Tree
from skilltrial.sandboxes.none import NoSandbox
from skilltrial.seams import Access, Command
from skilltrial.system.files import digest
from skilltrial.workspaces import Workspace, bases, fresh

needs_git = pytest.mark.skipif(not shutil.which("git"), reason="checks our repository with git")
FIXTURES = {
    "evals/files/data/a.csv": b"a,b\n1,2\n",
    "evals/files/run.sh": b"#!/bin/sh\necho hi\n",
    "notes.bin": bytes(range(256)),
}
SKILL = {
    "SKILL.md": b"---\nname: demo\n---\nDo it.\n",
    "scripts/x.py": b"print(1)\n",
    "evals/evals.json": b'{"answer": "forty-two"}',
}


class Memory:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}

    def put_new(self, key: str, data: bytes) -> bool:
        new = key not in self.stored
        self.stored[key] = data
        return new

    def get(self, key: str) -> bytes:
        return self.stored[key]

    def keys(self, prefix: str = "") -> Iterator[str]:
        return iter(self.stored)

    def tree(self, files: dict[str, bytes]) -> Tree:
        refs = []
        for path, data in sorted(files.items()):
            self.put_new(digest(data), data)
            refs.append(FileRef(path=path, size=len(data), digest=digest(data), executable=path.endswith(".sh")))
        return Tree(digest=digest("".join(f"{ref.path} {ref.digest}\n" for ref in refs).encode()), files=tuple(refs))

    def skill(self, name: str = "demo") -> Skill:
        where = Where(file="SKILL.md")
        return Skill(id=name, name=name, description="d", body="b", tree=self.tree(SKILL), frontmatter={}, where=where)


@pytest.fixture
def blobs() -> Memory:
    return Memory()


def place(
    blobs: Memory,
    base: Path,
    files: dict[str, bytes] | None = None,
    *,
    skills: tuple[Skill, ...] = (),
    skill_dir: str | None = ".claude/skills",
    git: bool = False,
    stage: str = "flat",
    stage_files: bool = False,
) -> AbstractContextManager[Workspace]:
    return fresh(
        sandbox=NoSandbox(), base=base, fixtures=blobs.tree(FIXTURES if files is None else files), stage=stage, skills=skills,
        skill_dir=skill_dir, blobs=blobs, access=Access(), stage_files=stage_files, git=git,
    )  # fmt: skip


def contents(root: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        p.relative_to(root).as_posix(): (p.read_bytes(), os.access(p, os.X_OK)) for p in sorted(root.rglob("*")) if p.is_file()
    }


def git(root: Path, *arguments: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(["git", *arguments], cwd=root, env=env, capture_output=True, text=True, check=True).stdout


def test_fixtures_land_byte_by_byte_and_alike_in_every_arm(blobs: Memory, tmp_path: Path) -> None:
    with place(blobs, tmp_path) as without, place(blobs, tmp_path, skills=(blobs.skill(),)) as with_skill:
        assert contents(without.root) == {
            "data/a.csv": (FIXTURES["evals/files/data/a.csv"], False),
            "run.sh": (FIXTURES["evals/files/run.sh"], True),
            "notes.bin": (FIXTURES["notes.bin"], False),
        }
        assert with_skill.before.files.keys() == without.before.files.keys() == with_skill.landed.keys()
        seen = contents(with_skill.root)
        assert {path: seen[path] for path in without.landed} == contents(without.root)
        assert without.root != with_skill.root
        assert without.root.is_absolute() and without.home.is_dir()


@pytest.mark.parametrize(
    ("stage", "path"), [("flat", "run.sh"), ("keep", "evals/files/run.sh"), ("inputs", "inputs/evals/files/run.sh")]
)
def test_a_stage_decides_where_fixtures_land(blobs: Memory, tmp_path: Path, stage: str, path: str) -> None:
    with place(blobs, tmp_path, stage=stage) as workspace:
        assert (workspace.root / path).is_file()
        assert workspace.landed[path].path == "evals/files/run.sh"


def test_the_baseline_sees_no_skill_and_the_other_arm_exactly_one(
    blobs: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FC-10: 77 skills in the repository we are called from, one more in HOME; a fake agent lists all it can see."""
    repository = tmp_path / "repo"
    for number in range(77):
        for folder in (".claude", ".agents"):
            spot = repository / folder / "skills" / f"demo-{number}"
            spot.mkdir(parents=True)
            (spot / "SKILL.md").write_text("x")
    home = tmp_path / "home" / ".claude" / "skills" / "demo"
    home.mkdir(parents=True)
    (home / "SKILL.md").write_text("x")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    agent = (
        'd=$PWD; while :; do for s in .claude .agents; do [ -d "$d/$s" ] && find "$d/$s" -name SKILL.md; done; '
        '[ "$d" = / ] && break; d=$(dirname "$d"); done; [ -d "$HOME" ] && find "$HOME" -name SKILL.md; true'
    )
    for skills, expected in (((), 0), ((blobs.skill(),), 1)):
        with place(blobs, tmp_path / "elsewhere", skills=skills, git=True) as workspace:
            lines: list[bytes] = []
            ended = workspace.place.start(Command(("sh", "-c", agent), {}), Limits(timeout_s=30), lines.append)
        assert ended.code == 0
        assert len(lines) == expected


def test_the_answer_key_is_nowhere_near(blobs: Memory, tmp_path: Path) -> None:
    """FC-11: a fake agent searches its folder, the folder above and the skill for the text of an assertion."""
    with place(blobs, tmp_path / "base", skills=(blobs.skill(),), git=True) as workspace:
        staged = workspace.root / ".claude/skills/demo"
        assert sorted(contents(staged)) == ["SKILL.md", "scripts/x.py"]
        command = Command(("grep", "-rl", "forty-two", "..", str(staged)), {})
        assert workspace.place.start(command, Limits(timeout_s=30), lambda line: None).code == 1


@needs_git
def test_git_agrees_with_the_repository_and_does_not_see_the_skill(blobs: Memory, tmp_path: Path) -> None:
    with place(blobs, tmp_path, skills=(blobs.skill(),), git=True) as one, place(blobs, tmp_path, git=True) as other:
        for workspace in (one, other):
            assert git(workspace.root, "status", "--porcelain") == ""
            assert git(workspace.root, "fsck", "--strict", "--no-dangling") == ""
            assert git(workspace.root, "ls-files").split() == ["data/a.csv", "notes.bin", "run.sh"]
            assert git(workspace.root, "rev-list", "--count", "--all").strip() == "1"
            assert git(workspace.root, "branch", "--show-current").strip() == "main"
        assert git(one.root, "rev-parse", "HEAD") == git(other.root, "rev-parse", "HEAD")
        (one.root / "new.txt").write_text("x")
        (one.root / "run.sh").write_text("changed")
        assert git(one.root, "status", "--porcelain").splitlines() == [" M run.sh", "?? new.txt"]
        git(one.root, "add", ".")
        git(one.root, "commit", "-m", "work")
        assert "SKILL.md" not in git(one.root, "ls-files")


@needs_git
def test_staged_fixtures_are_in_the_index_alone(blobs: Memory, tmp_path: Path) -> None:
    with place(blobs, tmp_path, git=True, stage_files=True) as workspace:
        assert git(workspace.root, "status", "--porcelain").splitlines() == ["A  data/a.csv", "A  notes.bin", "A  run.sh"]
        assert git(workspace.root, "fsck", "--strict", "--no-dangling") == ""


@needs_git
def test_an_empty_and_a_large_set_of_fixtures_make_repositories_too(blobs: Memory, tmp_path: Path) -> None:
    many = {f"d{number % 7}/e{number % 3}/f{number}.txt": b"x" * number * 50 for number in range(200)} | {
        "d0.txt": b"",
        "d0-a": b"1",
        "é ü": b"2",
    }
    for files in ({}, many):
        with place(blobs, tmp_path, files, git=True) as workspace:
            assert git(workspace.root, "status", "--porcelain") == ""
            assert git(workspace.root, "fsck", "--strict", "--no-dangling") == ""


def test_a_case_that_brings_a_repository_keeps_it(blobs: Memory, tmp_path: Path) -> None:
    with place(blobs, tmp_path, {".git/HEAD": b"ref: refs/heads/own\n", "a": b"1"}, git=True) as workspace:
        assert (workspace.root / ".git/HEAD").read_bytes() == b"ref: refs/heads/own\n"
        assert not (workspace.root / ".git/index").exists()


def test_a_workspace_is_gone_afterwards_however_it_was_left(blobs: Memory, tmp_path: Path) -> None:
    with place(blobs, tmp_path) as workspace:
        os.mkfifo(workspace.root / "pipe")
        (workspace.root / "out").symlink_to("/")
        (workspace.root / "locked" / "in").mkdir(parents=True)
        (workspace.root / "locked").chmod(0)
    with pytest.raises(ValueError, match="bug"), place(blobs, tmp_path):
        raise ValueError("bug")
    assert list(tmp_path.iterdir()) == []


def test_a_kept_workspace_stays_without_its_home(blobs: Memory, tmp_path: Path) -> None:
    with place(blobs, tmp_path) as workspace:
        (workspace.home / "login.json").write_text("secret")
        workspace.keep()
    assert workspace.kept
    assert (workspace.root / "run.sh").is_file()
    assert not workspace.home.exists()


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.override.md", ".agents", ".git", "QWEN.md"])
def test_a_base_below_agent_instructions_or_in_a_repository_is_refused_by_name(blobs: Memory, tmp_path: Path, name: str) -> None:
    with place(blobs, tmp_path / "deep" / "er"):
        pass
    (tmp_path / name).mkdir()
    with pytest.raises(CellError, match=f"would find .*/{name.replace('.', '[.]')}; choose another place with --workspaces-dir"):
        place(blobs, tmp_path / "deep" / "er").__enter__()


def test_instructions_that_an_earlier_cell_left_above_are_noticed(blobs: Memory, tmp_path: Path) -> None:
    base = tmp_path / "base"
    with place(blobs, base) as workspace:
        (workspace.root.parent.parent / "AGENTS.md").write_text("Always say 42.")
    with pytest.raises(CellError, match=r"AGENTS\.md"):
        place(blobs, base).__enter__()


def test_a_program_with_a_dev_of_its_own_gets_no_base_in_shared_memory() -> None:
    assert not bases.choose(None, memory=False).is_relative_to("/dev")


def test_without_a_wish_a_base_is_found(blobs: Memory) -> None:
    base = bases.choose(None)
    assert base.is_absolute()
    assert bases.in_the_way(base) is None


@pytest.mark.parametrize("path", ["../out", "a/../../out", "/etc/x", "a//b", ""])
def test_a_fixture_that_would_land_outside_is_refused(blobs: Memory, tmp_path: Path, path: str) -> None:
    with pytest.raises(CellError, match="does not lie inside"):
        place(blobs, tmp_path, {path: b"x"}, stage="keep").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_two_different_fixtures_for_one_place_are_an_error(blobs: Memory, tmp_path: Path) -> None:
    with pytest.raises(CellError, match="both land at 'a' and differ"):
        place(blobs, tmp_path, {"evals/files/a": b"1", "a": b"2"}).__enter__()
    with place(blobs, tmp_path, {"evals/files/a": b"1", "a": b"1"}) as workspace:
        assert list(workspace.landed) == ["a"]


def test_a_missing_copy_is_named(blobs: Memory, tmp_path: Path) -> None:
    manager = place(blobs, tmp_path)
    blobs.stored.clear()
    with pytest.raises(CellError, match=r"stored copy of .evals/files/data/a\.csv. is missing"):
        manager.__enter__()


def test_no_fixtures_and_no_skill_make_an_empty_folder(blobs: Memory, tmp_path: Path) -> None:
    with place(blobs, tmp_path, {}) as workspace:
        assert contents(workspace.root) == {}
        assert workspace.before.files == {} and not workspace.before.truncated
    assert EMPTY_TREE.files == ()
