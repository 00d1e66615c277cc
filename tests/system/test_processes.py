"""Whatever a program does, its run ends, its output is kept, and nothing of it is left running."""

import os
import secrets
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skilltrial.system import processes, streams, trees
from skilltrial.system.processes import GRACE_S, Ended, Halt, Start, run


@pytest.fixture(autouse=True, params=[streams.Streams, streams.PumpedStreams], ids=["polled", "pumped"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it holds for both ways to wait for pipes."""
    monkeypatch.setattr(processes, "_STREAMS", request.param)


pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks for survivors in /proc")
PATH = {"PATH": os.environ.get("PATH", os.defpath)}


def alive(token: str) -> list[str]:
    """Command lines of living processes that hold `token`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if token.encode() in line:
                found.append(line.replace(b"\0", b" ").decode())
    return found


def play(
    argv: list[str],
    where: Path,
    *,
    stdin: bytes = b"",
    seconds: float = 30.0,
    most: int | None = None,
    on_line: Callable[[bytes], Halt | None] | None = None,
    ask: Callable[[], Halt | None] = lambda: None,
) -> tuple[Ended, list[bytes]]:
    lines: list[bytes] = []

    def keep(line: bytes) -> Halt | None:
        lines.append(line)
        return on_line(line) if on_line else None

    start = Start(argv, PATH, str(where), stdin, most, time.monotonic() + seconds, (str(where),))
    return run(start, keep, ask), lines


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", textwrap.dedent(script), *arguments]


DAEMON = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready, done = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            for fd in (0, 1, 2):
                os.close(fd)
            os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; echo >&%d; while :; do sleep 300; done # " % done + sys.argv[1]], {}) \\
                if os.set_inheritable(done, True) is None else None
        os._exit(0)
    os.read(ready, 1)
    print("ready", flush=True)
    if sys.argv[2] == "stay":
        while True:
            time.sleep(300)
"""


def test_output_comes_line_by_line_while_the_program_runs(tmp_path: Path) -> None:
    go = tmp_path / "go"

    def answer(line: bytes) -> None:
        if line == b"first\n":
            go.touch()

    ended, lines = play(shell("echo first; while [ ! -e go ]; do sleep 0.01; done; printf last"), tmp_path, on_line=answer)
    assert lines == [b"first\n", b"last"]
    assert (ended.returncode, ended.cause, ended.stdout_bytes) == (0, "itself", 10)


def test_a_line_may_be_longer_than_any_buffer(tmp_path: Path) -> None:
    ended, lines = play(python("print('x' * 3_000_000); print('y')"), tmp_path)
    assert [len(line) for line in lines] == [3_000_001, 2]
    assert ended.stdout_bytes == 3_000_003


def test_standard_input_is_closed_when_there_is_nothing_to_say(tmp_path: Path) -> None:
    reader, writer = os.pipe()  # FC-01: our own stdin is a pipe nobody writes to
    saved = os.dup(0)
    os.dup2(reader, 0)
    try:
        ended, lines = play(shell("cat >/dev/null; echo done"), tmp_path)
    finally:
        os.dup2(saved, 0)
        for fd in (reader, writer, saved):
            os.close(fd)
    assert lines == [b"done\n"]
    assert ended.returncode == 0


def test_much_input_and_much_output_do_not_wait_for_each_other(tmp_path: Path) -> None:
    data = b"0123456789abcde\n" * 60_000
    ended, lines = play(["cat"], tmp_path, stdin=data)
    assert b"".join(lines) == data
    assert ended.returncode == 0


def test_a_program_may_leave_its_input_unread(tmp_path: Path) -> None:
    ended, lines = play(shell("exec <&-; echo no thanks"), tmp_path, stdin=b"x" * 1_000_000)
    assert lines == [b"no thanks\n"]
    assert ended.cause == "itself"


def test_a_signal_is_told_from_a_status(tmp_path: Path) -> None:
    assert play(shell("exit 7"), tmp_path)[0].returncode == 7
    assert play(shell("kill -9 $$"), tmp_path)[0].returncode == -9


def test_a_program_that_is_not_there_is_an_os_error_naming_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        play(["no-such-program"], tmp_path)


def test_beginning_and_end_of_standard_error_are_kept(tmp_path: Path) -> None:
    ended, _ = play(python("import sys; sys.stderr.write('first' + 'x' * 500_000 + 'last')"), tmp_path)
    assert ended.stderr.startswith(b"first") and ended.stderr.endswith(b"last")
    assert b"bytes cut]" in ended.stderr
    assert len(ended.stderr) < 140_000


def test_at_the_time_limit_a_background_process_that_holds_the_pipe_ends_too(tmp_path: Path) -> None:
    token = f"300.{secrets.randbelow(10**9)}"  # FC-06
    ended, lines = play(shell(f"echo so far; sleep {token} & sleep {token}"), tmp_path, seconds=0.3)
    assert lines == [b"so far\n"]
    assert ended.cause == "deadline"
    assert alive(token) == []


def test_a_background_process_that_outlives_its_program_is_ended_and_counted(tmp_path: Path) -> None:
    token = f"300.{secrets.randbelow(10**9)}"
    ended, lines = play(shell(f"sleep {token} & sleep {token} >/dev/null 2>&1 & echo hi"), tmp_path)
    assert lines == [b"hi\n"]
    assert (ended.cause, ended.returncode, ended.leaked) == ("itself", 0, 2)
    assert alive(token) == []


@pytest.mark.parametrize("then", ["stay", "leave"])
def test_a_daemon_that_hides_every_trace_is_ended(tmp_path: Path, then: str) -> None:
    """Double fork, session of its own, no environment, no pipes, no folder of ours, deaf to SIGTERM."""
    token = f"daemon-{secrets.token_hex(8)}"
    ready = threading.Event()

    def answer(line: bytes) -> Halt | None:
        assert alive(token)
        ready.set()
        return Halt("enough", 0.1) if then == "stay" else None

    ended, _ = play(python(DAEMON, token, then), tmp_path, on_line=answer)
    assert ready.is_set()
    assert ended.cause == ("halt" if then == "stay" else "itself")
    assert alive(token) == []


def test_what_a_hidden_daemon_started_ends_with_it(tmp_path: Path) -> None:
    """The child becomes an orphan of ours only when the daemon above it is killed."""
    token = f"daemon-{secrets.token_hex(8)}"
    endless = f"while :; do sleep 300; done # {token}"
    above = f"setsid sh -c \"trap '' TERM; echo >&$done; {endless}\" & {endless}"
    script = DAEMON.replace('echo >&%d; while :; do sleep 300; done # " % done + sys.argv[1]', 'done=%d; " % done + sys.argv[3]')
    assert script != DAEMON
    ended, _ = play(
        python(script, token, "leave", above), tmp_path, on_line=lambda _: None if len(alive(token)) > 1 else Halt("few", 0)
    )
    assert ended.cause == "itself"
    assert alive(token) == []


def test_a_marked_process_in_a_session_of_its_own_ends_while_other_programs_run(tmp_path: Path) -> None:
    token = f"300.{secrets.randbelow(10**9)}"
    other, stop = f"301.{secrets.randbelow(10**9)}", threading.Event()
    up = threading.Event()

    def neighbour() -> None:
        def seen(line: bytes) -> None:
            up.set()

        (tmp_path / "b").mkdir()
        play(shell(f"(setsid sleep {other} >/dev/null 2>&1 &); echo up; sleep {other}"), tmp_path / "b", on_line=seen,
             ask=lambda: Halt("stop", 0.1) if stop.is_set() else None)  # fmt: skip

    thread = threading.Thread(target=neighbour)
    thread.start()
    assert up.wait(20)
    (tmp_path / "a").mkdir()
    play(shell(f"(setsid sleep {token} >/dev/null 2>&1 &); echo up"), tmp_path / "a")
    assert alive(token) == []
    assert len(alive(other)) >= 2  # the neighbour's daemon is none of our business
    stop.set()
    thread.join()
    assert alive(other) == []


def test_a_flood_is_stopped_at_the_limit(tmp_path: Path) -> None:
    token = f"flood{secrets.token_hex(6)}"
    ended, lines = play(["yes", token], tmp_path, most=100_000)
    assert ended.cause == "overflow"
    assert sum(map(len, lines)) <= 100_000
    assert alive(token) == []
    assert play(shell("yes >&2"), tmp_path, most=100_000)[0].cause == "overflow"


def test_a_line_can_end_the_run_and_what_is_said_on_the_way_out_still_arrives(tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 143' TERM; echo stop; while :; do sleep 0.01; done"
    ended, lines = play(shell(script), tmp_path, on_line=lambda line: Halt("seen") if line == b"stop\n" else None)
    assert lines == [b"stop\n", b"bye\n"]
    assert (ended.cause, ended.returncode) == ("halt", 143)
    assert ended.halt == Halt("seen")


def test_who_ignores_the_gentle_signal_gets_the_hard_one(tmp_path: Path) -> None:
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    ended, _ = play(shell(script), tmp_path, on_line=lambda line: Halt("now", 0.2))
    assert ended.returncode == -9
    assert ended.duration_s < GRACE_S


def test_an_error_of_the_listener_ends_the_tree_and_is_not_swallowed(tmp_path: Path) -> None:
    token = f"300.{secrets.randbelow(10**9)}"

    def broken(line: bytes) -> Halt | None:
        raise ValueError("bug")

    with pytest.raises(ValueError, match="bug"):
        play(shell(f"echo x; sleep {token}"), tmp_path, on_line=broken)
    assert alive(token) == []


def test_many_at_once_each_get_their_own_status_and_leave_nothing(tmp_path: Path) -> None:
    token = f"300.{secrets.randbelow(10**9)}"
    wrong: list[str] = []

    def work(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        for turn in range(6):
            status = (number * 10 + turn) % 100 + 1
            ended, lines = play(shell(f"(setsid sleep {token} &) ; (true &) ; echo {status}; exit {status}"), folder)
            if ended.returncode != status or lines != [f"{status}\n".encode()]:
                wrong.append(f"{status}: {ended} {lines}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert alive(token) == []


def test_a_process_that_others_started_here_is_left_alone(tmp_path: Path) -> None:
    server = subprocess.Popen(["sleep", "300"], start_new_session=True)
    brief = subprocess.Popen(["true"])
    try:
        play(shell("sleep 300 & exit 0"), tmp_path)
        play(shell("sleep 300"), tmp_path, seconds=0.1)
        assert server.poll() is None
        assert brief.wait() == 0
    finally:
        server.kill()
        server.wait()


def test_without_proc_the_same_processes_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen(["sleep", "300"], env={**PATH, trees.MARKER: "abc"}, start_new_session=True)
    try:
        seen = trees._table()[child.pid]
        monkeypatch.setattr(trees, "_PROC", False)
        assert trees._table()[child.pid] == seen == (os.getpid(), child.pid, child.pid, False)
        assert b"SKILLTRIAL_CELL=abc" in trees._environment(child.pid)
        assert trees._environment(2**22 + 1) == b""
    finally:
        child.kill()
        child.wait()
