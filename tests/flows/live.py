"""The command line as a process of its own, for what only a process can show: signals, kills, closed pipes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

PATIENCE_S = 90.0
"""How long anything is waited for; a machine may be busy."""
KEPT = ("PATH", "LANG", "TMPDIR", "PYTHONPATH")


def until(holds: Callable[[], object], what: str, process: subprocess.Popen[bytes] | None = None) -> None:
    """Returns as soon as `holds` says so.

    Raises:
        AssertionError: it never did, or `process` ended first.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"never came: {what}"
        assert process is None or process.poll() is None or holds(), f"it ended with {process.returncode} before {what}"
        threading.Event().wait(0.01)


class Said(NamedTuple):
    """How it ended and what it printed."""

    code: int
    out: str
    err: str


class Live:
    """Starts the command line in a folder, and ends whatever a failed test left running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def start(
        self, *arguments: object, env: Mapping[str, str] | None = None, stdout: int | None = None, stderr: int | None = None
    ) -> subprocess.Popen[bytes]:
        """`python -m skilltrial …`, in a session of its own. What it prints goes to files unless pipes are given.

        Its user has nothing but a PATH, a home and `env`.
        """
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        with (self.folder / "stdout.txt").open("wb") as out, (self.folder / "stderr.txt").open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "skilltrial", *map(str, arguments)],
                cwd=self.folder,
                env={**kept, "HOME": str(self.folder), "NO_COLOR": "1", **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out if stdout is None else stdout,
                stderr=err if stderr is None else stderr,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def ended(self, process: subprocess.Popen[bytes]) -> Said:
        """Waits for the end of what `start` started last."""
        code = process.wait(PATIENCE_S)
        return Said(code, *((self.folder / name).read_text("utf-8") for name in ("stdout.txt", "stderr.txt")))

    def call(self, *arguments: object, env: Mapping[str, str] | None = None) -> Said:
        """Runs a command to its end."""
        return self.ended(self.start(*arguments, env=env))

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                family = [process.pid]
                with suppress(psutil.NoSuchProcess):
                    family += [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
                for pid in family:
                    with suppress(ProcessLookupError):
                        os.kill(pid, 9)
                process.wait()


def lives(pid: int) -> bool:
    """Whether the process still runs; a zombie does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
