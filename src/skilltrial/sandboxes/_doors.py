"""Ways out of a network that has none: a listener inside for every address a program may call, carried on from outside.

Names lead to the listener by the hosts file, so the program needs no proxy setting, and TLS goes through untouched.
"""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from skilltrial.errors import CellError
from skilltrial.seams import Access
from skilltrial.system.relays import Relay

_HELPER = Path(__file__).with_name("_listener.py")
_HELPER_TIMEOUT_S = 20.0
_MOST = 32


class Door(NamedTuple):
    """One address that may be called."""

    host: str
    port: int
    inside: str
    """Address of the listener in the program's network."""

    @property
    def hosts_line(self) -> str:
        """For the hosts file; empty for an address that is none of a name."""
        return f"{self.inside} {self.host}" if self.inside != self.host else ""


class Way(NamedTuple):
    """What `bwrap` is given so that the doors are there when the program starts."""

    arguments: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


def planned(access: Access) -> tuple[Door, ...]:
    """The doors of a place; none unless only the model may be reached.

    Raises:
        CellError: nobody said where the model is.
    """
    if access.network != "model-only":
        return ()
    if not access.hosts:
        raise CellError("sandbox", "network 'model-only': it is not known where the model is")
    return tuple(_door(text, number) for number, text in enumerate(tuple(dict.fromkeys(access.hosts))[:_MOST]))


def _door(text: str, number: int) -> Door:
    host, _, port = text.rpartition(":")
    if host == "localhost":
        return Door(host, int(port), "127.0.0.1")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return Door(host, int(port), f"127.0.0.{number + 2}")
    if address.version == 6:
        raise CellError("sandbox", f"network 'model-only' cannot lead to the IPv6 address {host}; use a name")
    return Door(host, int(port), host)


@contextmanager
def opened(doors: Sequence[Door]) -> Iterator[Way]:
    """Held while a program runs: it waits until the doors are open, and they are shut when it is over.

    Raises:
        OSError: they could not be opened, so the program was not started.
    """
    if not doors:
        yield Way()
        return
    told, tell = os.pipe()
    wait, go = os.pipe()
    opener = _Opener(doors, told, go)
    try:
        yield Way(("--info-fd", str(tell), "--block-fd", str(wait)), (tell, wait))
    finally:
        os.close(tell)  # what has not been told by now never will be
        opener.finish()
        for descriptor in (told, wait, go):
            os.close(descriptor)
    if opener.complaint:
        raise OSError(errno.ENETUNREACH, f"the way to the model could not be opened: {opener.complaint}")


class _Opener(Thread):
    """Waits for the program's network to be there, listens in it, and lets the program start."""

    def __init__(self, doors: Sequence[Door], told: int, go: int) -> None:
        super().__init__(daemon=True)
        self.complaint = ""
        self._doors = doors
        self._told = told
        self._go = go
        self._relays: list[Relay] = []
        self.start()

    def finish(self) -> None:
        self.join()
        for relay in self._relays:
            relay.close()

    def run(self) -> None:
        child = _child(self._told)
        if child is None:
            return
        try:
            listening = _listen(child, self._doors)
            self._relays += [Relay(one, door.host, door.port) for one, door in zip(listening, self._doors, strict=True)]
            os.write(self._go, b"!")
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            self.complaint = str(error)
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)


def _child(told: int) -> int | None:
    """The process in the new network, as `bwrap` tells it; None: it never got that far."""
    text = b""
    while b"}" not in text:
        piece = os.read(told, 4096)
        if not piece:
            return None
        text += piece
    return int(json.loads(text)["child-pid"])


def _listen(child: int, doors: Sequence[Door]) -> list[socket.socket]:
    """Sockets that listen in the network of `child`, made by a helper, for only a process of one thread may go there."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        addresses = json.dumps([[door.inside, door.port] for door in doors])
        argv = [sys.executable, "-I", "-S", str(_HELPER), str(child), str(theirs.fileno()), addresses]
        asked = subprocess.run(
            argv, pass_fds=(theirs.fileno(),), capture_output=True, text=True, timeout=_HELPER_TIMEOUT_S, check=False
        )
        if asked.returncode:
            raise ValueError(asked.stderr.strip().rpartition("\n")[2] or f"status {asked.returncode}")
        return [socket.socket(fileno=descriptor) for descriptor in socket.recv_fds(ours, 16, len(doors))[1]]
