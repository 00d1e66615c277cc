"""A repository that a stranger left is read without obeying it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skilltrial.system.files import replicate
from skilltrial.system.git_reading import Head, entries_of, head_of, path_of, refs_of, repository_of

ONE, TWO = "1" * 40, "2" * 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A `.git` with packed and loose branches."""
    git = tmp_path / ".git"
    (git / "refs" / "heads" / "fix").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/fix/a\n")
    (git / "packed-refs").write_text(f"# pack-refs with: peeled\n{ONE} refs/heads/fix/a\n{ONE} refs/tags/v1\n^{TWO}\n")
    (git / "refs" / "heads" / "fix" / "a").write_text(f"{TWO}\n")
    (git / "refs" / "heads" / "odd").write_text("ref: refs/heads/fix/a\n")
    return git


def test_loose_branches_win_over_packed_ones_and_what_is_no_commit_is_left_out(folder: Path) -> None:
    assert refs_of(folder) == {"refs/heads/fix/a": TWO, "refs/tags/v1": ONE}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ref: refs/heads/fix/a\n", Head("fix/a", TWO)),
        ("ref: refs/heads/new\n", Head("new", None)),
        (f"{ONE}\n", Head(None, ONE)),
        ("nonsense", Head(None, None)),
    ],
)
def test_head_is_a_branch_a_commit_or_unknown(folder: Path, text: str, expected: Head) -> None:
    (folder / "HEAD").write_text(text)
    assert head_of(folder, refs_of(folder)) == expected


def test_links_and_pipes_in_place_of_files_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{ONE}\n")
    (folder / "refs" / "heads" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "refs" / "heads" / "pipe")
    assert set(refs_of(folder)) == {"refs/heads/fix/a", "refs/tags/v1"}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").symlink_to(folder)
    assert repository_of(tmp_path / "other") is None
    assert repository_of(tmp_path) == folder


def test_status_is_read_by_entry_with_hidden_folders_left_out() -> None:
    printed = (
        "# branch.head main\n"
        "1 .M N... 100644 100644 100644 aa bb a b.txt\n"
        "1 A. N... 000000 100644 100644 00 bb new.txt\n"
        "2 R. N... 100644 100644 100644 aa bb R100 to.txt\tfrom.txt\n"
        "u UU N... 100644 100644 100644 100644 aa bb cc both.txt\n"
        '? "sp\\303\\244\\303\\237 \\"x\\".txt"\n'
        "? skills/demo/SKILL.md\n"
        "! ignored.txt\n"
    )
    found = entries_of(printed, ("skills/demo",))
    assert set(found) == {
        " M a b.txt", "A  new.txt", "R  to.txt", "UU both.txt", '?? "sp\\303\\244\\303\\237 \\"x\\".txt"',
    }  # fmt: skip
    assert {path_of(entry) for entry in found} == {"a b.txt", "new.txt", "to.txt", "both.txt", 'späß "x".txt'}


def test_a_replica_has_the_same_bytes_modes_times_links_and_empty_folders(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "refs" / "empty").mkdir(parents=True)
    (source / "run.sh").write_text("x")
    (source / "run.sh").chmod(0o755)
    (source / "large").write_bytes(b"y" * 100)
    os.utime(source / "run.sh", ns=(10**18, 10**18))
    (source / "refs" / "up").symlink_to("../run.sh")
    (source / "out").symlink_to("/etc/passwd")
    (source / "away").symlink_to("../elsewhere")
    replicate(source, target, share_over=50)
    assert (target / "refs" / "empty").is_dir()
    assert (target / "run.sh").stat().st_mtime_ns == 10**18 and os.access(target / "run.sh", os.X_OK)
    assert (target / "refs" / "up").read_text() == "x"
    assert (target / "large").stat().st_ino == (source / "large").stat().st_ino
    assert (target / "run.sh").stat().st_ino != (source / "run.sh").stat().st_ino
    assert not os.path.lexists(target / "out") and not os.path.lexists(target / "away")
