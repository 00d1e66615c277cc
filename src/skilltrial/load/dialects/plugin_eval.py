"""Folders of cases for `claude plugin eval`: `<case>/case.yaml`, `prompt.md` with frontmatter, `graders/*.md`."""

from __future__ import annotations

import os
from typing import Any

from skilltrial.load.beside import Part
from skilltrial.load.case_folders import CASE_FOLDERS
from skilltrial.load.dialects._plugin_graders import add_grader
from skilltrial.load.dialects._plugin_mocks import servers_of
from skilltrial.load.dialects.standard import unique_ids
from skilltrial.load.document import name_text
from skilltrial.load.draft import Draft, left_over, limits
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_KEYS = frozenset(
    {"schema_version", "name", "description", "tags", "plugins", "context", "execution", "runs", "expected_outcome", "graders",
     "max_turns", "timeout_seconds", "allowed_tools", "model", "env", "weight"}
)  # fmt: skip
_SET_UP = ("scaffold_script", "history_file")


class PluginEval:
    """A folder whose folders are cases."""

    name = "plugin-eval"
    rank = 5
    single = False

    def claims(self, value: Any) -> bool:
        return isinstance(value, dict) and CASE_FOLDERS in value

    def read(self, reading: Reading) -> Suite | None:
        cases = [_case(name, number, reading) for number, name in enumerate(reading.value[CASE_FOLDERS], 1)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        return reading.suite(self.name, kept)


def _case(folder: str, position: int, reading: Reading) -> Case | None:
    beside = reading.beside
    parts = [part for name in ("case.yaml", "case.yml") if (part := beside.part(f"{folder}/{name}"))][:1]
    prompt_part = beside.part(f"{folder}/prompt.md")
    if prompt_part:
        parts.append(prompt_part)
    settings: dict[str, Any] = {}
    readings = []
    for part in reversed(parts):
        inner = reading.of_part(part)
        if inner is None:
            return None
        if not isinstance(inner.value, dict):
            inner.notes.error("case-form", "a case is a list of 'key: value' lines")
            return None
        settings |= inner.value
        readings.append(inner)
    main = readings[-1]
    execution = settings.get("execution") or {}
    if not isinstance(execution, dict):
        main.notes.error("case-form", "'execution' is an object with 'prompt'", ("execution",))
        return None
    draft = Draft(main, ())
    _graders(folder, settings, draft, reading)
    context = _context(settings, main)
    _set_up(folder, settings, context, main, reading)
    return draft.case(
        {
            "id": folder,
            "name": settings.get("name") if settings.get("name") != folder else None,
            "prompt": _prompt(execution, prompt_part, main),
            "expected_output": settings.get("expected_outcome"),
            "tags": settings.get("tags"),
            "weight": settings.get("weight"),
            "limits": limits(
                max_turns=execution.get("max_turns", settings.get("max_turns")),
                timeout_s=execution.get("timeout_seconds", settings.get("timeout_seconds")),
            ),
            "description": settings.get("description"),
            "mocks": servers_of(reading, ("mocks", f"{folder}/mocks")),
            **left_over(settings, _KEYS),
        },
        position,
        fixtures=(_folders(folder, context, reading), main.fixtures_from("..")),
    )


def _prompt(execution: dict[str, Any], part: Part | None, reading: Reading) -> Any:
    """The prompt of case.yaml, else the text of prompt.md."""
    given, body = execution.get("prompt"), part.body if part else ""
    if given is None:
        return body
    if body and isinstance(given, str) and body != given.strip():
        reading.notes.warn("two-prompts", "prompt.md says something else than 'execution.prompt', which is used", ("execution",))
    return given


def _graders(folder: str, settings: dict[str, Any], draft: Draft, reading: Reading) -> None:
    """Those of graders/*.md, then those of case.yaml."""
    for name in reading.beside.names(f"{folder}/graders"):
        part = reading.beside.part(f"{folder}/graders/{name}") if name.endswith(".md") else None
        inner = reading.of_part(part) if part else None
        if part and inner:
            add_grader(name.removesuffix(".md"), inner.value, part.body, (), inner.notes, draft)
    listed = settings.get("graders") or []
    for number, grader in enumerate(listed if isinstance(listed, list) else []):
        at = ("graders", number)
        called = grader.get("name") if isinstance(grader, dict) else None
        add_grader(called if isinstance(called, str) else f"grader-{number + 1}", grader, "", at, draft.reading.notes, draft)
    if not draft.checks and not draft.asides:
        draft.reading.notes.warn("no-graders", "the case has no grader; `claude plugin eval` would not load it")


def _context(settings: dict[str, Any], reading: Reading) -> dict[str, Any]:
    context = settings.get("context") or {}
    if isinstance(context, dict):
        return context
    reading.notes.error("case-form", "'context' is an object", ("context",))
    return {}


def _folders(folder: str, context: dict[str, Any], reading: Reading) -> list[Any]:
    """Folders that the case hands out, as fixtures: relative to the case, called what follows any `..`."""
    listed = context.get("add_dirs") or []
    if not isinstance(listed, list) or not all(isinstance(path, str) and path.strip() for path in listed):
        return [listed]
    evals = name_text(os.path.basename(reading.beside.folder))  # noqa: PTH119
    return [
        path if path.startswith("/") else {"source": os.path.normpath(f"{evals}/{folder}/{path}"), "path": _called(path)}
        for path in listed
    ]


def _called(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", ".", "..")) or "."


def _set_up(folder: str, settings: dict[str, Any], context: dict[str, Any], main: Reading, reading: Reading) -> None:
    """What prepares a run there and not here."""
    notes = main.notes
    for key in _SET_UP:
        if context.get(key):
            notes.warn("not-run", f"'{key}' prepares the run there and is not used here", ("context", key))
    if not context.get("scaffold_script") and reading.beside.exists(f"{folder}/scaffold.sh"):
        notes.warn(
            "not-run", "scaffold.sh prepares the run there and is not run here", hint="list the files it makes as fixtures"
        )
    if settings.get("env"):
        notes.warn("not-run", "'env' is not set here", ("env",), "set env in the configuration")
    for key, said in (("runs", "--repetitions"), ("model", "--target"), ("plugins", "PATH")):
        if settings.get(key):
            notes.info("not-of-a-suite", f"'{key}' is not read from a suite", (key,), f"{said} says it for the whole run")
    tools = (settings.get("execution") or {}).get("allowed_tools", settings.get("allowed_tools"))
    if tools:
        notes.info("not-of-a-suite", "'allowed_tools' is not read from a suite: both arms have the target's tools")


plugin = PluginEval()
