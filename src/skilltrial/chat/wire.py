"""What the two wire formats have in common: the question as we hold it, and the answer as we read it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from skilltrial import prices
from skilltrial.chat.failures import Failure, Said
from skilltrial.errors import UsageError
from skilltrial.records.evidence import Event, Outcome, Usage
from skilltrial.records.record import JsonObject

RESERVED = frozenset({"model", "messages", "system", "stream"})
"""Request keys that no params may set: the harness owns them."""
REQUESTED = "requested, not executed"


class Ask(NamedTuple):
    """One question to a model."""

    model: str
    system: str | None
    user: str
    params: Mapping[str, Any]
    tools: tuple[JsonObject, ...] = ()
    tool_choice: Any = None
    json_schema: JsonObject | None = None


class Heard(NamedTuple):
    """One answer, read."""

    text: str
    events: tuple[Event, ...]
    usage: Usage
    model: str | None
    warnings: tuple[str, ...] = ()


class NoAnswer(NamedTuple):
    """A well-formed reply that holds no answer. Completes the sentence "URL sent …"."""

    outcome: Outcome
    reason: str


class Habits:
    """What one endpoint and model turned out not to take; learned once, kept for all later calls. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.dropped: Mapping[str, str] = {}
        """Parameter -> what the server said about it."""
        self.renamed: Mapping[str, str] = {}

    def drop(self, name: str, why: str) -> None:
        with self._lock:
            self.dropped = {**self.dropped, name: why}

    def rename(self, old: str, new: str) -> None:
        with self._lock:
            self.renamed = {**self.renamed, old: new}


class Wire(Protocol):
    """A wire format: pure functions between our words and a provider's JSON."""

    path: str

    def body(self, ask: Ask, habits: Habits) -> dict[str, Any]:
        """The request, with what the endpoint refuses left out."""
        ...

    def read(self, data: Any) -> Heard | NoAnswer:
        """The answer, or why there is none in it. Raises nothing."""
        ...

    def adapt(self, status: int, error: Said, sent: Mapping[str, Any], habits: Habits) -> bool:
        """Learns from a refused parameter; True when the changed request is worth sending."""
        ...


def check_params(params: Mapping[str, Any], where: str) -> None:
    """Refuses parameters that would replace what the harness itself sends.

    Raises:
        UsageError: `params` sets the model, the messages or streaming.
    """
    wrong = sorted(RESERVED & params.keys())
    if wrong:
        raise UsageError(
            f"{where}: params may not set {', '.join(repr(name) for name in wrong)}",
            "name the model in the target (--target openai:MODEL); the prompt comes from the case; answers are read whole",
        )


def cost(usage: Usage, pricing: Mapping[str, float] | None) -> Usage:
    """Adds what the tokens cost by the prices in the configuration, unless the provider already said.

    `pricing` is in US dollars per token: prompt, completion, input_cache_read (default prompt), input_cache_write (default prompt).
    With a count or a price missing the cost stays unknown.
    """
    found = prices.price(None, usage, pricing) if pricing and usage.cost_usd is None else None
    return usage.model_copy(update={"cost_usd": found.usd, "cost_source": found.source}) if found else usage


def count(value: Any) -> int | None:
    """A token count, or None for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0 or value != value:
        return None
    return int(value)


def broken(url: str, body: bytes) -> Failure:
    """The failure of a 200 whose body is no JSON: a page of a portal or proxy, or an answer cut off."""
    head = body[:200].lstrip().lower()
    kind = "a web page" if head.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")) else "text that is not JSON"
    if body[:1] in (b"{", b"["):
        kind = "JSON that breaks off"
    if not body.strip():
        kind = "nothing"
    return Failure("infrastructure_error", f"{url} answered 200 with {kind} in place of a model's answer", page=body[:4096])
