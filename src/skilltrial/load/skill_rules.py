"""What the standard says about frontmatter, and what clients add to it, at three levels of strictness.

The letters are severities at the levels load, standard and strict: `wee` warns, then is an error twice; `-` is silent.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from skilltrial.errors import UsageError
from skilltrial.load.document import Notes, shown

STANDARD_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_CLAUDE_KEYS = frozenset(
    {
        "argument-hint", "arguments", "agent", "context", "disable-model-invocation", "effort", "hooks", "model", "paths", "shell",
        "user-invocable", "when_to_use",
    }
)  # fmt: skip
PROFILES: dict[str, frozenset[str]] = {
    "standard": STANDARD_KEYS,
    "claude-code": STANDARD_KEYS | _CLAUDE_KEYS,
    "lenient": frozenset(),
}
"""Top-level keys that a client takes without complaint. `lenient` takes every key."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")


def profile_keys(profile: str | None) -> frozenset[str]:
    """The keys a profile knows; empty means all. Raises UsageError for an unknown profile."""
    name = profile or "standard"
    if name not in PROFILES:
        raise UsageError(f"no profile called '{name}'", f"there are: {', '.join(PROFILES)}")
    return PROFILES[name]


def check_frontmatter(front: dict[str, Any], folder: str, arbitrary_folder: bool, known: frozenset[str], notes: Notes) -> None:
    """Reports what the frontmatter breaks; the caller has already dealt with a missing name or description."""
    _name(front.get("name"), folder, arbitrary_folder, notes)
    _description(front.get("description"), notes)
    _optional(front, notes)
    if known:
        for key in front.keys() - known:
            client = " (a client's own key)" if key in _CLAUDE_KEYS else ""
            notes.say("-ie", "unknown-key", f"'{key}' is no key of the standard{client}", (key,), "put it under 'metadata'")
    if front.get("disable-model-invocation") is True:
        notes.info(
            "no-automatic-trigger",
            "'disable-model-invocation: true': no model loads this skill by itself, so natural triggering can never be measured",
            ("disable-model-invocation",),
            "force the invocation in its cases, or drop the key",
        )


def _name(name: Any, folder: str, arbitrary_folder: bool, notes: Notes) -> None:
    if not isinstance(name, str) or not name.strip():
        return
    if len(name) > 64:
        notes.say("wee", "name-length", f"the name has {len(name)} characters; at most 64 are allowed", ("name",))
    if not _NAME.fullmatch(name):
        normal = unicodedata.normalize("NFKC", name)
        foreign = (
            not normal.isascii()
            and normal == normal.lower()
            and _NAME.fullmatch("".join("a" if c.isalnum() else c for c in normal))
        )
        notes.say(
            "wwe" if foreign else "wee",
            "name-form",
            f"the name '{shown(name)}' is not made of a-z, 0-9 and single inner hyphens",
            ("name",),
            _proposal(name),
        )
    if name != folder:
        notes.say(
            "wwe" if arbitrary_folder else "wee",
            "name-folder",
            f"the name '{shown(name)}' differs from its folder '{folder}'",
            ("name",),
            "rename one of them",
        )
    lowered = name.lower()
    for word in ("anthropic", "claude"):
        if word in lowered:
            notes.info("name-reserved", f"some clients reserve the word '{word}' in names", ("name",))


def _proposal(name: str) -> str | None:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"for example '{slug}'" if slug else None


def _description(text: Any, notes: Notes) -> None:
    if not isinstance(text, str):
        return
    if len(text.strip()) > 1024:
        notes.say(
            "wee",
            "description-length",
            f"the description has {len(text.strip()):,} characters; at most 1,024 are allowed",
            ("description",),
        )
    if "<" in text and (tag := _TAG.search(text)):
        notes.say(
            "iiw", "description-tag", f"the description holds {tag[0]}; some clients refuse angle brackets", ("description",)
        )


def _optional(front: dict[str, Any], notes: Notes) -> None:
    if "compatibility" in front:
        value = front["compatibility"]
        if not isinstance(value, str) or not 1 <= len(value) <= 500:
            notes.say("wee", "compatibility", "'compatibility' is text of 1 to 500 characters", ("compatibility",))
    if "license" in front and not isinstance(front["license"], str):
        notes.say("wwe", "license", "'license' is text", ("license",))
    if "metadata" in front:
        value = front["metadata"]
        if not isinstance(value, dict):
            notes.say("wwe", "metadata", "'metadata' is a map of text to text", ("metadata",))
        elif odd := [key for key, inner in value.items() if not isinstance(inner, str)]:
            notes.say(
                "-ie",
                "metadata-text",
                f"'metadata.{odd[0]}' is not text; the standard wants text",
                ("metadata", odd[0]),
                "put it in quotes",
            )
    if "allowed-tools" in front:
        _allowed_tools(front["allowed-tools"], notes)


def _allowed_tools(value: Any, notes: Notes) -> None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        notes.say(
            "-iw", "allowed-tools-form", "'allowed-tools' is a list; the standard wants one text with spaces", ("allowed-tools",)
        )
    elif not isinstance(value, str):
        notes.say("wee", "allowed-tools", "'allowed-tools' is one text with spaces, as 'Read Bash(git:*)'", ("allowed-tools",))


def allowed_tools(value: Any) -> tuple[str, ...]:
    """Tool names of `allowed-tools` as a list, a comma text or a space text; separators inside brackets do not split."""
    if isinstance(value, list):
        return tuple(str(item).strip() for item in value)
    if not isinstance(value, str):
        return ()
    names: list[str] = []
    word, depth = "", 0
    for letter in value:
        depth += (letter == "(") - (letter == ")" and depth > 0)
        if depth == 0 and (letter == "," or letter.isspace()):
            names.append(word)
            word = ""
        else:
            word += letter
    return tuple(name.strip() for name in [*names, word] if name.strip())
