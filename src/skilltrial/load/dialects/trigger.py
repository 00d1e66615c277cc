"""Trigger lists: queries with the answer to one question, whether the skill should be loaded."""

from __future__ import annotations

from typing import Any

from skilltrial.load.dialects.standard import check_skill_name, unique_ids
from skilltrial.load.document import Pointer, pointer_text, shown
from skilltrial.load.reading import Reading
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Check, Suite

_GRADED = ("assertions", "expectations", "checks", "expected_output", "tool_assertions", "acceptance", "expect", "fail", "rubric")
_LISTS = ("queries", "cases", "evals")
_KEYS = frozenset({"id", "name", "query", "prompt", "should_trigger", "expect_skill", "tags"})


class Trigger:
    """`[{query, should_trigger}]`, the same under `queries`, `cases` or `evals`, and `{should_trigger: […], should_not_trigger: […]}`."""

    name = "trigger"
    rank = 10
    single = False

    def claims(self, value: Any) -> bool:
        if isinstance(value, dict) and isinstance(value.get("should_trigger"), list):
            return True
        found = _listed(value)
        # Under "evals" a prompt with should_trigger is an output case of agent-skill-eval.
        return found is not None and _is_query(found[1][0]) and (found[0] != "evals" or "query" in found[1][0])

    def read(self, reading: Reading) -> Suite | None:
        value = reading.value
        if isinstance(value, dict):
            check_skill_name(value, reading)
        items = _items(value)
        cases = [_case(raw, number + 1, at, reading) for number, (raw, at) in enumerate(items)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        extra = (
            {
                key: inner
                for key, inner in value.items()
                if key not in (*_LISTS, "skill_name", "should_trigger", "should_not_trigger")
            }
            if isinstance(value, dict)
            else {}
        )
        return reading.suite(self.name, kept, (), extra)


def _listed(value: Any) -> tuple[str | None, list[Any]] | None:
    """The list of queries and its key; None when the data has none."""
    if isinstance(value, list):
        return (None, value) if value else None
    if isinstance(value, dict):
        for key in _LISTS:
            if isinstance(value.get(key), list) and value[key]:
                return key, value[key]
    return None


def _is_query(item: Any) -> bool:
    if not isinstance(item, dict) or not ("query" in item or "prompt" in item):
        return False
    return ("should_trigger" in item or ("query" in item and "expect_skill" in item)) and not any(key in item for key in _GRADED)


def _items(value: Any) -> list[tuple[Any, Pointer]]:
    found: list[tuple[Any, Pointer]] = []
    if isinstance(value, dict) and isinstance(value.get("should_trigger"), list):
        for key, wanted in (("should_trigger", True), ("should_not_trigger", False)):
            listed = value.get(key)
            for number, query in enumerate(listed if isinstance(listed, list) else []):
                raw = (
                    {**query, "should_trigger": wanted} if isinstance(query, dict) else {"query": query, "should_trigger": wanted}
                )
                found.append((raw, (key, number)))
        return found
    where, items = _listed(value) or (None, [])
    return [(item, (where, number) if where else (number,)) for number, item in enumerate(items)]


def _case(raw: Any, position: int, at: Pointer, reading: Reading) -> Case | None:
    notes = reading.notes
    query = (raw.get("query") or raw.get("prompt")) if isinstance(raw, dict) else None
    if not isinstance(query, str) or not query.strip() or "\0" in query:
        notes.error("query-missing", "a trigger case has no 'query'", at)
        return None
    expect = raw.get("expect_skill")
    wanted = raw.get("should_trigger", expect is not None and expect in (reading.skill_name, reading.folder_name))
    if not isinstance(wanted, bool):
        notes.error("flag-form", "'should_trigger' is true or false", (*at, "should_trigger"))
        return None
    given = raw.get("id")
    if given is not None and (
        type(given) is not int and not (isinstance(given, str) and given.strip() and "::" not in given and len(given) <= 200)
    ):
        notes.error("case-id", "an id is text or a whole number", (*at, "id"))
        return None
    name, tags = raw.get("name"), raw.get("tags")
    # Lists without ids often lie beside an evals.json without ids, so a bare position would clash.
    case_id = str(given).strip() if given is not None else f"trigger-{position}"
    how = "is loaded" if wanted else "is not loaded"
    return Case(
        id=case_id,
        given_id=given,
        name=name if isinstance(name, str) else None,
        prompt=query,
        should_trigger=wanted,
        checks=(
            Check(
                id="triggered",
                type="loaded_skill",
                text=f"the skill {how} for: {shown(query, 80)}",
                scored=False,
                options={"loaded": wanted},
            ),
        ),
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        extra={key: inner for key, inner in raw.items() if key not in _KEYS},
        where=Where(file=notes.file, pointer=pointer_text(at)),
    )


plugin = Trigger()
