"""Carries connections from a listening socket to one address, byte for byte."""

from __future__ import annotations

import selectors
import socket
from contextlib import suppress
from threading import Thread

_PIECE = 1 << 16
_CONNECT_S = 30.0


class Relay:
    """Takes connections until it is closed; every one goes to the same address."""

    def __init__(self, listening: socket.socket, host: str, port: int) -> None:
        self._listening = listening
        self._goal = (host, port)
        self._open: set[socket.socket] = set()
        self._closed = False
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Ends every connection."""
        self._closed = True
        for one in (self._listening, *tuple(self._open)):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            if one is self._listening:
                one.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                inner = self._listening.accept()[0]
            except OSError:
                return
            Thread(target=self._carry, args=(inner,), daemon=True).start()

    def _carry(self, inner: socket.socket) -> None:
        with inner:
            try:
                outer = socket.create_connection(self._goal, _CONNECT_S)
            except OSError:
                return
            with outer:
                outer.settimeout(None)
                self._open |= {inner, outer}
                try:
                    if not self._closed:
                        _exchange(inner, outer)
                except OSError:
                    return
                finally:
                    self._open -= {inner, outer}


def _exchange(one: socket.socket, other: socket.socket) -> None:
    """Both ways, until both sides have said all they have to say."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(one, selectors.EVENT_READ, other)
        waiting.register(other, selectors.EVENT_READ, one)
        while waiting.get_map():
            for key, _ in waiting.select():
                source, target = key.fileobj, key.data
                assert isinstance(source, socket.socket)
                data = source.recv(_PIECE)
                if data:
                    target.sendall(data)
                else:
                    waiting.unregister(source)
                    target.shutdown(socket.SHUT_WR)
