"""Pieces of files, each file opened once."""

from __future__ import annotations

from pathlib import Path

from skilltrial.store.handles import Handles


def test_pieces_are_read_also_of_what_was_appended_since(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"0123456789")
    handles = Handles(tmp_path)
    assert handles.read("a.jsonl", 2, 3) == b"234"
    with path.open("ab") as file:
        file.write(b"abc")
    assert handles.read("a.jsonl", 9, 9) == b"9abc"


def test_a_file_that_is_not_there_yet_is_found_once_it_is(tmp_path: Path) -> None:
    handles = Handles(tmp_path)
    assert handles.read("a", 0, 1) is None
    (tmp_path / "a").write_bytes(b"x")
    assert handles.read("a", 0, 1) == b"x"


def test_closing_twice_is_harmless_and_reading_opens_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    handles = Handles(tmp_path)
    handles.read("a", 0, 1)
    handles.close()
    handles.close()
    assert handles.read("a", 0, 1) == b"x"


def test_a_place_or_a_size_that_a_damaged_line_names_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    handles = Handles(tmp_path)
    assert handles.read("a", 8, 2**62) == b"89"
    assert handles.read("a", 2**62, 5) == b""
    assert handles.read("a", 2**70, 5) is None and handles.read("a", -1, 5) is None
