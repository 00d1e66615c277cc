"""What a killed process of ours left running is ended by the next one, and nothing else is."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from skilltrial.system import processes, trees

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="the system does not tell")
OWNER = """
import sys, time
from skilltrial.system import processes, trees
trees.MARKER = sys.argv[3]
start = processes.Start(["sh", "-c", sys.argv[1]], {"PATH": sys.argv[2]}, ".", b"", None, time.monotonic() + 300, (".",))
processes.run(start, lambda line: print("started", flush=True), lambda: None)
"""


def alive(token: str) -> set[int]:
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and token.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def when_there(token: str, count: int) -> set[int]:
    """The processes, once there are so many."""
    deadline = time.monotonic() + 30
    while len(found := alive(token)) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.005)
    return found


def killed_owner(token: str, marker: str) -> None:
    """An owner that is killed while its program runs, with a daemon in a session of its own beside it."""
    script = f"setsid sleep {token} >/dev/null 2>&1 & echo started; sleep {token}; true"
    words = [sys.executable, "-c", OWNER, script, os.environ["PATH"], marker]
    owner = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert owner.stdout is not None and owner.stdout.readline() == b"started\n"
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()


def test_what_a_killed_owner_left_is_ended_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a variable of its own, for whatever else runs tests here ends abandoned processes too."""
    token, marker = f"300.{secrets.randbelow(10**9)}", f"SKILLTRIAL_TEST_{secrets.token_hex(4).upper()}"
    killed_owner(token, marker)
    monkeypatch.setattr(trees, "_ABANDONED", re.compile(trees._ABANDONED.pattern.replace(trees.MARKER.encode(), marker.encode())))
    left = when_there(token, 2)
    assert trees.end_abandoned() >= len(left)
    assert alive(token) == set()
    assert trees.end_abandoned() == 0


def test_what_a_living_owner_runs_is_left_alone(tmp_path: Path) -> None:
    token = f"300.{secrets.randbelow(10**9)}"
    stop, ready = threading.Event(), threading.Event()
    start = processes.Start(
        ["sh", "-c", f"echo hi; sleep {token}; true"],
        {"PATH": os.environ["PATH"]},
        str(tmp_path),
        b"",
        None,
        time.monotonic() + 60,
    )

    def ask() -> processes.Halt | None:
        return processes.Halt("enough", 0.1) if stop.is_set() else None

    runner = threading.Thread(target=lambda: processes.run(start, lambda line: ready.set(), ask))
    runner.start()
    try:
        assert ready.wait(30)
        before = when_there(token, 1)
        trees.end_abandoned()
        assert alive(token) == before
    finally:
        stop.set()
        runner.join(30)


@pytest.mark.parametrize(
    ("owner", "abandoned"),
    [
        ("{pid}.{start}.{space}", False),
        ("{pid}.1.{space}", True),
        ("4194999.5.{space}", True),
        ("4194999.5.1", False),
        ("", False),
        ("somebody-else", False),
    ],
)
def test_only_an_owner_that_is_gone_for_sure_has_abandoned_anything(owner: str, abandoned: bool) -> None:
    """A number that was given away again is no owner, and a number of another space tells nothing."""
    pid, start, space = trees.new_mark().partition("=")[2].partition("-")[0].split(".")
    mark = f"{trees.MARKER}={owner.format(pid=pid, start=start, space=space)}-abc"
    stranger = subprocess.Popen(["sleep", "300"], env={"PATH": os.environ["PATH"], **dict([mark.split("=", 1)])})
    try:
        trees.end_abandoned()
        ended = stranger.poll() is not None or _is_dead(stranger)
        assert ended is abandoned
    finally:
        stranger.kill()
        stranger.wait()


def _is_dead(process: subprocess.Popen[bytes]) -> bool:
    try:
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
