"""Suites whose file is a link in a circle, a link to nothing, or a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skilltrial.cli import exit_code_of

SKILL = "---\nname: {name}\ndescription: Does things when asked.\n---\nBody.\n"


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _nowhere(path: Path) -> None:
    path.symlink_to("gone.json")


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize("command", ["validate", "plan --target fake", "list", "convert -o -"])
@pytest.mark.parametrize("make", [_circle, _nowhere, os.mkfifo], ids=["circle", "nowhere", "pipe"])
def test_what_stands_in_the_place_of_a_suite_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], None],
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("notes/evals", "other"):
        Path(folder).mkdir(parents=True)
        Path(folder.split("/")[0], "SKILL.md").write_text(SKILL.format(name=folder.split("/")[0]))
    make(Path("notes/evals/evals.json"))
    Path("other/self").symlink_to("self")
    code = exit_code_of([*command.split(), "notes"])
    said = capsys.readouterr()
    assert "notes/evals/evals.json" in said.out + said.err
    assert code == {"validate": 1, "list": 0}.get(command, 2)


def test_a_folder_of_suites_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes/evals").mkdir(parents=True)
    Path("notes/SKILL.md").write_text(SKILL.format(name="notes"))
    listed = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("evals"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert exit_code_of(["validate", "notes"]) == 1
    assert "error: notes/evals: cannot be listed" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="such names")
@pytest.mark.parametrize("command", ["validate .", "list .", "run . --target fake", "validate . --format github"])
@pytest.mark.parametrize("name", ["x\n::error file=a::forged", "x\x1b[31mred", "x\r::warning::forged"])
def test_the_name_of_a_folder_starts_no_line_and_paints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name, "evals").mkdir(parents=True)
    Path(name, "SKILL.md").write_text(SKILL.format(name="notes"))
    Path(name, "evals", "evals.json").write_text('{"evals": [{"id": 1, "prompt": "p", "checks": [{"type": "nosuch"}]}]}')
    exit_code_of(command.split())
    said = "".join(capsys.readouterr())
    assert "\x1b" not in said and "\r" not in said
    assert not any(
        "forged" in line and line.startswith("::") and "%0A" not in line and "%0D" not in line for line in said.splitlines()
    )
