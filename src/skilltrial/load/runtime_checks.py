"""`runtime_checks` and `verification` of agent-skills-eval's agent runs, as checks; what has no counterpart is set aside."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from skilltrial.load.checks import from_object
from skilltrial.load.document import Notes, Pointer, shown
from skilltrial.records.suite import Check

KEYS = frozenset({"runtime_checks", "verification", "captured_files"})
_EACH = {
    "requiredCommands": ("required-command", "command_ran", "command"),
    "forbiddenCommands": ("forbidden-command", "command_not_ran", "command"),
    "requiredFiles": ("required-file", "file_exists", "path"),
    "forbiddenFiles": ("forbidden-file", "file_not_exists", "path"),
}
"""Key of a list -> ids, check type and option of each member."""
_WHOLE = {
    "commandOrder": ("command-order", "command_order", "commands"),
    "allowedChanges": ("allowed-changes", "only_changed", "paths"),
}
_NO_COUNTERPART = {
    "maxCommands": "programs differ in what they call a command; 'tool_call_count' counts all tool calls",
    "maxRepeatedCommands": "repeated commands are not counted here",
    "maxTokens": "--max-total-tokens-per-case fails a run beyond it, whatever the case",
    "maxDurationMs": "--max-duration-per-case fails a run beyond it, whatever the case",
    "maxCostUsd": "--max-cost-per-case fails a run beyond it, whatever the case",
    "noPermissionDenials": "refused permissions are not recorded as such here",
}
_KNOWN = (*_EACH, *_WHOLE, "fileContents", *_NO_COUNTERPART)


class Found(NamedTuple):
    """Checks, and what is set aside with its reason."""

    checks: list[Check]
    asides: list[tuple[str, str]]


def read(raw: dict[str, Any], at: Pointer, notes: Notes) -> Found:
    """What a case asks of the run itself; whatever is wrong with it is told."""
    found = Found([], [])
    runtime = raw.get("runtime_checks")
    if isinstance(runtime, dict):
        _runtime(runtime, (*at, "runtime_checks"), notes, found)
    elif runtime is not None:
        notes.error("check-form", "'runtime_checks' is an object", (*at, "runtime_checks"))
    for number, item in enumerate(_list(raw, "verification", at, notes), 1):
        _verification(item, number, (*at, "verification", number - 1), notes, found)
    _list(raw, "captured_files", at, notes)  # every file a run leaves is kept anyway
    if raw.keys() & KEYS and isinstance(raw.get("should_trigger"), bool):
        loaded = {} if raw["should_trigger"] else {"loaded": False}
        _add({"type": "loaded_skill", **loaded}, "triggered", (*at, "should_trigger"), notes, found)
    return found


def _runtime(runtime: dict[str, Any], at: Pointer, notes: Notes, found: Found) -> None:
    for key, (name, kind, option) in _EACH.items():
        for number, value in enumerate(_list(runtime, key, at, notes), 1):
            _add({"type": kind, option: value}, f"{name}-{number}", (*at, key, number - 1), notes, found)
    for number, value in enumerate(_list(runtime, "fileContents", at, notes), 1):
        spot = (*at, "fileContents", number - 1)
        if isinstance(value, dict):
            _add({"type": "file_contains", "case_sensitive": True, **value}, f"file-content-{number}", spot, notes, found)
        else:
            notes.error("check-form", "an entry is an object with 'path' and 'contains'", spot)
    for key, (name, kind, option) in _WHOLE.items():
        if key in runtime:
            _add({"type": kind, option: runtime[key]}, name, (*at, key), notes, found)
    for key, why in _NO_COUNTERPART.items():
        if runtime.get(key) not in (None, False):
            found.asides.append((key, why))
            notes.warn("set-aside", f"'{key}' is set aside: {why}", (*at, key))
    for key in (key for key in runtime if key not in _KNOWN):
        close = get_close_matches(str(key), _KNOWN, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known keys: {', '.join(_KNOWN)}"
        notes.error("unknown-key", f"'runtime_checks' has no key '{shown(str(key))}'", (*at, key), hint)


def _verification(item: Any, number: int, at: Pointer, notes: Notes, found: Found) -> None:
    """A command with its arguments, run when the run is over."""
    if not isinstance(item, dict) or not isinstance(item.get("command"), str):
        notes.error("check-form", "a verification is an object with 'name' and 'command'", at)
        return
    name = item["name"] if isinstance(item.get("name"), str) and item["name"].strip() else f"verification-{number}"
    if item.get("url") is not None:
        why = "it starts a server and asks it; a check of type 'command' may do both in one script"
        found.asides.append((name, why))
        notes.warn("set-aside", f"'{shown(name, 60)}' is set aside: {why}", at)
        return
    arguments = item.get("args") or []
    limit = item.get("timeoutMs")
    made = {"type": "command", "argv": [item["command"], *arguments] if isinstance(arguments, list) else arguments}
    if isinstance(limit, (int, float)) and not isinstance(limit, bool) and limit > 0:
        made["timeout_s"] = limit / 1000
    _add(made, name, at, notes, found)


def _add(made: dict[str, Any], name: str, at: Pointer, notes: Notes, found: Found) -> None:
    check = from_object(made, at, notes, name)
    if check is not None:
        found.checks.append(check)


def _list(holder: dict[str, Any], key: str, at: Pointer, notes: Notes) -> Iterator[Any]:
    value = holder.get(key)
    if value is not None and not isinstance(value, list):
        notes.error("check-form", f"'{key}' is a list", (*at, key))
    return iter(value if isinstance(value, list) else ())
