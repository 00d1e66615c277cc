"""`scenarios: [{name, prompt, setup, assertions, rubric, …}]`, the form of the .NET skill validator."""

from __future__ import annotations

from typing import Any

from skilltrial.load.dialects.standard import unique_ids
from skilltrial.load.discover import ENDINGS
from skilltrial.load.document import Pointer
from skilltrial.load.draft import Draft, left_over, limits, slug, texts
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_KEYS = frozenset(
    {"name", "prompt", "setup", "assertions", "rubric", "timeout", "expect_tools", "reject_tools", "max_turns", "max_tokens",
     "expect_activation", "id", "tags"}
)  # fmt: skip
_TOP = frozenset({"scenarios", "config", "name", "required_skills", "skill_name", "skill"})
_SET_UP = {
    "commands": "commands that prepare the folder are not run: list the files they make as fixtures",
    "additional_required_skills": "only the skill under test is staged",
    "additional_required_agents": "no agents are staged",
    "env": "set env in the configuration",
    "cleanup_globs": None,
    "cleanup_commands": None,
}
"""Keys of `setup` that are not followed, and why that matters; None: it does not."""


class Scenarios:
    """Scenarios with assertions for the program and a rubric for the judge."""

    name = "scenarios"
    rank = 20
    single = False

    def claims(self, value: Any) -> bool:
        return isinstance(value, dict) and isinstance(value.get("scenarios"), list) and bool(value["scenarios"])

    def read(self, reading: Reading) -> Suite | None:
        listed = reading.value["scenarios"]
        cases = [_case(raw, number, reading) for number, raw in enumerate(listed, 1)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        return reading.suite(self.name, kept, (), left_over(reading.value, _TOP))


def _case(raw: Any, position: int, reading: Reading) -> Case | None:
    at: Pointer = ("scenarios", position - 1)
    if not isinstance(raw, dict):
        reading.notes.error("case-form", "a scenario is an object with a prompt", at)
        return None
    draft = Draft(reading, at)
    for item, spot in draft.each(raw, "assertions"):
        _assertion(item, spot, draft)
    for key, kind in (("expect_tools", "tool_called"), ("reject_tools", "tool_not_called")):
        for tool in texts(raw.get(key)):
            draft.add({"type": kind, "name": tool}, (*at, key))
    draft.say_all(raw, at, "rubric")
    name = raw.get("name")
    return draft.case(
        {
            "id": raw.get("id", (slug(name) or None) if isinstance(name, str) else None),
            "name": name,
            "prompt": raw.get("prompt"),
            "should_trigger": raw.get("expect_activation"),
            "tags": raw.get("tags"),
            "limits": limits(timeout_s=raw.get("timeout"), max_turns=raw.get("max_turns"), max_tokens=raw.get("max_tokens")),
            **left_over(raw, _KEYS),
        },
        position,
        fixtures=(_files(raw.get("setup"), (*at, "setup"), reading), reading.fixtures),
    )


def _assertion(item: Any, at: Pointer, draft: Draft) -> None:
    if isinstance(item, dict) and item.get("type") == "exit_success":
        draft.add({"type": "regex", "pattern": r"\S", "text": "there is an answer"}, at)
    elif isinstance(item, dict) and item.get("type") in ("file_contains", "file_not_contains") and "value" in item:
        draft.add({("contains" if key == "value" else key): value for key, value in item.items()}, at)
    elif isinstance(item, dict) and "type" in item:
        draft.add(item, at)
    else:
        draft.say(item, at)


def _files(setup: Any, at: Pointer, reading: Reading) -> list[Any]:
    if setup is None:
        return []
    if not isinstance(setup, dict):
        reading.notes.error("case-form", "'setup' is an object", at)
        return []
    listed: list[Any] = []
    if setup.get("copy_test_files") is True:
        listed += [name for name in reading.beside.names() if not _is_suite(name, reading)]
    files = setup.get("files") or []
    listed += files if isinstance(files, list) else [files]
    for key in left_over(setup, ("copy_test_files", "files")):
        why = _SET_UP.get(key, "it is not known here")
        if why and setup[key]:
            reading.notes.warn("not-run", f"'{key}' of the set-up is not followed: {why}", (*at, key))
    return listed


def _is_suite(name: str, reading: Reading) -> bool:
    """The suite itself and its variants, which nobody under test may see."""
    return name.endswith(ENDINGS) and name.split(".")[0] in ("eval", "evals", reading.notes.file.rsplit("/", 1)[-1].split(".")[0])


plugin = Scenarios()
