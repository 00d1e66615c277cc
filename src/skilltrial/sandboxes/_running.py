"""What all levels share: the folders of a place, and one way to run a program to its end in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skilltrial.records.suite import Limits
from skilltrial.seams import Exit, Stop, Watch
from skilltrial.system import processes
from skilltrial.system.processes import Halt

_HURRY_S = 0.7
"""Between the gentle and the hard signal when the user wants to stop: all of it takes less than two seconds."""


@dataclass(frozen=True, slots=True)
class Ears:
    """Who is told while a program runs."""

    on_line: Callable[[bytes], Stop | None]
    watch: Watch | None = None


def folders(folder: Path) -> tuple[Path, Path]:
    """Makes root and home below `folder`, which is resolved; the temporary folder lies in the home."""
    root, home = folder / "work", folder / "home"
    root.mkdir()
    (home / "tmp").mkdir(parents=True)
    return root, home


def deadline(limits: Limits, watch: Watch | None) -> float:
    """On `time.monotonic()`."""
    if watch:
        return watch.deadline
    return time.monotonic() + limits.timeout_s if limits.timeout_s is not None else float("inf")


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes,
    limits: Limits,
    ears: Ears,
    *,
    roots: tuple[Path, ...] = (),
    launcher: bool = False,
    contained: bool = False,
    pass_fds: tuple[int, ...] = (),
) -> Exit:
    """Runs to the end; the whole tree is gone on return.

    Args:
        launcher: argv starts the program behind walls that end all of it.
        contained: nothing of the program outlives argv, and how much was left running is not known.
    Raises:
        OSError: argv cannot be started.
    """
    watch = ears.watch
    start = processes.Start(
        argv=argv,
        env=env,
        cwd=str(cwd),
        stdin=stdin,
        output_bytes=limits.output_bytes,
        deadline=deadline(limits, watch),
        roots=tuple(map(str, roots)),
        launcher=launcher,
        pass_fds=pass_fds,
    )
    ended = processes.run(start, lambda line: _halt(ears.on_line(line)), lambda: _halt(watch.heard(None)) if watch else None)
    code = ended.returncode
    return Exit(
        code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stop=_stop(ended, limits),
        stdout_bytes=ended.stdout_bytes,
        stderr=ended.stderr,
        duration_s=ended.duration_s,
        leaked=None if contained else ended.leaked,
        overflow=ended.cause == "overflow",
    )


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
