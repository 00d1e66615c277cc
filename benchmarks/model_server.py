"""A model server that knows its answers: OpenAI chat completions and Anthropic messages on loopback, for tests and benchmarks.

Standard library only, one thread, asyncio protocols without streams: about 15,000 calls a second, so it is not what is measured.

    python benchmarks/model_server.py --port 0 --latency-ms 50 --refuse-every 3

prints one line of JSON with its address. `GET /stats` counts what happened, `POST /reset` starts counting anew.
In a test: `with serving(reply=lambda request: "4") as server: …  server.url, server.requests, server.faults`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Reply = Callable[[dict[str, Any]], Any]
"""Request body -> text, or a dict that is merged over the reply's message (tool_calls, content, …), or the whole reply when it has `choices`."""


@dataclass
class Faults:
    """What goes wrong, and when. Calls are numbered from 1."""

    refuse_every: int = 0
    """Each n-th call is answered 429."""
    retry_after: str | None = None
    most_at_once: int = 0
    """Further calls are answered 429."""
    status: int = 0
    """Every call is answered with this status, or the first `status_calls` of them."""
    status_calls: int = 1_000_000_000
    error: Any = None
    """Body of such an answer; text is sent as it is."""
    drop_calls: int = 0
    """So many calls are cut off in the middle of their answer."""
    drip_s: float = 0.0
    """Seconds between two bytes of the answer; 0: all at once."""
    drip_headers: bool = False
    hang: bool = False
    """Never answers."""
    refuse_parameters: tuple[str, ...] = ()
    """A request that has one of these is answered 400."""
    page: str | None = None
    """Sent with 200 in place of the answer."""
    die_after: int = 0
    """After so many calls every connection is closed without an answer."""


@dataclass
class Stats:
    """What the server saw."""

    calls: int = 0
    answered: int = 0
    refused: int = 0
    failed: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    busy_s: float = 0.0
    """Time integral of calls in flight: divided by the span it is their mean."""
    first: float | None = None
    last: float | None = None
    changed: float = 0.0
    connections: int = 0

    def moved(self, by: int) -> None:
        """A call began (1) or ended (-1)."""
        now = time.monotonic()
        self.busy_s += self.in_flight * (now - self.changed)
        self.in_flight, self.changed = self.in_flight + by, now
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.first = now if self.first is None else self.first
        self.last = now

    def told(self) -> dict[str, Any]:
        """For `GET /stats`."""
        span = (self.last or 0.0) - (self.first or 0.0)
        names = ("calls", "answered", "refused", "failed", "most_in_flight", "connections")
        return {name: getattr(self, name) for name in names} | {
            "first": self.first,
            "span_s": span,
            "mean_in_flight": self.busy_s / span if span else 0.0,
        }


@dataclass
class ModelServer:
    """The server's state; `url` is the base URL for an OpenAI-compatible client."""

    reply: Reply
    latency_s: float = 0.0
    faults: Faults = field(default_factory=Faults)
    usage: Mapping[str, Any] | None = None
    """Put into every reply; None: words are counted as tokens."""
    keep: bool = True
    """Keep requests and headers for a test to look at."""
    port: int = 0
    stats: Stats = field(default_factory=Stats)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    open: set[Any] = field(default_factory=set)
    """Transports of the connections that are open."""
    arrived: threading.Event = field(default_factory=threading.Event)
    """Set when the first call has come."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and further headers for one call."""
        if path == "/stats":
            return 200, json.dumps(self.stats.told()).encode(), {}
        if path == "/reset":
            self.stats = Stats()
            return 200, b"{}", {}
        request = json.loads(body) if body else {}
        if self.keep:
            self.requests.append(request)
            self.headers.append(headers)
            self.paths.append(path)
        return self._fault(request) or (200, self._reply(path, request), {})

    def _fault(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]] | None:
        faults, number = self.faults, self.stats.calls
        after = {"Retry-After": faults.retry_after} if faults.retry_after else {}
        if (faults.refuse_every and number % faults.refuse_every == 0) or (
            faults.most_at_once and self.stats.in_flight > faults.most_at_once
        ):
            self.stats.refused += 1
            return 429, _error("too many requests", "rate_limit_exceeded"), after
        if faults.status and number <= faults.status_calls:
            self.stats.failed += 1
            error = faults.error if faults.error is not None else {"error": {"message": "the server has a bad day"}}
            return faults.status, error.encode() if isinstance(error, str) else json.dumps(error).encode(), after
        for name in faults.refuse_parameters:
            if name in request:
                self.stats.failed += 1
                return (
                    400,
                    _error(f"Unsupported parameter: '{name}' is not supported with this model.", "unsupported_parameter", name),
                    {},
                )
        return (200, faults.page.encode(), {"Content-Type": "text/html"}) if faults.page is not None else None

    def _reply(self, path: str, request: dict[str, Any]) -> bytes:
        self.stats.answered += 1
        said = self.reply(request)
        if isinstance(said, dict) and ("choices" in said or "error" in said or isinstance(said.get("content"), list)):
            return json.dumps(said).encode()
        message = said if isinstance(said, dict) else {"content": said}
        words = sum(len(str(item.get("content", "")).split()) for item in request.get("messages", ()))
        length = len(str(message.get("content") or "").split())
        if path.endswith("/messages"):
            usage = self.usage or {"input_tokens": words, "output_tokens": length}
            content = [{"type": "text", "text": message.get("content")}]
            reply: dict[str, Any] = {
                "id": "msg",
                "type": "message",
                "role": "assistant",
                "content": content,
                "stop_reason": "end_turn",
            }
        else:
            usage = self.usage or {"prompt_tokens": words, "completion_tokens": length, "total_tokens": words + length}
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **message}}
            reply = {"id": "chat", "object": "chat.completion", "choices": [choice]}
        return json.dumps(reply | {"model": request.get("model"), "usage": usage}).encode()


def _error(message: str, code: str, parameter: str | None = None) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": code, "param": parameter}}).encode()


def system_of(request: Mapping[str, Any]) -> str:
    """The system text of a request in either format."""
    first = request["messages"][0]
    return str(request.get("system") or (first["content"] if first["role"] == "system" else ""))


def user_of(request: Mapping[str, Any]) -> str:
    """The user's text of a request in either format."""
    return str(request["messages"][-1]["content"])


def echo(request: dict[str, Any]) -> str:
    """The prompt back."""
    return user_of(request)


def by_substring(rules: Mapping[str, Any], default: Any = "ok") -> Reply:
    """The first rule whose text occurs in system or user message gives the reply."""

    def reply(request: dict[str, Any]) -> Any:
        text = system_of(request) + "\n" + user_of(request)
        return next((said for part, said in rules.items() if part in text), default)

    return reply


class _Connection(asyncio.Protocol):
    """One connection; calls on it are answered one after the other."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.buffer = b""
        self.transport: Any = None
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.server.open.add(transport)
        self.server.stats.connections += 1

    def connection_lost(self, error: Exception | None) -> None:
        self.server.open.discard(self.transport)
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end]
        length = _length(head)
        if len(self.buffer) < end + 4 + length:
            return
        body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
        self._call(head, body)

    def _call(self, head: bytes, body: bytes) -> None:
        first, *rest = head.decode("latin-1").split("\r\n")
        path = first.split(" ")[1]
        headers = {}
        if self.server.keep:
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        counted = path not in ("/stats", "/reset")
        if counted:
            self.server.stats.calls += 1
            self.server.stats.moved(1)
            self.server.arrived.set()
        faults = self.server.faults
        if counted and faults.die_after and self.server.stats.calls > faults.die_after:
            self.server.stats.moved(-1)
            self.transport.abort()
            return
        answer = self.server.answer(path, headers, body)
        if not counted or not (self.server.latency_s or faults.drip_s or faults.hang or faults.drop_calls):
            self._finish(answer, counted)
        else:
            self.task = asyncio.get_running_loop().create_task(self._later(answer))

    def _finish(self, answer: tuple[int, bytes, dict[str, str]], counted: bool) -> None:
        if counted:
            self.server.stats.moved(-1)
        self.transport.write(_message(*answer))

    async def _later(self, answer: tuple[int, bytes, dict[str, str]]) -> None:
        server, faults = self.server, self.server.faults
        try:
            if faults.hang:
                await asyncio.get_running_loop().create_future()
            await asyncio.sleep(server.latency_s)
            message = _message(*answer)
            if faults.drop_calls >= server.stats.calls:
                self.transport.write(message[: len(message) - 10])
                self.transport.close()
            elif faults.drip_s:
                start = 0 if faults.drip_headers else message.find(b"\r\n\r\n") + 4
                self.transport.write(message[:start])
                for position in range(start, len(message)):
                    self.transport.write(message[position : position + 1])
                    await asyncio.sleep(faults.drip_s)
            else:
                self.transport.write(message)
        finally:
            server.stats.moved(-1)


def _length(head: bytes) -> int:
    lower = head.lower()
    at = lower.find(b"content-length:")
    return int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0


_PHRASES = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
}


def _message(status: int, body: bytes, extra: dict[str, str]) -> bytes:
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body))} | extra
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {_PHRASES.get(status, 'Status')}\r\n{lines}\r\n".encode() + body


async def _serve(server: ModelServer, ready: Callable[[], None], until: asyncio.Future[None] | None = None) -> None:
    """Accepts by hand: asyncio's own server loses connections that arrive in the turn in which it is closed."""
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", server.port), backlog=1024)
    listener.setblocking(False)
    server.port = listener.getsockname()[1]
    opening: set[asyncio.Task[Any]] = set()

    def accept() -> None:
        with suppress(BlockingIOError):
            while True:
                connection, _ = listener.accept()
                connection.setblocking(False)
                task = loop.create_task(loop.connect_accepted_socket(lambda: _Connection(server), connection))
                opening.add(task)
                task.add_done_callback(opening.discard)

    loop.add_reader(listener, accept)
    ready()
    try:
        await (until or loop.create_future())
    finally:
        loop.remove_reader(listener)
        listener.close()
        await asyncio.gather(*opening)
        for transport in tuple(server.open):
            transport.abort()
        while server.open or asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.sleep(0)


@contextmanager
def serving(reply: Reply = echo, **settings: Any) -> Iterator[ModelServer]:
    """The server on a thread of this process, for tests."""
    server = ModelServer(reply, **settings)
    loop = asyncio.new_event_loop()
    until: asyncio.Future[None] = loop.create_future()
    ready = threading.Event()

    def work() -> None:
        loop.run_until_complete(_serve(server, ready.set, until))
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(until.set_result, None)
        thread.join(10)


def main() -> None:
    """Serves until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--reply", default="ok", help="text of every answer; 'echo' gives the prompt back")
    parser.add_argument("--rules", help="JSON object: substring of the request -> reply")
    parser.add_argument("--refuse-every", type=int, default=0)
    parser.add_argument("--retry-after")
    parser.add_argument("--most-at-once", type=int, default=0)
    parser.add_argument("--die-after", type=int, default=0)
    given = parser.parse_args()
    reply: Reply = echo if given.reply == "echo" else lambda request: given.reply
    if given.rules:
        reply = by_substring(json.loads(given.rules), given.reply)
    faults = Faults(
        refuse_every=given.refuse_every, retry_after=given.retry_after, most_at_once=given.most_at_once, die_after=given.die_after
    )
    server = ModelServer(reply, given.latency_ms / 1000, faults, keep=False, port=given.port)
    asyncio.run(_serve(server, lambda: print(json.dumps({"url": server.url, "port": server.port}), flush=True)))


if __name__ == "__main__":
    main()
