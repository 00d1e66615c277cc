"""agent-skill-eval's sentence patterns, made explicit: which sentences it grades without a judge, and what we do with them.

Its patterns are plain substrings, so they also catch sentences that mean something else ("No files were created",
"A guarantee about go"). Those stay sentences for the judge, and the difference is told.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "git_branch", "git_commit", "git_pushed", "git_pull_request", "file_exists", "command_ran", "content_contains", "valid_json"
]
_PROGRAMS = ("npm", "git", "python", "cargo", "go", "yarn", "pnpm")
_LONGEST = 2_000
"""Characters; longer texts are no sentences, and the patterns below are not linear."""
_NEGATION = re.compile(r"\b(?:no|not|never|none|without|neither|nor|cannot)\b|n't\b", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"\n]+)"|`([^`\n]+)`')
_DOTTED = re.compile(r"(?<![\w/.])[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w*(?![\w/])")


class Route(NamedTuple):
    """Where a sentence goes."""

    kind: Kind
    """What agent-skill-eval would grade it as."""
    type: str | None
    """Our check type; None: we leave it to the judge (git: set it aside when it would have to be inverted)."""
    options: dict[str, Any]
    why: str
    """Why it is not routed; "" when it is."""


def route(text: str) -> Route | None:
    """Where agent-skill-eval would send a sentence, by its order of patterns; None: to its judge."""
    if len(text) > _LONGEST:
        return None
    lowered = text.lower()
    if git := git_kind(text):
        return Route(git, None, {}, "checks of git state are not built yet")
    if ("file" in lowered and "exists" in lowered) or ("created" in lowered and ("." in lowered or "file" in lowered)):
        return _file(text)
    if "ran" in lowered and ("command" in lowered or any(word in lowered for word in ("npm", "git", "python", "cargo", "go"))):
        return _command(text)
    if "contains" in lowered or "includes" in lowered:
        return _content(text)
    if "valid json" in lowered:
        if _NEGATION.search(text):
            return Route("valid_json", None, {}, "the sentence is negative")
        return Route("valid_json", "valid_json", {}, "")
    return None


def git_kind(text: str) -> Kind | None:
    """The git fact a sentence is about; agent-skill-eval inverts these under `should_trigger: false`."""
    lowered = text.lower()
    if "branch" in lowered and any(word in lowered for word in ("created", "exists", "new")):
        return "git_branch"
    if "commit" in lowered and any(word in lowered for word in ("created", "exists", "new")):
        return "git_commit"
    if "push" in lowered and any(word in lowered for word in ("remote", "branch", "pushed")):
        return "git_pushed"
    if re.search(r"\bprs?\b", lowered) or "pull request" in lowered:
        return "git_pull_request"
    return None


def _file(text: str) -> Route:
    backticked, quoted = re.findall(r"`([^`\n]+)`", text), re.findall(r'"([^"\n]+)"', text)
    names = backticked or quoted or _DOTTED.findall(text)
    if _NEGATION.search(text):
        return Route("file_exists", None, {}, "the sentence is negative, which that pattern ignores")
    if len(names) != 1:
        return Route(
            "file_exists",
            None,
            {},
            "it names no single file" if not names else "it names several files, of which one would be enough there",
        )
    if (
        any(letter in names[0] for letter in "*?[\\")
        or names[0].startswith(("/", "~"))
        or ".." in names[0]
        or not names[0].strip()
    ):
        return Route("file_exists", None, {}, "it names no plain path")
    return Route("file_exists", "file_exists", {"path": names[0], "anywhere": True}, "")


def _command(text: str) -> Route:
    words = re.findall(r"[a-z]+", text.lower())
    named = [program for program in _PROGRAMS if program in words]
    if "ran" not in words:
        return Route("command_ran", None, {}, "'ran' is only part of another word")
    if _NEGATION.search(text):
        return Route("command_ran", None, {}, "the sentence is negative, which that pattern ignores")
    if len(named) != 1:
        return Route("command_ran", None, {}, "it names no single program")
    return Route("command_ran", "command_ran", {"command": named[0]}, "")


def _content(text: str) -> Route | None:
    values = [first or second for first, second in _QUOTED.findall(text)]
    values = [value for value in values if value.strip()]
    if not values:
        return None
    if _NEGATION.search(_QUOTED.sub(" ", text)):
        return Route("content_contains", None, {}, "the sentence is negative, which that pattern ignores")
    if len(values) == 1:
        return Route("content_contains", "contains", {"value": values[0], "case_sensitive": False}, "")
    return Route("content_contains", "contains_any", {"values": values, "case_sensitive": False}, "")
