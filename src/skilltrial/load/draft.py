"""A case while a dialect puts it together: its checks with their places, and what of it has no counterpart here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skilltrial.load.assertions import SENTENCE_KEYS
from skilltrial.load.cases import PLAIN, read_case
from skilltrial.load.checks import from_object, safe_path, sentence
from skilltrial.load.document import Notes, Pointer, shown
from skilltrial.load.fixtures import Fixtures
from skilltrial.load.reading import Reading
from skilltrial.records.checks import JUDGED
from skilltrial.records.suite import Aside, Case, Check, Stage

Raw = Mapping[str, Any]
_CHECK_KEYS = frozenset({"checks", "tool_assertions", *SENTENCE_KEYS})
"""Where the shared form has its checks; a foreign form that has such a key means something else by it."""
_WORD = re.compile(r"[^\w.-]+")


@dataclass(slots=True)
class Draft:
    """One case of a foreign form. Checks of the program come before those of the judge, as in the shared form."""

    reading: Reading
    at: Pointer
    checks: list[Check] = field(default_factory=list)
    asides: list[tuple[str, str]] = field(default_factory=list)
    """Check and reason."""
    _before: int = 0

    def __post_init__(self) -> None:
        self._before = len(self.reading.notes.problems)

    def add(self, raw: Raw, at: Pointer, name: str | None = None, notes: Notes | None = None) -> None:
        """One check in the spelling of the shared form, told about at its own place; a path that leaves is set aside.

        Args:
            name: its id; made different where it is taken.
        """
        kind = raw.get("type")
        path = raw.get("path")
        if isinstance(path, str) and path.strip() and (why := safe_path(path)) and not str(kind).startswith("tool_"):
            self.set_aside(name or str(kind), f"the path '{shown(path)}' {why}", at, notes)
            return
        check = from_object(dict(raw), at, notes or self.reading.notes, "")
        if check is not None:
            self._take(check, name)

    def say(self, text: Any, at: Pointer, name: str | None = None, notes: Notes | None = None) -> None:
        """A sentence for the judge, or an object that holds one."""
        notes = notes or self.reading.notes
        check = from_object(text, at, notes, "") if isinstance(text, dict) else sentence(text, at, notes, "")
        if check is not None:
            self._take(check, name)

    def say_all(self, texts: Any, at: Pointer, key: str) -> None:
        """All sentences under a key: a list, or one text."""
        value = texts.get(key) if isinstance(texts, dict) else None
        if value is None:
            return
        if isinstance(value, str):
            self.say(value, (*at, key))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                self.say(item, (*at, key, number))
        else:
            self.reading.notes.error("assertion-form", f"'{key}' is a list of sentences", (*at, key))

    def each(self, raw: Raw, key: str) -> Iterator[tuple[Any, Pointer]]:
        """Members of a list of the case, with their places; one that stands alone is a list of one."""
        value = raw.get(key)
        for number, item in enumerate(value if isinstance(value, list) else [] if value is None else [value]):
            yield item, (*self.at, key, number)

    def set_aside(self, check: str, reason: str, at: Pointer, notes: Notes | None = None) -> None:
        """A check that is not graded here, and why."""
        self.asides.append((check, reason))
        (notes or self.reading.notes).warn("set-aside", f"'{shown(check, 60)}' is set aside: {reason}", at)

    def _take(self, check: Check, name: str | None) -> None:
        judged = check.type in JUDGED
        if name is None and not check.id:
            number = 1 + sum((one.type in JUDGED) == judged for one in self.checks)
            name = f"{'assertion' if judged else 'check'}-{number}"
        wanted = check.id or name or check.type
        taken = {one.id for one in self.checks}
        free = next(one for one in _names(wanted) if one not in taken)
        self.checks.append(check if free == check.id else check.model_copy(update={"id": free}))

    def case(
        self, raw: Raw, position: int, *, stage: Stage = "keep", fixtures: tuple[list[Any], Fixtures] | None = None
    ) -> Case | None:
        """The case; None when it or one of its checks cannot be used.

        Args:
            raw: what the case says, under the keys of the shared form.
            fixtures: its files, where they are not listed as in the shared form, and what finds them.
        """
        reading = self.reading
        settings = replace(PLAIN, stage=reading.stage or stage)
        if fixtures is not None:
            raw = {**raw, "files": fixtures[0]}
            reading = replace(reading, fixtures=fixtures[1])
        ordered = sorted(self.checks, key=lambda check: check.type in JUDGED)
        filled = {key: value for key, value in raw.items() if value is not None}
        case = read_case(filled, position, self.at, reading, settings, ordered)
        if case is None or any(problem.severity == "error" for problem in reading.notes.problems[self._before :]):
            return None
        unread = {key: value for key, value in filled.items() if key in _CHECK_KEYS}
        for key in unread:
            reading.notes.say(
                "wwe", "unknown-key", f"the key '{key}' of a case is kept and not used in this form", (*self.at, key)
            )
        if unread:
            case = case.model_copy(update={"extra": {**case.extra, **unread}})
        reading.set_aside += [Aside(case=case.id, check=check, reason=reason) for check, reason in self.asides]
        if self.asides and not self.checks:
            instead = "the expected output is judged" if case.expected_output else "the answer is judged as a whole, 0 to 10"
            reading.notes.warn("nothing-to-grade", f"every check of the case is set aside; {instead} instead", self.at)
        return case


def _names(wanted: str) -> Iterable[str]:
    yield wanted
    number = 1
    while True:
        number += 1
        yield f"{wanted}-{number}"


def slug(text: str) -> str:
    """A name as an id: its words joined by '-', at most 80 characters."""
    return _WORD.sub("-", text.strip().lower()).strip("-.")[:80].rstrip("-.")


def left_over(raw: Raw, known: Iterable[str]) -> dict[str, Any]:
    """Keys that a dialect does not read; `read_case` keeps them and tells."""
    return {key: value for key, value in raw.items() if key not in known}


def limits(**found: Any) -> dict[str, Any] | None:
    """Caps that are given, as a case's `limits`."""
    return {key: value for key, value in found.items() if value is not None} or None


def texts(value: Any) -> Sequence[str]:
    """A list of texts, or one text as a list; nothing else."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
