"""One run of an agent program in its place: login and settings in, events out as they come, caps where it has none."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from skilltrial.backends import _mocks, _program
from skilltrial.backends._login import Login
from skilltrial.backends._program import Failure
from skilltrial.backends._stream import Reader
from skilltrial.backends._version import version_of
from skilltrial.records.evidence import AgentRun
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import Limits
from skilltrial.seams import Command, Exit, Job, Machine, Place, Stop, Watch
from skilltrial.system.files import inside, read_capped, write_atomic

if TYPE_CHECKING:
    from skilltrial.backends._command_line import CommandLine

_KEPT_OUTPUT = 262_144
"""Bytes of standard output kept as a log from its beginning, and as many from its end."""
_LARGEST_LEFT_FILE = 1 << 20


class CommandLineRunner:
    """One process per run."""

    def __init__(self, backend: CommandLine, machine: Machine) -> None:
        self.backend = backend
        self.machine = machine

    def run(self, job: Job, watch: Watch) -> AgentRun:
        backend, place = self.backend, _program.place_of(job)
        login = backend.login(self.machine)
        if login is None or login.expired:
            return _program.failed(Failure("infrastructure_error", backend.shut_out(login), setup=True))
        for secret in login.secrets():
            self.machine.redactor.learn(secret)
        files = backend.login_files(login.source, backend.home_files(job)) if job.own_home else {}
        for name, data in (*files.items(), *_mocks.files(job).items(), *(login.files.items() if job.own_home else ())):
            _put(place.home, name, data)
        lacking = backend.furnish(place.home, self.machine) if job.own_home else ()
        command = backend.command(job)
        sent = _sent(command, files, place, login)
        reader = backend.reader([skill.name for skill in job.skills], forced=job.forced and backend.forces())
        if backend.base_url or backend.api_key_env:
            reader.login_hint = f"check the key, which is taken from: {login.source}"
        started, kept = datetime.now(UTC).isoformat(timespec="milliseconds"), _Kept()
        exit_ = self._start(job, watch, command, login, reader, kept)
        if isinstance(exit_, Failure):
            return _program.failed(exit_, sent=sent)
        run = self._ended(job, exit_, reader, started, sent, kept)
        if job.mocks and job.own_home:
            run = _mocks.told(run, place, job.mocks)
        return run.model_copy(update={"warnings": (*lacking, *run.warnings)}) if lacking else run

    def _start(self, job: Job, watch: Watch, command: Command, login: Login, reader: Reader, kept: _Kept) -> Exit | Failure:
        place, began = _program.place_of(job), time.monotonic()

        def on_line(line: bytes) -> Stop | None:
            kept.add(line)
            for event in reader.feed(line, round(time.monotonic() - began, 3)):
                if stop := watch.heard(event):
                    return stop
            return reader.doom or over_a_cap(reader, job.limits, self.backend.kept(job))

        whole = Command(command.argv, {**command.env, **login.env}, command.stdin, command.cwd)
        limits = job.limits.model_copy(update={"output_bytes": self.backend.max_output_bytes})
        try:
            return place.start(whole, limits, on_line, watch)
        except OSError as error:
            what = f"{command.argv[0]} could not be started: {error.strerror or error}"
            return Failure("infrastructure_error", what, setup=True)

    def _ended(self, job: Job, exit_: Exit, reader: Reader, started: str, sent: JsonObject, kept: _Kept) -> AgentRun:
        place = _program.place_of(job)
        for name in self.backend.leaves:
            path = inside(place.home, name)
            left = read_capped(path, _LARGEST_LEFT_FILE) if path else None
            if left and not left.truncated:
                reader.file(name, left.data)
        run = reader.close(exit_)
        leaked = (f"{exit_.leaked} of its processes outlived it and were ended",) if exit_.leaked else ()
        return run.model_copy(
            update={
                "timing": run.timing.model_copy(update={"started_at": started, "duration_s": round(exit_.duration_s, 4)}),
                "warnings": (*self.backend.missing(job), *run.warnings, *leaked),
                "program_version": run.program_version or self._version(),
                "sent": sent,
                "logs": {name: data for name, data in (("stdout.log", kept.data()), ("stderr.log", exit_.stderr)) if data},
            }
        )

    def _version(self) -> str | None:
        program = self.backend.executable(self.machine)
        return version_of(program, self.machine)[0] if program else None


# ---------------------------------------------------------------- caps
def over_a_cap(reader: Reader, limits: Limits, kept: Collection[str] = ()) -> Stop | None:
    """Ends a run that goes on beyond what it may take, by what the stream has told so far; `kept`: limits the program keeps itself."""
    if reader.ended:
        return None
    usage, requests = reader.usage, reader.requests or 0
    if limits.max_requests is not None and requests > limits.max_requests:
        return Stop("budget", f"more than {limits.max_requests} requests to the model")
    if limits.max_turns is not None and "max_turns" not in kept and requests > limits.max_turns:
        return Stop("agent_error", f"turn limit of {limits.max_turns} reached")
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    if limits.max_tokens is not None and tokens > limits.max_tokens:
        return Stop("budget", f"more than {limits.max_tokens:,} tokens")
    if limits.max_cost_usd is not None and (usage.cost_usd or 0) > limits.max_cost_usd:
        return Stop("budget", f"more than {limits.max_cost_usd:g} USD")
    return None


class _Kept:
    """Head and tail of what was printed."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, line: bytes) -> None:
        self._size += len(line)
        room = _KEPT_OUTPUT - len(self._head)
        if room > 0:
            self._head += line[:room]
            line = line[room:]
        self._tail += line
        if len(self._tail) > 4 * _KEPT_OUTPUT:
            del self._tail[:-_KEPT_OUTPUT]

    def data(self) -> bytes:
        tail = bytes(self._tail[-_KEPT_OUTPUT:])
        cut = self._size - len(self._head) - len(tail)
        return bytes(self._head) + (f"\n[{cut} bytes cut]\n".encode() if cut else b"") + tail


# ---------------------------------------------------------------- small things
def _put(home: Path, name: str, data: bytes) -> None:
    write_atomic(home / name, data, None)
    (home / name).chmod(0o600)


def _sent(command: Command, files: Mapping[str, bytes], place: Place, login: Login) -> JsonObject:
    """What was sent and set, equal for equal cells: names of the place's folders stand for where they happen to lie."""

    def plain(text: str) -> str:
        return text.replace(str(place.home), "{home}").replace(str(place.root), "{workspace}")

    return {
        "argv": [plain(word) for word in command.argv],
        "env": {name: plain(value) for name, value in command.env.items()},
        "login": login.source,
        "home_files": {name: plain(data.decode("utf-8", "replace")) for name, data in files.items()},
        "prompt": command.stdin.decode("utf-8", "replace"),
    }
