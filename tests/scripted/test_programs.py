"""A program that is not here is named with what would install it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from . import programs


@pytest.mark.parametrize("program", programs.STARTS)
def test_a_missing_program_is_named_with_its_pin_and_what_installs_it(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "AGENTS", tmp_path)
    monkeypatch.setattr(programs, "search_path", lambda: str(tmp_path))
    reason = programs.missing(program)
    assert reason is not None and f"tests/real/install.sh {program} puts " in reason
    assert "@" in reason.split("puts ")[1].split(" into ")[0], "the pin is named"
    assert programs.SKILL_DIRS[program] and programs.MODELS[program]


def test_the_install_script_refuses_a_program_it_does_not_know_before_it_touches_anything(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run([programs.INSTALL, "codex", "nonsense"], env=env, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "no program is called 'nonsense'" in ran.stderr and "opencode" in ran.stderr
    assert not list(tmp_path.iterdir())
