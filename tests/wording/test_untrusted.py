"""Hostile text comes out as text."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilltrial.wording import untrusted

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07after",
    "\x1b]52;c;ZXZpbA==\x1b\\after",
    "\x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31mred",
    "a\rb",
    "a\x08\x08b",
    "\x1bPq#0\x1b\\after",
    "\u202egnp.exe",
    "\x1b[2J\x1b[H[32mall passed",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_moves_a_terminal_is_left(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", untrusted.plain(text))


def test_words_around_a_sequence_stay() -> None:
    assert untrusted.plain("a\x1b]52;c;ZXZpbA==\x07b \x1b[1mc\x1b[0m\r\nd\te") == "ab c\nd\te"


def test_an_unfinished_sequence_swallows_no_more_than_its_start() -> None:
    assert untrusted.plain("ok\x1b[").startswith("ok")
    assert "after" in untrusted.plain("\x1b]0;" + "x" * 5000 + "after")


@given(st.text())
def test_plain_is_stable_and_printable(text: str) -> None:
    once = untrusted.plain(text)
    assert untrusted.plain(once) == once
    assert not any(ord(char) < 32 and char not in "\n\t" for char in once)
    once.encode("utf-8")


def test_a_long_text_keeps_head_and_tail_and_says_what_is_gone() -> None:
    told = untrusted.clip("a" * 600 + "b" * 600, 300)
    assert told.startswith("a" * 200)
    assert told.endswith("b" * 100)
    assert "900 characters left out" in told


@pytest.mark.parametrize(
    "text",
    [
        "![x](http://x.test/a.png)",
        "<img src=x>",
        "@octocat",
        "[a](javascript:x)",
        "# big",
        "see #12",
        "`code`",
        "a | b",
        "https://x.test",
    ],
)
def test_markdown_shows_the_text_and_nothing_comes_alive(text: str) -> None:
    told = untrusted.markdown(text)
    assert not re.search(r"(?<!\\)[\[\]<>`|!#](?!\u2060)", told)
    assert not re.search(r"@[A-Za-z]", told)
    assert "https:" not in told


def test_a_fence_is_longer_than_any_fence_inside() -> None:
    told = untrusted.fence("````\n::add-mask::x\n````")
    assert told.startswith("`````text\n")
    assert told.endswith("\n`````")
    assert "::add-mask" not in told


@given(st.text(max_size=80))
def test_no_fenced_text_ends_its_fence(text: str) -> None:
    lines = untrusted.fence(text).split("\n")
    mark = lines[0].removesuffix("text")
    assert [line for line in lines if line.lstrip().startswith(mark) and line.strip() == mark] == [mark]


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", " =1", "\r=1", "=HYPERLINK('x')"])
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    assert str(untrusted.csv_cell(text)).startswith("'")


@pytest.mark.parametrize("value", [-1.5, 3, None, "-1.5", "+2e3", "plain", "a=b"])
def test_numbers_and_plain_text_stay(value: object) -> None:
    assert untrusted.csv_cell(value) == value


@given(st.text(max_size=60))
def test_a_cell_survives_writing_and_reading(text: str) -> None:
    told = untrusted.csv_cell(text)
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow([told, "end"])
    assert next(csv.reader(io.StringIO(file.getvalue()))) == [told, "end"]
