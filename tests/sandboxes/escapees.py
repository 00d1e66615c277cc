"""Run inside a place: starts processes that do not want to end. `escapees.py TOKEN KIND`; the token stands in their arguments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

LIFE_S = 60.0
"""After which even they end, should all else fail."""


def hide() -> None:
    """No parent, no session, no folder, no open file and no environment that would tell where it came from."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    wait = f"import time; time.sleep({LIFE_S})"
    os.execve(sys.executable, [sys.executable, "-S", "-c", wait, sys.argv[1]], {})


def comet() -> None:
    """Is somebody else all the time: forks and leaves."""
    ends = time.monotonic() + LIFE_S / 6
    while time.monotonic() < ends:
        if os.fork():
            os._exit(0)
        os.setsid()


def flood() -> None:
    while True:
        os.write(1, b"x" * 4095 + b"\n")


def main(kind: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if kind == "storm":
        for _ in range(12):
            if os.fork() == 0:
                comet()
    hide()
    hide()
    subprocess.Popen([sys.executable, "-S", "-c", f"import time; time.sleep({LIFE_S})", sys.argv[1]], start_new_session=True)
    print("ready", flush=True)
    if kind == "flood":
        flood()
    if kind != "leave":
        time.sleep(LIFE_S)


if __name__ == "__main__":
    main(sys.argv[2])
