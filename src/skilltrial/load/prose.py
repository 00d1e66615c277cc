"""agent-skill-eval's sentence patterns, made explicit: which sentences it grades without a judge, and what we do with them.

Its patterns are plain substrings, so they also catch sentences that mean something else ("No files were created",
"A guarantee about go"). Those stay sentences for the judge, and the difference is told.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "git_branch", "git_commit", "git_pushed", "pr_created", "file_exists", "command_ran", "content_contains", "valid_json"
]
_PROGRAMS = ("npm", "git", "python", "cargo", "go", "yarn", "pnpm")
_LONGEST = 2_000
"""Characters; longer texts are no sentences, and the patterns below are not linear."""
_NEGATION = re.compile(r"\b(?:no|not|never|none|without|neither|nor|cannot)\b|n't\b", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"\n]+)"|`([^`\n]+)`')
_MADE = r"(?:is|are|was|were|has been|have been|gets|got)?\s*(?:newly |successfully )?(?:created|made|added|opened|raised|submitted|filed)"
_UP_TO_A_VERB = r"(?:\s+(?:[\w'\"`./:-]+\s+){0,8}?|\s*)"
_SAYS: dict[Kind, str] = {
    "git_branch": (
        rf"\bnew(?:\s+(?:local|git|feature|topic|working|named))*\s+branch|\bbranch(?:es)?{_UP_TO_A_VERB}(?:{_MADE}|exists?)\b"
        rf"|\bcreate[sd]?\s+(?:an?|the|one|its own)\s+(?:\w+\s+){{0,3}}branch"
    ),
    "git_commit": (
        rf"\bnew(?:\s+(?:git|local|single|atomic))*\s+commits?\b|\bcommits?(?!\s+messages?\s+(?:explain|mention|say|cite|describe))"
        rf"{_UP_TO_A_VERB}(?:{_MADE}|exists?)\b|\b(?:create[sd]?|made)\s+(?:an?|the|one|exactly one)\s+(?:\w+\s+){{0,3}}commit"
    ),
    "git_pushed": r"\bpushed\b|\bpush(?:es)?\b.*\b(?:remote|branch|origin)\b",
    "pr_created": (
        rf"\b(?:prs?|(?:pull|merge) requests?)\b{_UP_TO_A_VERB}(?:{_MADE}|exists?)\b"
        rf"|\b(?:create[sd]?|open(?:s|ed)?|raise[sd]?|submit(?:s|ted)?|new)\s+(?:an?\s+|the\s+)?(?:\w+\s+){{0,3}}(?:prs?|(?:pull|merge) request)\b"
    ),
}
"""What a sentence has to say to be about a new one; agent-skill-eval asks for two words anywhere in it.
Compiled at their first use, since few suites speak of git and compiling them takes 3 ms."""
_DOTTED = re.compile(r"(?<![\w/.])[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w*(?![\w/])")


class Route(NamedTuple):
    """Where a sentence goes."""

    kind: Kind
    """What agent-skill-eval would grade it as."""
    type: str | None
    """Our check type; None: we leave it to the judge."""
    options: dict[str, Any]
    why: str
    """Why it is not routed; "" when it is."""


def route(text: str) -> Route | None:
    """Where agent-skill-eval would send a sentence, by its order of patterns; None: to its judge."""
    if len(text) > _LONGEST:
        return None
    lowered = text.lower()
    if git := git_kind(text):
        return _git(git, text)
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
        return "pr_created"
    return None


def inverted(kind: Kind, text: str) -> Route:
    """Where a sentence about git goes in a case that should not trigger: there must be none, however it is worded."""
    meant = _said(text) or kind
    return Route(kind, meant, {"absent": True}, "")


def _git(kind: Kind, text: str) -> Route:
    if _NEGATION.search(text):
        return Route(kind, None, {}, "the sentence is negative, which that pattern ignores")
    meant = kind if _states(kind, text) else _said(text)
    return Route(kind, meant, {}, "" if meant else "it does not say that a new one was made")


def _states(kind: Kind, text: str) -> bool:
    return re.search(_SAYS[kind], text, re.IGNORECASE) is not None


def _said(text: str) -> Kind | None:
    """The git fact that the sentence states outright."""
    return next((kind for kind in _SAYS if _states(kind, text)), None)


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
