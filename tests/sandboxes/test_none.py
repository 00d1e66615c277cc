"""The level without walls: a clean home and environment, limits kept, nothing left running."""

import os
import secrets
from pathlib import Path

import pytest

from skilltrial import registry
from skilltrial.records.evidence import Event
from skilltrial.records.suite import Limits
from skilltrial.sandboxes.none import NoSandbox
from skilltrial.seams import Access, Command, Exit, Stop


class Patient:
    """A Watch with a deadline and an answer of its own."""

    def __init__(self, answer: Stop | None = None, deadline: float = float("inf")) -> None:
        self.answer = answer
        self.deadline = deadline

    def heard(self, event: Event | None) -> Stop | None:
        return self.answer


def play(folder: Path, script: str, access: Access | None = None, limits: Limits | None = None, **env: str) -> tuple[Exit, str]:
    lines: list[bytes] = []

    def keep(line: bytes) -> Stop | None:
        lines.append(line)
        return None

    with NoSandbox().enter(folder, access or Access()) as place:
        ended = place.start(Command(("sh", "-c", script), env), limits or Limits(timeout_s=30), keep)
    return ended, b"".join(lines).decode()


def test_it_is_found_by_its_name_and_always_works() -> None:
    assert registry.get("sandboxes", "none") is NoSandbox
    assert NoSandbox().probe(None).ok  # type: ignore[arg-type]


def test_a_program_works_in_the_root_with_a_home_of_its_own(tmp_path: Path) -> None:
    ended, said = play(tmp_path, 'pwd; echo "$HOME"; touch "$TMPDIR/x" && ls "$HOME/tmp"; [ -d "$HOME" ] && echo there')
    root, home, temporary, there = said.split()
    assert (root, home) == (str(tmp_path.resolve() / "work"), str(tmp_path.resolve() / "home"))
    assert (temporary, there, ended.code) == ("x", "there", 0)


def test_a_nested_session_can_be_launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FC-02: an agent that refuses to start inside another one does start here, with clean and with kept environment."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CODEX_SANDBOX", "seatbelt")
    monkeypatch.setenv("MY_OWN", "kept")
    script = 'if [ -n "$CLAUDECODE$CODEX_SANDBOX" ]; then echo "cannot be launched inside another session" >&2; exit 1; fi; echo "ok $MY_OWN"'
    for number, (access, expected) in enumerate([(Access(), "ok \n"), (Access(keep_home=True), "ok kept\n")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        ended, said = play(folder, script, access)
        assert (ended.code, said) == (0, expected)


def test_removed_variables_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CODEX_SANDBOX", "seatbelt")
    with NoSandbox().enter(tmp_path, Access(env={"CODEX_SANDBOX": "seatbelt"})) as place:
        assert "CLAUDECODE" in place.removed
        assert "CODEX_SANDBOX" not in place.removed


def test_an_adapter_keeps_home_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_API_KEY", "a-key")
    _, said = play(tmp_path, 'echo "$HOME $CURSOR_API_KEY"', Access(keep_home=True))
    assert said == f"{os.environ['HOME']} a-key\n"


def test_variables_are_passed_by_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "1")
    monkeypatch.setenv("TWO", "2")
    _, said = play(tmp_path, 'echo "[$ONE][$TWO][$THREE]"', Access(env={"ONE": "1"}), THREE="3")
    assert said == "[1][][3]\n"


def test_status_and_signal_are_told_apart(tmp_path: Path) -> None:
    ended, _ = play(tmp_path, "kill -9 $$")
    assert (ended.code, ended.signal, ended.stop) == (None, 9, None)


def test_the_time_limit_is_a_stop_that_says_so_and_tells_whether_anything_was_printed(tmp_path: Path) -> None:
    token = f"300.{secrets.randbelow(10**9)}"
    ended, _ = play(tmp_path, f"sleep {token} & sleep {token}", limits=Limits(timeout_s=0.2))
    assert ended.stop == Stop("timeout", "time limit of 0.2 s reached")
    assert ended.stdout_bytes == 0


def test_too_much_output_is_an_overflow(tmp_path: Path) -> None:
    ended, said = play(tmp_path, "yes", limits=Limits(timeout_s=30, output_bytes=10_000))
    assert ended.overflow
    assert ended.stop is not None and ended.stop.outcome == "budget"
    assert len(said) <= 10_000


def test_the_watch_ends_a_run(tmp_path: Path) -> None:
    with NoSandbox().enter(tmp_path, Access()) as place:
        stop = Stop("interrupted", "stopped by the user")
        ended = place.start(
            Command(("sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"), {}), Limits(), lambda line: None, Patient(stop)
        )
        late = place.start(Command(("sleep", "300"), {}), Limits(), lambda line: None, Patient(deadline=0.0))
    assert ended.stop is stop
    assert ended.signal == 9
    assert ended.duration_s < 2.0  # a promise to the user, grace included
    assert late.stop is not None and late.stop.outcome == "timeout"


def test_a_program_that_cannot_start_is_an_os_error(tmp_path: Path) -> None:
    with NoSandbox().enter(tmp_path, Access()) as place, pytest.raises(FileNotFoundError):
        place.start(Command(("no-such-program",), {}), Limits(), lambda line: None)
