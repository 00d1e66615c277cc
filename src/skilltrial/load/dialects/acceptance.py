"""`cases: [{name, prompt, acceptance: [{type, value}]}]`."""

from __future__ import annotations

from typing import Any

from skilltrial.load.dialects.standard import check_skill_name, unique_ids
from skilltrial.load.document import Pointer
from skilltrial.load.draft import Draft, left_over, slug
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_KEYS = frozenset({"id", "name", "prompt", "acceptance", "should_trigger", "tags", "category", "prepend_skill"})
_TOP = frozenset({"cases", "skill_name", "skill", "schema_version"})
_SELECTED = {"skill_selected": True, "skill_not_selected": False}


class Acceptance:
    """Cases with acceptance checks."""

    name = "cases-acceptance"
    rank = 20
    single = False

    def claims(self, value: Any) -> bool:
        cases = value.get("cases") if isinstance(value, dict) else None
        return isinstance(cases, list) and any(isinstance(case, dict) and "acceptance" in case for case in cases)

    def read(self, reading: Reading) -> Suite | None:
        check_skill_name(reading.value, reading)
        cases = [_case(raw, number, reading) for number, raw in enumerate(reading.value["cases"], 1)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        return reading.suite(self.name, kept, (), left_over(reading.value, _TOP))


def _case(raw: Any, position: int, reading: Reading) -> Case | None:
    at: Pointer = ("cases", position - 1)
    if not isinstance(raw, dict):
        reading.notes.error("case-form", "a case is an object with a prompt", at)
        return None
    draft = Draft(reading, at)
    for item, spot in draft.each(raw, "acceptance"):
        _acceptance(item, spot, draft)
    name = raw.get("name")
    return draft.case(
        {
            "id": raw.get("id", (slug(name) or None) if isinstance(name, str) else None),
            "name": name,
            "prompt": raw.get("prompt"),
            "should_trigger": raw.get("should_trigger"),
            "tags": raw.get("tags"),
            "category": raw.get("category"),
            **left_over(raw, _KEYS),
        },
        position,
    )


def _acceptance(item: Any, at: Pointer, draft: Draft) -> None:
    if not isinstance(item, dict) or "type" not in item:
        draft.say(item, at)
    elif not isinstance(item["type"], str):
        draft.add(item, at)
    elif item["type"] in _SELECTED:
        named = item.get("expected_skill")
        other = {} if named in (None, draft.reading.skill_name, draft.reading.folder_name) else {"skill": named}
        loaded = {} if _SELECTED[item["type"]] else {"loaded": False}
        draft.add({"type": "loaded_skill", **other, **loaded}, at)
    elif item["type"] in ("regex", "not_regex") and "pattern" not in item:
        draft.add({("pattern" if key == "value" else key): value for key, value in item.items()}, at)
    else:
        draft.add(item, at)


plugin = Acceptance()
