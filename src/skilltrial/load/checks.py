"""What suites call a check, in four spellings, as one list of Checks; every option is validated by its record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import ValidationError

from skilltrial import registry
from skilltrial.load import patterns
from skilltrial.load.document import Notes, Pointer, shown
from skilltrial.records.checks import CHECKS, INVERTED, Number
from skilltrial.records.record import Record
from skilltrial.records.suite import Check

WITH_SKILL = "with_skill"
TEXT_KEYS = ("text", "value", "criterion", "description", "check", "statement", "assertion", "expectation")
"""Where the sentence of an object without a type stands; the first one given counts."""
_RUBRIC_KEYS = frozenset(
    {*TEXT_KEYS, "id", "name", "kind", "category", "weight", "required", "arm", "arms", "type", "notes", "rationale"}
)
_COMMON = frozenset({"id", "type", "required", "weight", "arm", "arms", "text", "description"})
_ALIASES = {
    "regex_match": "regex",
    "regex_not_match": "not_regex",
    "output_contains": "contains",
    "output_not_contains": "not_contains",
    "output_matches": "regex",
    "output_not_matches": "not_regex",
    "llm": "rubric",
    "llm_rubric": "rubric",
    "llm_judge": "rubric",
    "judge": "rubric",
    "run_command": "command",
    "is_json": "valid_json",
    "schema": "json_schema",
}
_RENAMED: dict[str, dict[str, str]] = {
    "json_schema": {"schema": "json_schema"},
    "command": {"expected_exit_code": "exit_code", "timeout": "timeout_s"},
    "number": {"expected": "value", "abs_tolerance": "tolerance", "rel_tolerance": "relative"},
    "loaded_skill": {"name": "skill"},
}
"""Other names of options, by type."""
_NUMBERS = frozenset({"exit_code", "timeout_s", "tolerance", "relative", "min", "max", "count"})
_NOT_BLANK = frozenset(
    {"value", "contains", "command", "name", "pattern", "json_path", "shell", "path", "stdout_contains", "input_match"}
)
_PATH_TYPES = frozenset(kind for kind in CHECKS if not kind.startswith("tool_"))
_OUTSIDE = re.compile(r"(?:^|/)\.\.(?:/|$)")


@cache
def installed_types() -> Mapping[str, type[Record]]:
    """Check types that graders of other packages bring, with their options; none takes a type of ours."""
    plugins = [registry.get("graders", name) for name in registry.installed("graders")]
    return {kind: options for plugin in plugins for kind, options in plugin.types.items() if kind not in CHECKS}


def _record(kind: str) -> type[Record] | None:
    return CHECKS.get(kind) or installed_types().get(kind)


def safe_path(path: str) -> str | None:
    """Why a path of a suite is refused; None when it is relative, POSIX and stays inside."""
    if not path.strip():
        return "is empty"
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return "is absolute; paths are relative"
    if "\\" in path:
        return "holds a backslash; folders are separated by '/'"
    if _OUTSIDE.search(path):
        return "leaves its folder by '..'"
    if any(ord(letter) < 32 for letter in path):
        return "holds a control character"
    return None


def from_object(raw: dict[str, Any], at: Pointer, notes: Notes, default_id: str, *, refuse_unknown: bool = False) -> Check | None:
    """A Check from an object: typed ones by their record, others as a sentence for the judge. None: it has problems, told.

    Args:
        refuse_unknown: an unknown key is an error (agent-skill-eval), not a warning.
    """
    given = raw.get("type")
    if given is None:
        return _rubric(raw, at, notes, default_id)
    if not isinstance(given, str):
        notes.error("check-type", "'type' is not text", (*at, "type"))
        return None
    kind = given.strip().lower().replace("-", "_")
    kind = _ALIASES.get(kind, kind)
    if kind in ("tool_used", "tool_order"):
        raw = _with_names(kind, raw)
    if _record(kind) is None or kind == "quality":
        notes.error("unknown-check-type", f"unknown check type '{shown(given)}'", (*at, "type"), _did_you_mean(kind))
        return None
    if kind == "rubric":
        return _rubric(raw, at, notes, default_id)
    return _typed(kind, raw, at, notes, default_id, refuse_unknown, from_javascript="regex_match" in given.replace("-", "_"))


def tool_assertion(raw: Any, at: Pointer, notes: Notes, default_id: str) -> Check | None:
    """A Check from one of agent-skills-eval's `tool_assertions`."""
    if not isinstance(raw, dict):
        notes.error("check-form", "a tool assertion is an object with 'type'", at)
        return None
    given = raw.get("type")
    kind = str(given).replace("-", "_")
    if not kind.startswith("tool_") or kind not in CHECKS:
        known = tuple(name.replace("_", "-") for name in CHECKS if name.startswith("tool_"))
        close = get_close_matches(str(given), known, 1)
        hint = (f"did you mean '{close[0]}'? " if close else "") + f"known types: {', '.join(known)}"
        found = f"unknown tool assertion type '{shown(str(given))}'" if given is not None else "'type' is missing"
        notes.error("unknown-check-type", found, (*at, "type"), hint)
        return None
    return _typed(kind, raw, at, notes, default_id, refuse_unknown=False, from_javascript=True)


def turned(check: Check) -> Check:
    """A check on git in a case that should not trigger: there must be none, unless the check says itself what it wants."""
    if check.type not in INVERTED or "absent" in check.options:
        return check
    options = {**check.options, "absent": True}
    own = check.text != label(check.type, check.options)
    return check.model_copy(update={"options": options, "text": check.text if own else label(check.type, options)})


def sentence(text: Any, at: Pointer, notes: Notes, check_id: str) -> Check | None:
    """A sentence for the judge."""
    if not isinstance(text, str):
        notes.error("assertion-form", f"an assertion is a sentence or an object, not {_kind_of(text)}", at)
        return None
    if not text.strip():
        notes.error("assertion-empty", "an assertion is empty", at)
        return None
    return Check(id=check_id, type="rubric", text=text.strip(), options={})


def options_fault(kind: str, options: Mapping[str, Any]) -> str | None:
    """The first thing wrong with the options of a check typed by hand (`--assert`); None when they are fine."""
    notes = Notes("option")
    _typed(kind, {"type": kind, **options}, (), notes, "option", True, from_javascript=False)
    return notes.problems[0].found if notes.problems else None


def _typed(
    kind: str, raw: dict[str, Any], at: Pointer, notes: Notes, default_id: str, refuse_unknown: bool, *, from_javascript: bool
) -> Check | None:
    before = len(notes.problems)
    options = _options(kind, raw, at, notes, refuse_unknown, from_javascript)
    common = _common(raw, at, notes, default_id)
    fields = _fields(kind)
    if len(notes.problems) > before and any(problem.severity == "error" for problem in notes.problems[before:]):
        _validated(kind, options, raw, at, notes)
        return None
    if not _validated(kind, options, raw, at, notes) or not _sound(kind, options, at, notes):
        return None
    if "case_sensitive" in fields:
        options.setdefault("case_sensitive", from_javascript and "i" not in options.get("flags", ""))
    said = next((raw[key] for key in ("text", "description") if isinstance(raw.get(key), str) and raw[key].strip()), None)
    common["scored"] = common["scored"] and (not is_indicator(kind, options) or raw.get("arm") == "both")
    return Check(type=kind, text=said or label(kind, options), options=options, **common)


def is_indicator(kind: str, options: Mapping[str, Any]) -> bool:
    """Whether a check can only be fulfilled where the skill is, so that it tells of its use and is no part of a rate."""
    return kind == "loaded_skill" or (kind.startswith("tool_") and options.get("name") == "Skill")


def _options(
    kind: str, raw: dict[str, Any], at: Pointer, notes: Notes, refuse_unknown: bool, from_javascript: bool
) -> dict[str, Any]:
    fields = _fields(kind)
    renamed = _RENAMED.get(kind, {})
    options: dict[str, Any] = {}
    for key, value in raw.items():
        if key in fields:
            options[key] = value
        elif key in renamed and renamed[key] not in raw:
            options[renamed[key]] = value
        elif kind == "command" and key in ("command", "run", "cmd"):
            options["shell" if isinstance(value, str) else "argv"] = value
        elif key == "target" and kind in ("regex", "not_regex"):
            _target(value, options, at, notes)
        elif key not in _COMMON and key not in ("name", "notes", "rationale"):
            _unknown_option(kind, key, fields, at, notes, refuse_unknown)
    if isinstance(options.get("flags"), str):
        options["flags"], odd = patterns.python_flags(options["flags"])
        if odd:
            notes.error(
                "pattern-flags",
                f"unknown flag{'s' * (len(odd) > 1)} '{odd}' of a regular expression",
                (*at, "flags"),
                "flags are i, m, s, x",
            )
    if from_javascript or kind.startswith("tool_"):
        options = {key: value for key, value in options.items() if value is not None or key in ("value", "equals")}
    return options


def _target(value: Any, options: dict[str, Any], at: Pointer, notes: Notes) -> None:
    if isinstance(value, dict) and isinstance(value.get("file"), str):
        options["path"] = value["file"]
    elif isinstance(value, dict) and isinstance(value.get("path"), str):
        options["path"] = value["path"]
    elif value not in ("assistant-text", "assistant_text", "last_message", "output", None):
        notes.error(
            "check-target", f"unknown target {shown(str(value))}", (*at, "target"), "'assistant-text' or {\"file\": PATH}"
        )


def _unknown_option(kind: str, key: str, fields: frozenset[str], at: Pointer, notes: Notes, refuse: bool) -> None:
    close = get_close_matches(key, [*fields, *_COMMON], 1, 0.75)
    if close:
        notes.error("unknown-key", f"'{kind}' has no option '{key}'", (*at, key), f"did you mean '{close[0]}'?")
    else:
        known = ", ".join(sorted(fields)) or "none"
        notes.say(
            "eee" if refuse else "wwe", "unknown-key", f"'{kind}' has no option '{key}'", (*at, key), f"its options: {known}"
        )


def _common(raw: dict[str, Any], at: Pointer, notes: Notes, default_id: str) -> dict[str, Any]:
    """The keys every check has."""
    made: dict[str, Any] = {"id": default_id, "scored": True}
    if "id" in raw:
        if (isinstance(raw["id"], str) and raw["id"].strip()) or type(raw["id"]) is int:
            made["id"] = str(raw["id"]).strip()
        else:
            notes.error("check-id", "the id of a check is text", (*at, "id"))
    if "required" in raw:
        if isinstance(raw["required"], bool):
            made["required"] = raw["required"]
        else:
            notes.error("check-required", "'required' is true or false", (*at, "required"))
    if "weight" in raw:
        weight = raw["weight"]
        if isinstance(weight, (int, float)) and not isinstance(weight, bool) and 0 < weight < 1e9:
            made["weight"] = weight
        else:
            notes.error("check-weight", "'weight' is a number above 0", (*at, "weight"))
    if "arm" in raw or "arms" in raw:
        _arms(raw, at, notes, made)
    return made


def _arms(raw: dict[str, Any], at: Pointer, notes: Notes, made: dict[str, Any]) -> None:
    key = "arm" if "arm" in raw else "arms"
    value = raw[key]
    if value == "both":
        return
    if value in ("with-only", "with_only"):
        value = [WITH_SKILL]
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name.strip() for name in names):
        notes.error("check-arms", f"'{key}' is 'with-only', 'both' or a list of arms", (*at, key))
        return
    made["arms"] = tuple(names)
    made["scored"] = len(names) > 1


def _rubric(raw: dict[str, Any], at: Pointer, notes: Notes, default_id: str) -> Check | None:
    key = next((key for key in TEXT_KEYS if isinstance(raw.get(key), str) and raw[key].strip()), None)
    if key is None and isinstance(raw.get("name"), str) and raw["name"].strip():
        key = "name"
    if key is None:
        seen = ", ".join(map(str, list(raw)[:8])) or "none"
        notes.error(
            "assertion-form",
            f"an assertion needs a sentence or a 'type'; keys seen: {shown(seen)}",
            at,
            "put the sentence under 'text'",
        )
        return None
    for other in raw.keys() - _RUBRIC_KEYS:
        notes.say("iwe", "unknown-key", f"'{shown(other)}' of an assertion is not used", (*at, other))
    before = len(notes.problems)
    common = _common(raw, at, notes, default_id)
    if any(problem.severity == "error" for problem in notes.problems[before:]):
        return None
    return Check(type="rubric", text=raw[key].strip(), options={}, **common)


def _with_names(kind: str, raw: dict[str, Any]) -> dict[str, Any]:
    """The tool under `name`, where plugin evals write `tool` or, for an order, the bare name."""
    if kind == "tool_used":
        return {("name" if key == "tool" else key): value for key, value in raw.items()}
    return {key: _call(value) if key in ("before", "after") else value for key, value in raw.items()}


def _call(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    return {("name" if key == "tool" else key): inner for key, inner in value.items()} if isinstance(value, dict) else value


def _validated(kind: str, options: dict[str, Any], raw: dict[str, Any], at: Pointer, notes: Notes) -> bool:
    record = _record(kind)
    assert record is not None, "unknown types are refused before"
    if options.keys() == _texts(kind) and all(type(value) is str for value in options.values()):
        return True  # nothing but the texts it needs
    for key, value in options.items():
        wrong = None
        if key == "case_sensitive" and not isinstance(value, bool):
            wrong = "is true or false"
        elif (
            (key in _NUMBERS or (key == "value" and record is Number)) and value is not None and (isinstance(value, (bool, str)))
        ):
            wrong = "is a number"
        if wrong:
            notes.error("check-option", f"'{key}' {wrong}", (*at, key))
            return False
    try:
        record.model_validate(options)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_context=False, include_input=False):
            _option_fault(one, raw, at, notes)
        return False
    return True


def _option_fault(one: Any, raw: dict[str, Any], at: Pointer, notes: Notes) -> None:
    location = tuple(part for part in one["loc"] if isinstance(part, (str, int)))
    name = str(location[0]) if location else ""
    if one["type"] == "missing":
        others = [key for key in raw if key not in _COMMON]
        close = get_close_matches(name, others, 1, 0.6)
        notes.error(
            "check-option",
            f"'{raw.get('type', 'check')}' needs '{name}'",
            at,
            f"is '{close[0]}' meant to be '{name}'?" if close else None,
        )
    else:
        message = one["msg"].removeprefix("Value error, ")
        place = (*at, *location) if name in raw else at
        notes.error("check-option", f"'{name}': {message[:1].lower()}{message[1:]}" if name else message, place)


def _sound(kind: str, options: dict[str, Any], at: Pointer, notes: Notes) -> bool:
    """What a record's types cannot say: blanks, paths, patterns, bounds."""
    before = len(notes.problems)
    for key, value in options.items():
        if key in _NOT_BLANK and isinstance(value, str) and not value.strip():
            notes.error("check-option", f"'{key}' is empty", (*at, key))
    for key in ("values", "argv", "commands"):
        if key in options and (not options[key] or any(not str(value).strip() for value in options[key])):
            notes.error("check-option", f"'{key}' needs at least one text, none of them empty", (*at, key))
    path = options.get("path")
    if kind in _PATH_TYPES and isinstance(path, str) and path.strip() and (why := safe_path(path)):
        notes.error("check-path", f"the path '{shown(path)}' {why}", (*at, "path"))
    for path in options.get("paths", ()) if kind == "only_changed" else ():
        if why := safe_path(path):
            notes.error("check-path", f"the path '{shown(path)}' {why}", (*at, "paths"))
    for place, pattern in _patterns(options):
        if why := patterns.fault(pattern):
            notes.error("check-pattern", f"'{shown(pattern)}' is no regular expression: {why}", (*at, *place))
    if kind == "json_schema" and (why := _schema_fault(options["json_schema"])):
        notes.error("check-schema", f"the schema itself is wrong: {why}", (*at, "json_schema"))
    if kind == "tool_call_count":
        _bounds(options, at, notes)
    if kind == "number" and (options.get("tolerance", 0) < 0 or options.get("relative", 0) < 0):
        notes.error("check-option", "a tolerance is 0 or more", at)
    return len(notes.problems) == before


def _schema_fault(schema: dict[str, Any]) -> str | None:
    """Why nothing can be checked against a JSON Schema, by the draft it names; None: it can."""
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import SchemaError

    try:
        validators.validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return shown(error.message)
    except RecursionError:
        return "it is nested too deeply"
    return None


def _patterns(options: dict[str, Any]) -> Iterator[tuple[Pointer, str]]:
    """Regular expressions among the options, with their places."""
    for key in ("pattern", "input_match"):
        if isinstance(options.get(key), str):
            yield (key,), options[key]
    for key in ("before", "after"):
        call = options.get(key)
        if isinstance(call, dict) and isinstance(call.get("input_match"), str):
            yield (key, "input_match"), call["input_match"]


def _bounds(options: dict[str, Any], at: Pointer, notes: Notes) -> None:
    low, high = options.get("min"), options.get("max")
    if low is None and high is None:
        notes.error("check-option", "a count needs 'min', 'max' or both", at)
    elif (low is not None and low < 0) or (high is not None and high < 0):
        notes.error("check-option", "a count is 0 or more", at)
    elif low is not None and high is not None and low > high:
        notes.error("check-option", f"'min' {low} is above 'max' {high}", (*at, "min"))


@cache
def _fields(kind: str) -> frozenset[str]:
    record = _record(kind)
    return frozenset(record.model_fields) if record else frozenset()


@cache
def _texts(kind: str) -> frozenset[str]:
    """The required options of a type of ours that needs nothing but texts; for other types what no options equal."""
    if kind not in CHECKS:
        return frozenset({""})
    required = {name: field.annotation for name, field in CHECKS[kind].model_fields.items() if field.is_required()}
    only_texts = bool(required) and all(annotation is str for annotation in required.values())
    return frozenset(required) if only_texts else frozenset({""})


def _did_you_mean(kind: str) -> str:
    known = sorted({*CHECKS, *installed_types()} - {"quality"})
    close = get_close_matches(kind, known, 1) or get_close_matches(kind, list(_ALIASES), 1)
    return (f"did you mean '{close[0]}'? " if close else "") + f"known types: {', '.join(known)}"


def _kind_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")


_LABELS: dict[str, Callable[[dict[str, Any]], str]] = {
    "contains": lambda o: f"the answer contains '{o['value']}'",
    "not_contains": lambda o: f"the answer does not contain '{o['value']}'",
    "contains_all": lambda o: "the answer contains all of " + ", ".join(f"'{v}'" for v in o["values"]),
    "contains_any": lambda o: "the answer contains one of " + ", ".join(f"'{v}'" for v in o["values"]),
    "regex": lambda o: f"{_subject(o)} matches /{o['pattern']}/{o.get('flags', '')}{_exactly(o)}",
    "not_regex": lambda o: f"{_subject(o)} does not match /{o['pattern']}/{o.get('flags', '')}{_exactly(o)}",
    "file_exists": lambda o: f"the run creates or changes {o['path']}",
    "file_not_exists": lambda o: f"there is no {o['path']}",
    "file_unchanged": lambda o: f"{o['path']} is unchanged",
    "only_changed": lambda o: "nothing is touched but " + ", ".join(o["paths"]) if o["paths"] else "no file is touched",
    "file_contains": lambda o: f"{_subject(o)} contains '{o['contains']}'",
    "file_not_contains": lambda o: f"{_subject(o)} does not contain '{o['contains']}'",
    "loaded_skill": lambda o: (
        f"the skill {o.get('skill') or 'under test'} is {'loaded' if o.get('loaded', True) else 'not loaded'}"
    ),
    "command_ran": lambda o: f"a command holding '{o['command']}' ran",
    "command_not_ran": lambda o: f"no command holding '{o['command']}' ran",
    "command_order": lambda o: "commands ran in this order: " + ", ".join(f"'{v}'" for v in o["commands"]),
    "tests_pass": lambda o: f"the tests pass ({o['command']})" if o.get("command") else "the tests pass",
    "git_clean": lambda _: "the git work tree is clean",
    "git_branch": lambda o: f"{_some(o)} branch is created",
    "git_commit": lambda o: f"{_some(o)} commit is created",
    "git_pushed": lambda o: f"{_some(o)} branch is pushed",
    "pr_created": lambda o: f"{_some(o)} pull or merge request is created",
    "json_path": lambda o: f"{o['json_path']} is there" + (f" and equals {o['equals']!r}" if o.get("equals") is not None else ""),
    "json_path_not_exists": lambda o: f"there is no {o['json_path']}",
    "valid_json": lambda o: f"{_subject(o)} is valid JSON",
    "json_schema": lambda o: f"{_subject(o)} satisfies its JSON Schema",
    "number": lambda o: f"the number is {o['value']}" + (f" ± {o['tolerance']}" if o.get("tolerance") else ""),
    "command": lambda o: f"`{o.get('shell') or ' '.join(map(str, o.get('argv', ())))}` ends with status {o.get('exit_code', 0)}",
    "tool_called": lambda o: f"the tool {o['name']} is called",
    "tool_not_called": lambda o: f"the tool {o['name']} is not called",
    "tool_arg_equals": lambda o: f"the argument {o['path']} of {o['name']} equals {o['value']!r}",
    "tool_arg_contains": lambda o: f"the argument {o['path']} of {o['name']} contains '{o['value']}'",
    "tool_arg_matches": lambda o: f"the argument {o['path']} of {o['name']} matches /{o['pattern']}/{o.get('flags', '')}",
    "tool_call_count": lambda o: f"{o.get('name') or 'tools'} called {_count(o)} times",
    "tool_used": lambda o: f"{_tool(o)} called {_count({'min': 1, **o})} times",
    "tool_order": lambda o: f"{_tool(o['before'])} called before {_tool(o['after'])}",
}


def label(kind: str, options: dict[str, Any]) -> str:
    """What a check is called that says nothing itself."""
    made = _LABELS.get(kind)
    if made is None:
        told = ", ".join(f"{name} {value!r}" for name, value in options.items())
        return shown(f"{kind}: {told}" if told else kind, 200)
    return shown(made(options), 200)


def _some(options: dict[str, Any]) -> str:
    return "no" if options.get("absent") else "a"


def _subject(options: dict[str, Any]) -> str:
    return "a file the run made" if options.get("files") else str(options.get("path") or "the answer")


def _exactly(options: dict[str, Any]) -> str:
    return f" {options['count']} times" if options.get("count") is not None else ""


def _tool(call: dict[str, Any]) -> str:
    return str(call["name"]) + (f" with /{call['input_match']}/" if call.get("input_match") else "")


def _count(options: dict[str, Any]) -> str:
    low, high = options.get("min"), options.get("max")
    if low is not None and high is not None:
        return f"{low} to {high}" if low != high else str(low)
    return f"at least {low}" if low is not None else f"at most {high}"
