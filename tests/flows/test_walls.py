"""Which walls a run is started behind, end to end with programs that tell what they can reach."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.flows import walls
from skilltrial.records.config import Config
from skilltrial.sandboxes.bwrap import Bubblewrap
from skilltrial.seams import Machine

CODEX = """#!/bin/sh
[ "$1" = --version ] && {{ {version}; echo codex-cli 0.171.0; exit 0; }}
cat > /dev/null
said=BLUE
[ -e {secret} ] && said="BLUE, and I see the secret"
echo '{{"type":"turn.started"}}'
echo "{{\\"type\\":\\"item.completed\\",\\"item\\":{{\\"id\\":\\"1\\",\\"type\\":\\"agent_message\\",\\"text\\":\\"$said\\"}}}}"
echo '{{"type":"turn.completed","usage":{{"input_tokens":10,"output_tokens":2}}}}'
"""
ADAPTER = """#!{python} -S
import json, os, sys
request = json.load(sys.stdin)
seen = os.path.exists({secret!r})
print(json.dumps({{"output": "BLUE" + (" secret" if seen else ""), "events": [], "usage": {{}}}}))
"""


@pytest.fixture
def works(machine_with: Callable[..., Machine]) -> None:
    probe = Bubblewrap().probe(machine_with(PATH=os.environ["PATH"]))
    if not probe.ok:
        pytest.skip(probe.reason)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "outside/secret"
    path.parent.mkdir()
    path.write_text("x")
    return path


@pytest.fixture
def codex(tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`codex(version="…")`: a program of that name on PATH; `version` is what it does besides before it tells its version."""

    def make(version: str = ":") -> None:
        program = tmp_path / "bin/codex"
        program.parent.mkdir(exist_ok=True)
        program.write_text(CODEX.format(version=version, secret=secret))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("CODEX_API_KEY", "a-key-of-the-user")

    return make


@pytest.fixture
def run(skilltrial: Any, new_skill: Any, colours: Any) -> Callable[..., Any]:
    """`run(*options)`: the suite once, with JSON on stdout."""
    skill = new_skill(colours)
    return lambda *options: skilltrial("run", skill, "--no-certify", "--gate", "none", "--format", "json", *options)


def evidence(folder: Path) -> list[dict[str, Any]]:
    lines = [line for path in folder.rglob("evidence/*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


@pytest.mark.usefixtures("works")
def test_a_program_is_put_behind_the_walls_it_starts_behind(run: Any, codex: Any, tmp_path: Path) -> None:
    codex()
    said = run("--target", "codex")
    assert [row["level"] for row in said.summary["isolation"]] == ["bwrap"]
    assert "without walls" not in said.err
    cells = evidence(tmp_path / "skilltrial-workspace")
    assert cells
    for cell in cells:
        assert (cell["text"], cell["sandbox"], cell["walls"]["network"]) == ("BLUE", "bwrap", "on")


@pytest.mark.usefixtures("works")
def test_one_that_does_not_start_there_runs_without_and_that_is_said(run: Any, codex: Any, secret: Path, tmp_path: Path) -> None:
    codex(version=f"cat {secret} > /dev/null || exit 4")
    said = run("--target", "codex")
    assert [row["level"] for row in said.summary["isolation"]] == ["none"]
    warning = next(line for line in said.err.splitlines() if "without walls" in line)
    assert "codex does not start behind the walls of bwrap: '--version' ended with status 4" in warning
    assert {cell["sandbox"] for cell in evidence(tmp_path / "skilltrial-workspace")} == {"none"}


@pytest.mark.usefixtures("works")
def test_a_level_that_was_named_is_never_left_silently(run: Any, codex: Any, secret: Path, tmp_path: Path) -> None:
    codex(version=f"cat {secret} > /dev/null || exit 4")
    said = run("--target", "codex", "--sandbox", "bwrap")
    assert said.code == 2
    assert "--sandbox bwrap: codex does not start there" in said.err
    assert not (tmp_path / "skilltrial-workspace").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sandbox", "none", "--network", "off"), "--network off needs walls"),
        (("--sandbox", "docker", "--network", "model-only", "--image", "i"), "docker has only on and off"),
        (("--sandbox", "bwrap", "--image", "i"), "starts no image"),
        (("--image", "i"), "starts no image"),
        (("--sandbox", "nosuch"), "no sandbox called 'nosuch'"),
        (("--sandbox", "bwrap", "--network", "model-only", "--env", "HTTPS_PROXY"), "does not lead through a proxy"),
    ],
)
def test_what_no_level_can_give_is_refused(run: Any, codex: Any, options: tuple[str, ...], words: str) -> None:
    codex()
    said = run("--target", "codex", *options)
    assert said.code == 2
    assert words in said.err


@pytest.mark.usefixtures("works")
def test_an_adapter_is_walled_in_only_when_that_is_asked_for(run: Any, secret: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(ADAPTER.format(python=Path(sys.executable).resolve(), secret=str(secret)))
    adapter.chmod(0o755)
    run("--target", f"adapter:{adapter}")
    run("--target", f"adapter:{adapter}", "--sandbox", "bwrap", "--network", "off")
    first, second = (evidence(tmp_path / f"skilltrial-workspace/iteration-{number}") for number in (1, 2))
    assert {(cell["sandbox"], cell["text"]) for cell in first} == {("none", "BLUE secret")}
    assert {(cell["sandbox"], cell["text"], cell["walls"]["network"]) for cell in second} == {("bwrap", "BLUE", "off")}


@pytest.mark.usefixtures("works")
def test_the_commands_of_checks_stay_behind_the_walls_of_their_run(
    skilltrial: Any, new_skill: Any, codex: Any, secret: Path
) -> None:
    codex()
    command = f"test -e /usr/bin/env && ! echo changed >> {secret} && touch mine"
    suite = [{"id": "one", "prompt": "Say a colour.", "checks": [{"type": "command", "command": command}]}]
    said = skilltrial("run", new_skill(suite), "--target", "codex", "--no-certify", "--format", "json")
    assert secret.read_text() == "x"
    assert said.code == 0, said.err


@pytest.mark.usefixtures("works")
def test_what_was_planned_for_walls_is_not_resumed_without_them(
    run: Any, skilltrial: Any, codex: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex()
    run("--target", "codex", "--max-calls", "2")
    monkeypatch.setattr("skilltrial.sandboxes.bwrap.PROGRAM", "no-bwrap-here")
    said = skilltrial("resume")
    assert said.code == 2
    assert "codex was planned with the sandbox bwrap: no-bwrap-here is not on PATH" in said.err


def test_a_wish_is_read_from_a_configuration() -> None:
    assert walls.Wish.of(Config()) == ("auto", "on", None)
    assert walls.Wish.of(Config(sandbox="docker", image="i", network="off")) == ("docker", "off", "i")


@pytest.mark.real
@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_program_that_the_image_lacks_is_shown_in_its_container(
    engine: str, run: Any, codex: Any, tmp_path: Path, machine_with: Callable[..., Machine]
) -> None:
    image = os.environ.get("SKILLTRIAL_TEST_IMAGE")
    probe = registry.get("sandboxes", engine)(image=image).probe(machine_with(PATH=os.environ["PATH"]))
    if not probe.ok:
        pytest.skip(probe.reason)
    codex()
    said = run("--target", "codex", "--sandbox", engine, "--image", image, "--network", "off")
    assert [row["level"] for row in said.summary["isolation"]] == [engine], said.err
    for cell in evidence(tmp_path / "skilltrial-workspace"):
        assert (cell["text"], cell["outcome"], cell["walls"]["image"]) == ("BLUE", "ok", image)
        assert cell["program_version"] == "0.171.0"
