"""One case per file, judged by weighted sentences: `{name, prompt, judge: [{check, weight}], setup: [{action, command}]}`."""

from __future__ import annotations

from typing import Any

from skilltrial.load.draft import Draft, left_over, slug
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Suite

_KEYS = frozenset({"id", "name", "prompt", "judge", "setup", "tags"})


class JudgeWeighted:
    """A prompt and what the judge looks for, each with its weight."""

    name = "judge-weighted"
    rank = 30
    single = True

    def claims(self, value: Any) -> bool:
        return isinstance(value, dict) and "prompt" in value and isinstance(value.get("judge"), list)

    def read(self, reading: Reading) -> Suite | None:
        value = reading.value
        draft = Draft(reading, ())
        draft.say_all(value, (), "judge")
        if value.get("setup"):
            reading.notes.warn("not-run", "'setup' is not run here: list the files it makes as fixtures", ("setup",))
        stem = reading.notes.file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        case = draft.case(
            {
                "id": value.get("id", slug(stem)),
                "name": value.get("name"),
                "prompt": value["prompt"],
                "tags": value.get("tags"),
                **left_over(value, _KEYS),
            },
            1,
        )
        return reading.suite(self.name, [case] if case else [])


plugin = JudgeWeighted()
