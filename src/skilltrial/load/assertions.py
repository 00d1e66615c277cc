"""All checks of one case: `checks`, `assertions` and their other names, `tool_assertions`; and what stands in when there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skilltrial.load import prose
from skilltrial.load.checks import from_object, sentence, tool_assertion, turned
from skilltrial.load.document import Pointer, shown
from skilltrial.load.reading import Reading
from skilltrial.records.checks import CHECKS
from skilltrial.records.suite import Check

SENTENCE_KEYS = ("assertions", "expectations", "expected_behavior", "criteria")
"""One list under four names; all that are given count, equal sentences once."""


def checks_of(
    raw: dict[str, Any],
    should_trigger: bool,
    at: Pointer,
    reading: Reading,
    *,
    routed: bool,
    refuse_unknown: bool,
    more: Sequence[Check] = (),
) -> list[Check]:
    """The checks that a case lists, in the order of the file, `more` among those of the program. Ids are unique within it."""
    notes = reading.notes
    checks: list[Check | None] = []
    for number, (item, spot) in enumerate(_items(raw, ("checks",), at, reading), 1):
        checks.append(
            from_object(item, spot, notes, f"check-{number}")
            if isinstance(item, dict)
            else sentence(item, spot, notes, f"check-{number}")
        )
    checks += more
    seen: set[str] = set()
    for number, (item, spot) in enumerate(_items(raw, SENTENCE_KEYS, at, reading), 1):
        if isinstance(item, dict):
            checks.append(from_object(item, spot, notes, f"assertion-{number}", refuse_unknown=refuse_unknown))
        elif not isinstance(item, str) or item not in seen:
            checks.append(_sentence(item, f"assertion-{number}", should_trigger, spot, reading, routed))
            seen.add(item if isinstance(item, str) else "")
    for number, (item, spot) in enumerate(_items(raw, ("tool_assertions",), at, reading), 1):
        checks.append(tool_assertion(item, spot, notes, f"tool-{number}"))
    made = [check if should_trigger else turned(check) for check in checks if check is not None]
    if len(made) > 1:
        _unique(made, at, reading)
    return made


def _items(raw: dict[str, Any], keys: tuple[str, ...], at: Pointer, reading: Reading) -> list[tuple[Any, Pointer]]:
    """Members of the lists under `keys`, each with its place."""
    found: list[tuple[Any, Pointer]] = []
    for key in keys:
        value = raw.get(key)
        if value is None:
            continue
        if isinstance(value, str) and key in SENTENCE_KEYS:
            reading.notes.warn("assertion-form", f"'{key}' is a list; one text was read as a list of one", (*at, key))
            value = [value]
        if not isinstance(value, list):
            reading.notes.error("assertion-form", f"'{key}' is a list", (*at, key))
            continue
        found += [(item, (*at, key, number)) for number, item in enumerate(value)]
    return found


def _sentence(item: Any, check_id: str, should_trigger: bool, at: Pointer, reading: Reading, routed: bool) -> Check | None:
    notes = reading.notes
    plain = sentence(item, at, notes, check_id)
    if plain is None:
        return None
    git = None if should_trigger else prose.git_kind(item)
    if git and not routed:
        notes.error(
            "uninverted-sentence",
            f"'{shown(item, 60)}' in a case that should not trigger: agent-skill-eval turns it round, a judge would not",
            at,
            f'write {{"type": "{git}", "absent": true}}, or drop --prose-checks off',
        )
        return None
    if not routed:
        return plain
    route = prose.route(item)
    if route is None:
        return plain
    if git:
        route = prose.inverted(git, item)
    if route.type is None:
        notes.warn(
            "prose-not-routed",
            f"'{shown(item, 60)}' goes to the judge; agent-skill-eval grades it as {_name(route.kind)}, but {route.why}",
            at,
        )
        return plain
    notes.info(
        "prose-routed",
        f"'{shown(item, 60)}' is graded as {route.type} {_options(route.options)}".rstrip(),
        at,
        "--prose-checks off sends it to the judge",
    )
    options = dict(route.options)
    if route.type in CHECKS and "case_sensitive" in CHECKS[route.type].model_fields:
        options["case_sensitive"] = False
    text = f"Not: {plain.text}" if git else plain.text
    return Check(id=check_id, type=route.type, text=text, options=options)


def _unique(checks: list[Check], at: Pointer, reading: Reading) -> None:
    seen: set[str] = set()
    for check in checks:
        if check.id in seen:
            reading.notes.error("check-id", f"the check id '{shown(check.id)}' is used twice in this case", at)
        seen.add(check.id)


def stand_in(expected: str | None) -> Check:
    """What is graded in a case without checks."""
    if expected:
        return Check(
            id="expected-output", type="rubric", options={}, text=f"The output satisfies this expected output: {expected.strip()}"
        )
    return Check(
        id="quality", type="quality", options={}, text="The answer does well what the task asks, on a scale from 0 to 10"
    )


def _name(kind: str) -> str:
    return kind.replace("_", " ")


def _options(options: dict[str, Any]) -> str:
    if options.get("absent"):
        return "(there must be none: the case should not trigger)"
    for value in options.values():
        if isinstance(value, (str, list)):
            return shown(", ".join(value) if isinstance(value, list) else value, 60)
    return ""
