"""The command line as a process of its own, for what only a process can show: signals, kills, closed pipes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import psutil

PATIENCE_S = 60.0
"""How long anything is waited for; a machine may be busy."""


def until(holds: Callable[[], object], what: str) -> None:
    """Returns as soon as `holds` says so.

    Raises:
        AssertionError: it never did.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"never came: {what}"
        threading.Event().wait(0.01)


def environment(tmp_path: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of a user who has nothing but a PATH, a home and, where given, `more`."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(tmp_path), "NO_COLOR": "1", "PYTHONDEVMODE": "0", **(more or {})}


def start(
    tmp_path: Path, *arguments: object, env: Mapping[str, str] | None = None, stdout: int | None = None, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    """`python -m skilltrial …` in `tmp_path`, in a session of its own. What it prints goes to files unless pipes are given."""
    out, err = tmp_path / "stdout.txt", tmp_path / "stderr.txt"
    with out.open("wb") as to_out, err.open("wb") as to_err:
        return subprocess.Popen(
            [sys.executable, "-m", "skilltrial", *map(str, arguments)],
            cwd=tmp_path,
            env=environment(tmp_path, env),
            stdin=subprocess.DEVNULL,
            stdout=to_out if stdout is None else stdout,
            stderr=to_err if stderr is None else stderr,
            start_new_session=True,
        )


class Said(NamedTuple):
    """How it ended and what it printed."""

    code: int
    out: str
    err: str


def ended(process: subprocess.Popen[bytes], tmp_path: Path) -> Said:
    """Waits for the end of what `start` started."""
    code = process.wait(PATIENCE_S)
    return Said(code, (tmp_path / "stdout.txt").read_text("utf-8"), (tmp_path / "stderr.txt").read_text("utf-8"))


def call(tmp_path: Path, *arguments: object, env: Mapping[str, str] | None = None) -> Said:
    """Runs a command to its end."""
    return ended(start(tmp_path, *arguments, env=env), tmp_path)


def lives(pid: int) -> bool:
    """Whether the process still runs; a zombie does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
