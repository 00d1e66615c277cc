"""Which level `auto` comes to: what the program really starts behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skilltrial.sandboxes import choice
from skilltrial.sandboxes.bwrap import Bubblewrap
from skilltrial.seams import Access, Machine


@pytest.fixture
def machine(machine_with: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(choice, "_known", {})
    return machine_with(PATH=os.environ["PATH"])


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """`program(script)` with its script shown by no folder but itself."""

    def make(script: str) -> Path:
        path = tmp_path / "agent"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


def test_a_program_that_starts_behind_walls_gets_them(machine: Machine, program: Callable[..., Path], needs_level: Any) -> None:
    needs_level("bwrap")
    path = program('[ "$1" = --version ] && echo agent 1.2.3 && touch "$HOME/x"')
    access = Access(readable=(path,))
    assert choice.choose(machine, path, access) == ("bwrap", None)
    assert choice.version_inside(Bubblewrap(), machine, (str(path),), access) == ("1.2.3", None)


def test_the_reason_is_said_where_it_does_not(machine: Machine, program: Callable[..., Path], needs_level: Any) -> None:
    needs_level("bwrap")
    path = program("echo 'library not found' >&2; exit 3")
    level, reason = choice.choose(machine, path, Access(readable=(path,)))
    assert level == "none"
    assert reason == "agent does not start behind the walls of bwrap: '--version' ended with status 3: library not found"


def test_a_program_that_is_not_shown_does_not_start(machine: Machine, program: Callable[..., Path], needs_level: Any) -> None:
    needs_level("bwrap")
    level, reason = choice.choose(machine, program("echo 1.0.0"), Access())
    assert level == "none"
    assert reason is not None and "No such file" in reason


def test_without_bwrap_and_in_the_users_own_home_there_are_none(machine: Machine, tmp_path: Path) -> None:
    bare = replace(machine, environ={"PATH": "/nowhere"})
    level, reason = choice.choose(bare, tmp_path / "agent", Access())
    assert (level, reason is not None and "bwrap is not on PATH" in reason) == ("none", True)
    assert choice.choose(machine, tmp_path / "agent", Access(keep_home=True)) == ("none", "it runs in the user's own home")


def test_a_program_is_started_once_to_find_out(
    machine: Machine, tmp_path: Path, program: Callable[..., Path], needs_level: Any
) -> None:
    needs_level("bwrap")
    count = tmp_path / "count"
    count.mkdir()
    path = program(f"mktemp {count}/XXXXXX > /dev/null; echo 1.0.0")
    access = Access(readable=(path,), writable=(count,))
    for _ in range(3):
        assert choice.choose(machine, path, access)[0] == "bwrap"
    assert len(list(count.iterdir())) == 1
