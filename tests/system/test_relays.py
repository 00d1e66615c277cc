"""Connections are carried to one address, both ways and byte for byte, until the relay is closed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from skilltrial.system.relays import Relay


def all_of(one: socket.socket) -> bytes:
    return b"".join(iter(lambda: one.recv(65536), b""))


@contextmanager
def backwards() -> Iterator[int]:
    """A server that answers with all it was told, backwards, once the other side has said everything; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    one = server.accept()[0]
                except OSError:
                    return
                with one:
                    one.sendall(all_of(one)[::-1])

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def relayed(port: int) -> Iterator[tuple[Relay, int]]:
    listening = socket.create_server(("127.0.0.1", 0))
    relay = Relay(listening, "127.0.0.1", port)
    yield relay, listening.getsockname()[1]
    relay.close()


def ask(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 30) as one:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        return all_of(one)


def test_everything_gets_through_both_ways() -> None:
    data = bytes(range(256)) * 4096
    with backwards() as port, relayed(port) as (_, door):
        assert [ask(door, data[:size]) for size in (0, 1, len(data))] == [b"", b"\0", data[::-1]]


def test_nobody_behind_it_ends_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with relayed(port) as (_, door), socket.create_connection(("127.0.0.1", door), 30) as one:
        assert one.recv(10) == b""


def test_closing_it_ends_what_is_open_and_lets_nobody_in() -> None:
    with backwards() as port, relayed(port) as (relay, door), socket.create_connection(("127.0.0.1", door), 30) as one:
        one.sendall(b"half")
        relay.close()
        with pytest.raises(OSError), socket.create_connection(("127.0.0.1", door), 1) as other:
            if other.recv(1) == b"":
                raise ConnectionResetError
