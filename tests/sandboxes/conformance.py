"""The conformance suite: a scene full of decoys, and what a hostile program gets hold of from behind the walls of a level.

Also a program of its own, for other users and machines: `python conformance.py LEVEL [IMAGE]` prints the table.
"""

# ruff: noqa: PTH208
from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from skilltrial import registry
from skilltrial.records.suite import Limits
from skilltrial.sandboxes import programs
from skilltrial.seams import Access, Command, Place, Stop

HERE = Path(__file__).parent
ROOT = os.getuid() == 0
PRIVATE = "CALLERS_PRIVATE_KEY"
LIVES = ("outlives_its_end", "outlives_the_time_limit", "outlives_a_flood", "outlives_a_storm_of_forks", "outlives_us")
"""Attempts that are judged from outside."""
FALLS = {
    "none": {
        "reads_a_secret_in_the_callers_home", "lists_the_callers_home", "reads_the_suite", "reads_earlier_results",
        "follows_a_link_out_of_its_folder", "writes_beside_its_folder", "changes_the_skill_it_was_given",
        "learns_the_machines_users", "learns_the_machines_name", "sees_other_processes", "kills_other_processes",
        "calls_a_server_on_loopback", "calls_a_socket_without_a_path", "calls_a_socket_in_the_callers_home",
        "may_gain_privileges", "makes_a_user_namespace", "sees_the_common_temporary_folder", "has_devices", "outlives_us",
        *({"writes_to_the_system", "reads_private_files_of_the_system", "mounts", "has_capabilities",
           "writes_settings_of_the_kernel"} if ROOT else ()),
    },
    "bwrap": set(),
    "docker": {"outlives_us"},
    "podman": {"outlives_us"},
}  # fmt: skip
"""What every level is known not to stop. A container that outlives us ends at its time limit, or is swept by the next start."""
NO_PROMISE = {("none", "outlives_a_storm_of_forks"), ("podman", "makes_a_user_namespace")}
"""Not asserted. The first is not even tried: whether it is caught is luck, and what gets away burns the machine. The second
depends on the engine's own profile of system calls."""


class Level:
    """A level to be tried, and how python is called behind its walls."""

    def __init__(self, name: str, image: str | None = None) -> None:
        self.name = name
        plugin = registry.get("sandboxes", name)
        self.in_image = "image" in getattr(plugin, "model_fields", {})
        self.sandbox = plugin(image=image) if self.in_image else plugin()
        self.python = "python3" if self.in_image else str(Path(sys.executable).resolve())
        self.readable = () if self.in_image else programs.needs(Path(self.python), os.environ["PATH"])

    @contextmanager
    def place(self, **wishes: Any) -> Iterator[Place]:
        """A place with our programs in its folder."""
        access = Access(**{"network": "off", "readable": self.readable, **wishes})
        folder = Path(tempfile.mkdtemp(prefix="skilltrial-conformance-"))
        try:
            with self.sandbox.enter(folder, access) as place:
                for name in ("hostile.py", "escapees.py"):
                    shutil.copy(HERE / name, place.root / name)
                yield place
        finally:
            shutil.rmtree(folder, ignore_errors=True)


# ---------------------------------------------------------------- the scene
@contextmanager
def scene() -> Iterator[dict[str, Any]]:
    """Decoys: a home with a secret, a suite, results, servers, a process; all gone afterwards."""
    token = f"decoy-{secrets.token_hex(8)}"
    base = Path(tempfile.mkdtemp(prefix="skilltrial-decoys-"))
    home = base / "home"
    files = {
        "secret": home / ".ssh/id_ed25519", "suite": base / "skill/evals/evals.json", "skill": base / "skill/SKILL.md",
        "results": base / "skilltrial-workspace/iteration-1/experiment.json", "in_tmp": Path(tempfile.gettempdir(), f"{token}.txt"),
    }  # fmt: skip
    for path in files.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a decoy", encoding="utf-8")
    victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)", token])
    tcp, plain, pathless = (socket.socket(family) for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_UNIX))
    before = {name: os.environ.get(name) for name in ("HOME", PRIVATE)}
    try:
        tcp.bind(("127.0.0.1", 0))
        plain.bind(f"{home}/agent")
        pathless.bind(f"\0{token}")
        for server in (tcp, plain, pathless):
            server.listen()
        os.environ.update({"HOME": str(home), PRIVATE: "a decoy"})
        yield {
            **{name: str(path) for name, path in files.items()},
            "home": str(home), "outside": str(base), "socket": f"{home}/agent", "token": token, "victim": victim.pid,
            "port": tcp.getsockname()[1], "hostname": socket.gethostname(),
        }  # fmt: skip
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        for server in (tcp, plain, pathless):
            server.close()
        victim.kill()
        victim.wait()
        files["in_tmp"].unlink(missing_ok=True)
        shutil.rmtree(base, ignore_errors=True)


# ---------------------------------------------------------------- attempts
def attempts(level: Level) -> dict[str, str | None]:
    """Every attempt from inside, in one run; None: the walls held."""
    got: dict[str, str | None] = {}

    def on_line(line: bytes) -> Stop | None:
        name, what = json.loads(line)
        got[name] = what
        return None

    with scene() as decoys, level.place(nested=False) as place:
        decoys["variables"] = sorted(getattr(place, "environment")({}))  # noqa: B009 - of no Protocol
        ended = place.start(
            Command((level.python, "-S", "hostile.py"), {}, json.dumps(decoys).encode()), Limits(timeout_s=60), on_line
        )
        if ended.code != 0:
            got["the program itself"] = f"ended with {ended.code}: {ended.stderr.decode(errors='replace')[-300:]}"
        if Path(decoys["outside"], "planted").exists():
            got["writes_beside_its_folder"] = "it is there"
    return got


def life(level: Level, attempt: str) -> str | None:
    """One attempt to live on, judged from outside: who is left when `start` has returned, or when we were killed."""
    token = f"escapee-{secrets.token_hex(8)}"
    try:
        if attempt == "outlives_us":
            start_and_die(level, token)
            left = left_after(token, 2.0)
        else:
            with level.place() as place:
                kind, limit = {
                    "outlives_its_end": ("leave", 30.0), "outlives_the_time_limit": ("stay", 1.0),
                    "outlives_a_flood": ("flood", 1.0), "outlives_a_storm_of_forks": ("storm", 1.0),
                }[attempt]  # fmt: skip
                place.start(
                    Command((level.python, "-S", "escapees.py", token, kind), {}), Limits(timeout_s=limit), lambda line: None
                )
                left = survivors(token)
        return f"{len(left)} processes" if left else None
    finally:
        end(token)


def end(token: str) -> None:
    """Ends whoever is left."""
    for pid in survivors(token):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def survivors(token: str) -> list[int]:
    """Living processes of this machine that carry the token in their arguments."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdecimal() and int(entry) != os.getpid() and token.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                found.append(int(entry))
        except OSError:
            continue
    return found


def start_and_die(level: Level, token: str) -> None:
    """Another process of ours starts escapees and is killed with no chance to clean up, once they are there."""
    image = getattr(level.sandbox, "image", None)
    argv = [sys.executable, str(Path(__file__)), "--wait", level.name, token, *([image] if image else [])]
    folder = tempfile.mkdtemp(prefix="skilltrial-conformance-")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": folder}
    try:
        with subprocess.Popen(argv, stdout=subprocess.PIPE, env=env) as harness:
            assert harness.stdout is not None
            harness.stdout.readline()
            harness.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def left_after(token: str, patience_s: float) -> list[int]:
    """Who is left; the kernel, or an engine's program, is given a moment."""
    ends = time.monotonic() + patience_s
    while (left := survivors(token)) and time.monotonic() < ends:
        time.sleep(0.02)
    return left


def _wait(name: str, token: str, image: str | None) -> None:
    level = Level(name, image)
    with level.place() as place:
        place.start(
            Command((level.python, "-S", "escapees.py", token, "stay"), {}),
            Limits(timeout_s=30),
            lambda line: print("ready", flush=True),
        )


def table(level: Level) -> dict[str, str | None]:
    """All attempts."""
    tried = [name for name in LIVES if (level.name, name) not in NO_PROMISE]
    return {**attempts(level), **{name: life(level, name) for name in tried}}


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[0] == "--wait":
        _wait(words[1], words[2], words[3] if len(words) > 3 else None)
    else:
        one = Level(words[0], words[1] if len(words) > 1 else None)
        for name, what in table(one).items():
            expected = (one.name, name) in NO_PROMISE or bool(what) == (name in FALLS[one.name])
            print(f"{'ok   ' if expected else 'WRONG'} {'falls' if what else 'holds'} {name}{f': {what}' if what else ''}")
