"""Writes are whole or absent; what strangers left is read without harm."""

import errno
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilltrial.system import files
from skilltrial.system.redaction import Redactor


def test_an_atomic_write_replaces_the_whole_file_and_leaves_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    files.write_atomic(path, "one", None)
    files.write_atomic(path, b"two", None, durable=True)
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_a_failing_write_keeps_the_old_file_and_leaves_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    files.write_atomic(path, "old", None)

    def full(fd: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="no space"):
        files.write_atomic(path, "new", None)
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_masked_before_it_is_written(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("hunter2-secret")
    files.write_atomic(tmp_path / "a", "x hunter2-secret y \ud800", redactor)
    assert (tmp_path / "a").read_bytes() == b"x [redacted] y \\ud800"
    with files.Appender(tmp_path / "b", redactor) as lines:
        lines.append(b"hunter2-secret")
    assert (tmp_path / "b").read_bytes() == b"[redacted]\n"


def test_appended_lines_are_whole_and_lie_where_it_was_said(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    told: list[tuple[int, int, str]] = []
    with files.Appender(path, None) as lines:

        def work(number: int) -> None:
            for turn in range(50):
                line = f"{number}-{turn}-" + "x" * (turn * 7)
                told.append((*lines.append(line), line))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines.sync()
    data = path.read_bytes()
    assert len(told) == 400
    assert all(data[offset : offset + size] == line.encode() + b"\n" for offset, size, line in told)


def test_a_torn_last_line_is_cut_off_when_appending_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntw")
    with files.Appender(path, None) as lines:
        assert lines.append("two") == (4, 4)
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_line_that_does_not_fit_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    real = os.write
    with files.Appender(path, None) as lines:
        lines.append("one")

        def half(fd: int, data: bytes) -> int:
            monkeypatch.setattr(os, "write", full)
            return real(fd, data[:2])

        def full(fd: int, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "no space")

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(OSError, match="no space"):
            lines.append("two two")
        monkeypatch.undo()
        lines.append("three")
    assert path.read_bytes() == b"one\nthree\n"


def test_a_new_file_never_replaces_or_follows_anything(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "there").write_text("old")
    assert not files.write_new(tmp_path / "link", b"x", None)
    assert not files.write_new(tmp_path / "there", b"x", None)
    assert files.write_new(tmp_path / "deep" / "er", b"x", None, executable=True)
    assert os.access(tmp_path / "deep" / "er", os.X_OK)
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "there").read_text() == "old"


@pytest.mark.parametrize("name", ["a", "A.b-c_1", "x" * 100])
def test_a_safe_name_stays(name: str) -> None:
    assert files.safe_name(name) == name


@given(st.text(), st.text())
def test_names_are_path_safe_and_two_stay_two(one: str, other: str) -> None:
    first, second = files.safe_name(one), files.safe_name(other)
    assert (first == second) == (one == other)
    for name in (first, second):
        assert 1 <= len(name) <= 100
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
        assert name[0] not in ".-"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "con", "NUL.txt", "a/b", "-rf", "a.", "é", "a" * 101])
def test_an_unsafe_name_is_changed(name: str) -> None:
    assert files.safe_name(name) != name
    assert "/" not in files.safe_name(name)


def test_a_path_that_leads_out_or_passes_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "out").symlink_to("/")
    (tmp_path / "alias").symlink_to("sub")
    (tmp_path / "loop").symlink_to("loop")
    assert files.inside(tmp_path, "sub/new.txt") == tmp_path / "sub/new.txt"
    assert files.inside(tmp_path, "./sub") == tmp_path / "sub"
    for wrong in ("../x", "/etc/passwd", "out/etc/passwd", "alias/new.txt", "loop/x", "", ".", "a\0b", "sub/../../x"):
        assert files.inside(tmp_path, wrong) is None


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert files.read_capped(tmp_path / "file", 3) == (b"123", 5, True)
    assert files.read_capped(tmp_path / "file", 5) == (b"12345", 5, False)
    for other in ("link", "pipe", "absent", "."):
        assert files.read_capped(tmp_path / other, 10) is None
    assert files.read_capped(Path("/dev/zero"), 10) is None


def test_a_manifest_lists_regular_files_and_names_the_rest(tmp_path: Path) -> None:
    for path in ("a.txt", "sub/b.sh", ".git/config", "skip/me/c", "deep/.git/x"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / "sub/b.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_text("x")
    found = files.manifest(tmp_path, {"skip/me"})
    assert list(found.files) == ["a.txt", "sub/b.sh"]
    assert found.files["sub/b.sh"].executable and not found.files["a.txt"].executable
    assert found.special == ("\\udcff", "link", "pipe")
    assert not found.truncated


def test_a_cap_makes_a_manifest_truncated(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).write_text("x")
    assert files.manifest(tmp_path, max_files=5).truncated
    assert files.manifest(tmp_path, max_seconds=-1).truncated
    assert not files.manifest(tmp_path).truncated


def test_touching_is_seen_and_looking_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    before = files.manifest(tmp_path).files["a"]
    path.read_text()
    assert files.manifest(tmp_path).files["a"] == before
    path.write_text("y")
    os.utime(path, ns=(before.modified_ns, before.modified_ns))
    assert files.manifest(tmp_path).files["a"] != before


def test_a_tree_is_copied_without_its_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (source / "sub" / "run.sh").chmod(0o755)
    (source / "secret").symlink_to("/etc/passwd")
    assert files.copy_tree(source, tmp_path / "copy") == ("secret",)
    assert (tmp_path / "copy/sub/run.sh").read_bytes() == b"#!/bin/sh\n"
    assert os.access(tmp_path / "copy/sub/run.sh", os.X_OK)
    assert not (tmp_path / "copy/secret").exists()


def test_a_tree_is_removed_however_it_was_left(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "locked" / "in").mkdir(parents=True)
    (root / "locked" / "in" / "file").write_text("x")
    (root / "loop").symlink_to(root)
    (tmp_path / "precious").write_text("keep")
    (root / "out").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    deep = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d" * 20, dir_fd=deep)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    (root / "locked").chmod(0)
    assert files.remove_tree(root)
    assert not root.exists()
    assert (tmp_path / "precious").read_text() == "keep"
    assert files.remove_tree(tmp_path / "never-was")
