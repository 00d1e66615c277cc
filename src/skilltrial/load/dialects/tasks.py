"""A configuration with tasks in files of their own: `eval.yaml` with `tasks: [glob]`, `graders` for all, and `tasks/*.yaml` (waza)."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from skilltrial.load.dialects._task_graders import add_grader
from skilltrial.load.dialects.standard import unique_ids
from skilltrial.load.document import Pointer
from skilltrial.load.draft import Draft, left_over, limits, texts
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_TASK = frozenset(
    {"id", "name", "description", "tags", "inputs", "expected", "graders", "enabled", "timeout_seconds", "requirements"}
)
_TOP = frozenset({"name", "description", "skill", "version", "config", "metrics", "graders", "tasks", "schemaVersion"})
_DEPTH = 4


class Tasks:
    """Tasks with graders of their own and graders of the configuration."""

    name = "tasks"
    rank = 20
    single = False

    def claims(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("tasks"), list) or not value["tasks"]:
            return False
        first = value["tasks"][0]
        inline = isinstance(first, dict) and isinstance(first.get("inputs"), dict)
        return isinstance(first, str) or inline

    def read(self, reading: Reading) -> Suite | None:
        config = reading.value.get("config")
        config = config if isinstance(config, dict) else {}
        if config.get("trials_per_task", 1) != 1:
            reading.notes.info(
                "not-of-a-suite", "'trials_per_task' is not read from a suite", ("config", "trials_per_task"), "say --repetitions"
            )
        shared = reading.value.get("graders") or []
        cases = []
        for number, (inner, at) in enumerate(_tasks(reading), 1):
            case = _case(inner, at, number, shared if isinstance(shared, list) else [], config, reading)
            if case is not None:
                cases.append(case)
        unique_ids(cases, reading.notes)
        return reading.suite(self.name, cases, (), left_over(reading.value, _TOP))


def _tasks(reading: Reading) -> Iterator[tuple[Reading, Pointer]]:
    """Each task as a reading and its place in it."""
    for number, entry in enumerate(reading.value["tasks"]):
        at: Pointer = ("tasks", number)
        if not isinstance(entry, str):
            yield reading, at
            continue
        paths = list(_matching(entry, reading))
        if not paths:
            reading.notes.error("tasks-missing", f"no file fits '{entry}'", at)
        for path in paths:
            part = reading.beside.part(path)
            inner = reading.of_part(part) if part else None
            if inner is not None:
                yield inner, ()


def _matching(pattern: str, reading: Reading) -> Iterator[str]:
    """Files beside the configuration that fit a pattern, in order of path."""
    waiting = [""]
    found = []
    while waiting:
        folder = waiting.pop()
        for name in reading.beside.names(folder):
            path = f"{folder}/{name}" if folder else name
            if reading.beside.is_folder(path):
                waiting += [path] if path.count("/") < _DEPTH else []
            elif fnmatchcase(path, pattern.removeprefix("./")):
                found.append(path)
    yield from sorted(found)


def _case(inner: Reading, at: Pointer, position: int, shared: list[Any], config: dict[str, Any], reading: Reading) -> Case | None:
    raw: Any = inner.value
    for step in at:
        raw = raw[step]
    if not isinstance(raw, dict) or not isinstance(raw.get("inputs"), dict):
        inner.notes.error("case-form", "a task is an object with 'inputs'", at)
        return None
    if raw.get("enabled") is False:
        return None
    draft = Draft(inner, at)
    _expected(raw.get("expected"), (*at, "expected"), draft)
    own = raw.get("graders") or []
    for number, grader in enumerate(own if isinstance(own, list) else []):
        add_grader(grader, (*at, "graders", number), inner.notes, draft)
    for number, grader in enumerate(shared):
        add_grader(grader, ("graders", number), reading.notes, draft)
    inputs, expected = raw["inputs"], raw.get("expected")
    for key in left_over(inputs, ("prompt", "files", "context")):
        inner.notes.warn("not-run", f"'{key}' of the inputs is not followed here", (*at, "inputs", key))
    return draft.case(
        {
            "id": raw.get("id"),
            "name": raw.get("name"),
            "prompt": inputs.get("prompt"),
            "description": raw.get("description"),
            "should_trigger": expected.get("should_trigger") if isinstance(expected, dict) else None,
            "tags": raw.get("tags"),
            "limits": limits(timeout_s=raw.get("timeout_seconds", config.get("timeout_seconds"))),
            **({"_context": inputs["context"]} if "context" in inputs else {}),
            **left_over(raw, _TASK),
        },
        position,
        fixtures=(_files(inputs.get("files")), inner.fixtures_from("fixtures", ".")),
    )


def _files(listed: Any) -> list[Any]:
    return listed if isinstance(listed, list) else [] if listed is None else [listed]


def _expected(expected: Any, at: Pointer, draft: Draft) -> None:
    if not isinstance(expected, dict):
        return
    for key, kind in (("output_contains", "contains"), ("output_not_contains", "not_contains")):
        for text in texts(expected.get(key)):
            draft.add({"type": kind, "value": text}, (*at, key))
    if isinstance(expected.get("should_trigger"), bool):
        loaded = {} if expected["should_trigger"] else {"loaded": False}
        draft.add({"type": "loaded_skill", **loaded}, (*at, "should_trigger"), "triggered")
    for key in left_over(expected, ("output_contains", "output_not_contains", "should_trigger")):
        draft.set_aside(f"expected.{key}", "there is no counterpart of it here", (*at, key))


plugin = Tasks()
