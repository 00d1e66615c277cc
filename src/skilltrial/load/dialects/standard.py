"""`{"evals": [...]}`: the standard's form, which skill-creator, agent-skills-eval, agent-skill-eval, skill-ab-eval and the
handbook share and extend. All extensions are read together; which of them were seen stands in `markers`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, get_args

from skilltrial.load import runtime_checks
from skilltrial.load.cases import SuiteSettings, params_of, read_case, told_unknown_key, tools_of
from skilltrial.load.document import Notes, shown
from skilltrial.load.reading import Reading
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import Case, Stage, Suite

HANDBOOK_TYPES = frozenset(
    {"contains", "not_contains", "contains_all", "contains_any", "regex", "not_regex", "file_exists", "loaded_skill"}
)
_ASE_PY_KEYS = frozenset({"should_trigger", "force_skill_invocation", "stage_files", "side_effect_level", "side_effect_contract"})
_ASE_PY_TYPES = frozenset(
    {"file_exists", "file_not_exists", "file_contains", "file_not_contains", "file_unchanged", "command_ran", "command_not_ran", "tests_pass",
     "git_clean", "json_path", "json_path_not_exists"}
)  # fmt: skip
_ASE_NPM_KEYS = frozenset({"params", "tools", "tool_choice", "tool_assertions"}) | runtime_checks.KEYS
_NAMES = {
    "skill-creator": "skill-creator",
    "ase-npm": "agent-skills-eval",
    "ase-py": "agent-skill-eval",
    "skill-ab-eval": "skill-ab-eval",
    "handbook": "handbook",
}
TOP_KEYS = frozenset({"skill_name", "evals", "defaults", "stage", "files_base", "prose_checks", "$schema", "skill", "reviewed"})
"""All keys of a suite that mean something."""
_PROSE = ("auto", "ase", "off")
_STAGES: tuple[str, ...] = get_args(Stage)
_BASES = ("skill", "evals", "repository")


class Standard:
    """The shared form of evals.json, also as YAML."""

    name = "standard"
    rank = 50
    single = False

    def claims(self, value: Any) -> bool:
        return isinstance(value, dict) and "evals" in value

    def read(self, reading: Reading) -> Suite | None:
        value, notes = reading.value, reading.notes
        raw_cases = value["evals"]
        if not isinstance(raw_cases, list):
            notes.error("evals-form", "'evals' is a list of cases", ("evals",))
            return None
        if not raw_cases:
            notes.error("no-cases", "'evals' holds no case, so there is nothing to measure", ("evals",))
            return None
        check_skill_name(value, reading)
        markers = markers_of(value, raw_cases)
        settings = settings_of(value, markers, reading)
        cases = [read_case(raw, number + 1, ("evals", number), reading, settings) for number, raw in enumerate(raw_cases)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, notes)
        extra = {key: inner for key, inner in value.items() if key not in TOP_KEYS}
        for key in extra:
            told_unknown_key(key, TOP_KEYS, (), notes, "of a suite")
        extra |= _review(value, notes)
        own = [marker for marker in markers if marker in _NAMES]
        return reading.suite(_NAMES[own[0]] if len(own) == 1 else "standard", kept, markers, extra)


def _review(value: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Says when a drafted suite was looked at by nobody yet."""
    reviewed = value.get("reviewed", True)
    if not isinstance(reviewed, bool):
        notes.error("reviewed", "'reviewed' is true or false", ("reviewed",))
    elif not reviewed:
        notes.say(
            "www", "unreviewed", "this suite is a draft that nobody has reviewed", ("reviewed",), "mend it, then take the key out"
        )
        return {"reviewed": False}
    return {}


def check_skill_name(value: dict[str, Any], reading: Reading) -> None:
    """Warns when the suite names another skill than the one it belongs to."""
    name = value.get("skill_name")
    if name is None:
        return
    if not isinstance(name, str):
        reading.notes.error("skill-name", "'skill_name' is text", ("skill_name",))
    elif reading.skill_id and name not in (reading.skill_name, reading.folder_name):
        reading.notes.say(
            "wwe",
            "skill-name",
            f"'skill_name' is '{shown(name)}', but the suite belongs to the skill '{shown(reading.skill_name)}'",
            ("skill_name",),
        )


def unique_ids(cases: list[Case], notes: Notes) -> None:
    """Reports ids that are equal as text or would give the same folder on a disk that ignores capitals."""
    seen: dict[str, Case] = {}
    for case in cases:
        other = seen.setdefault(case.id.casefold(), case)
        if other is not case:
            pointer = case.where.pointer or ""
            place = tuple(
                int(part) if part.isdigit() else part for part in pointer.replace("]", "").replace("[", ".").split(".") if part
            )
            how = "is used twice" if other.id == case.id else f"differs from '{shown(other.id)}' by capitals only"
            notes.error(
                "duplicate-id",
                f"the case id '{shown(case.id)}' {how}",
                (*place, "id") if case.given_id is not None else place,
                "ids name cases everywhere; give each its own",
            )


def markers_of(value: dict[str, Any], cases: list[Any]) -> tuple[str, ...]:
    """Which tools' extensions the file uses."""
    objects = [case for case in cases if isinstance(case, dict)]
    keys: set[str] = set().union(*objects)
    found = []
    if "expectations" in keys:
        found.append("skill-creator")
    if keys & _ASE_NPM_KEYS or "defaults" in value:
        found.append("ase-npm")
    # agent-skills-eval's agent runs have a should_trigger of their own.
    own = _ASE_PY_KEYS - ({"should_trigger"} if keys & runtime_checks.KEYS else set())
    if keys & own or ("assertions" in keys and _structured(objects)):
        found.append("ase-py")
    if "files" in keys and any(_placeholders(case) for case in objects):
        found.append("skill-ab-eval")
    if "checks" in keys and _handbook(objects):
        found.append("handbook")
    return tuple(found)


def _structured(cases: list[dict[str, Any]]) -> bool:
    lists = (case.get("assertions") for case in cases)
    return any(
        isinstance(item, dict) and item.get("type") in _ASE_PY_TYPES
        for items in lists
        if isinstance(items, list)
        for item in items
        if isinstance(item, dict) and isinstance(item.get("type"), str)
    )


def _placeholders(case: dict[str, Any]) -> bool:
    prompt, files = case.get("prompt"), case.get("files")
    if not isinstance(prompt, str) or "{{" not in prompt or not isinstance(files, list):
        return False
    return any(isinstance(path, str) and "{{" + path.rsplit("/", 1)[-1] + "}}" in prompt for path in files)


def _handbook(cases: list[dict[str, Any]]) -> bool:
    checks = [check for case in cases if isinstance(case.get("checks"), list) for check in case["checks"]]
    return bool(checks) and all(
        isinstance(check, dict) and "id" in check and isinstance(check.get("type"), str) and check["type"] in HANDBOOK_TYPES
        for check in checks
    )


def settings_of(value: dict[str, Any], markers: tuple[str, ...], reading: Reading) -> SuiteSettings:
    notes = reading.notes
    stage = _choice(value, "stage", _STAGES, notes)
    params: JsonObject = {}
    judge_params: JsonObject = {}
    tools: tuple[JsonObject, ...] = ()
    defaults = value.get("defaults")
    if defaults is not None and not isinstance(defaults, dict):
        notes.error("defaults-form", "'defaults' is an object", ("defaults",))
    elif defaults:
        params = _default_params(defaults, "target", notes)
        judge_params = _default_params(defaults, "judge", notes)
        tools = tools_of(defaults["tools"], ("defaults", "tools"), notes) if defaults.get("tools") is not None else ()
        for key in defaults.keys() - {"target", "judge", "tools"}:
            notes.say("wwe", "unknown-key", f"the key '{shown(key)}' of the defaults is not used", ("defaults", key))
    return SuiteSettings(
        stage=reading.stage or stage or "flat",  # type: ignore[arg-type]
        files_base=_choice(value, "files_base", _BASES, notes),
        params=params,
        judge_params=judge_params,
        tools=tools,
        routed=_is_routed(value, markers, reading),
        structured_strict="ase-py" in markers and "handbook" not in markers and "ase-npm" not in markers,
        case_folders="ase-py" in markers and stage is None and reading.stage is None,
    )


def _is_routed(value: dict[str, Any], markers: tuple[str, ...], reading: Reading) -> bool:
    """What the user asks for, else what the suite says, else what its extensions tell."""
    said = _choice(value, "prose_checks", _PROSE, reading.notes)
    chosen = reading.prose if reading.prose != "auto" else said or "auto"
    return chosen == "ase" or (chosen == "auto" and "ase-py" in markers)


def _default_params(defaults: dict[str, Any], whose: str, notes: Notes) -> JsonObject:
    inner = defaults.get(whose)
    if inner is None:
        return {}
    if not isinstance(inner, dict):
        notes.error("defaults-form", f"'defaults.{whose}' is an object with 'params'", ("defaults", whose))
        return {}
    return params_of(inner.get("params"), {}, ("defaults", whose, "params"), notes)


def _choice(value: dict[str, Any], key: str, allowed: tuple[str, ...], notes: Notes) -> str | None:
    given = value.get(key)
    if given is None or (isinstance(given, str) and given in allowed):
        return given
    close = get_close_matches(str(given), allowed, 1)
    notes.error("choice", f"'{key}' is one of {', '.join(allowed)}", (key,), f"did you mean '{close[0]}'?" if close else None)
    return None


plugin = Standard()
