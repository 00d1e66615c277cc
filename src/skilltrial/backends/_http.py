"""What the HTTP backends share: settings, probe, and the runner that turns a Job into one question."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, ClassVar, Self

from skilltrial.chat.client import default_headers, is_loopback, proxy_for
from skilltrial.chat.complete import Asker, Endpoint, join
from skilltrial.chat.failures import shown
from skilltrial.chat.package import Packages
from skilltrial.chat.wire import Ask, Wire, check_params
from skilltrial.errors import CellError, UsageError
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record
from skilltrial.seams import Capabilities, Job, Machine, Probe, Runner, Watch
from skilltrial.system.addresses import parts_of

CAPABILITIES = Capabilities(
    skills=True, tools=True, tools_executed=False, tokens=True, cost=True, endpoint=True, reasoning=True, judge=True,
    delivery="injected", timeout_s=120.0, concurrency=16,
)  # fmt: skip
_PROBE_S = 5.0
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_SECRET_HEADERS = re.compile(r"auth|key|token|cookie|secret", re.I)


class HttpTarget(Record):
    """Settings of a model behind HTTP; the subclasses say which format it speaks and where it lies by default."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities] = CAPABILITIES
    wire: ClassVar[Wire]
    address_variable: ClassVar[str]
    default_address: ClassVar[str]
    default_key: ClassVar[str]

    model: str | None = None
    base_url: str | None = None
    """None: the provider's variable in the environment, else its public address."""
    api_key_env: str | None = None
    """Variable that holds the key; `none`: the server wants none. None: the provider's own; a server on this machine needs none."""
    params: JsonObject = {}
    """Added to every request; never model, messages, system or stream."""
    headers: dict[str, str] = {}
    """Added to every request, over ours in any capitals; `$NAME` stands for a variable of the environment."""
    pricing: dict[str, float] | None = None
    """US dollars per token: prompt, completion, input_cache_read, input_cache_write."""
    max_connections: int | None = None
    """Calls in flight at most; None: the experiment's concurrency."""
    attempts: int = 8
    """Of one call, the first included."""

    @classmethod
    def from_target(cls, target: Target) -> Self:
        """Builds it from a planned target.

        Raises:
            UsageError: an option it does not have, a bad address, or params that would replace model or messages.
        """
        known = {key: value for key, value in target.options.items() if key in cls.model_fields}
        unknown = sorted(target.options.keys() - known.keys())
        if unknown:
            raise UsageError(
                f"target '{target.name}': {target.backend} has no option {', '.join(map(repr, unknown))}",
                f"it has: {', '.join(cls.model_fields)}",
            )
        settings: dict[str, Any] = {"model": target.value, **known}
        settings["params"] = {**(known.get("params") or {}), **target.params}  # type: ignore[dict-item]
        if target.pricing is not None:
            settings["pricing"] = target.pricing
        made = cls(**settings)
        check_params(made.params, f"target '{target.name}'")
        return made

    def address(self, environ: Mapping[str, str]) -> str:
        """Base URL: the option, else the provider's variable, else its public address."""
        return self.base_url or environ.get(self.address_variable) or self.default_address

    def key_name(self, environ: Mapping[str, str]) -> str | None:
        """Variable to take the key from; None: no key is sent."""
        if self.api_key_env == "none":
            return None
        name = self.api_key_env or self.default_key_for(self.address(environ))
        optional = self.api_key_env is None and is_loopback(self.address(environ))
        return None if optional and not environ.get(name) else name

    def default_key_for(self, address: str) -> str:
        """Variable that usually holds the key of this address."""
        return self.default_key

    def endpoint_name(self) -> str:
        """Host and path, without anything secret."""
        return self.limit_key(os.environ)

    def probe(self, machine: Machine) -> Probe:
        """Model named, key present, address well formed and open. Sends nothing."""
        wrong = self._wrong(machine.environ)
        if wrong:
            return Probe(False, wrong)
        url = self.address(machine.environ)
        if proxy_for(url, machine.environ) is None:
            wrong = closed(url)
        key = self.key_name(machine.environ)
        return Probe(wrong is None, wrong or f"{shown(url)} takes connections", login=key or "no key needed")

    @contextmanager
    def open(self, machine: Machine) -> Iterator[Runner]:
        """Connections for one experiment. What it hands out is learned by the redactor first."""
        asker = Asker(self.wire, self.endpoint(machine), machine)
        if self.max_connections is not None:
            machine.limiter.allow(self.limit_key(machine.environ), self.max_connections)
        try:
            yield HttpRunner(asker, self.model or "", self.request_params())
        finally:
            asker.close()

    def request_params(self) -> JsonObject:
        """What every request carries besides model and messages."""
        return self.params

    def endpoint(self, machine: Machine) -> Endpoint:
        """Address with headers and key, ready to be called."""
        environ = machine.environ
        name = self.key_name(environ)
        key = environ.get(name) if name else None
        own = {header: _filled(value, machine) for header, value in self.headers.items()}
        if key:
            machine.redactor.learn(key)
        headers = default_headers({**(self.key_headers(key) if key else {}), **_unless_given(self.wire_headers(), own), **own})
        for header, value in own.items():
            if _SECRET_HEADERS.search(header):
                machine.redactor.learn(value.removeprefix("Bearer "))
        url = self.address(environ)
        return Endpoint(url, self.limit_key(environ), headers, name, self.pricing, self.attempts)

    def limit_key(self, environ: Mapping[str, str]) -> str:
        """What slots and retries are kept by."""
        return shown(join(self.address(environ), self.wire.path))

    def key_headers(self, key: str) -> dict[str, str]:
        """How the key is sent."""
        return {"Authorization": f"Bearer {key}"}

    def wire_headers(self) -> dict[str, str]:
        """Headers that the format asks for."""
        return {}

    def _wrong(self, environ: Mapping[str, str]) -> str | None:
        """What stops a call before it is made, in one sentence; None: nothing."""
        url = self.address(environ)
        parts = parts_of(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return f"'{shown(url)}' is no address; a base URL looks like {self.default_address}"
        if not self.model:
            return f"no model is named: write {self.name}:MODEL"
        name = self.key_name(environ)
        if name and not environ.get(name):
            other = "--api-key-env, a judge's with --judge-api-key-env"
            return f"{name} is not set; put the key for {shown(url)} there, or name another variable with {other} (none: no key)"
        absent = [variable for value in self.headers.values() for variable in _variables(value) if variable not in environ]
        return f"a header names ${absent[0]}, which is not set" if absent else None


def _variables(value: str) -> list[str]:
    return [braced or bare for braced, bare in _VARIABLE.findall(value)]


def _filled(value: str, machine: Machine) -> str:
    """The header with variables filled in, each learned by the redactor."""

    def look_up(found: re.Match[str]) -> str:
        secret = machine.environ.get(found[1] or found[2], "")
        machine.redactor.learn(secret)
        return secret

    return _VARIABLE.sub(look_up, value)


def _unless_given(headers: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    given = {name.lower() for name in own}
    return {name: value for name, value in headers.items() if name.lower() not in given}


def closed(url: str) -> str | None:
    """Why no connection to this address opens; None: it does."""
    parts = parts_of(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=_PROBE_S).close()
    except ConnectionRefusedError:
        return f"nothing listens at {shown(url)}; start the server or check the base URL"
    except (socket.gaierror, UnicodeError):
        return f"{parts.hostname} is not a known host; check the base URL and the network"
    except TimeoutError:
        return f"{shown(url)} did not accept a connection within {_PROBE_S:g} s; check the base URL and the network"
    except OSError as error:
        return f"no connection to {shown(url)} ({error.strerror or error}); check the base URL and the network"
    return None


class HttpRunner:
    """One question per job: what would lie in a folder is put into the messages."""

    def __init__(self, asker: Asker, model: str, params: JsonObject, *, seeded: bool = False) -> None:
        self._asker = asker
        self._model = model
        self._params = params
        self._seeded = seeded
        self._packages = Packages()

    def run(self, job: Job, watch: Watch) -> AgentRun:
        params = self._merged(job)
        package = self._packages.of(job)
        ask = Ask(self._model, package.system, package.user, params, job.tools, job.tool_choice, job.json_schema)
        noted = {
            "activation": "forced" if job.skills else "none_expected",
            "sent": sent(ask),
            "warnings": package.warnings,
        }
        run = self._asker.ask(ask, watch, job.endpoint, noted)
        if run.model and PurePath(run.model).is_absolute():  # llama.cpp reports the path of its weights
            return run.model_copy(update={"model": PurePath(run.model).name})
        return run

    def _merged(self, job: Job) -> JsonObject:
        """The target's params, over them the case's, and the seed where the server keeps to one."""
        params = {**self._params, **job.params} if self._params else job.params
        if self._seeded and "seed" not in params:
            params = {**params, "seed": job.seed}
        try:
            check_params(params, job.cell)
        except UsageError as error:
            raise CellError("backend", error.message) from error
        return params


def sent(ask: Ask) -> JsonObject:
    """What went out, for the evidence."""
    record: JsonObject = {"model": ask.model, "system": ask.system, "user": ask.user, "params": dict(ask.params)}
    if ask.tools:
        record |= {"tools": list(ask.tools), "tool_choice": ask.tool_choice}
    return record
