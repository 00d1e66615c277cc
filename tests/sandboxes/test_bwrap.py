"""Walls by bubblewrap: what a program finds behind them, how it ends, and the network that leads to one address."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest

from skilltrial.errors import CellError
from skilltrial.records.suite import Limits
from skilltrial.sandboxes import _profile, bwrap, programs
from skilltrial.seams import Access, Command, Exit, Stop

Play = Callable[..., tuple[Exit, str]]


@pytest.fixture
def play(needs_level: Callable[[str], Any], tmp_path: Path) -> Play:
    sandbox = needs_level("bwrap")
    count = iter(range(100))

    def run(
        script: str, access: Access | None = None, limits: Limits | None = None, argv: tuple[str, ...] = ()
    ) -> tuple[Exit, str]:
        folder = tmp_path / str(next(count))
        folder.mkdir()
        lines: list[bytes] = []

        def keep(line: bytes) -> Stop | None:
            lines.append(line)
            return None

        with sandbox.enter(folder, access or Access()) as place:
            ended = place.start(Command(argv or ("sh", "-c", script), {}), limits or Limits(timeout_s=30), keep)
        return ended, b"".join(lines).decode()

    return run


def test_what_it_writes_lies_in_its_folder_and_belongs_to_the_caller(tmp_path: Path, needs_level: Callable[[str], Any]) -> None:
    with needs_level("bwrap").enter(tmp_path, Access()) as place:
        script = 'echo a > b; echo c > "$HOME/d"; echo e > /tmp/f; [ -e "$TMPDIR/f" ] && pwd && echo "$HOME"'
        lines: list[bytes] = []
        place.start(Command(("sh", "-c", script), {}), Limits(timeout_s=30), lambda line: lines.append(line))
        assert b"".join(lines).decode().split() == [str(place.root), str(place.home)]
        for path in (place.root / "b", place.home / "d", place.home / "tmp/f"):
            assert path.stat().st_uid == os.getuid()
    assert not (tmp_path / "etc").exists()


def test_it_has_a_name_and_a_home_of_its_own(play: Play) -> None:
    _, said = play('id -un; id -u; getent passwd "$(id -u)" | cut -d: -f6; echo "$HOME"; hostname')
    name, number, home, same, host = said.split()
    assert (name, home, host) == ("trial", same, "skilltrial")
    assert number != "0"


def test_the_gentle_signal_reaches_the_program_before_the_hard_one(play: Play) -> None:
    script = 'trap "echo bye; exit 3" TERM; while :; do sleep 0.02; done'
    ended, said = play(script, limits=Limits(timeout_s=0.5))
    assert (said, ended.code) == ("bye\n", 3)
    assert ended.stop is not None and ended.stop.outcome == "timeout"


def test_what_is_left_running_ends_with_its_walls_and_how_much_it_was_nobody_knows(play: Play) -> None:
    seconds = f"300.{secrets.randbelow(10**9)}"
    ended, said = play(f"setsid sleep {seconds} & setsid sleep {seconds} & echo done")
    assert (ended.leaked, ended.code, said) == (None, 0, "done\n")
    assert not [process for process in psutil.process_iter(["cmdline"]) if seconds in (process.info["cmdline"] or ())]


def test_a_program_that_is_not_there_cannot_be_started(play: Play, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        play("", argv=("no-such-program",))
    hidden = tmp_path / "program"
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    with pytest.raises(OSError, match="No such file"):
        play("", argv=(str(hidden),))


def test_its_own_words_are_no_complaint_of_bwrap(play: Play) -> None:
    ended, _ = play("echo 'bwrap: nothing' >&2; exit 2")
    assert ended.code == 2


def test_a_program_is_shown_and_its_neighbours_are_not(play: Play, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    script = tmp_path / "tools/tool"
    script.write_text("#!/bin/sh\nls $(dirname $0)\n")
    script.chmod(0o755)
    (tmp_path / "tools/secret").write_text("x")
    ended, said = play("", Access(readable=programs.needs(script, "/usr/bin:/bin")), argv=(str(script),))
    assert (ended.code, said) == (0, "tool\n")


def test_certificates_that_variables_name_are_there(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "company.pem").write_text("a certificate")
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "company.pem"))
    assert play('cat "$NODE_EXTRA_CA_CERTS"')[1] == "a certificate"


def test_an_adapter_keeps_its_variables_but_no_home(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-key")
    _, said = play('echo "$SOME_API_KEY"; echo "$HOME"', Access(keep_home=True))
    key, home = said.split()
    assert key == "a-key"
    assert home != os.environ["HOME"]


def test_a_check_sees_the_machine_and_changes_none_of_it(play: Play) -> None:
    """But for /tmp, which is its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as there:
        seen = Path(there, "seen")
        seen.write_text("seen")
        script = f"cat {seen}; (echo >> {seen}) 2>/dev/null || echo ' and kept'; echo x > mine && cat mine"
        ended, said = play(script, Access(readable=(Path("/"),), nested=False))
    assert (said, ended.code) == ("seen and kept\nx\n", 0)


# ---------------------------------------------------------------- network
@contextmanager
def greeter() -> Iterator[int]:
    """A server on loopback that says hello to everybody; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    one = server.accept()[0]
                except OSError:
                    return
                with one:
                    one.sendall(b"hello " + one.recv(100))

        thread = Thread(target=greet, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


CALL = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as one:
        one.sendall(b"you")
        print(one.recv(100).decode())
except OSError as error:
    print(type(error).__name__)
"""


def call(play: Play, host: str, port: int, **wishes: Any) -> str:
    python = str(Path(sys.executable).resolve())
    access = Access(readable=programs.needs(Path(python), os.environ["PATH"]), **wishes)
    return play("", access, argv=(python, "-S", "-c", CALL, host, str(port)))[1].strip()


def test_the_network_is_there_or_not(play: Play) -> None:
    with greeter() as port:
        assert call(play, "127.0.0.1", port) == "hello you"
        assert call(play, "127.0.0.1", port, network="off") == "ConnectionRefusedError"


def test_only_the_model_is_reached_by_its_name_or_its_address(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with greeter() as port, greeter() as other:
        for host in ("127.0.0.1", "localhost"):
            assert call(play, host, port, network="model-only", hosts=(f"{host}:{port}",)) == "hello you"
        model = (f"127.0.0.1:{port}", "model.example:443")
        assert call(play, "127.0.0.1", other, network="model-only", hosts=model) == "ConnectionRefusedError"
        assert call(play, "192.0.2.7", 80, network="model-only", hosts=model) == "OSError"
        assert "gaierror" in call(play, "elsewhere.example", 443, network="model-only", hosts=model)
    _, said = play("cat /etc/hosts; echo [$HTTPS_PROXY]", Access(network="model-only", hosts=model))
    assert "127.0.0.3 model.example\n" in said
    assert said.endswith("[]\n")


def test_an_address_of_another_machine_is_listened_at_inside(play: Play) -> None:
    python = str(Path(sys.executable).resolve())
    script = "import socket; socket.create_connection(('192.0.2.9', 8080), 5); print('taken')"
    access = Access("model-only", programs.needs(Path(python), os.environ["PATH"]), hosts=("192.0.2.9:8080",))
    assert play("", access, argv=(python, "-S", "-c", script))[1] == "taken\n"


def test_a_model_that_nobody_named_cannot_be_let_through(tmp_path: Path, needs_level: Callable[[str], Any]) -> None:
    with (
        pytest.raises(CellError, match="not known where the model is"),
        needs_level("bwrap").enter(tmp_path, Access(network="model-only")),
    ):
        pass


# ---------------------------------------------------------------- the profile
def test_the_profile_of_an_ordinary_start(tmp_path: Path) -> None:
    words = _profile.walls(tmp_path / "work", tmp_path / "home", Access(network="off"), {})
    assert {"--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"} <= set(
        words
    )
    assert words[words.index("--cap-drop") + 1] == "ALL"
    assert "--disable-userns" not in words
    writable = [words[number + 2] for number, word in enumerate(words) if word == "--bind"]
    assert writable == ["/tmp", str(tmp_path / "work"), str(tmp_path / "home")]
    assert "--disable-userns" in _profile.walls(tmp_path, tmp_path, replace(Access(), nested=False), {})


def test_an_old_bwrap_is_not_asked_for_what_it_cannot() -> None:
    assert [bwrap._older(version) for version in ("0.4.1", "0.7.0", "0.8.0", "0.11.2", "1.0", None)] == [
        True,
        True,
        False,
        False,
        False,
        True,
    ]


def test_its_absence_is_said_with_what_to_install(machine_with: Callable[..., Any]) -> None:
    probe = bwrap.Bubblewrap().probe(machine_with(PATH="/nowhere"))
    assert not probe.ok
    assert "apt install bubblewrap" in probe.reason


def test_a_bwrap_that_does_not_start_is_no_wall(tmp_path: Path, machine_with: Callable[..., Any]) -> None:
    """Found out by starting it: some systems forbid what it needs."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    probe = bwrap.Bubblewrap().probe(machine_with(PATH=f"{tmp_path}:{os.environ['PATH']}"))
    assert not probe.ok
    assert "setting up uid map: Permission denied" in probe.reason
