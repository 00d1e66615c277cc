"""One HTTP/1.1 exchange over a connection that is open: one packet out, the whole answer in.

The standard library reads headers with a parser for e-mail and bodies through a chain of readers; together with what stands
on it that is two thirds of the CPU of a model call. A model's answer needs a status, a few headers and a body.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from functools import lru_cache
from http.client import BadStatusLine, HTTPException, IncompleteRead, RemoteDisconnected
from typing import NamedTuple, Protocol

_PACKET = 65_536
_LARGEST_HEAD = 131_072
"""Bytes of a status line and its headers."""
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5]\d\d)(?: |$)")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\0-\x08\n-\x1f\x7f]")
_FRAMING = frozenset({"content-length", "transfer-encoding"})


class Socket(Protocol):
    """What is needed of a socket, plain or TLS."""

    def recv(self, size: int, /) -> bytes: ...


class Answer(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


def request(method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Head and body.

    Raises:
        ValueError: a header or the path holds what would end its line.
    """
    return b"%s%d\r\n\r\n%s" % (_opening(method, path, tuple(headers.items())), len(body), body)


@lru_cache(maxsize=64)
def _opening(method: str, path: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    """The head up to the length of the body; the same for all calls to an endpoint."""
    if _CONTROL.search(path) or " " in path:
        raise ValueError(f"the path {path!r} holds a space or a control character")
    for name, value in headers:
        if not _NAME.fullmatch(name) or _CONTROL.search(value):
            raise ValueError(f"the header {name!r} holds a character that no header may hold")
    lines = [f"{name}: {value}" for name, value in headers if name.lower() not in _FRAMING]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Content-Length: "]).encode("latin-1")


def receive(sock: Socket, largest: int) -> tuple[Answer | None, bool]:
    """The answer, and whether the connection may be used again. None: its body is larger than `largest` bytes.

    Raises:
        HTTPException: the connection ended too early, or what came is not HTTP/1.x.
        OSError: the network's own.
    """
    inbox = _Inbox(sock)
    status, modern, headers = _head(inbox)
    while status < 200:  # "continue", "early hints"
        status, modern, headers = _head(inbox)
    body, ends = _body(inbox, status, headers, largest)
    body = _decoded(body, headers.get("content-encoding", ""), largest) if body else body
    if body is None:
        return None, False
    keeps = modern and ends and not inbox.data and "close" not in headers.get("connection", "").lower()
    return Answer(status, headers, body), keeps


class _Inbox:
    """What has come and was not taken yet."""

    __slots__ = ("_sock", "data")

    def __init__(self, sock: Socket) -> None:
        self._sock = sock
        self.data = b""

    def more(self) -> bool:
        """Waits for more; False: the other side has ended."""
        packet = self._sock.recv(_PACKET)
        self.data += packet
        return bool(packet)

    def until(self, end: re.Pattern[bytes]) -> bytes:
        """Takes all before `end`, and `end` with it."""
        while (found := end.search(self.data)) is None:
            if len(self.data) > _LARGEST_HEAD:
                raise HTTPException(f"more than {_LARGEST_HEAD} bytes of headers")
            if not self.more():
                raise IncompleteRead(self.data) if self.data else RemoteDisconnected("the connection ended without an answer")
        taken, self.data = self.data[: found.start()], self.data[found.end() :]
        return taken

    def take(self, size: int) -> bytes:
        """Takes so many bytes."""
        parts, have = [self.data], len(self.data)
        while have < size:
            packet = self._sock.recv(min(size - have, 1 << 20))
            if not packet:
                raise IncompleteRead(b"".join(parts), size - have)
            parts.append(packet)
            have += len(packet)
        whole = b"".join(parts)
        self.data = whole[size:]
        return whole[:size]


def _head(inbox: _Inbox) -> tuple[int, bool, dict[str, str]]:
    """Status, whether it is HTTP/1.1, and the headers; several of one name are joined."""
    first, *lines = _LINE_END.split(inbox.until(_HEAD_END))
    found = _STATUS.match(first.decode("latin-1"))
    if found is None:
        raise BadStatusLine(first[:100].decode("latin-1"))
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        text = line.decode("latin-1")
        if text[:1] in (" ", "\t") and name:  # a header broken into lines
            headers[name] += " " + text.strip()
            continue
        name, _, value = text.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return int(found[2]), found[1] == "1", headers


def _body(inbox: _Inbox, status: int, headers: Mapping[str, str], largest: int) -> tuple[bytes | None, bool]:
    """The body as it came, None when it is too large; and whether it has an end of its own."""
    if status in (204, 304):
        return b"", True
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _chunks(inbox, largest), True
    if "content-length" in headers:
        length = _number(headers["content-length"].partition(",")[0], 10)
        return (inbox.take(length) if length <= largest else None), True
    while len(inbox.data) <= largest and inbox.more():
        continue  # it ends with the connection
    body, inbox.data = inbox.data, b""
    return (body if len(body) <= largest else None), False


def _chunks(inbox: _Inbox, largest: int) -> bytes | None:
    parts: list[bytes] = []
    have = 0
    while size := _number(inbox.until(_LINE_END).partition(b";")[0].decode("latin-1"), 16):
        have += size
        if have > largest:
            return None
        parts.append(inbox.take(size))
        inbox.until(_LINE_END)
    while inbox.until(_LINE_END):
        continue  # trailers say nothing that we need
    return b"".join(parts)


def _number(text: str, base: int) -> int:
    try:
        number = int(text.strip(), base)
    except ValueError:
        number = -1
    if number < 0:
        raise HTTPException(f"{text[:40]!r} is no length")
    return number


def _decoded(body: bytes, encoding: str, largest: int) -> bytes | None:
    """The body without its compression, which we did not ask for; None when it is too large."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise HTTPException(f"an answer in the encoding {encoding[:40]!r}, which was not asked for")
    bare = encoding == "deflate" and body[0] & 0x0F != 8  # some servers leave zlib's frame away
    decoder = zlib.decompressobj(-15 if bare else 47)
    try:
        plain = decoder.decompress(body, largest + 1)
    except zlib.error as error:
        raise HTTPException(f"a damaged {encoding} body: {error}") from error
    return plain if len(plain) <= largest else None
