"""Question lists: `[{id, question, expected_skill, expected_script, ground_truth, expected_behavior}]`."""

from __future__ import annotations

from typing import Any

from skilltrial.load.dialects.standard import unique_ids
from skilltrial.load.draft import Draft, left_over, texts
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_KEYS = frozenset(
    {"id", "name", "question", "ground_truth", "expected_behavior", "expected_skill", "expected_script", "acceptable_skills",
     "should_trigger", "files", "tags"}
)  # fmt: skip


class Questions:
    """A list of questions with the right answer, the right behaviour and the right skill."""

    name = "questions"
    rank = 30
    single = False

    def claims(self, value: Any) -> bool:
        return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "question" in value[0]

    def read(self, reading: Reading) -> Suite | None:
        cases = [_case(raw, number, reading) for number, raw in enumerate(reading.value, 1)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        return reading.suite(self.name, kept)


def _case(raw: Any, position: int, reading: Reading) -> Case | None:
    at = (position - 1,)
    if not isinstance(raw, dict):
        reading.notes.error("case-form", "a case is an object with a question", at)
        return None
    draft = Draft(reading, at)
    _skill(raw, draft)
    script = raw.get("expected_script")
    if isinstance(script, str) and script.strip():
        # Only the arm with the skill has the script, so it tells of the skill's use and is no part of a rate.
        draft.add({"type": "command_ran", "command": script, "arm": "with-only"}, (*at, "expected_script"), "expected-script")
    draft.say_all(raw, at, "expected_behavior")
    return draft.case(
        {
            "id": raw.get("id"),
            "name": raw.get("name"),
            "question": raw.get("question"),
            "ground_truth": raw.get("ground_truth"),
            "should_trigger": raw.get("should_trigger"),
            "files": raw.get("files"),
            "tags": raw.get("tags"),
            **left_over(raw, _KEYS),
        },
        position,
        stage="flat",
    )


def _skill(raw: dict[str, Any], draft: Draft) -> None:
    """Whether this skill is to be loaded, as an indicator."""
    mine = {draft.reading.skill_name, draft.reading.folder_name}
    expected = raw.get("expected_skill")
    named = {expected, *texts(raw.get("acceptable_skills"))} if isinstance(expected, str) or expected is None else set()
    if "expected_skill" not in raw and "should_trigger" not in raw:
        return
    wanted = bool(mine & named) or ("expected_skill" not in raw and raw["should_trigger"])
    loaded = {} if wanted else {"loaded": False}
    draft.add({"type": "loaded_skill", **loaded}, (*draft.at, "expected_skill"), "expected-skill")


plugin = Questions()
