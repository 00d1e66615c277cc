"""How many processes of a hostile agent outlive its time limit: `python benchmarks/survivors.py LEVEL [--count 1000]`.

The agent ignores every polite signal, floods its output, and has by then started three processes that hide: by a double fork
into a session of their own with no environment, no open file and another folder. Every one of them carries a token of the
whole benchmark in its arguments, so that a survivor is found wherever it hides.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from skilltrial import registry
from skilltrial.records.suite import Limits
from skilltrial.sandboxes import programs
from skilltrial.seams import Access, Command
from skilltrial.system import processes

AGENT = """
import os, signal, subprocess, sys
LIFE = "import time; time.sleep(90)"
def hide():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.execve(sys.executable, [sys.executable, "-S", "-c", LIFE, sys.argv[1]], {})
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
hide()
hide()
subprocess.Popen([sys.executable, "-S", "-c", LIFE, sys.argv[1]], start_new_session=True)
os.write(1, b"started\\n")
while True:
    os.write(1, b"x" * 4095 + b"\\n")
"""


def survivors(token: str) -> list[int]:
    """Living processes that carry the token."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and token.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class Trial:
    """One level, tried again and again."""

    def __init__(self, level: str, image: str | None, limit_s: float) -> None:
        plugin = registry.get("sandboxes", level)
        in_image = "image" in plugin.model_fields
        self.sandbox = plugin(image=image) if in_image else plugin()
        self.python = "python3" if in_image else str(Path(sys.executable).resolve())
        self.access = Access(readable=() if in_image else programs.needs(Path(self.python), os.environ["PATH"]), network="off")
        self.limit_s = limit_s
        self.token = f"survivor-{secrets.token_hex(8)}"

    def once(self, number: int) -> tuple[bool, int, int]:
        """Whether it got as far as to start its processes and was stopped; processes that had to be looked for; who is left."""
        own = f"{self.token}-{number}-"
        folder = Path(tempfile.mkdtemp(prefix="skilltrial-survivors-"))
        started = False

        def on_line(line: bytes) -> None:
            nonlocal started
            started = started or line == b"started\n"

        try:
            with self.sandbox.enter(folder, self.access) as place:
                command = Command((self.python, "-S", "-c", AGENT, own), {})
                ended = place.start(command, Limits(timeout_s=self.limit_s), on_line)
            left = survivors(own)
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return started and ended.stop is not None and ended.stop.outcome == "timeout", ended.leaked, len(left)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("level")
    options.add_argument("--image")
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--workers", type=int, default=4)
    options.add_argument("--limit", type=float, default=1.0, help="seconds")
    options.add_argument("--grace", type=float, default=0.1, help="seconds to the hard signal; the product waits 3")
    said = options.parse_args()
    processes.GRACE_S = said.grace
    trial = Trial(said.level, said.image, said.limit)
    began = time.monotonic()
    with ThreadPoolExecutor(said.workers) as pool:
        rows = list(pool.map(trial.once, range(said.count)))
    time.sleep(1.0)
    print(
        json.dumps(
            {
                "level": said.level,
                "time_outs": sum(stopped for stopped, _, _ in rows),
                "of": said.count,
                "found_and_ended_by_us": sum(leaked for _, leaked, _ in rows),
                "survivors": sum(left for _, _, left in rows),
                "left_at_the_end": len(survivors(trial.token)),
                "seconds": round(time.monotonic() - began, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
