"""Graders of task files (waza) as checks. A grader of several conditions becomes as many checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skilltrial.load.document import Notes, Pointer, shown
from skilltrial.load.draft import Draft, texts

Config = dict[str, Any]
Add = Callable[..., None]
_WHY = {
    "code": "it is an expression of Python or JavaScript over that tool's own variables",
    "script": "it is a program that reads that tool's own context",
    "program": "it is a program that reads that tool's own context",
    "diff": "comparing files with snapshots has no counterpart here",
    "trigger": "the wording of a trigger is not compared here",
    "human": "people's reviews are no check here",
    "human_calibration": "people's reviews are no check here",
}
_TEXT = {
    "contains": ("contains", "value", False),
    "not_contains": ("not_contains", "value", False),
    "contains_cs": ("contains", "value", True),
    "not_contains_cs": ("not_contains", "value", True),
    "regex_match": ("regex", "pattern", True),
    "regex_not_match": ("not_regex", "pattern", True),
    "must_match": ("regex", "pattern", True),
    "must_not_match": ("not_regex", "pattern", True),
}
"""Option -> check type, the key of its text, whether case counts."""
_BUDGETS = frozenset({"max_tokens", "max_duration_ms", "max_turns"})


def add_grader(grader: Any, at: Pointer, notes: Notes, draft: Draft) -> None:
    """One grader with its `config`."""
    if not isinstance(grader, dict) or not isinstance(grader.get("type"), str):
        notes.error("check-form", "a grader is an object with 'type'", at)
        return
    kind = grader["type"].strip().lower()
    name = grader["name"] if isinstance(grader.get("name"), str) else kind
    config = grader.get("config")
    config = config if isinstance(config, dict) else {}
    weight = {"weight": grader["weight"]} if "weight" in grader else {}

    def add(raw: Config, key: str) -> None:
        draft.add({**raw, **weight}, (*at, "config", key), name, notes)

    if kind in _RULES:
        _RULES[kind](config, add)
        for key in sorted(config.keys() & _BUDGETS):
            draft.set_aside(
                f"{name}.{key}", "budgets are options of a run here (--max-total-tokens-per-case and others)", at, notes
            )
    elif kind in ("prompt", "llm"):
        text = next((config.get(key, grader.get(key)) for key in ("prompt", "rubric") if config.get(key, grader.get(key))), None)
        draft.say({"text": text, **weight} if isinstance(text, str) else text, at, name, notes)
    else:
        draft.set_aside(name, _WHY.get(kind, f"there is no counterpart of '{shown(kind)}' here"), at, notes)


def _text(config: Config, add: Add) -> None:
    for key, (kind, option, case_sensitive) in _TEXT.items():
        for text in texts(config.get(key)):
            add({"type": kind, option: text, "case_sensitive": case_sensitive}, key)


def _file(config: Config, add: Add) -> None:
    for key, kind in (("must_exist", "file_exists"), ("must_not_exist", "file_not_exists")):
        for path in texts(config.get(key)):
            add({"type": kind, "path": path}, key)
    patterns = config.get("content_patterns")
    for entry in patterns if isinstance(patterns, list) else []:
        for key, kind in (("must_match", "regex"), ("must_not_match", "not_regex")):
            for pattern in texts(entry.get(key)) if isinstance(entry, dict) else ():
                add({"type": kind, "pattern": pattern, "path": entry.get("path"), "case_sensitive": True}, "content_patterns")


def _tools(config: Config, add: Add) -> None:
    for keys, kind in (
        (("expect_tools", "required_tools"), "tool_called"),
        (("reject_tools", "forbidden_tools"), "tool_not_called"),
    ):
        for key in keys:
            for entry in _entries(config.get(key)):
                if isinstance(entry, str):
                    add({"type": kind, "name": entry}, key)
                elif isinstance(entry, dict):
                    _by_input(entry, kind == "tool_called", key, add)
    if config.get("max_tool_calls") is not None:
        add({"type": "tool_call_count", "max": config["max_tool_calls"]}, "max_tool_calls")


def _by_input(entry: Config, wanted: bool, key: str, add: Add) -> None:
    """A tool, perhaps with a pattern of its input."""
    match = next((entry[name] for name in ("command_pattern", "args_pattern", "input_match") if entry.get(name)), None)
    bounds = {} if wanted else {"min": 0, "max": 0}
    add({"type": "tool_used", "name": entry.get("tool"), **({"input_match": match} if match else {}), **bounds}, key)


def _calls(config: Config, add: Add) -> None:
    """Commands by their text, as the older form writes them."""
    for key, kind in (("required", "command_ran"), ("forbidden", "command_not_ran")):
        for entry in _entries(config.get(key)):
            pattern = entry.get("pattern") if isinstance(entry, dict) else entry
            add({"type": kind, "command": pattern}, key)
    if config.get("max_calls") is not None:
        add({"type": "tool_call_count", "max": config["max_calls"]}, "max_calls")


def _schema(config: Config, add: Add) -> None:
    if "schema" in config:
        add({"type": "json_schema", "schema": config["schema"]}, "schema")


def _skills(config: Config, add: Add) -> None:
    for name in texts(config.get("required_skills")):
        add({"type": "loaded_skill", "skill": name}, "required_skills")


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


_RULES: dict[str, Callable[[Config, Add], None]] = {
    "text": _text,
    "regex": _text,
    "file": _file,
    "tool_constraint": _tools,
    "behavior": _tools,
    "tool_calls": _calls,
    "json_schema": _schema,
    "skill_invocation": _skills,
}
