"""A bare list of cases: those of the shared form, and `{prompt, expect: […], fail: […]}`."""

from __future__ import annotations

from typing import Any

from skilltrial.load.cases import read_case
from skilltrial.load.dialects.standard import settings_of, unique_ids
from skilltrial.load.draft import Draft, left_over
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_LISTS = frozenset({"expect", "fail"})


class CaseList:
    """Cases that stand in no object."""

    name = "case-list"
    rank = 40
    single = False

    def claims(self, value: Any) -> bool:
        return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "prompt" in value[0]

    def read(self, reading: Reading) -> Suite | None:
        settings = settings_of({}, (), reading)
        cases: list[Case | None] = []
        for number, raw in enumerate(reading.value):
            if isinstance(raw, dict) and raw.keys() & _LISTS:
                cases.append(_expecting(raw, number, reading))
            else:
                cases.append(read_case(raw, number + 1, (number,), reading, settings))
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        return reading.suite(self.name, kept)


def _expecting(raw: dict[str, Any], number: int, reading: Reading) -> Case | None:
    """What the answer must do, and what it must not."""
    draft = Draft(reading, (number,))
    draft.say_all(raw, (number,), "expect")
    for text, at in draft.each(raw, "fail"):
        draft.say(f"The answer does not do this: {text.strip()}" if isinstance(text, str) and text.strip() else text, at)
    return draft.case(left_over(raw, _LISTS), number + 1, stage="flat")


plugin = CaseList()
