"""Whether the baseline was free of the skill, and the other arm really had it (design section 7)."""

from __future__ import annotations

import re
from typing import NamedTuple

from skilltrial.records.evidence import AgentRun, Event
from skilltrial.records.plan import Arm
from skilltrial.records.suite import Case, Skill
from skilltrial.seams import Blobs, Capabilities

WORDS = 12
"""So many words of the skill in a row, absent from prompt and fixtures, prove that the program showed it."""


class Verdict(NamedTuple):
    """None: this backend cannot tell."""

    clean: bool | None
    reason: str | None


def verdict(run: AgentRun, arm: Arm, subject: Skill, case: Case, able: Capabilities, blobs: Blobs) -> Verdict:
    """Contaminated baseline, or an arm that never had its skill, or neither; the skill's bare name never counts."""
    if arm.subject is None:
        return _baseline(run, subject, case, able, blobs)
    return _with_arm(run, arm.subject, able)


def _baseline(run: AgentRun, subject: Skill, case: Case, able: Capabilities, blobs: Blobs) -> Verdict:
    listed = run.inventory.skills
    if listed is not None and _names(subject.name, listed):
        return Verdict(False, f"the baseline's inventory lists the skill '{subject.name}'")
    for event in run.events or ():
        if _shows_skill(event, subject.name):
            return Verdict(False, f"the baseline used the skill '{subject.name}': {event.kind} {event.name or ''}".strip())
    quote = _shown_words(run, subject, case, blobs)
    if quote is not None:
        return Verdict(False, f"the program showed text of the skill before its first answer: '{quote}'")
    if not able.files or listed is not None:
        return Verdict(True, None)
    return Verdict(None, "this backend does not say which skills it sees")


def _with_arm(run: AgentRun, name: str, able: Capabilities) -> Verdict:
    listed = run.inventory.skills
    if listed is not None:
        if _names(name, listed):
            return Verdict(True, None)
        return Verdict(False, f"no evidence that the skill '{name}' was available: the program does not list it")
    if not able.files:
        return Verdict(True, None)
    return Verdict(None, "this backend does not say which skills it sees")


def _names(name: str, listed: tuple[str, ...]) -> bool:
    return any(item == name or item.endswith(f":{name}") for item in listed)


def _shows_skill(event: Event, name: str) -> bool:
    if event.kind == "skill":
        return event.name is None or _names(name, (event.name,))
    if event.kind == "tool_call":
        return f"{name}/SKILL.md" in str(event.arguments)
    return False


def _shown_words(run: AgentRun, subject: Skill, case: Case, blobs: Blobs) -> str | None:
    """The first run of twelve words of the skill that an event showed before the first answer."""
    shown = _before_first_answer(run.events)
    if not shown:
        return None
    known = " ".join(_words(case.prompt + " " + _fixture_text(case, blobs)))
    words = _words(subject.body)
    text = " ".join(_words(shown))
    for start in range(len(words) - WORDS + 1):
        phrase = " ".join(words[start : start + WORDS])
        if phrase in text and phrase not in known:
            return phrase
    return None


def _before_first_answer(events: tuple[Event, ...] | None) -> str:
    parts = []
    for event in events or ():
        if event.kind == "text":
            break
        if event.kind == "other" and event.text:
            parts.append(event.text)
    return "\n".join(parts)


def _fixture_text(case: Case, blobs: Blobs) -> str:
    files = (file for file in case.fixtures.files if file.size <= 65_536)
    return " ".join(blobs.get(file.digest).decode("utf-8", "replace") for file in files)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
