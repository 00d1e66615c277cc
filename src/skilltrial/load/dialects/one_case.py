"""One case per file: `{name, skills, query, files, expected_behavior: […], success_criteria: […]}`."""

from __future__ import annotations

from typing import Any

from skilltrial.load.draft import Draft, left_over, slug
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Suite

_LISTS = ("expected_behavior", "success_criteria")
_KEYS = frozenset({"id", "name", "skills", "query", "files", "tags", *_LISTS})


class OneCase:
    """A query with what is expected of the answer."""

    name = "one-case"
    rank = 30
    single = True

    def claims(self, value: Any) -> bool:
        return isinstance(value, dict) and "query" in value and any(key in value for key in ("skills", *_LISTS))

    def read(self, reading: Reading) -> Suite | None:
        value = reading.value
        draft = Draft(reading, ())
        for key in _LISTS:
            draft.say_all(value, (), key)
        skills = value.get("skills")
        if isinstance(skills, list) and skills and not {reading.skill_name, reading.folder_name} & set(map(str, skills)):
            reading.notes.say(
                "wwe", "skill-name", f"the case is of the skill '{skills[0]}', not '{reading.skill_name}'", ("skills",)
            )
        stem = reading.notes.file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        case = draft.case(
            {
                "id": value.get("id", slug(stem)),
                "name": value.get("name"),
                "prompt": value["query"],
                "files": value.get("files"),
                "tags": value.get("tags"),
                **left_over(value, _KEYS),
            },
            1,
        )
        return reading.suite(self.name, [case] if case else [])


plugin = OneCase()
