"""The HTTP side: which format a path speaks, which scene plays, what goes wrong, and what was seen."""

from __future__ import annotations

import gzip
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

from . import chat, gemini, messages, responses
from .asking import Asked, made_up
from .scenes import Scene
from .turns import Turn

_PAGE = b"<html><body>please log in to the proxy</body></html>"
_FORMATS: tuple[tuple[str, ModuleType], ...] = (
    (r"/messages$", messages), (r"/responses$", responses), (r"/chat/completions$", chat), (r":(stream)?[gG]enerateContent$", gemini),
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """A request that came in."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False, default=None)
    asked: Asked | None = None
    """None: no request for a reply (a list of models, a health check, a path nobody knows)."""
    at_s: float = 0.0
    """Since the server started."""

    @property
    def side(self) -> bool:
        return self.asked is None or self.asked.side


class Server:
    """A scripted model at `url`."""

    def __init__(self, scenes: Mapping[str, Scene]) -> None:
        self.scenes = scenes
        """By a word of the prompt; "" is any prompt. The first that fits plays."""
        self.seen: list[Seen] = []
        self.closing = threading.Event()
        self.faults_of_ours: list[BaseException] = []
        """What broke while answering; `serving` raises the first at its end."""
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._replies: Counter[str] = Counter()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.model = self

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        """Without `/v1`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def main(self) -> list[Seen]:
        """Requests for the next step of a task, in order."""
        return [seen for seen in self.seen if not seen.side]

    def saw(self, seen: Seen) -> None:
        with self._lock:
            self.seen.append(seen)

    def scene_of(self, asked: Asked) -> tuple[str, Scene]:
        return next(((word, scene) for word, scene in self.scenes.items() if word in asked.text), ("", Scene()))

    def fault_of(self, asked: Asked) -> str | None:
        """What goes wrong with this reply."""
        if asked.side:
            return None
        word, scene = self.scene_of(asked)
        with self._lock:
            self._replies[word] += 1
            first = self._replies[word] == 1
        if scene.play == "later401":
            return "error401" if asked.results else None
        if scene.play.startswith("error"):
            return scene.play.removesuffix("once") if first or not scene.play.endswith("once") else None
        return scene.play if scene.play in {"truncated", "malformed", "html", "hang"} else None

    def turn_for(self, asked: Asked) -> Turn:
        if asked.json_schema is not None:
            return Turn(json.dumps(made_up({"type": "object", **asked.json_schema})))
        if asked.side:
            return Turn("A title")
        return self.scene_of(asked)[1].next(asked)

    def since_start_s(self) -> float:
        return round(time.monotonic() - self._started, 3)

    def serve(self) -> None:
        self._http.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(scene: Scene | Mapping[str, Scene]) -> Iterator[Server]:
    """A server for as long as the block lasts; its port is closed and its threads are told to end afterwards."""
    server = Server({"": scene} if isinstance(scene, Scene) else scene)
    thread = threading.Thread(target=server.serve, name="scripted model", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(5)
    for fault in server.faults_of_ours:
        raise fault


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    model: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        fault = sys.exc_info()[1]
        if fault is not None and not isinstance(fault, ConnectionError):
            self.model.faults_of_ours.append(fault)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: `Server.seen` is the log."""

    def do_GET(self) -> None:
        self._note()
        if self.path.split("?")[0].endswith("/models"):
            names = ("scripted-model", "claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro")
            return self._json(
                200, {"object": "list", "data": [{"id": name, "object": "model", "type": "model"} for name in names]}
            )
        return self._json(404, {"error": {"message": "nothing here"}})

    def do_HEAD(self) -> None:
        self._note()
        self._send(200, "text/plain", b"")

    def do_POST(self) -> None:
        try:
            self._post(self._body())
        except ConnectionError:
            self.close_connection = True

    def _post(self, body: Any) -> None:
        path = self.path.split("?")[0]
        speaks = next((speaks for pattern, speaks in _FORMATS if re.search(pattern, path)), None)
        asked = speaks.asked(body, path) if speaks and isinstance(body, dict) else None
        self._note(body, asked)
        if asked is None or speaks is None:
            known = {"input_tokens": 1000, "totalTokens": 1000} if re.search("count_?tokens", path, re.I) else None
            return self._json(200 if known else 404, known or {"error": {"message": "nothing here"}})
        fault = self.server.model.fault_of(asked)
        if fault == "hang":
            self.server.model.closing.wait(600)
            self.close_connection = True
            return None
        if fault == "html":
            return self._send(200, "text/html", _PAGE)
        if fault and fault.startswith("error"):
            status = int(fault.removeprefix("error"))
            return self._json(status, speaks.error(status, f"scripted {status}"), {"retry-after": "1"} if status == 429 else {})
        return self._reply(speaks, asked, fault)

    def _reply(self, speaks: ModuleType, asked: Asked, fault: str | None) -> None:
        turn = self.server.model.turn_for(asked)
        new_id = f"scripted{len(self.server.model.seen):05}"
        if not asked.stream:
            return self._json(200, speaks.whole(turn, asked, new_id))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        pieces = 0
        for frame in speaks.frames(turn, asked, new_id):
            pieces += frame.piece
            if frame.piece and pieces == 2 and turn.final and fault == "truncated":
                return None
            if frame.piece and pieces == 2 and turn.final and fault == "malformed":
                self.wfile.write(frame.broken())
            self.wfile.write(frame.encoded())
            self.wfile.flush()
        return None

    def _body(self) -> Any:
        raw = b"".join(self._chunks()) if "chunked" in self.headers.get("Transfer-Encoding", "") else None
        if raw is None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        try:
            return json.loads(raw) if raw else None
        except ValueError:
            return None

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip() or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _note(self, body: Any = None, asked: Asked | None = None) -> None:
        model = self.server.model
        model.saw(Seen(self.command, self.path, dict(self.headers.items()), body, asked, model.since_start_s()))

    def _json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(body).encode(), headers)

    def _send(self, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
