"""A skill with a suite on disk, and the command line called in this process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skilltrial.cli import exit_code_of

from .live import Live

SKILL = """---
name: {name}
description: Answers questions about colours in one word. Use it for any question about a colour.
---
Always answer with the single word BLUE, nothing else.
"""


class Said(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def skilltrial(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """`skilltrial("run", …)` in `tmp_path`, with no colour and no settings from outside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "SKILLTRIAL_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)

    def call(*args: object) -> Said:
        capsys.readouterr()
        code = exit_code_of([str(arg) for arg in args])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The command line as a process of its own, in `tmp_path`; it hears hang-ups, also when the tests run under `nohup`."""
    heard = signal.signal(signal.SIGHUP, signal.SIG_DFL) if os.name == "posix" else None
    found = Live(tmp_path)
    yield found
    found.close()
    if heard is not None:
        signal.signal(signal.SIGHUP, heard)


@pytest.fixture
def new_skill(tmp_path: Path) -> Callable[..., Path]:
    """`new_skill(evals, name="colours", files={…})` writes a skill with a suite and gives its folder."""

    def make(evals: list[dict[str, Any]], name: str = "colours", files: dict[str, str] | None = None, **top: Any) -> Path:
        folder = tmp_path / name
        (folder / "evals").mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(name=name), encoding="utf-8")
        suite = {"skill_name": name, "evals": evals, **top}
        (folder / "evals" / "evals.json").write_text(json.dumps(suite), encoding="utf-8")
        for path, text in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        return folder

    return make


@pytest.fixture
def colours() -> list[dict[str, Any]]:
    """Four questions that the skill answers right and a plain echo does not."""
    checks = [{"id": "blue", "type": "contains", "value": "BLUE"}]
    return [{"id": n, "prompt": f"What is the colour of sky number {n}?", "checks": checks} for n in range(1, 5)]


def script(path: Path, *rules: dict[str, Any]) -> Path:
    """A script for the fake backend."""
    path.write_text(json.dumps({"rules": list(rules)}), encoding="utf-8")
    return path


HELPFUL = ({"when": {"arm": "with_skill"}, "text": "BLUE"}, {"when": {"arm": "without_skill"}, "text": "I do not know"})
