"""What a sandbox has to show for an installed program to start, by the ways in which programs are installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skilltrial.sandboxes.programs import needs, trail


def put(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def link(path: Path, target: str | Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path.resolve() / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def test_a_node_program_under_nvm_needs_its_packages_and_node(home: Path) -> None:
    prefix = home / ".nvm/versions/node/v22"
    script = put(prefix / "lib/node_modules/@acme/agent/cli.js", "#!/usr/bin/env node\n")
    program = link(prefix / "bin/agent", "../lib/node_modules/@acme/agent/cli.js")
    node = put(prefix / "bin/node", "\x7fELF")
    shown = needs(program, f"{prefix}/bin:/usr/bin")
    assert shown == (program, script, prefix / "lib/node_modules", node, prefix / "lib")


def test_a_native_program_behind_a_link_needs_the_link_and_itself(home: Path) -> None:
    real = put(home / ".local/share/claude/versions/2.1.0", "\x7fELF")
    put(home / ".local/share/other/secret")
    program = link(home / ".local/bin/claude", real)
    assert needs(program, f"{home}/.local/bin") == (program, real)


def test_a_script_on_path_needs_its_folder_of_programs(home: Path) -> None:
    program = put(home / "tools/agent", "#!/bin/sh\nexec helper\n")
    assert needs(program, f"{home}/tools:/usr/bin") == (program, home / "tools")


def test_a_script_elsewhere_needs_itself_alone(home: Path) -> None:
    """Its folder may be a project with the very suite that it is tried on."""
    program = put(home / "project/adapter.py", "#!/usr/bin/env python3\n")
    put(home / "project/evals/evals.json")
    assert needs(program, "/usr/bin:/bin") == (program,)


def test_a_home_on_path_is_not_shown_whole(home: Path) -> None:
    program = put(home / "agent")
    assert needs(program, str(home)) == (program,)


def test_a_python_program_of_a_virtual_environment_needs_all_of_it_that_counts(home: Path) -> None:
    base = put(home / "python/bin/python3.12", "\x7fELF")
    (home / "python/lib").mkdir()
    venv = home / "venv"
    put(venv / "pyvenv.cfg", "home = …")
    (venv / "lib").mkdir()
    python = link(venv / "bin/python", base)
    program = put(venv / "bin/agent", f"#!{python}\n")
    shown = needs(program, "/usr/bin")
    assert shown == (program, python, base, venv / "lib", venv / "pyvenv.cfg", home / "python/lib")


def test_what_the_system_has_is_shown_in_any_case() -> None:
    assert needs(Path("/usr/bin/env"), "/usr/bin") == ()
    assert needs(Path("/bin/sh"), "/usr/bin") == ()


def test_links_that_lead_nowhere_or_in_a_circle_need_nothing(home: Path) -> None:
    link(home / "one", home / "two")
    link(home / "two", home / "one")
    assert needs(home / "one", "") == ()
    assert needs(link(home / "lost", "nowhere"), "") == ()
    assert needs(home / "absent", "") == ()


def test_a_link_in_the_middle_of_a_path_is_part_of_the_trail(home: Path) -> None:
    real = put(home / "versions/2/bin/agent", "\x7fELF")
    current = link(home / "current", "versions/2")
    assert tuple(trail(home / "current/bin/agent")) == (current, real)


def test_a_script_that_calls_itself_ends(home: Path) -> None:
    program = home / "loop"
    put(program, f"#!{program}\n")
    assert needs(program, os.defpath) == (program,)
