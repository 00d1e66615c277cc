"""One case of the shared file form `{"evals": [...]}`: the standard's, and what the known tools add to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from skilltrial.load import mocks, runtime_checks
from skilltrial.load.assertions import checks_of, stand_in
from skilltrial.load.document import Notes, Pointer, pointer_text, shown
from skilltrial.load.fixtures import check_mentions
from skilltrial.load.reading import Reading
from skilltrial.records.problems import Where
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import EMPTY_TREE, Aside, Case, Check, Limits, SideEffects, Stage, Tree

PROMPT_KEYS = ("prompt", "query", "question")
EXPECTED_KEYS = ("expected_output", "ground_truth")
NOTE_KEYS = frozenset(
    {
        "$schema",
        "$comment",
        "note",
        "notes",
        "comment",
        "description",
        "about",
        "category",
        "rationale",
        "why",
        "version",
        "author",
        "kind",
    }
)
"""Remarks for people; kept without a word."""
KNOWN_KEYS = frozenset(
    {
        "id", "name", "eval_name", "files", "params", "judge_params", "tools", "tool_choice", "should_trigger", "force_skill_invocation",
        "stage_files", "side_effect_level", "side_effect_contract", "limits", "timeout_s", "max_turns", "weight", "cluster", "tags", "mocks",
        "assertions", "expectations", "expected_behavior", "criteria", "checks", "tool_assertions",
        *PROMPT_KEYS, *EXPECTED_KEYS, *runtime_checks.KEYS,
    }
)  # fmt: skip
"""All keys of a case that mean something."""
_COMMON = frozenset({"id", "prompt", "expected_output", "files", "assertions", "expectations", "checks", "tool_assertions"})
"""What most cases hold and nothing else."""
_UNREAD = {
    "must_contain": 'write "checks": [{"id": "…", "type": "contains_all", "values": […]}]',
    "must_not_contain": 'write "checks": [{"id": "…", "type": "not_contains", "value": "…"}]',
}
"""Keys of other tools that are not read, and what to write instead."""
_LEVELS = ("static", "local-only", "live-safe", "live-external")
_CONTRACT = frozenset(
    {
        "allow_new_local_branches",
        "allow_new_remote_branches",
        "allow_new_commits",
        "allow_new_review_requests",
        "allow_worktree_changes",
    }
)


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """What the top of a suite file says about all of its cases."""

    stage: Stage
    files_base: str | None
    params: JsonObject
    judge_params: JsonObject
    tools: tuple[JsonObject, ...]
    routed: bool
    """Sentences go through agent-skill-eval's patterns."""
    structured_strict: bool
    """Unknown keys of typed assertions are errors, as in agent-skill-eval."""
    case_folders: bool = False
    """`files/<case>/x` is called `files/x` where the case lists no other folder, as in agent-skill-eval."""


PLAIN = SuiteSettings(stage="keep", files_base=None, params={}, judge_params={}, tools=(), routed=False, structured_strict=False)
"""What holds in a form that has no such settings: files lie where the case says."""


def read_case(
    raw: Any, position: int, at: Pointer, reading: Reading, settings: SuiteSettings, checks: Sequence[Check] | None = None
) -> Case | None:
    """The case, or None when it cannot be run; every problem of it is told.

    Args:
        position: from 1; its id when none is given.
        checks: those a dialect has read already; None: they stand in `raw` as in the shared form.
    """
    notes = reading.notes
    if not isinstance(raw, dict):
        notes.error("case-form", "a case is an object with a prompt", at)
        return None
    before = len(notes.problems)
    given_id = _given_id(raw, at, notes)
    case_id = str(given_id) if given_id is not None else str(position)
    prompt = _prompt(raw, at, notes)
    expected = _text(raw, EXPECTED_KEYS, at, notes)
    should_trigger = _flag(raw, "should_trigger", True, at, notes)
    forced = _flag(raw, "force_skill_invocation", False, at, notes)
    if forced and not should_trigger:
        notes.error(
            "forced-negative", "a case cannot force the skill and say that it should not trigger", (*at, "force_skill_invocation")
        )
    fixtures = (
        reading.fixtures.tree(_files(raw, settings), (*at, "files"), notes, settings.stage, settings.files_base)
        if raw.get("files")
        else _no_files(raw, at, notes)
    )
    if checks is None:
        checks = _listed_checks(raw, case_id, should_trigger, at, reading, settings)
    made: dict[str, Any] = {
        "params": settings.params,
        "judge_params": settings.judge_params,
        "tools": settings.tools,
        "extra": {},
    }
    if not raw.keys() <= _COMMON:
        made |= _uncommon(raw, at, notes, settings)
    if prompt is not None and fixtures.files:
        check_mentions(prompt, fixtures, settings.stage, (*at, "prompt"), notes)
    if prompt is None or (
        len(notes.problems) > before and any(problem.severity == "error" for problem in notes.problems[before:])
    ):
        return None
    return Case(
        id=case_id,
        given_id=given_id,
        prompt=prompt,
        expected_output=expected,
        checks=tuple(checks) or (stand_in(expected),),
        fixtures=fixtures,
        stage=settings.stage,
        should_trigger=should_trigger,
        forced=forced,
        where=Where(file=notes.file, pointer=pointer_text(at)),
        **made,
    )


def _files(raw: dict[str, Any], settings: SuiteSettings) -> Any:
    """The listed files, without the folder that only tells one case's files from another's."""
    listed = raw["files"]
    if not settings.case_folders or not isinstance(listed, list):
        return listed
    split = {path: path.split("/") for path in listed if isinstance(path, str)}
    deep = {path: parts for path, parts in split.items() if len(parts) > 2 and parts[0] == "files"}
    if len({parts[1] for parts in deep.values()}) != 1:
        return listed
    renamed = {path: {"source": path, "path": "/".join(("files", *parts[2:]))} for path, parts in deep.items()}
    return [renamed.get(path, path) if isinstance(path, str) else path for path in listed]


def _listed_checks(
    raw: dict[str, Any],
    case_id: str,
    should_trigger: bool,
    at: Pointer,
    reading: Reading,
    settings: SuiteSettings,
) -> list[Check]:
    runtime = runtime_checks.read(raw, at, reading.notes) if raw.keys() & runtime_checks.KEYS else None
    if runtime:
        reading.set_aside += [Aside(case=case_id, check=check, reason=reason) for check, reason in runtime.asides]
    return checks_of(
        raw,
        should_trigger,
        at,
        reading,
        routed=settings.routed,
        refuse_unknown=settings.structured_strict,
        more=runtime.checks if runtime else (),
    )


def _uncommon(raw: dict[str, Any], at: Pointer, notes: Notes, settings: SuiteSettings) -> dict[str, Any]:
    """What most cases do not say, as fields of a Case."""
    found: dict[str, Any] = {
        "name": _text(raw, ("name", "eval_name"), at, notes),
        "side_effects": _side_effects(raw, at, notes),
        "stage_files": _flag(raw, "stage_files", False, at, notes),
        "limits": _limits(raw, at, notes),
        "params": params_of(raw.get("params"), settings.params, (*at, "params"), notes),
        "judge_params": params_of(raw.get("judge_params"), settings.judge_params, (*at, "judge_params"), notes),
        "tools": tools_of(raw.get("tools"), (*at, "tools"), notes) if "tools" in raw else settings.tools,
        "tool_choice": _tool_choice(raw, at, notes),
        "mocks": mocks.read(raw["mocks"], (*at, "mocks"), notes) if "mocks" in raw else None,
        "weight": _weight(raw, at, notes),
        "cluster": _text(raw, ("cluster",), at, notes),
        "tags": _tags(raw, at, notes),
        "extra": _extra(raw, at, notes),
    }
    return {key: value for key, value in found.items() if value is not None}


def params_of(value: Any, below: JsonObject, at: Pointer, notes: Notes) -> JsonObject:
    """Request parameters merged over those of the suite; `model` and `messages` are refused."""
    if value is None:
        return below
    if not isinstance(value, dict):
        notes.error("params-form", "parameters are an object", at)
        return below
    for key in ("model", "messages"):
        if key in value:
            notes.error(
                "params-refused",
                f"'{key}' cannot be set by a suite",
                (*at, key),
                "the target chooses the model, the case the message",
            )
    return {**below, **value}


def tools_of(value: Any, at: Pointer, notes: Notes) -> tuple[JsonObject, ...]:
    """Tool definitions in the form of chat completions."""
    if not isinstance(value, list):
        notes.error("tools-form", "'tools' is a list", at)
        return ()
    for number, tool in enumerate(value):
        function = tool.get("function") if isinstance(tool, dict) else None
        if (
            not isinstance(function, dict)
            or tool.get("type") != "function"
            or not isinstance(function.get("name"), str)
            or not function["name"].strip()
        ):
            notes.error("tools-form", 'a tool is {"type": "function", "function": {"name": …}}', (*at, number))
        elif not isinstance(function.get("parameters", {}), dict):
            notes.error("tools-form", "the parameters of a tool are an object", (*at, number, "function", "parameters"))
    return tuple(tool for tool in value if isinstance(tool, dict))


def _given_id(raw: dict[str, Any], at: Pointer, notes: Notes) -> int | str | None:
    value = raw.get("id")
    if value is None:
        return None
    if isinstance(value, str):
        if not value.strip():
            notes.error("case-id", "the id is empty", (*at, "id"))
        elif len(value) > 200 or "::" in value or any(ord(letter) < 32 for letter in value):
            notes.error("case-id", "an id has at most 200 characters, no line breaks and no '::'", (*at, "id"))
        return value.strip()
    if type(value) is int:
        return value
    notes.error("case-id", "an id is text or a whole number", (*at, "id"))
    return None


def _prompt(raw: dict[str, Any], at: Pointer, notes: Notes) -> str | None:
    key = next((key for key in PROMPT_KEYS if key in raw), None)
    if key is None:
        seen = ", ".join(map(str, list(raw)[:10])) or "none"
        notes.error("prompt-missing", f"the case has no 'prompt'; keys seen: {shown(seen, 120)}", at)
        return None
    value = raw[key]
    if not isinstance(value, str):
        notes.error("prompt-form", f"'{key}' is not text", (*at, key))
        return None
    if not value.strip():
        notes.error("prompt-empty", f"'{key}' is empty", (*at, key))
        return None
    if "\0" in value:
        notes.error("prompt-form", f"'{key}' holds a NUL character, which no program takes", (*at, key))
        return None
    return value


def _text(raw: dict[str, Any], keys: tuple[str, ...], at: Pointer, notes: Notes) -> str | None:
    for key in keys:
        value = raw.get(key)
        if isinstance(value, str):
            return value if value.strip() else None
        if value is not None:
            notes.error("text-form", f"'{key}' is not text", (*at, key))
            return None
    return None


def _flag(raw: dict[str, Any], key: str, default: bool, at: Pointer, notes: Notes) -> bool:
    value = raw.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        notes.error("flag-form", f"'{key}' is true or false", (*at, key))
        return default
    return value


def _no_files(raw: dict[str, Any], at: Pointer, notes: Notes) -> Tree:
    if raw.get("files") not in (None, []):
        notes.error("files-form", "'files' is a list of paths", (*at, "files"))
    return EMPTY_TREE


def _side_effects(raw: dict[str, Any], at: Pointer, notes: Notes) -> SideEffects | None:
    level, contract = raw.get("side_effect_level"), raw.get("side_effect_contract")
    if level is None and contract is None:
        return None
    if level is not None and level not in _LEVELS:
        notes.error(
            "side-effect-level", f"unknown level {shown(str(level))}", (*at, "side_effect_level"), f"levels: {', '.join(_LEVELS)}"
        )
        level = None
    if contract is not None:
        if not isinstance(contract, dict):
            notes.error("side-effect-contract", "'side_effect_contract' is an object", (*at, "side_effect_contract"))
            contract = None
        else:
            for key, value in contract.items():
                if key not in _CONTRACT:
                    notes.error(
                        "side-effect-contract",
                        f"unknown key '{shown(key)}'",
                        (*at, "side_effect_contract", key),
                        f"keys: {', '.join(sorted(_CONTRACT))}",
                    )
                elif not isinstance(value, bool):
                    notes.error("side-effect-contract", f"'{key}' is true or false", (*at, "side_effect_contract", key))
            contract = {key: value for key, value in contract.items() if key in _CONTRACT and isinstance(value, bool)}
    return SideEffects(level=level or "local-only", contract=contract)


def _limits(raw: dict[str, Any], at: Pointer, notes: Notes) -> Limits | None:
    value = raw.get("limits") or {}
    if not isinstance(value, dict):
        notes.error("limits-form", "'limits' is an object", (*at, "limits"))
        return None
    found = {**value, **{key: raw[key] for key in ("timeout_s", "max_turns") if raw.get(key) is not None}}
    if not found:
        return None
    for key, number in found.items():
        if key in Limits.model_fields and (
            isinstance(number, (bool, str))
            or not isinstance(number, (int, float, type(None)))
            or (number is not None and number <= 0)
        ):
            notes.error("limits-form", f"'{key}' is a number above 0", (*at, key) if key in raw else (*at, "limits", key))
            return None
    try:
        return Limits.model_validate(found)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_context=False, include_input=False):
            key = str(one["loc"][0]) if one["loc"] else ""
            said = f"unknown limit '{shown(key)}'" if one["type"] == "extra_forbidden" else f"'{key}' is no whole number"
            notes.error("limits-form", said, (*at, "limits", key), f"limits: {', '.join(Limits.model_fields)}")
        return None


def _tool_choice(raw: dict[str, Any], at: Pointer, notes: Notes) -> Any:
    value = raw.get("tool_choice")
    named = isinstance(value, dict) and value.get("type") == "function" and isinstance(value.get("function"), dict)
    if value is not None and value not in ("auto", "none", "required") and not named:
        notes.error(
            "tool-choice",
            "'tool_choice' is auto, none, required or a function",
            (*at, "tool_choice"),
            '{"type": "function", "function": {"name": …}}',
        )
    return value


def _weight(raw: dict[str, Any], at: Pointer, notes: Notes) -> float | None:
    value = raw.get("weight")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        notes.error("weight-form", "'weight' is a number above 0", (*at, "weight"))
        return None
    return float(value)


def _tags(raw: dict[str, Any], at: Pointer, notes: Notes) -> tuple[str, ...] | None:
    value = raw.get("tags")
    if value is None:
        return None
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        notes.error("tags-form", "'tags' is a list of texts", (*at, "tags"))
        return None
    return tuple(value)


def _extra(raw: dict[str, Any], at: Pointer, notes: Notes) -> JsonObject | None:
    if raw.keys() <= KNOWN_KEYS:
        return None
    extra = {key: value for key, value in raw.items() if key not in KNOWN_KEYS}
    for key in extra:
        told_unknown_key(key, KNOWN_KEYS, at, notes, "of a case")
    return extra


def told_unknown_key(key: str, known: frozenset[str], at: Pointer, notes: Notes, whose: str) -> None:
    """Warns about a key nobody reads, with what was meant where that can be guessed."""
    if key in NOTE_KEYS or key.startswith(("_", "x-")):
        return
    hint = _UNREAD.get(key)
    if hint is None:
        close = get_close_matches(key, known, 1, 0.8)
        hint = f"did you mean '{close[0]}'?" if close else None
    notes.say("wwe", "unknown-key", f"the key '{shown(key)}' {whose} is kept and not used", (*at, key), hint)
