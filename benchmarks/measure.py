"""Whole processes, by the operating system's own account: CPU of the process and the children it waited for, peak memory."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
PYTHON = sys.executable
PROGRAM = str(Path(PYTHON).with_name("skilltrial"))
KEY = "sk-benchmark-0123456789"


class Took(NamedTuple):
    """One finished process."""

    cpu_s: float
    """User and system, its waited-for children included."""
    wall_s: float
    peak_mb: float
    code: int
    out: str
    """Standard output."""
    began: float
    """On the machine's monotonic clock, in seconds."""

    def wanted(self, *codes: int) -> Took:
        """Itself. Raises when the program ended otherwise: then its figures mean nothing."""
        if self.code not in (codes or (0,)):
            raise RuntimeError(f"the program ended with {self.code}:\n{self.out[-4000:]}")
        return self


def tmpfs() -> Path:
    """A folder in memory where there is one, so that the disk is not what is measured."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="skilltrial-benchmark-", dir=tmpfs()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(home: Path) -> dict[str, str]:
    """As on a user's machine: compiled modules are kept, nothing is inherited that changes how Python runs."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(home), "OPENAI_API_KEY": KEY, "NO_COLOR": "1", "PYTHONHASHSEED": "0"}


def start(argv: Sequence[str], folder: Path) -> tuple[subprocess.Popen[bytes], float, Path]:
    """A process whose output goes to a file; when it began; the file."""
    number = sum(1 for _ in folder.glob("out-*"))
    out = folder / f"out-{number}"
    with out.open("wb") as file:
        began = time.monotonic()
        process = subprocess.Popen(argv, stdout=file, stderr=subprocess.STDOUT, cwd=folder, env=environment(folder))
    return process, began, out


def finish(process: subprocess.Popen[bytes], began: float, out: Path) -> Took:
    """Waits for it and reads the account."""
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    per_mb = 1024 * 1024 if sys.platform == "darwin" else 1024
    text = out.read_text("utf-8", "replace")
    out.unlink()
    return Took(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / per_mb, process.returncode, text, began)


def run(argv: Sequence[str], folder: Path) -> Took:
    """One process from start to end."""
    return finish(*start(argv, folder))


def in_turn(times: int, *programs: Callable[[], Took]) -> list[list[Took]]:
    """Runs the programs in turn, A B A B …, after one uncounted round, so that all see the same machine."""
    rounds = [[program() for program in programs] for _ in range(times + 1)]
    return [list(column) for column in zip(*rounds[1:], strict=True)]


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def cpu(runs: Iterable[Took]) -> float:
    """Median CPU seconds."""
    return median(took.cpu_s for took in runs)


# ---------------------------------------------------------------- the model server, in a process of its own
class Server(NamedTuple):
    """A running `model_server.py`."""

    url: str
    root: str

    def reset(self) -> None:
        self._call("/reset", b"{}")

    def stats(self) -> dict[str, Any]:
        told: dict[str, Any] = self._call("/stats", None)
        return told

    def _call(self, path: str, body: bytes | None) -> Any:
        with urlopen(Request(self.root + path, data=body), timeout=10) as answer:
            return json.load(answer)


@contextmanager
def model_server(*options: str) -> Iterator[Server]:
    """Serves the suite of `inputs.py` until the block ends."""
    argv = [PYTHON, str(HERE / "model_server.py"), "--reply", "the answer is 4", "--rules", VERDICT, *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield Server(told["url"], told["url"].removesuffix("/v1"))
    finally:
        process.kill()
        process.communicate()


SENTENCE = "The reply states a number."
VERDICT = json.dumps({SENTENCE: json.dumps({"verdicts": [{"id": "assertion-2", "passed": True, "evidence": "the answer is 4"}]})})
