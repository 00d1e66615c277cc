"""Targets and judges that are Python objects: a function `prompt -> str`, or an object with `complete`."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, NoReturn, Self

from pydantic import ValidationError

from skilltrial.chat.package import Packages
from skilltrial.errors import UsageError
from skilltrial.records.evidence import AgentRun, Event, Timing, Usage
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record
from skilltrial.seams import Capabilities, Job, Machine, Probe, Stop, Watch

_TICK_S = 0.1

_live: dict[str, Any] = {}
_offers: Counter[str] = Counter()
_lock = threading.Lock()


def offer(item: Any) -> str:
    """Makes an object reachable as a target of this process, until it is withdrawn as often; returns the name it got.

    Raises:
        UsageError: it is no function and has no `complete`.
    """
    if not callable(item) and not callable(getattr(item, "complete", None)):
        raise UsageError(
            f"a target or judge must be a name, a function prompt -> str, or an object with complete(prompt); got {type(item).__name__}"
        )
    given = str(getattr(item, "name", None) or getattr(item, "__name__", None) or type(item).__name__)
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("-.")[:90] or "python"  # names folders: `<lambda>` would not do
    with _lock:
        name = base
        number = 2
        while name in _live and _live[name] is not item:
            name, number = f"{base}-{number}", number + 1
        _live[name] = item
        _offers[name] += 1
    return name


def withdraw(name: str) -> None:
    """Lets go of an object, so that its name is free again."""
    with _lock:
        _offers[name] -= 1
        if _offers[name] <= 0:
            _live.pop(name, None)
            del _offers[name]


class Library(Record):
    """An object of the calling program. An experiment that used one can be read and re-graded anywhere, but resumed only here."""

    name: ClassVar[str] = "library"
    capabilities: ClassVar[Capabilities] = Capabilities(
        skills=True, tools=True, tools_executed=False, tokens=True, cost=True, judge=True, paid=False
    )
    item: str
    """Name under which the object was offered."""

    @classmethod
    def from_target(cls, target: Target) -> Self:
        return cls(item=target.value or target.name)

    def probe(self, machine: Machine) -> Probe:
        if self.item in _live:
            return Probe(True, "a Python object of this process")
        return Probe(False, f"'{self.item}' was a Python object; run skilltrial.evaluate with it again")

    @contextlib.contextmanager
    def open(self, machine: Machine) -> Iterator[LibraryRunner]:
        if self.item not in _live:
            raise UsageError(self.probe(machine).reason)
        yield LibraryRunner(_live[self.item])

    def endpoint_name(self) -> str:
        return f"python:{self.item}"


plugin = Library


class LibraryRunner:
    """Calls the object; what it raises is a failed measurement, never an answer."""

    def __init__(self, item: Any) -> None:
        self.item = item
        self.packages = Packages()

    def run(self, job: Job, watch: Watch) -> AgentRun:
        system, user, warnings = self.packages.of(job)
        started, began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        sent: JsonObject = {"system": system, "user": user, "tools": list(job.tools)}
        told = _awaited(lambda: self._ask(job, system, user), watch)
        timing = Timing(started_at=started, duration_s=round(time.monotonic() - began, 4))
        if isinstance(told, Stop):
            outcome: Any = told.outcome if told.outcome in ("timeout", "budget") else "harness_error"
            return AgentRun(outcome=outcome, reason=told.reason, timing=timing, sent=sent)
        try:
            return _run_of(told(), timing, sent).model_copy(update={"warnings": warnings})
        except _Unusable as error:
            reason = f"the object's answer cannot be used: {error}"
        except BaseException as error:  # foreign code: whatever it raises, sys.exit included, is its failure, kept with the cell
            reason = f"{type(error).__name__}: {error}"
        return AgentRun(outcome="infrastructure_error", reason=reason, timing=timing, sent=sent)

    def _ask(self, job: Job, system: str | None, user: str) -> Any:
        chat = getattr(self.item, "complete_chat", None)
        if callable(chat):
            return chat(system=system, user=user, tools=list(job.tools), tool_choice=job.tool_choice, params=dict(job.params))
        ask: Callable[[str], Any] = getattr(self.item, "complete", None) or self.item
        return ask(f"{system}\n\n{user}" if system else user)


class _Unusable(Exception):
    """The object answered, but with nothing that is an answer."""


def _awaited(ask: Callable[[], Any], watch: Watch) -> Callable[[], Any] | Stop:
    """Calls `ask` in a thread of its own, so that a call that never returns can be left behind; gives what it came to."""
    ended: SimpleQueue[Callable[[], Any]] = SimpleQueue()

    def work() -> None:
        try:
            reply = ask()
        except BaseException as error:
            raised = error
            ended.put(lambda: _raise(raised))
        else:
            ended.put(lambda: reply)

    threading.Thread(target=work, name="skilltrial-object", daemon=True).start()
    while True:
        try:
            return ended.get(timeout=_TICK_S)
        except Empty:
            stop = watch.heard(None)
            if stop is not None:
                return stop


def _raise(error: BaseException) -> NoReturn:
    raise error


def _run_of(reply: Any, timing: Timing, sent: JsonObject) -> AgentRun:
    """A string, a mapping or an object with `output` or `text`, and what else it tells.

    Raises:
        _Unusable: it is none of these, or tells what cannot be.
    """
    try:
        return _read(reply, timing, sent)
    except (TypeError, ValueError, AttributeError) as error:
        raise _Unusable(_short(error)) from error


def _short(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())


def _read(reply: Any, timing: Timing, sent: JsonObject) -> AgentRun:
    if isinstance(reply, str):
        return AgentRun(outcome="ok", text=reply, timing=timing, sent=sent, activation="unknown")
    get: Callable[[str], Any] = reply.get if isinstance(reply, Mapping) else lambda name: getattr(reply, name, None)
    error = get("error")
    if error:
        return AgentRun(outcome="infrastructure_error", reason=str(error), timing=timing, sent=sent)
    text = get("output") if get("output") is not None else get("text")
    if not isinstance(text, str):
        raise TypeError(f"expected a string, or 'output' holding one, got {type(reply).__name__}")
    usage = Usage(
        input_tokens=get("input_tokens"),
        output_tokens=get("output_tokens"),
        cached_tokens=get("cached_tokens"),
        cost_usd=get("cost_usd"),
        cost_source="provider" if get("cost_usd") is not None else None,
    )
    calls = get("tool_calls")
    events = tuple(_call(call) for call in calls) if calls is not None else None
    return AgentRun(outcome="ok", text=text, events=events, usage=usage, timing=timing, sent=sent, model=get("model"))


def _call(call: Mapping[str, Any]) -> Event:
    function = call.get("function", call)
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError):
            arguments = json.loads(arguments)
    return Event(kind="tool_call", name=function.get("name"), call=call.get("id"), arguments=arguments)
