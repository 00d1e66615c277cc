"""HTTP/1.x answers as servers write them, however the network cuts them into packets."""

from __future__ import annotations

import gzip
import zlib
from http.client import HTTPException

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilltrial.chat.exchange import receive, request

LARGEST = 10_000
TEXT = b'{"answer": 4}'
FRAMED = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nX-One: a\r\nX-One: b\r\n\r\n" + TEXT
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n{"
    + b'"ans'
    + b"\r\n8\r\n"
    + b'wer": 4}'
    + b"\r\n0\r\nT: 1\r\n\r\n"
)
OPEN_ENDED = b"HTTP/1.0 200 OK\r\n\r\n" + TEXT
ANNOUNCED = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + FRAMED
BARE_LINES = b"HTTP/1.1 200 OK\nContent-Length: 13\n\n" + TEXT


class Packets:
    """A socket that brings these bytes in pieces of `size`, then ends."""

    def __init__(self, data: bytes, size: int = 1 << 20) -> None:
        self.data, self.size = data, size

    def recv(self, size: int, /) -> bytes:
        packet, self.data = self.data[: min(size, self.size)], self.data[min(size, self.size) :]
        return packet


def encoded(body: bytes, encoding: str) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s" % (encoding.encode(), len(body), body)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("sent", "keeps"), [(FRAMED, True), (CHUNKED, True), (OPEN_ENDED, False), (ANNOUNCED, True), (BARE_LINES, True)]
)
def test_the_answer_is_the_same_however_it_is_cut(sent: bytes, keeps: bool, size: int) -> None:
    answer, kept = receive(Packets(sent, size), LARGEST)
    assert answer is not None
    assert (answer.status, answer.body, kept) == (200, TEXT, keeps)


def test_headers_are_found_in_lower_case_and_those_of_one_name_joined() -> None:
    answer, _ = receive(Packets(FRAMED), LARGEST)
    assert answer is not None and answer.headers == {"content-length": "13", "x-one": "a, b"}


def test_a_header_may_go_on_in_the_next_line() -> None:
    answer, _ = receive(Packets(b"HTTP/1.1 429 No\r\nRetry-After: 1\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n"), LARGEST)
    assert answer is not None and (answer.status, answer.headers["a"], answer.headers["retry-after"]) == (429, "b c", "1")


def test_an_answer_without_a_body_ends_with_its_head() -> None:
    assert receive(Packets(b"HTTP/1.1 204 No Content\r\n\r\n"), LARGEST) == ((204, {}, b""), True)


@pytest.mark.parametrize("sent", [FRAMED + b"more", FRAMED.replace(b"X-One: a", b"Connection: close"), OPEN_ENDED])
def test_a_connection_that_closes_or_holds_more_is_not_used_again(sent: bytes) -> None:
    assert receive(Packets(sent), LARGEST)[1] is False


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("x-gzip", gzip.compress(TEXT, mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)[2:-4]),
        ("identity", TEXT),
    ],
)
def test_compression_that_nobody_asked_for_is_undone(encoding: str, body: bytes) -> None:
    answer, _ = receive(Packets(encoded(body, encoding)), LARGEST)
    assert answer is not None and answer.body == TEXT


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2711\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 10_001,
        encoded(gzip.compress(b"x" * 10_001, mtime=0), "gzip"),
    ],
)
def test_a_body_larger_than_allowed_is_not_kept(sent: bytes) -> None:
    assert receive(Packets(sent), LARGEST) == (None, False)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        FRAMED[:-1],
        CHUNKED[:-4],
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 99 Odd\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
        encoded(b"not gzip", "gzip"),
        encoded(TEXT, "br"),
    ],
)
def test_what_ends_too_early_or_is_no_http_is_an_error(sent: bytes) -> None:
    with pytest.raises((HTTPException, OSError)):
        receive(Packets(sent), LARGEST)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    for sent in (noise, b"HTTP/1.1 200 OK\r\n" + noise, FRAMED[:30] + noise, CHUNKED[:46] + noise):
        try:
            receive(Packets(sent), LARGEST)
        except (HTTPException, OSError):
            continue


def test_a_request_is_one_piece_with_the_length_of_its_body() -> None:
    sent = request("POST", "/v1/x?a=b", {"Host": "h:1", "Content-Length": "7", "A": "ü"}, b"body")
    assert sent == b"POST /v1/x?a=b HTTP/1.1\r\nHost: h:1\r\nA: \xfc\r\nContent-Length: 4\r\n\r\nbody"


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/a b", {}), ("/a\r\nX: y", {}), ("/", {"A": "b\r\nX: y"}), ("/", {"A\r\nX": "y"}), ("/", {"": "y"}), ("/", {"A": "→"})],
)
def test_nothing_can_break_out_of_its_line(path: str, headers: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        request("POST", path, headers, b"")
