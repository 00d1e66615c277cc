"""`{skill_name, test_cases: [{id, prompt, expected_behavior, evaluation_criteria}], scoring}`."""

from __future__ import annotations

from typing import Any

from skilltrial.load.dialects.standard import check_skill_name, unique_ids
from skilltrial.load.document import Pointer
from skilltrial.load.draft import Draft, left_over
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_KEYS = frozenset(
    {"id", "name", "prompt", "input", "expected_behavior", "expected_output", "evaluation_criteria", "files", "tags"}
)
_TOP = frozenset({"test_cases", "skill_name", "skill"})


class TestCases:
    """Cases whose criteria have names."""

    __test__ = False
    name = "test-cases"
    rank = 20
    single = False

    def claims(self, value: Any) -> bool:
        cases = value.get("test_cases") if isinstance(value, dict) else None
        return isinstance(cases, list) and bool(cases)

    def read(self, reading: Reading) -> Suite | None:
        check_skill_name(reading.value, reading)
        if reading.value.get("scoring"):
            reading.notes.info("not-of-a-suite", "'scoring' is not followed: every criterion passes or fails", ("scoring",))
        cases = [_case(raw, number, reading) for number, raw in enumerate(reading.value["test_cases"], 1)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        return reading.suite(self.name, kept, (), left_over(reading.value, _TOP))


def _case(raw: Any, position: int, reading: Reading) -> Case | None:
    at: Pointer = ("test_cases", position - 1)
    if not isinstance(raw, dict):
        reading.notes.error("case-form", "a case is an object with a prompt", at)
        return None
    draft = Draft(reading, at)
    draft.say_all(raw, at, "expected_behavior")
    criteria = raw.get("evaluation_criteria")
    if isinstance(criteria, dict):
        for name, value in criteria.items():
            draft.say(_criterion(name, value), (*at, "evaluation_criteria", name), name)
    else:
        draft.say_all(raw, at, "evaluation_criteria")
    return draft.case(
        {
            "id": raw.get("id"),
            "name": raw.get("name"),
            "prompt": raw.get("prompt", raw.get("input")),
            "expected_output": raw.get("expected_output"),
            "files": raw.get("files"),
            "tags": raw.get("tags"),
            **left_over(raw, _KEYS),
        },
        position,
        stage="flat",
    )


def _criterion(name: str, value: Any) -> Any:
    """A criterion by its name: its text, with its weight where it has one."""
    called = name.replace("_", " ")
    if isinstance(value, str):
        return f"{called}: {value}" if value.strip() else value
    if isinstance(value, dict):
        text = next((value[key] for key in ("description", "text", "criterion") if isinstance(value.get(key), str)), None)
        return {
            **{key: value[key] for key in ("weight", "required") if key in value},
            "text": f"{called}: {text}" if text else called,
        }
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"text": called, "weight": value}
    return called


plugin = TestCases()
