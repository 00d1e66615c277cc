"""A `.env` file is read when it is named, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from skilltrial.errors import UsageError
from skilltrial.system.env_files import read


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A=1", {"A": "1"}),
        ("export A=x y", {"A": "x y"}),
        ("A = spaced  ", {"A": "spaced"}),
        ("A=", {"A": ""}),
        ("A='as $IT \\n is'", {"A": "as $IT \\n is"}),
        ('A="two\\nlines \\"q\\""', {"A": 'two\nlines "q"'}),
        ("A=b#c # comment", {"A": "b#c"}),
        ("A='x' # comment", {"A": "x"}),
        ("# A=1", {}),
        ("", {}),
        ("A=1\nA=2", {"A": "2"}),
        ("\ufeffA=1\r\nB=2", {"A": "1", "B": "2"}),
    ],
)
def test_a_line_is_a_name_and_a_value(line: str, expected: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(line, encoding="utf-8")
    assert read(tmp_path / ".env") == expected


def test_every_line_that_is_none_is_named_without_its_text(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\nsecret-words\nB='unclosed\n1C=x\n")
    with pytest.raises(UsageError) as caught:
        read(tmp_path / ".env")
    text = str(caught.value).replace(str(tmp_path), "")
    assert [number in text for number in (":1:", ":2:", ":3:", ":4:")] == [False, True, True, True]
    assert "secret-words" not in text and "unclosed" not in text


def test_a_file_that_is_not_there_or_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("absent", "bytes"):
        with pytest.raises(UsageError, match=name):
            read(tmp_path / name)
