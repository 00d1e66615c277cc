"""The command lines of `scripted.programs` work on the real programs, and our readers understand what these print.

What a program is asked is taken from the requests it made, so these tests see what its model would see.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripted import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Scene, Server
from scripted.programs import SKILL_DIRS, STARTS, Ran, missing, run, workspace
from skilltrial.records.evidence import AgentRun
from skilltrial.seams import Exit

pytestmark = pytest.mark.real

PROMPT = 'Write release notes for the "commits" in commits.txt into out.txt.'
SKILL = """---
name: release-notes
description: Write release notes from a commit list. Use when the user asks for release notes.
---

# Release notes

WRITE: notes by the book
"""
NO_TOKENS = {"copilot"}
"""Their stream tells no usage."""


@pytest.fixture(params=STARTS)
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if reason := missing(name):
        pytest.skip(reason)
    return name


@pytest.fixture
def start(program: str, tmp_path: Path, model: Callable[[Scene], Server]) -> Callable[..., tuple[Ran, Server, Path]]:
    """Runs the program once; `skill` puts one into its workspace."""

    def one(scene: Scene, *, skill: bool) -> tuple[Ran, Server, Path]:
        server = model(scene)
        staged = {f"{SKILL_DIRS[program]}/release-notes/SKILL.md": SKILL} if skill else {}
        home, work = workspace(tmp_path, {"commits.txt": "feat: add csv export\n", **staged})
        return run(program, server.url, home, work, PROMPT), server, work

    return one


def read(program: str, ran: Ran, skills: tuple[str, ...]) -> AgentRun:
    """The run as our reader tells it; skips while there is none."""
    module = f"skilltrial.backends.{program.replace('-', '_')}"
    try:
        reader: Any = importlib.import_module(module).plugin().reader(skills)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        pytest.skip(f"there is no backend {program} yet")
    for line in ran.lines:
        reader.feed(line)
    exit_ = Exit(ran.code, None, None, sum(map(len, ran.lines)), ran.stderr.encode(), 1.0)
    closed: AgentRun = reader.close(exit_)
    return closed


def test_an_installed_skill_is_offered_used_and_seen_to_be_used(
    program: str, start: Callable[..., tuple[Ran, Server, Path]]
) -> None:
    ran, server, work = start(Scene("skill"), skill=True)
    assert (work / "out.txt").read_text() == "notes by the book\n", ran.stderr
    assert len(server.main) == 3 and len(server.seen) == 3
    assert all(seen.asked and "release-notes" in seen.asked.skills for seen in server.main)
    assert server.main[0].asked is not None and PROMPT in server.main[0].asked.text, "the prompt did not arrive as it was given"
    told = read(program, ran, ("release-notes",))
    assert (told.outcome, told.reason) == ("ok", None)
    assert told.activation == ("read" if program in {"codex", "pi"} else "activated")
    assert told.text.endswith("(the last word).")
    assert_tokens(program, told, 3)


def test_a_baseline_is_offered_no_skill_of_the_suite(program: str, start: Callable[..., tuple[Ran, Server, Path]]) -> None:
    ran, server, work = start(Scene("skill"), skill=False)
    assert (work / "out.txt").read_text() == "nobody told me what to write\n", ran.stderr
    assert len(server.main) == 2 and len(server.seen) == 2
    assert not any(seen.asked and "release-notes" in seen.asked.skills for seen in server.main)
    told = read(program, ran, ())
    assert (told.outcome, told.activation) == ("ok", "none_expected")
    assert_tokens(program, told, 2)


def assert_tokens(program: str, told: AgentRun, requests: int) -> None:
    if program in NO_TOKENS:
        assert told.usage.output_tokens is None
        return
    assert (told.usage.input_tokens, told.usage.output_tokens) == (requests * INPUT_TOKENS, requests * OUTPUT_TOKENS)
    assert told.usage.cached_tokens == requests * CACHED_TOKENS
