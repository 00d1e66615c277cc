"""One task per file, graded by commands: `{task_id, initial_prompt, run_limits, success_criteria: [{type: run_command, …}]}`."""

from __future__ import annotations

import os
from typing import Any

from skilltrial.load.document import Pointer
from skilltrial.load.draft import Draft, left_over, limits, texts
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Suite

_KEYS = frozenset({"task_id", "name", "description", "tags", "initial_prompt", "run_limits", "sandbox", "success_criteria"})
_OWN_FOLDER = "$TASK_DIR"
_JUDGED = frozenset({"llm_judge", "llm_rubric", "rubric", "llm"})


class CommandTask:
    """A task whose success commands decide."""

    name = "command-task"
    rank = 30
    single = True

    def claims(self, value: Any) -> bool:
        return isinstance(value, dict) and "task_id" in value and ("initial_prompt" in value or "success_criteria" in value)

    def read(self, reading: Reading) -> Suite | None:
        value = reading.value
        draft = Draft(reading, ())
        for item, at in draft.each(value, "success_criteria"):
            _criterion(item, at, draft)
        ends = value.get("run_limits")
        ends = ends if isinstance(ends, dict) else {}
        case = draft.case(
            {
                "id": value["task_id"],
                "name": value.get("name"),
                "prompt": value.get("initial_prompt"),
                "description": value.get("description"),
                "tags": value.get("tags"),
                "limits": limits(
                    max_turns=ends.get("max_turns"),
                    timeout_s=ends.get("timeout_seconds", ends.get("task_timeout", ends.get("timeout"))),
                ),
                **left_over(value, _KEYS),
            },
            1,
            fixtures=(_templates(value.get("sandbox"), reading), reading.fixtures_from(_to_root(reading))),
        )
        return reading.suite(self.name, [case] if case else [])


def _criterion(item: Any, at: Pointer, draft: Draft) -> None:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(kind, str):
        draft.say(item, at)
        return
    common = {key: item[key] for key in ("weight", "description") if item.get(key) is not None}
    about = item.get("description") if isinstance(item.get("description"), str) else kind
    if kind == "run_command":
        command = item.get("command")
        if isinstance(command, str) and (_OWN_FOLDER in command or "${TASK_DIR}" in command):
            draft.set_aside(str(about), f"it uses {_OWN_FOLDER}, the task's own folder, which is not where checks run", at)
            return
        kept = {
            key: item[key] for key in ("command", "timeout", "expected_exit_code", "stdout_contains") if item.get(key) is not None
        }
        draft.add({"type": "command", **kept, **common}, at)
    elif kind == "file_contains":
        for key, made in (("includes", "file_contains"), ("excludes", "file_not_contains")):
            for part in texts(item.get(key)):
                draft.add({"type": made, "path": item.get("path"), "contains": part, "case_sensitive": True, **common}, at)
    elif kind in ("file_exists", "file_not_exists"):
        draft.add({"type": kind, **({"path": item["path"]} if "path" in item else {}), **common}, at)
    elif kind in _JUDGED:
        text = next(
            (item[key] for key in ("rubric", "prompt", "criteria", "description") if isinstance(item.get(key), str)), None
        )
        draft.say({"text": text, **{key: value for key, value in common.items() if key == "weight"}} if text else item, at)
    else:
        draft.set_aside(str(about), f"there is no counterpart of '{kind}' here", at)


def _to_root(reading: Reading) -> str:
    return os.path.relpath(reading.beside.root, os.path.realpath(reading.beside.folder))


def _templates(sandbox: Any, reading: Reading) -> list[Any]:
    """Contents of the template folders; one that holds the skill itself would give it to both arms and is left out."""
    sources = sandbox.get("template_sources") if isinstance(sandbox, dict) else None
    listed: list[Any] = []
    for number, source in enumerate(sources if isinstance(sources, list) else []):
        at = ("sandbox", "template_sources", number)
        path = source.get("path") if isinstance(source, dict) and source.get("type") == "template_dir" else None
        if not isinstance(path, str):
            reading.notes.warn("not-run", "only template folders are taken over, not other sources of files", at)
            continue
        whole = os.path.normpath(f"{os.path.realpath(reading.beside.folder)}/{path}")
        if os.path.exists(f"{whole}/SKILL.md"):  # noqa: PTH110
            reading.notes.info("skill-as-fixture", f"{path} is a skill, which is staged in its own arm and not as a fixture", at)
            continue
        listed.append({"source": os.path.relpath(whole, reading.beside.root), "path": "."})
    return listed


plugin = CommandTask()
