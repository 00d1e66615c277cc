"""Walls by container engines: what is handed over, what is refused, whose containers are removed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.errors import CellError
from skilltrial.records.suite import Limits
from skilltrial.sandboxes import _cli, _engine
from skilltrial.sandboxes._cli import Cli
from skilltrial.sandboxes.docker import Docker
from skilltrial.sandboxes.podman import Podman
from skilltrial.seams import Access, Command, Exit

from .conftest import IMAGE

ENGINES = [pytest.param(name, marks=pytest.mark.real) for name in ("docker", "podman")]
FAKE = """#!/bin/sh
echo "$@" >> {log}
case "$1" in
  version) echo 27.0.1;;
  info) echo '{{"SecurityOptions":["name=seccomp"]}}';;
  image) echo '["PATH=/image/bin:/usr/bin"]';;
  ps) {ps};;
  run) {run};;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`engine(run="…")`: a program called docker that notes its arguments and does just that; answers with its notes."""

    def make(run: str = "true", ps: str = "true") -> Path:
        log = tmp_path / "log"
        program = tmp_path / "bin/docker"
        program.parent.mkdir(exist_ok=True)
        program.write_text(FAKE.format(log=log, run=run, ps=ps))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        monkeypatch.setattr(_cli, "_answers", {})
        return log

    return make


def play(
    folder: Path, script: str, sandbox: Any, access: Access | None = None, limits: Limits | None = None, **env: str
) -> tuple[Exit, str]:
    lines: list[bytes] = []
    with sandbox.enter(folder, access or Access(network="off")) as place:
        ended = place.start(Command(("sh", "-c", script), env), limits or Limits(timeout_s=60), lambda line: lines.append(line))
    return ended, b"".join(lines).decode()


# ---------------------------------------------------------------- with a program that only notes what it is told
def test_walls_are_asked_for_with_every_run(engine: Callable[..., Path], tmp_path: Path) -> None:
    log = engine()
    (tmp_path / "place").mkdir()
    play(tmp_path / "place", "true", Docker(image="an-image", memory="1g"))
    run = next(line for line in reversed(log.read_text().splitlines()) if line.startswith("run --name"))
    for words in (
        "--rm", "--init", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--pids-limit 4096", "--memory 1g",
        "--network none", "--pull never", f"--label {_engine.OWNER}={os.getpid()}.",
    ):  # fmt: skip
        assert words in run
    assert f"source={tmp_path}/place/work,target={tmp_path}/place/work " in run
    assert "an-image timeout -s KILL" in run
    user = 1000 if os.getuid() == 0 else os.getuid()
    assert f"--user {user}:" in run


def test_no_value_stands_in_an_argument(engine: Callable[..., Path], tmp_path: Path) -> None:
    log = engine(run='[ "$SOME_API_KEY" = hidden ] && echo handed over')
    (tmp_path / "place").mkdir()
    _, said = play(tmp_path / "place", "true", Docker(image="an-image"), SOME_API_KEY="hidden")
    assert said == "handed over\n"
    assert "--env SOME_API_KEY " in log.read_text()
    assert "hidden" not in log.read_text()


def test_the_engines_own_variables_are_the_callers(
    engine: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///elsewhere.sock")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    log = engine(run='echo "$HOME $DOCKER_HOST$XDG_CONFIG_HOME"')
    (tmp_path / "place").mkdir()
    _, said = play(tmp_path / "place", "true", Docker(image="an-image"))
    assert said == f"{os.environ['HOME']} unix:///elsewhere.sock\n"
    assert f"--env HOME={tmp_path}/place/home" in log.read_text()


def test_the_images_own_path_stays_and_what_is_shown_comes_last(engine: Callable[..., Path], tmp_path: Path) -> None:
    engine(run='echo "$*"')
    tool = tmp_path / "tools/tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    for number, (access, path) in enumerate([(Access(), None), (Access(readable=(tool,)), f"/image/bin:/usr/bin:{tool.parent}")]):
        (tmp_path / str(number)).mkdir()
        _, said = play(tmp_path / str(number), "true", Docker(image="an-image"), access)
        assert ("--env PATH=" in said) == (path is not None)
        assert path is None or f"--env PATH={path} " in said


def test_a_model_on_this_machine_needs_the_machines_network(engine: Callable[..., Path], tmp_path: Path) -> None:
    engine(run='echo "$*"')
    for host, word in (("127.0.0.1:8000", "--network host"), ("api.example:443", "")):
        folder = tmp_path / host.replace(":", "-")
        folder.mkdir()
        _, said = play(folder, "true", Docker(image="an-image"), Access(hosts=(host,)))
        assert ("--network host" in said) == bool(word)


def test_an_engine_that_cannot_start_the_program_is_no_run_of_it(engine: Callable[..., Path], tmp_path: Path) -> None:
    engine(run='echo "docker: Error response from daemon: no such image" >&2; exit 125')
    (tmp_path / "1").mkdir()
    with pytest.raises(OSError, match="no such image"):
        play(tmp_path / "1", "true", Docker(image="an-image"))
    engine(run="echo 'command not found' >&2; exit 127")
    (tmp_path / "2").mkdir()
    assert play(tmp_path / "2", "true", Docker(image="an-image"))[0].code == 127


def test_a_container_is_removed_when_its_run_was_stopped(engine: Callable[..., Path], tmp_path: Path) -> None:
    log = engine(run='[ "$2" = --name ] && exec sleep 300')
    (tmp_path / "place").mkdir()
    ended, _ = play(tmp_path / "place", "true", Docker(image="an-image"), limits=Limits(timeout_s=0.3))
    assert ended.stop is not None and ended.stop.outcome == "timeout"
    lines = log.read_text().splitlines()
    name = next(line.split()[2] for line in lines if line.startswith("run --name"))
    assert lines[-2:] == [f"kill --signal KILL {name}", f"rm --force {name}"]


def test_only_containers_of_processes_that_are_gone_are_swept(engine: Callable[..., Path]) -> None:
    own, boot = _engine._owner(), _engine._boot()
    rows = {"mine": own, "gone": f"{os.getpid()}.1.{boot}", "elsewhere": "1.1.another", "strange": "x"}
    log = engine(ps="; ".join(f"echo '{name} other=1,{_engine.OWNER}={owner}'" for name, owner in rows.items()))
    assert _engine.sweep(Cli("docker")) == 1
    assert [line for line in log.read_text().splitlines() if line.startswith("rm ")] == ["rm --force gone"]


def test_what_is_missing_is_said(engine: Callable[..., Path], machine_with: Callable[..., Any]) -> None:
    assert Podman().probe(machine_with(PATH="/nowhere")).reason == "podman is not on PATH"
    engine()
    machine = machine_with(PATH=os.environ["PATH"])
    assert Docker().probe(machine).reason == "docker answers; name an image with --image"
    engine(run='echo "Unable to find image" >&2; exit 125')
    probe = Docker(image="an-image").probe(machine)
    assert (probe.ok, probe.reason) == (False, "'an-image' does not start: Unable to find image")


def test_what_an_engine_has_not_is_refused(engine: Callable[..., Path], tmp_path: Path) -> None:
    engine()
    for sandbox, access, words in (
        (Docker(), Access(), "needs an image"),
        (Docker(image="an-image"), Access(network="model-only", hosts=("h:1",)), "use on, off, or the sandbox bwrap"),
    ):
        with pytest.raises(CellError, match=words), sandbox.enter(tmp_path, access):
            pass


# ---------------------------------------------------------------- with the engines themselves
@pytest.mark.parametrize("name", ENGINES)
def test_what_it_writes_belongs_to_the_caller(name: str, tmp_path: Path, needs_level: Callable[[str], Any]) -> None:
    sandbox = needs_level(name)
    with sandbox.enter(tmp_path, Access(network="off")) as place:
        (place.root / "given").write_text("given")
        script = 'cat given && echo a > b && echo c > "$HOME/d" && echo e > /tmp/f && [ -e "$TMPDIR/f" ] && [ "$PWD" = "$1" ]'
        ended = place.start(Command(("sh", "-c", script, "sh", str(place.root)), {}), Limits(timeout_s=60), lambda line: None)
        assert ended.code == 0, ended.stderr
        assert (place.root / "b").read_text() == "a\n"
    assert {path.stat().st_uid for path in (tmp_path / "work").iterdir()} == {os.getuid()}


@pytest.mark.parametrize("name", ENGINES)
def test_a_program_that_the_image_does_not_have_cannot_be_started(
    name: str, tmp_path: Path, needs_level: Callable[[str], Any]
) -> None:
    with needs_level(name).enter(tmp_path, Access(network="off")) as place, pytest.raises(FileNotFoundError):
        place.start(Command(("no-such-program",), {}), Limits(timeout_s=60), lambda line: None)


@pytest.mark.parametrize("name", ENGINES)
def test_a_container_that_outlived_us_is_swept_by_the_next_probe(
    name: str, conformance: Any, needs_level: Callable[[str], Any], machine_with: Callable[..., Any]
) -> None:
    sandbox = needs_level(name)
    token = f"escapee-{secrets.token_hex(8)}"
    try:
        conformance.start_and_die(conformance.Level(name, IMAGE), token)
        assert conformance.survivors(token)
        assert sandbox.probe(machine_with(PATH=os.environ["PATH"])).ok
        assert not conformance.left_after(token, 10.0)  # the engine's own program sees it and ends
    finally:
        conformance.end(token)
