"""Graders of `claude plugin eval` as checks."""

from __future__ import annotations

import json
import re
from typing import Any

from skilltrial.load.document import Notes, Pointer, shown
from skilltrial.load.draft import Draft

_COUNT = re.compile(r"count:\s*(\d+)")
_LAST = ("last_message", None)


def add_grader(name: str, grader: Any, body: str, at: Pointer, notes: Notes, draft: Draft) -> None:
    """One grader: `grader` is its frontmatter, `body` the text below it."""
    if not isinstance(grader, dict):
        notes.error("check-form", "a grader is an object with 'type'", at)
        return
    kind = grader.get("type", "llm" if body else None)
    common = _common(grader)
    if kind == "llm":
        _llm(name, grader, body, common, at, notes, draft)
    elif kind == "regex":
        _regex(name, grader, common, at, notes, draft)
    elif kind == "tool_used":
        _tool_used(name, grader, common, at, notes, draft)
    elif kind == "tool_order":
        named = {key: grader[key] for key in ("before", "after") if key in grader}
        draft.add({"type": kind, **named, **common}, at, name, notes)
    elif kind == "file_exists":
        made: dict[str, Any] = {"type": "file_exists" if grader.get("exists", True) is not False else "file_not_exists"}
        made |= {key: grader[key] for key in ("path",) if key in grader}
        draft.add({**made, **common}, at, name, notes)
    elif kind == "baseline":
        draft.set_aside(
            name, "it compares with a reference transcript, and here the arms are compared with each other", at, notes
        )
    else:
        what = f"unknown grader type '{shown(str(kind))}'" if kind is not None else "the grader has no 'type'"
        known = "llm, regex, tool_used, tool_order, file_exists, baseline"
        notes.error("unknown-check-type", what, (*at, "type"), f"known types: {known}")


def _common(grader: dict[str, Any]) -> dict[str, Any]:
    """Weight and arm. A weight of 0 is an observation: shown and counted nowhere."""
    made = {key: grader[key] for key in ("arm", "weight") if grader.get(key) is not None}
    if made.get("weight") in (0, 0.0) and not isinstance(made.get("weight"), bool):
        del made["weight"]
        made["required"] = False
    return made


def _llm(name: str, grader: dict[str, Any], body: str, common: dict[str, Any], at: Pointer, notes: Notes, draft: Draft) -> None:
    text = body or grader.get("criteria")
    if not isinstance(text, str) or not text.strip():
        notes.error("assertion-empty", "an llm grader has no text for the judge", at)
        return
    focus = grader.get("focus")
    if focus not in _LAST:
        where = focus if isinstance(focus, str) else "a file"
        notes.info(
            "focus", f"the judge sees the answer, the files and the tool calls, not {shown(str(where))} alone", (*at, "focus")
        )
    draft.say({"text": text, **common}, at, name, notes)


def _regex(name: str, grader: dict[str, Any], common: dict[str, Any], at: Pointer, notes: Notes, draft: Draft) -> None:
    made: dict[str, Any] = {"type": "regex", **{key: grader[key] for key in ("pattern", "flags") if key in grader}}
    flags = grader.get("flags")
    made["case_sensitive"] = not (isinstance(flags, str) and "i" in flags)
    target = grader.get("target")
    if target == "files":
        made["files"] = True
    elif isinstance(target, dict) and isinstance(target.get("path"), str):
        made["path"] = target["path"]
    elif target == "mock_calls":
        made["mock_calls"] = True
    elif target == "trace":
        why = "it looks at the raw transcript, whose form is the program's own; a check on tools says what is meant"
        draft.set_aside(name, why, at, notes)
        return
    elif target not in _LAST:
        notes.error("check-target", f"unknown target {shown(str(target))}", (*at, "target"))
        return
    if _matched(grader.get("match", "contains"), made, at, notes):
        draft.add({**made, **common}, at, name, notes)


def _matched(match: Any, made: dict[str, Any], at: Pointer, notes: Notes) -> bool:
    """Puts into `made` how often the pattern is to be found; False: that cannot be read, and it was told."""
    counted = _COUNT.fullmatch(match) if isinstance(match, str) else None
    if isinstance(match, dict) and type(match.get("count")) is int:
        match = match["count"]
    if counted:
        made["count"] = int(counted[1])
    elif type(match) is int:
        made["count"] = match
    elif match == "not_contains":
        made["type"] = "not_regex"
    elif match != "contains":
        notes.error("check-option", f"'match' is contains, not_contains or count:N, not {shown(str(match))}", (*at, "match"))
        return False
    return True


def _tool_used(name: str, grader: dict[str, Any], common: dict[str, Any], at: Pointer, notes: Notes, draft: Draft) -> None:
    loaded = _loads_the_skill(grader, draft)
    if loaded is not None:
        made: dict[str, Any] = {"type": "loaded_skill", **({} if loaded else {"loaded": False})}
        draft.add({**made, **common}, at, name, notes)
        return
    made = {key: grader[key] for key in ("tool", "input_match", "min", "max") if grader.get(key) is not None}
    draft.add({"type": "tool_used", **made, **common}, at, name, notes)


def _loads_the_skill(grader: dict[str, Any], draft: Draft) -> bool | None:
    """Whether the grader asks that the skill is loaded, or that it is not; None: it asks something else.

    Only Claude Code has a tool called Skill; that the skill was loaded can be told of other programs too.
    """
    if grader.get("tool") != "Skill":
        return None
    match = grader.get("input_match")
    if match is not None:
        name = json.dumps({"skill": draft.reading.skill_name}, separators=(",", ":"))
        try:
            if not isinstance(match, str) or not re.search(match, name):
                return None
        except re.error:
            return None
    low, high = grader.get("min", 1), grader.get("max")
    if low == 1 and high is None:
        return True
    return False if low == 0 and high == 0 else None
