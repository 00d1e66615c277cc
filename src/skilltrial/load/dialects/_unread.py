"""Forms of suites that are known by name and not read, so that an error can say what a file is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skilltrial.load.document import shown


def name_of(value: Any) -> str | None:
    """The name of the form, or None when nobody knows it."""
    return next((name for name, fits in _FORMS if fits(value)), None)


def keys_of(value: Any) -> str:
    """The keys seen, of the file and of its first case, for a message."""
    if isinstance(value, dict):
        text = ", ".join(map(str, list(value)[:12])) or "none"
        inner = next((part[0] for part in value.values() if isinstance(part, list) and part and isinstance(part[0], dict)), None)
        return shown(text + (f"; in a case: {', '.join(map(str, list(inner)[:12]))}" if inner else ""), 240)
    if isinstance(value, list):
        first = value[0] if value else None
        return shown(
            f"a list of {len(value)}"
            + (f"; in its first member: {', '.join(map(str, list(first)[:12]))}" if isinstance(first, dict) else ""),
            240,
        )
    return f"none (the file holds {'nothing' if value is None else 'one value'})"


def _has(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(key in value for key in keys)


_FORMS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("one case of a plugin-eval folder", lambda v: _has(v, "execution") and isinstance(v["execution"], dict)),
    ("tasks with setup and assert code", lambda v: _has(v, "skills", "tasks")),
    ("stimuli", lambda v: _has(v, "stimuli")),
    ("suite with targets", lambda v: isinstance(v, dict) and ("providers" in v or "targets" in v or "tests" in v)),
)
