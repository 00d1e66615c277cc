"""The handbook's adapter protocol, version 1, in both directions: pure functions on JSON."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, NoReturn

from skilltrial.records.evidence import Event, Usage
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import Skill, Tree, landing

VERSION = 1
RESPONSE_KEYS = frozenset({"output", "events", "usage"})
_EVENT = frozenset({"type", "name"})
_CACHED = ("cached_tokens", "cached_input_tokens", "cache_read_tokens", "cache_read_input_tokens")
NO_TELEMETRY = "activation_telemetry_unavailable"
"""Event type of an adapter whose runtime does not tell which skills it loaded."""


class Violation(Exception):
    """A response that breaks the protocol; the text says where."""


class Response(NamedTuple):
    """A response that keeps to the protocol."""

    output: str
    events: tuple[Event, ...] | None
    """None: the response has no `events` at all."""
    usage: Usage
    warnings: tuple[str, ...]

    @property
    def loads(self) -> tuple[str, ...]:
        """Names of the skills it reports as loaded."""
        return tuple(event.name or "" for event in self.events or () if event.kind == "skill")

    @property
    def silent(self) -> bool:
        """The adapter said that it cannot tell which skills were loaded."""
        return any(event.name == NO_TELEMETRY for event in self.events or () if event.kind == "other")


def request(prompt: str, skill: Skill | None, skill_path: str | None, fixtures: Tree, workspace: str) -> JsonObject:
    """What the adapter is told, in the protocol's order of keys; never expected output, checks or rubrics."""
    return {
        "protocol_version": VERSION,
        "mode": "with_skill" if skill else "without_skill",
        "skill": {"name": skill.name, "path": skill_path} if skill else None,
        "prompt": prompt,
        "files": [
            {"path": landing(file.path, "inputs"), "sha256": file.digest.removeprefix("sha256:")} for file in fixtures.files
        ],
        "workspace": workspace,
    }


def response(data: bytes) -> Response:
    """Reads a response as strictly as the protocol is written: no unknown key, no text around the one object.

    Raises:
        Violation: it breaks the protocol.
    """
    body = an_object(data, "the response")
    no_more_than(RESPONSE_KEYS, body, "the response")
    output = body.get("output")
    if not isinstance(output, str):
        raise Violation(f"'output' must be a string, found {kind_of(output) if 'output' in body else 'none'}")
    usage, warnings = usage_of(body.get("usage", {}))
    return Response(clean(output), events_of(body["events"]) if "events" in body else None, usage, warnings)


def an_object(data: bytes, what: str) -> dict[str, Any]:
    """The one JSON object in `data`, which may stand over several lines and be followed by nothing.

    Raises:
        Violation: there is none, or more than it; `what` names the data in the text.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Violation(f"{what} is not UTF-8 (byte {error.start})") from None
    if not text.strip():
        raise Violation(f"{what} is empty")
    try:
        body = json.loads(text, parse_constant=_refuse, object_pairs_hook=_no_twins)
    except json.JSONDecodeError as error:
        more = "text follows the JSON object" if error.msg == "Extra data" else f"{what} is no JSON: {error.msg}"
        raise Violation(f"{more} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise Violation(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise Violation(f"{what} is no JSON: {str(error).split(';')[0]}") from None
    if not isinstance(body, dict):
        raise Violation(f"{what} must be an object, found {kind_of(body)}")
    return body


def events_of(rows: Any) -> tuple[Event, ...]:
    """The events, each checked.

    Raises:
        Violation: one breaks the protocol; the text says which.
    """
    if not isinstance(rows, list):
        raise Violation(f"'events' must be a list, found {kind_of(rows)}")
    return tuple(_event(row, f"events[{place}]") for place, row in enumerate(rows))


def _event(row: Any, spot: str) -> Event:
    if not isinstance(row, dict):
        raise Violation(f"{spot} must be an object, found {kind_of(row)}")
    no_more_than(_EVENT, row, spot)
    kind, name = row.get("type"), row.get("name")
    if not isinstance(kind, str) or not kind.strip():
        raise Violation(f"{spot}.type must be a string that is not empty")
    if "name" in row and not isinstance(name, str):
        raise Violation(f"{spot}.name must be a string, found {kind_of(name)}")
    if kind == "skill_loaded":
        return Event(kind="skill", name=clean(name or ""))
    return Event(kind="other", name=clean(kind), text=clean(name) if name else None)


def usage_of(values: Any) -> tuple[Usage, tuple[str, ...]]:
    """Token counts and cost; other numbers stay in the raw response only. What cannot be a count is unknown, and said."""
    if not isinstance(values, dict):
        raise Violation(f"'usage' must be an object, found {kind_of(values)}")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Violation(f"usage.{name} must be a number, found {kind_of(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise Violation(f"usage.{name} is too large to be a number")
    warnings: list[str] = []
    cached = next((name for name in _CACHED if name in values), _CACHED[0])
    cost = values.get("cost_usd")
    if cost is not None and not 0 <= cost < 1e12:
        warnings.append(f"usage.cost_usd = {cost} is no cost")
        cost = None
    usage = Usage(
        input_tokens=_count("input_tokens", values, warnings),
        cached_tokens=_count(cached, values, warnings),
        output_tokens=_count("output_tokens", values, warnings),
        reasoning_tokens=_count("reasoning_tokens", values, warnings),
        cost_usd=None if cost is None else float(cost),
        cost_source=None if cost is None else "cli",
    )
    return usage, tuple(warnings)


def _count(name: str, values: dict[str, Any], warnings: list[str]) -> int | None:
    value = values.get(name)
    if value is None:
        return None
    if value != int(value) or not 0 <= value < 1 << 53:
        warnings.append(f"usage.{name} = {value} is no count of tokens")
        return None
    return int(value)


def no_more_than(known: frozenset[str], found: dict[str, Any], spot: str) -> None:
    """Raises Violation for a key that is not known."""
    unknown = sorted(found.keys() - known)
    if unknown:
        raise Violation(f"{spot} has unknown {'key' if len(unknown) == 1 else 'keys'} {', '.join(map(repr, unknown))}")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def clean(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can escape and UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
