"""Forms of suites that are known by name and not read yet, so that an error can say what a file is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skilltrial.load.document import shown

PLUGIN_EVAL = "plugin-eval folders (evals/<case>/case.yaml or prompt.md with graders/)"


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


def _first(value: Any, key: str | None = None) -> Any:
    items = value.get(key) if key is not None and isinstance(value, dict) else value
    return items[0] if isinstance(items, list) and items else None


_FORMS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("scenarios", lambda v: isinstance(v, dict) and isinstance(v.get("scenarios"), list)),
    ("plugin-eval case", lambda v: _has(v, "execution") and isinstance(v["execution"], dict)),
    ("cases with acceptance", lambda v: _has(_first(v, "cases"), "acceptance")),
    ("test_cases object", lambda v: _has(v, "test_cases")),
    ("samples", lambda v: _has(_first(v), "sample_id") or _has(_first(v, "samples"), "sample_id")),
    ("command-graded task", lambda v: _has(v, "task_id") and (_has(v, "initial_prompt") or _has(v, "success_criteria"))),
    ("tasks with setup and assert code", lambda v: _has(v, "skills", "tasks")),
    ("task files", lambda v: _has(v, "tasks") and not _has(v, "providers")),
    ("judge-weighted", lambda v: _has(v, "prompt", "judge")),
    ("one case per file", lambda v: _has(v, "query") and any(_has(v, key) for key in ("skills", "expected_behavior", "success_criteria"))),
    ("suite with targets", lambda v: isinstance(v, dict) and ("providers" in v or "targets" in v or "tests" in v)),
    ("question lists", lambda v: _has(_first(v), "question")),
    ("expect and fail lists", lambda v: _has(_first(v), "expect") or _has(_first(v), "fail")),
    ("a bare list of cases", lambda v: _has(_first(v), "prompt")),
)  # fmt: skip
