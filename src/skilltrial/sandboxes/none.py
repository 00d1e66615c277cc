"""No walls: a folder, a home and an environment of its own. It makes runs repeatable, not safe."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple, cast

from skilltrial.records.record import Record
from skilltrial.records.suite import Limits
from skilltrial.seams import Access, Command, Exit, Machine, Probe, Stop, Watch
from skilltrial.system import environment, processes
from skilltrial.system.processes import Halt

_HURRY_S = 0.7
"""Between the gentle and the hard signal when the user wants to stop: all of it takes less than two seconds."""


class Unconfined(NamedTuple):
    """A Place without walls."""

    root: Path
    home: Path
    level: str
    access: Access
    caller: Mapping[str, str]
    removed: tuple[str, ...]
    """Names of variables of an enclosing agent session that programs here do not see."""

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """All a program started here sees, `own` being what its backend sets."""
        if self.access.keep_home:
            return environment.callers(self.caller, self.access.env, own)
        return environment.clean(self.caller, self.access.env, own, self.home)

    def start(
        self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: Watch | None = None
    ) -> Exit:
        """Runs to the end; the whole tree is gone on return.

        Raises:
            OSError: the program cannot be started.
        """
        timeout = float("inf") if limits.timeout_s is None else limits.timeout_s
        start = processes.Start(
            argv=command.argv,
            env=self.environment(command.env),
            cwd=str(command.cwd or self.root),
            stdin=command.stdin,
            output_bytes=limits.output_bytes,
            deadline=watch.deadline if watch else time.monotonic() + timeout,
            roots=(str(self.root), str(self.home)),
        )
        ended = processes.run(start, lambda line: _halt(on_line(line)), lambda: _halt(watch.heard(None)) if watch else None)
        code = ended.returncode
        return Exit(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            stop=_stop(ended, limits),
            stdout_bytes=ended.stdout_bytes,
            stderr=ended.stderr,
            duration_s=ended.duration_s,
            leaked=ended.leaked,
            overflow=ended.cause == "overflow",
        )


class NoSandbox(Record):
    """Starts programs as they are, in a folder and with an environment of their own."""

    name: ClassVar[str] = "none"

    def probe(self, machine: Machine) -> Probe:
        return Probe(True, "no walls: a clean home, environment and folder, and nothing left running")

    @contextmanager
    def enter(self, folder: Path, access: Access) -> Iterator[Unconfined]:
        """A place below `folder`: `work` is its root, `home` its home, with the temporary folder inside."""
        folder = folder.resolve()
        root, home = folder / "work", folder / "home"
        root.mkdir()
        (home / "tmp").mkdir(parents=True)
        caller = dict(os.environ)
        marks = environment.session_marks(caller)
        yield Unconfined(root, home, self.name, access, caller, tuple(name for name in marks if name not in access.env))


def _halt(stop: Stop | None) -> Halt | None:
    return Halt(stop, _HURRY_S if stop.outcome == "interrupted" else processes.GRACE_S) if stop else None


def _stop(ended: processes.Ended, limits: Limits) -> Stop | None:
    if ended.halt:
        return cast(Stop, ended.halt.reason)
    if ended.cause == "deadline":
        after = f" of {limits.timeout_s:g} s" if limits.timeout_s is not None else ""
        return Stop("timeout", f"time limit{after} reached")
    if ended.cause == "overflow":
        most = limits.output_bytes or processes.LONGEST_LINE
        return Stop("budget", f"more than {most:,} bytes of output")
    return None


plugin = NoSandbox
