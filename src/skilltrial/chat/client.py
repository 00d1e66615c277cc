"""One HTTP request with an own deadline: nothing a server does keeps a call alive past it.

urllib3's time-outs speak of single reads, so a server that sends a byte now and then is never stopped by them. Here one thread
per client looks after all calls in flight and shuts the socket of a call whose watch says stop; the blocked read then ends.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

import urllib3
from urllib3 import HTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    MaxRetryError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    SSLError,
)
from urllib3.util import parse_url

from skilltrial.chat import exchange
from skilltrial.chat.exchange import Answer
from skilltrial.chat.failures import Failure, shown
from skilltrial.errors import UsageError
from skilltrial.seams import Stop, Watch
from skilltrial.system.addresses import parts_of
from skilltrial.version import VERSION

CONNECT_S = 10.0
LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes."""
_TICK_S = 0.1
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _Call:
    """A call in flight: its watch, the socket to shut, why it was shut, and what came."""

    __slots__ = ("answer", "largest", "sock", "stop", "watch")

    def __init__(self, watch: Watch, largest: int) -> None:
        self.watch = watch
        self.largest = largest
        self.answer: Answer | None = None
        self.sock: Any = None
        self.stop: Stop | None = None

    def wanted(self) -> Stop | None:
        """Asks the watch whether to go on."""
        stop = self.watch.heard(None)
        if stop is None and time.monotonic() >= self.watch.deadline:
            stop = Stop("timeout", "time limit reached")
        return stop


def _shut(sock: Any) -> None:
    """Ends both directions of a socket that another thread reads."""
    try:
        # of a TLS connection only the plain socket below: the other thread owns the TLS state
        socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)
    except OSError:
        return  # already closed


_here = threading.local()
"""`.call`: the call this thread is making."""


class _Watched:
    """Tells the watchdog which socket the current call uses. urllib3 opens and keeps connections; the exchange is ours."""

    sock: Any
    timeout: Any

    def request(self, *line: Any, **rest: Any) -> None:
        """`line` is method and path; of the rest urllib3 gives, `headers` and `body` matter here."""
        call = _here.call
        call.sock = self.sock
        if call.stop is not None:
            raise HTTPError("stopped before sending")
        method, path = line
        packet = exchange.request(method, path, rest["headers"], rest["body"])
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
            call.sock = self.sock
        self.sock.settimeout(self.timeout)
        self.sock.sendall(packet)

    def receive(self) -> None:
        """The answer; it is kept with the call."""
        call = _here.call
        call.sock = self.sock
        if call.stop is not None:  # stopped before there was a socket to shut
            raise HTTPError("stopped before reading")
        self.sock.settimeout(self.timeout)
        call.answer, keeps = exchange.receive(self.sock, call.largest)
        call.sock = None  # another call may have it next
        if not keeps:
            self.close()  # type: ignore[attr-defined]

    def getresponse(self) -> Any:
        """Only the status, for urllib3."""
        self.receive()
        answer = _here.call.answer
        return HTTPResponse(status=answer.status if answer else 200, preload_content=False)


class _Connection(_Watched, HTTPConnection):
    pass


class _TlsConnection(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS = {"http": _Pool, "https": _TlsPool}


class _Route(NamedTuple):
    """How a URL is reached."""

    opener: Any
    """A pool or a manager of urllib3."""
    path: str
    host: str
    """For the header."""


def _over_open_connection(route: _Route, body: bytes, headers: Mapping[str, str]) -> bool:
    """Makes the call over a connection that is open; False: there is none. It is half the CPU of a call through urllib3."""
    pool = route.opener
    if not isinstance(pool, HTTPConnectionPool):
        return False
    connection: Any = pool._get_conn()
    try:
        if connection.is_closed:
            return False
        connection.timeout = None  # the watchdog's deadline is the only one
        connection.request("POST", route.path, headers=headers, body=body)
        connection.receive()
    except BaseException:
        connection.close()
        raise
    finally:
        pool._put_conn(connection)
    return True


def is_loopback(url: str) -> bool:
    """The URL names this machine itself."""
    host = (parts_of(url).hostname or "").lower()
    return host in _LOOPBACK or host.startswith("127.")


def proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for this URL; loopback goes direct."""
    parts = parts_of(url)
    if is_loopback(url) or not parts.hostname:
        return None
    settings = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy") and value}
    if "REQUEST_METHOD" in environ:  # under CGI, HTTP_PROXY may come from a request header
        settings.pop("http_proxy", None)
    if "no_proxy" in settings and proxy_bypass_environment(parts.netloc.rpartition("@")[2], {"no": settings["no_proxy"]}):
        return None
    return settings.get(f"{parts.scheme}_proxy") or settings.get("all_proxy")


def _authorities(environ: Mapping[str, str]) -> dict[str, str]:
    """Where to find certificate authorities, as the caller's environment says; empty: the system's."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        if environ.get(name):
            return {"ca_certs": environ[name]}
    return {"ca_cert_dir": environ["SSL_CERT_DIR"]} if environ.get("SSL_CERT_DIR") else {}


class Client:
    """Connections to one endpoint, kept open between calls, and the thread that ends calls. Close it after use."""

    def __init__(
        self, environ: Mapping[str, str], *, connections: int = 256, largest_answer: int = LARGEST_ANSWER, tick_s: float = _TICK_S
    ) -> None:
        self._environ = environ
        self._connections = connections
        self._largest = largest_answer
        self._tick_s = tick_s
        self._managers: dict[str | None, urllib3.PoolManager] = {}
        self._routes: dict[str, _Route] = {}
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watchdog: threading.Thread | None = None

    def post(self, url: str, body: bytes, headers: Mapping[str, str], watch: Watch) -> Answer | Failure:
        """Sends `body` and reads the whole answer. Never raises for what the other side does, never lasts past the watch."""
        call = _Call(watch, self._largest)
        with self._lock:
            self._calls.add(call)
            if self._watchdog is None:
                self._watchdog = threading.Thread(target=self._look_after, name="chat-watchdog", daemon=True)
                self._watchdog.start()
        _here.call = call
        try:
            result = self._exchange(url, body, headers, watch)
        except (HTTPError, HTTPException, OSError, ValueError, UsageError) as error:
            result = _failure(error, url, proxy_for(url, self._environ))
        finally:
            with self._lock:
                self._calls.discard(call)
        if call.stop is not None:
            return of_stop(call.stop, url)
        return result

    def close(self) -> None:
        """Ends the watchdog and every idle connection."""
        self._closed.set()
        for manager in self._managers.values():
            manager.clear()
        if self._watchdog is not None:
            self._watchdog.join(timeout=2.0)

    def _exchange(self, url: str, body: bytes, headers: Mapping[str, str], watch: Watch) -> Answer | Failure:
        route = self._routes.get(url) or self._route(url)
        if not any(name.lower() == "host" for name in headers):
            headers = {"Host": route.host, **headers}
        if not _over_open_connection(route, body, headers):
            left = watch.deadline - time.monotonic()
            timeout = urllib3.Timeout(connect=max(0.01, min(CONNECT_S, left)), read=None)
            route.opener.urlopen(
                "POST", route.path, body=body, headers=headers, retries=False, redirect=False, assert_same_host=False,
                timeout=timeout,
            )  # fmt: skip
        answer: Answer | None = _here.call.answer
        if answer is None:
            return Failure(
                "infrastructure_error", f"{shown(url)} sent more than {self._largest} bytes; no model answer is that long"
            )
        return answer

    def _route(self, url: str) -> _Route:
        """Whom to ask and for which path, found out once per URL: the pool itself when there is no proxy between."""
        proxy = proxy_for(url, self._environ)
        with self._lock:
            if proxy not in self._managers:
                self._managers[proxy] = self._manager(proxy)
            manager = self._managers[proxy]
        parts = parse_url(url)
        host = parts.host or ""
        if parts.port and parts.port != {"http": 80, "https": 443}.get(parts.scheme or ""):
            host = f"{host}:{parts.port}"
        if proxy and parts.scheme == "http":
            route = _Route(manager, parts._replace(auth=None, fragment=None).url, host)
        else:
            route = _Route(manager.connection_from_url(url), parts.request_uri, host)
        self._routes[url] = route
        return route

    def _manager(self, proxy: str | None) -> urllib3.PoolManager:
        options: dict[str, Any] = {"maxsize": self._connections, "num_pools": 8, **_authorities(self._environ)}
        manager = urllib3.PoolManager(**options) if proxy is None else _proxied(proxy, options)
        manager.pool_classes_by_scheme = _POOLS
        return manager

    def _look_after(self) -> None:
        while not self._closed.wait(self._tick_s):
            with self._lock:
                calls = [call for call in self._calls if call.stop is None]
            for call in calls:
                stop = call.wanted()
                if stop is not None:
                    self._end(call, stop)

    def _end(self, call: _Call, stop: Stop) -> None:
        """Shuts the socket of a call, which ends the read that waits on it."""
        with self._lock:
            if call in self._calls:
                call.stop = stop
                if call.sock is not None:
                    _shut(call.sock)


def _proxied(proxy: str, options: dict[str, Any]) -> urllib3.PoolManager:
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    auth = parts_of(proxy)
    headers = urllib3.make_headers(proxy_basic_auth=f"{auth.username}:{auth.password or ''}") if auth.username else None
    if auth.scheme not in ("http", "https"):
        raise UsageError(
            f"the proxy {shown(proxy)} is of a kind we do not speak", "name an http or https proxy, or put the host into NO_PROXY"
        )
    return urllib3.ProxyManager(proxy, proxy_headers=headers, **options)


def of_stop(stop: Stop, url: str) -> Failure:
    """The failure of a call that we ended ourselves."""
    if stop.outcome == "timeout":
        return Failure("timeout", f"no complete answer from {shown(url)} within the time limit")
    if stop.outcome == "budget":
        return Failure("budget", stop.reason)
    return Failure("harness_error", stop.reason, interrupted=stop.outcome == "interrupted")


def _failure(error: Exception, url: str, proxy: str | None) -> Failure:
    """One sentence for every way in which a request can fail on the network."""
    where = shown(url)
    cause: BaseException = error
    while isinstance(cause, MaxRetryError) and cause.reason is not None:
        cause = cause.reason
    if isinstance(cause, UsageError):
        return Failure("infrastructure_error", str(cause), setup=True)
    if isinstance(cause, ProxyError):
        return Failure(
            "infrastructure_error",
            f"the proxy {shown(proxy or '')} did not let us through to {where}; check HTTPS_PROXY and NO_PROXY",
            setup=True,
        )
    if isinstance(cause, NameResolutionError):
        return Failure(
            "infrastructure_error",
            f"{parts_of(url).hostname} is not a known host; check the base URL and the network",
            setup=True,
        )
    if isinstance(cause, ConnectTimeoutError) and not isinstance(cause, NewConnectionError):
        return Failure("infrastructure_error", f"{where} did not accept a connection within {CONNECT_S:g} s", retryable=True)
    if isinstance(cause, NewConnectionError):
        why = cause.__cause__ or cause
        if isinstance(why, ConnectionRefusedError):
            return Failure(
                "infrastructure_error", f"nothing listens at {where}; start the server or check the base URL", setup=True
            )
        return Failure(
            "infrastructure_error", f"no connection to {where} ({_plain(why)}); check the base URL and the network", setup=True
        )
    if isinstance(cause, (SSLError, ssl.SSLError)):
        return Failure(
            "infrastructure_error",
            f"no secure connection to {where} ({_plain(cause)}); name your authority's file in SSL_CERT_FILE",
            setup=True,
        )
    if isinstance(cause, (LocationValueError, ValueError, FileNotFoundError)):
        return Failure(
            "infrastructure_error", f"{where} cannot be called ({_plain(cause)}); check the base URL and the headers", setup=True
        )
    return Failure("infrastructure_error", f"the connection to {where} broke before the whole answer had come", retryable=True)


def _plain(error: BaseException) -> str:
    """The error's own words without the object addresses that urllib3 puts in front."""
    text = str(error)
    return text.rpartition(">: ")[2] or text


def default_headers(extra: Mapping[str, str]) -> dict[str, str]:
    """Headers of every call of ours; `extra` replaces them whatever its capitals."""
    headers = {"User-Agent": f"skilltrial/{VERSION}", "Content-Type": "application/json", "Accept-Encoding": "identity"}
    for name, value in extra.items():
        for known in [known for known in headers if known.lower() == name.lower()]:
            del headers[known]
        headers[name] = value
    return headers
