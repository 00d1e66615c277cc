"""Runs a command beside a scripted model in a network that holds nothing else, and reports what it tried to reach and what it left.

    unshare --map-root-user --net --mount  python -m scripted.quarantine ORDER.json REPORT.json

In this network every address of the world is this machine, so an attempt to reach one is seen and not merely refused: all packets to other
than loopback addresses are counted, and look-ups get the answer that there is no such name. `/tmp` and `/dev/shm` start empty.
"""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .scenes import Scene
from .server import Seen, serving

_ALL_PROTOCOLS = 3
_HOLD = Path("/mnt")


class Order(NamedTuple):
    """What to run. `{url}` in `argv` is the model's address."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    scenes: dict[str, dict[str, Any]]
    keep: list[str]
    """Folders that stay visible when `/tmp` is emptied."""
    timeout_s: float


def unavailable() -> str | None:
    """Why there can be no such network here; None: there can."""
    tried = subprocess.run(
        [*UNSHARE, "sh", "-c", "ip link set lo up && mount -t tmpfs none /mnt"], capture_output=True, text=True
    )
    return None if tried.returncode == 0 else f"no network namespace of one's own here: {tried.stderr.strip()[-200:]}"


UNSHARE = ("unshare", "--net", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))


def _enclose(keep: Iterable[str]) -> None:
    """Loopback alone, holding every address; an empty /tmp and /dev/shm but for the folders to keep."""
    for words in ("link set lo up", "route add local default dev lo", "-6 route add local default dev lo"):
        with suppress(subprocess.CalledProcessError):
            subprocess.run(["ip", *words.split()], check=words == "link set lo up", capture_output=True)
    hidden = [path for path in keep if path.startswith(("/tmp/", "/dev/shm/"))]
    _mount("-t", "tmpfs", "none", str(_HOLD))
    for number, path in enumerate(hidden):
        (_HOLD / str(number)).mkdir()
        _mount("--rbind", path, str(_HOLD / str(number)))
    _mount("-t", "tmpfs", "-o", "mode=1777", "none", "/tmp")
    _mount("-t", "tmpfs", "-o", "mode=1777", "none", "/dev/shm")
    for number, path in enumerate(hidden):
        Path(path).mkdir(parents=True, exist_ok=True)
        _mount("--rbind", str(_HOLD / str(number)), path)
    resolver = _HOLD / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    _mount("--bind", str(resolver), "/etc/resolv.conf")


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


class Names:
    """A name server that knows nobody and remembers who was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(4096)
            self.asked.append(_name(query))
            self._socket.sendto(query[:2] + b"\x81\x83" + query[4:6] + bytes(6) + query[12:], sender)


def _name(query: bytes) -> str:
    parts, at = [], 12
    while at < len(query) and query[at]:
        parts.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    return ".".join(parts)


class Packets:
    """Every packet to an address that is not loopback."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PROTOCOLS))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self._socket.bind(("lo", 0))
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            to = _destination(self._socket.recv(128))
            if to:
                self.seen.add(to)


def _destination(packet: bytes) -> str | None:
    """Address and port a packet goes to, when it leaves loopback or comes back from there."""
    if packet[0] >> 4 == 4:
        ends, rest, kind = (packet[12:16], packet[16:20]), packet[(packet[0] & 15) * 4 :], packet[9]
    else:
        ends, rest, kind = (packet[8:24], packet[24:40]), packet[40:], packet[6]
    addresses = [ipaddress.ip_address(end) for end in ends]
    if all(address.is_loopback for address in addresses):
        return None
    port = struct.unpack("!H", rest[2:4])[0] if kind in (6, 17) and len(rest) >= 4 else 0
    return f"{addresses[1]}:{port}"


def _ended_processes() -> list[str]:
    """Command lines of all processes in this network but this one and the one above it; they are ended."""
    mine, found = Path("/proc/self/ns/net").readlink(), {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) not in (os.getpid(), os.getppid()):
            with suppress(OSError):
                if (folder / "ns/net").readlink() == mine:
                    found[int(folder.name)] = (
                        (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:300]
                    )
    for number in found:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    return list(found.values())


def _ports() -> set[str]:
    """Addresses that something listens at."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {line[1] for line in lines if line[3] == "0A"}


def _files(keep: Iterable[str]) -> set[str]:
    """What lies in the places for short-lived files."""
    roots = (Path("/tmp"), Path("/dev/shm"))
    kept = {str(parent) for path in keep for parent in (Path(path), *Path(path).parents)}
    return {str(path) for root in roots for path in root.iterdir() if str(path) not in kept}


def carry_out(order: Order) -> dict[str, Any]:
    _enclose(order.keep)
    names, packets = Names(), Packets()
    with serving({word: Scene(**scene) for word, scene in order.scenes.items()}) as server:
        ports = _ports()
        argv = [word.replace("{url}", server.url) for word in order.argv]
        with (
            (_HOLD / "stdout").open("w") as stdout,
            (_HOLD / "stderr").open("w") as stderr,
        ):  # a pipe would wait for all that hold it
            ran = subprocess.run(argv, env=order.env, cwd=order.cwd, stdout=stdout, stderr=stderr, timeout=order.timeout_s)
        said = {name: (_HOLD / name).read_text(errors="replace") for name in ("stdout", "stderr")}
        left = {"ports": sorted(_ports() - ports), "processes": _ended_processes(), "files": sorted(_files(order.keep))}
        return {
            "code": ran.returncode, **said, **left,
            "look_ups": [name for name in names.asked if name != "localhost"], "packets": sorted(packets.seen),
            "requests": list(map(_told, server.seen)),
        }  # fmt: skip


def _told(seen: Seen) -> dict[str, Any]:
    asked = seen.asked
    offered = sorted(asked.skills) if asked else []
    tools = sorted(asked.tools) if asked else []
    return {"path": seen.path, "side": seen.side, "skills": offered, "tools": tools, "results": asked.results if asked else None}


def order(tmp: Path, **fields: Any) -> Callable[[], dict[str, Any]]:
    """A function that carries the order out in a quarantine of its own and answers with the report."""
    paper, report = tmp / "order.json", tmp / "report.json"

    def run() -> dict[str, Any]:
        paper.write_text(json.dumps(Order(**fields)._asdict()))
        tests = Path(__file__).parents[1]
        words = [*UNSHARE, sys.executable, "-m", "scripted.quarantine", str(paper), str(report)]
        ran = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(tests)}, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        told: dict[str, Any] = json.loads(report.read_text())
        return told

    return run


if __name__ == "__main__":
    told = carry_out(Order(**json.loads(Path(sys.argv[1]).read_text())))
    Path(sys.argv[2]).write_text(json.dumps(told))
