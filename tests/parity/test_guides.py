"""Every command of guides that say where they start runs as it is printed there; docs/parity/README.md has the form."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from skilltrial.cli import exit_code_of

from .test_table import parse

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "guides").glob("*.md"))
GUIDES = [
    page
    for page in PAGES
    if page.name.startswith("coming-from-") or page.read_text(encoding="utf-8").startswith("<!-- starts in")
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
START = re.compile(r"\A<!-- starts in: (\S+?)((?:; \S+: \S+?)*) -->\n")
CODE = re.compile(r"\s+# exit (\d+)$")


class Command(NamedTuple):
    """One command of a guide, the exit code and the lines it shows."""

    line: str
    code: int
    shown: tuple[str, ...]


def commands(page: str) -> Iterator[Command]:
    """All commands of a page, in order."""
    for language, block in BLOCK.findall(page):
        if language != "console":
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            typed, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
            code = CODE.search(typed)
            yield Command(CODE.sub("", typed), int(code[1]) if code else 0, tuple(filter(str.strip, printed.splitlines())))


def not_shown(expected: tuple[str, ...], printed: str) -> str | None:
    """The first expected line that no line of what was printed is, in this order; `...` stands for any text."""
    left = iter([line.rstrip() for line in printed.splitlines()])
    for line in expected:
        wanted = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("...")))
        if not any(wanted.fullmatch(one) for one in left):
            return line
    return None


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, an empty home, nothing of the caller's environment, and no way out."""
    for name in os.environ:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    settings = {"HOME": tmp_path / "home", "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "NO_COLOR": 1, "COLUMNS": 120}
    for name, value in {**settings, "LANG": "C.UTF-8", "TMPDIR": tmp_path, "https_proxy": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, str(value))
    return tmp_path / "work"


def execute(line: str) -> tuple[int, str]:
    """Exit code and output, both streams together; our own commands run in this process."""
    if re.match(r"skilltrial [^|<>;&$*`]*$", line):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = exit_code_of(shlex.split(line)[1:])
        return code, said.getvalue()
    done = subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


def walk(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[[str], tuple[int, str]] = execute) -> int:
    """Runs all commands of a page and says how many there were."""
    start = START.match(page)
    assert start is not None, "the first line does not say in which folder the commands start"
    shutil.copytree(ROOT / start[1], folder)
    for place, source in re.findall(r"; (\S+): ([^\s;]+)", start[2]):
        shutil.copytree(ROOT / source, folder / place)
    monkeypatch.chdir(folder)
    count = 0
    for command in commands(page):
        code, printed = run(command.line)
        assert code == command.code, f"$ {command.line}\nexit {code}, not {command.code}\n{printed}"
        absent = not_shown(command.shown, printed)
        assert absent is None, f"$ {command.line}\nnot printed: {absent}\n{printed}"
        count += 1
    return count


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_command_of_a_guide_does_what_the_guide_shows(guide: Path, offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert walk(guide.read_text(encoding="utf-8"), offline, monkeypatch) >= 3


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_no_command_of_ours_stands_where_it_is_not_run(guide: Path) -> None:
    page = guide.read_text(encoding="utf-8")
    assert not [block for language, block in BLOCK.findall(page) if language != "console" and "skilltrial " in block]
    outside = BLOCK.sub("", page)
    assert not re.findall(r"^ {4,}skilltrial .*", outside, re.MULTILINE)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_each_command_of_ours_named_in_passing_parses(guide: Path, offline: Path) -> None:
    for line in re.findall(r"`skilltrial ([^`…]+)`", BLOCK.sub("", guide.read_text(encoding="utf-8"))):
        parse(line)


def test_a_guide_that_is_wrong_is_found_out(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "<!-- starts in: tests/data/suites/handbook -->\n```console\n$ skilltrial --version{}\n{}\n```\n"
    assert walk(head.format("", "skilltrial ..."), offline, monkeypatch) == 1
    shutil.rmtree(offline)
    with pytest.raises(AssertionError, match="not printed: 12"):
        walk(head.format("", "12"), offline, monkeypatch)
    shutil.rmtree(offline)
    with pytest.raises(AssertionError, match="exit 0, not 1"):
        walk(head.format("   # exit 1", "skilltrial ..."), offline, monkeypatch)
