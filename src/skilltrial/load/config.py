"""Settings from a file, the environment and the command line, as layers that are merged.

An option wins over the environment, the environment over the file, the file over a default.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from skilltrial.errors import BadInput, UsageError
from skilltrial.load import foreign_config
from skilltrial.load.complaints import did_you_mean, expected, problems_of
from skilltrial.load.document import Pointer
from skilltrial.load.settings_text import Settings, read_toml_table, read_yaml
from skilltrial.load.targets import ALIASES, BACKENDS, TAKE_A_PATH, is_backend, looks_like_path, parse_target
from skilltrial.records.config import Config, GateConfig, LoggingConfig, ReportConfig, SuiteConfig, TargetConfig
from skilltrial.records.config_file import ConfigFile
from skilltrial.records.problems import Problem
from skilltrial.records.record import Record

RecordT = TypeVar("RecordT", bound=Record)
PRICE_KEYS = ("prompt", "completion", "input_cache_read", "input_cache_write")
LIMIT_KEYS = (
    "input_tokens", "non_cached_input_tokens", "output_tokens", "reasoning_tokens", "total_tokens", "cost_usd",
    "duration_s", "tool_calls",
)  # fmt: skip
FILE_NAMES = ("skilltrial.yaml", "skilltrial.yml")
PREFIX = "SKILLTRIAL_"
_NOT_SETTINGS = {"SKILLTRIAL_CELL", "SKILLTRIAL_HOOK_TIMEOUT"}
"""Variables of ours that mean something else."""
_ASE = {
    "ASE_AGENT_TIMEOUT": "timeout_s",
    "ASE_AGENT_RETRIES": "retries",
    "SKILLTRIAL_HOOK_TIMEOUT": "hook_timeout_s",
    "ASE_HOOK_TIMEOUT": "hook_timeout_s",
    "ASE_KEEP_WORKSPACE": "keep_workspaces",
}
_SCALARS = (
    "judge", "judge_base_url", "judge_api_key_env", "judge_mode", "baseline", "repetitions", "concurrency", "timeout_s",
    "retries", "max_output_bytes", "metric", "margin", "prose_checks", "stage", "gate", "sandbox", "network", "image",
    "keep_workspaces", "workspaces_dir", "workspace", "run_id", "source_repo", "strict", "skip_invalid", "library", "grade_later",
    "reuse", "certify", "user_home",
    "replay", "seed", "shard", "yes", "hook_timeout_s", "target", "env", "max_cost_usd", "max_calls", "max_duration_s",
)  # fmt: skip
"""Settings that a variable can hold: `SKILLTRIAL_REPETITIONS=3`. `env` is a list with commas."""
_RENAMED = {
    "target": ("targets",), "baseline": ("arms", "baseline"), "hook_timeout_s": ("hooks", "timeout_s"),
    "max_cost_usd": ("budgets", "max_cost_usd"), "max_calls": ("budgets", "max_calls"),
    "max_duration_s": ("budgets", "max_duration_s"),
}  # fmt: skip


COMMON = ("base_url", "api_key_env", "headers", "allowed_tools", "reasoning_effort")
"""What can be said of one target and of all, but for params and the time limit."""


class FromEnvironment(NamedTuple):
    """Settings in variables, and what has to be said: foreign variables that were used, misspelt ones of ours."""

    config: Config
    notes: tuple[str, ...]


class FromFile(NamedTuple):
    """Settings in a file, and its warnings."""

    config: Config
    warnings: tuple[Problem, ...] = ()
    foreign: bool = False
    """It is agent-skills-eval's."""


class Found(NamedTuple):
    """Which settings file holds here."""

    path: Path | None
    notes: tuple[str, ...] = ()


def find(cwd: Path) -> Path | None:
    """The settings file for `cwd`; None when there is none."""
    return look(cwd).path


def look(cwd: Path) -> Found:
    """The nearest skilltrial.yaml or pyproject.toml with [tool.skilltrial], from `cwd` up to the repository root.

    In one folder skilltrial.yaml wins, and a note says so. Outside a repository only `cwd` itself is looked at.
    agent-skills-eval.yaml is never found, as it is not there either; a note says how it is named.
    """
    notes: tuple[str, ...] = ()
    for folder in _upwards(cwd.resolve()):
        found = [folder / name for name in FILE_NAMES if (folder / name).is_file()]
        project = folder / "pyproject.toml"
        if project.is_file() and _has_table(project):
            found.append(project)
        theirs = [folder / name for name in foreign_config.FILE_NAMES if (folder / name).is_file()]
        if theirs and not found and folder == cwd.resolve():
            notes = (f"{theirs[0].name} is not read unless it is named: --config {theirs[0].name}",)
        if found:
            found += theirs
            unused = ", ".join("[tool.skilltrial] in pyproject.toml" if path == project else path.name for path in found[1:])
            return Found(found[0], (f"{found[0]} is used, {unused} beside it is not",) if unused else ())
    return Found(None, notes)


def read(path: Path, cwd: Path | None = None) -> Config:
    """The settings in a file: ours, the table in a pyproject.toml, or an agent-skills-eval.yaml.

    Relative paths become absolute: from the file's folder in ours, from `cwd` in agent-skills-eval's.

    Raises:
        BadInput: every problem of the file at once, with line and column.
    """
    return read_with_warnings(path, cwd).config


def read_with_warnings(path: Path, cwd: Path | None = None) -> FromFile:
    """As `read`, with the warnings."""
    path = path.absolute()
    document = read_toml_table(path, "tool", "skilltrial") if path.suffix == ".toml" else read_yaml(path)
    if document is None:
        raise UsageError(f"{path} has no table [tool.skilltrial]")
    if foreign_config.claims(path, document):
        return FromFile(*foreign_config.read(document, cwd or Path.cwd()), foreign=True)
    return FromFile(_config(check_file(document), path.parent))


def check_file(document: Settings) -> ConfigFile:
    """The file's own form.

    Raises:
        BadInput: every problem at once.
    """
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise BadInput((document.problem((), "not-a-mapping", "the settings are not a mapping of keys to values"),))
    if value.get("prose_checks") is False:  # YAML 1.1 reads a bare `off` so
        value = {**value, "prose_checks": "off"}
    problems = list(_second_look(value, document))
    try:
        written = ConfigFile.model_validate_json(json.dumps(value, default=str), strict=True)
    except ValidationError as error:
        problems += problems_of(error, document, ConfigFile)
    if problems:
        raise BadInput(tuple(sorted(problems, key=lambda problem: (problem.where.line or 0, problem.where.column or 0))))
    return written


def from_environment(environ: Mapping[str, str]) -> FromEnvironment:
    """The settings in SKILLTRIAL_* variables, and in agent-skill-eval's own where ours are not set.

    Raises:
        UsageError: values that do not fit, all in one message.
    """
    known = {PREFIX + name.upper(): name for name in _SCALARS}
    said = {name: (variable, environ[variable]) for variable, name in known.items() if environ.get(variable)}
    notes = [note for variable in sorted(environ) if (note := _misspelt(variable, known))]
    for variable, name in _ASE.items():
        if environ.get(variable) and name not in said:
            value = environ[variable]
            if name == "keep_workspaces":
                value = "never" if value.lower() in ("0", "false", "no") else "all"
            said[name] = (variable, value)
            notes.append(f"{variable}={environ[variable]} is used, as {PREFIX}{name.upper()} is not set")
    return FromEnvironment(_config(_from_variables(said), Path.cwd()), tuple(notes))


def merge(lower: Config, upper: Config) -> Config:
    """`upper` over `lower`. What was not said in `upper` (not given, None or empty) leaves `lower`; lists replace lists.

    `gate`, `budgets`, `hooks`, `report` and `logging` are merged field by field, mappings key by key. What `upper` says for
    all targets replaces what single targets of `lower` say: an option beats the file, wherever it stands in the file.
    """
    merged = _merged(lower, upper)
    if upper.targets or not lower.targets:
        return merged
    return merged.model_copy(update={"targets": tuple(_said_for_all(target, upper) for target in lower.targets)})


def _said_for_all(target: TargetConfig, upper: Config) -> TargetConfig:
    """The target without what `upper` says for all."""
    free = {name: TargetConfig.model_fields[name].default for name in COMMON if upper.options.get(name)}
    if upper.timeout_s is not None:
        free["timeout_s"] = None
    params = upper.options.get("params")
    if isinstance(params, dict):
        free["params"] = {name: value for name, value in target.params.items() if name not in params}
    return target.model_copy(update=free)


def _merged(lower: RecordT, upper: RecordT) -> RecordT:
    said: dict[str, Any] = {}
    for name in upper.model_fields_set:
        value, below = getattr(upper, name), getattr(lower, name)
        if isinstance(value, Record) and isinstance(below, Record) and not isinstance(value, TargetConfig):
            said[name] = _merged(below, value)
        elif isinstance(value, dict) and isinstance(below, dict):
            said[name] = {**below, **value}
        elif value is not None and value != ():
            said[name] = value
    return lower.model_copy(update=said)


def _upwards(folder: Path) -> list[Path]:
    chain = [folder, *folder.parents]
    for index, place in enumerate(chain):
        if (place / ".git").exists():
            return chain[: index + 1]
    return [folder]


def _has_table(project: Path) -> bool:
    if b"tool.skilltrial" not in project.read_bytes():
        return False
    return read_toml_table(project, "tool", "skilltrial") is not None


def _second_look(value: dict[str, Any], document: Settings) -> Iterable[Problem]:
    """What types cannot tell: empty targets, unknown backends, keys of prices and limits."""
    targets = value.get("targets")
    entries: list[tuple[Pointer, Any]] = [(("targets", index), entry) for index, entry in enumerate(_list(targets))]
    for at, entry in [*entries, (("judge",), value.get("judge"))]:
        if isinstance(entry, str):
            yield from _unusable(entry, at, document)
        elif isinstance(entry, dict):
            yield from _unknown_backend(entry.get("backend"), (*at, "backend"), document)
            yield from _unknown(entry.get("pricing"), (*at, "pricing"), PRICE_KEYS, document)
    for model, prices in _dict(value.get("pricing")).items():
        yield from _unknown(prices, ("pricing", model), PRICE_KEYS, document)
    yield from _unknown(_dict(value.get("budgets")).get("per_case"), ("budgets", "per_case"), LIMIT_KEYS, document)


def _unusable(entry: str, at: Pointer, document: Settings) -> Iterable[Problem]:
    try:
        parse_target(entry)
    except UsageError as error:
        yield document.problem(at, "bad-target", error.message, error.hint)


def _unknown_backend(backend: Any, at: Pointer, document: Settings) -> Iterable[Problem]:
    if isinstance(backend, str) and not is_backend(ALIASES.get(backend, backend)):
        hint = did_you_mean(backend, [*BACKENDS], "known backends")
        yield document.problem(at, "unknown-backend", f"no backend called '{backend}'", hint)


def _unknown(given: Any, at: Pointer, known: tuple[str, ...], document: Settings) -> Iterable[Problem]:
    for key in _dict(given):
        if key not in known:
            yield document.problem((*at, key), "unknown-key", f"unknown key '{key}'", did_you_mean(key, [*known], "known keys"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _config(written: ConfigFile, base: Path) -> Config:
    """The file's form as settings, paths made absolute from `base`; only what was said is set."""
    said: dict[str, Any] = {}
    for name in written.model_fields_set - {"schema_"}:
        value = getattr(written, name)
        if name in _CONVERTED:
            said.update(_CONVERTED[name](value, base))
        elif value is not None:
            said[name] = value
    return Config(**said)


def _target(entry: str | TargetConfig, base: Path | None = None) -> TargetConfig:
    target = parse_target(entry).target if isinstance(entry, str) else entry
    backend = ALIASES.get(target.backend, target.backend)
    if base is None or target.model is None or backend not in TAKE_A_PATH:
        return target.model_copy(update={"backend": backend})
    return target.model_copy(update={"backend": backend, "model": _value(target.model, base)})


def _value(value: str, base: Path) -> str:
    """A value that names a file beside the settings, or looks like a path, as an absolute path; else as it stands."""
    return _absolute(value, base) if looks_like_path(value) or (base / value).exists() else value


def _absolute(value: str, base: Path) -> str:
    return os.path.normpath(base / os.path.expanduser(value))  # noqa: PTH111 - the other one fails for a user that is not there


def _absolutes(values: str | tuple[str, ...], base: Path) -> tuple[str, ...]:
    return tuple(_absolute(value, base) for value in ((values,) if isinstance(values, str) else values))


def _gate(entry: str | GateConfig) -> GateConfig:
    return GateConfig.model_validate({"cases": entry}) if isinstance(entry, str) else entry


def _pairs(pairs: tuple[SuiteConfig, ...], base: Path) -> tuple[SuiteConfig, ...]:
    return tuple(SuiteConfig(skill=_absolute(pair.skill, base), evals=_absolute(pair.evals, base)) for pair in pairs)


def _report(report: ReportConfig, base: Path) -> ReportConfig:
    return report.model_copy(update={"output": _absolutes(report.output, base)}) if report.output else report


def _logging(logging: LoggingConfig, base: Path) -> LoggingConfig:
    return logging.model_copy(update={"file": _absolute(logging.file, base)}) if logging.file not in (None, "-") else logging


def _judge(entry: str | TargetConfig | None, base: Path) -> dict[str, Any]:
    if entry is None:
        return {}
    return {"judge": "none" if entry == "none" else _target(entry, base)}


def _folder(name: str) -> Callable[[Any, Path], dict[str, Any]]:
    return lambda value, base: {} if value is None else {name: _absolute(value, base)}


_CONVERTED: dict[str, Callable[[Any, Path], dict[str, Any]]] = {
    "skills": lambda value, base: {"paths": _absolutes(value, base)},
    "evals": lambda value, base: {"evals": _absolutes(value, base)},
    "suites": lambda value, base: {"suites": _pairs(value, base)},
    "eval_ids": lambda value, base: {"eval_ids": tuple(str(one) for one in value)},
    "targets": lambda value, base: {"targets": tuple(_target(entry, base) for entry in value)},
    "judge": _judge,
    "arms": lambda value, base: {} if value.baseline is None else {"baseline": value.baseline},
    "gate": lambda value, base: {"gate": _gate(value)},
    "gates": lambda value, base: {"gates": {skill: _gate(entry) for skill, entry in value.items()}},
    "report": lambda value, base: {"report": _report(value, base)},
    "logging": lambda value, base: {"logging": _logging(value, base)},
    "source_repo": lambda value, base: {} if value is None else {"source_repo": _value(value, base)},
    "workspace": _folder("workspace"),
    "workspaces_dir": _folder("workspaces_dir"),
    "replay": _folder("replay"),
    "network": lambda value, base: {"network": {True: "on", False: "off"}.get(value, value)},
}
"""Keys of the file that become something else in the settings; the others are taken as they are."""


def _misspelt(variable: str, known: Mapping[str, str]) -> str | None:
    if not variable.startswith(PREFIX) or variable in known or variable in _NOT_SETTINGS:
        return None
    close = get_close_matches(variable, known, 1, 0.85)
    return f"{variable} is no setting of ours; did you mean {close[0]}?" if close else None


def _from_variables(said: Mapping[str, tuple[str, str]]) -> ConfigFile:
    document: dict[str, Any] = {}
    wrong: list[str] = []
    for name, (variable, text) in said.items():
        entry = _nested(name, text)
        try:
            ConfigFile.model_validate(entry)
            if name in ("target", "judge") and text != "none":
                parse_target(text)
        except ValidationError as error:
            wrong.append(f"{variable}={text!r}: expected {expected(error.errors()[0])}")
        except UsageError as error:
            wrong.append(f"{variable}={text!r}: {error.message}")
        for key, value in entry.items():
            document[key] = {**document.get(key, {}), **value} if isinstance(value, dict) else value
    if wrong:
        raise UsageError("\n".join(wrong))
    return ConfigFile.model_validate(document)


def _nested(name: str, text: str) -> dict[str, Any]:
    value: Any = text
    if name == "target":
        value = [text]
    elif name == "env":
        value = [part.strip() for part in text.split(",") if part.strip()]
    first, *rest = _RENAMED.get(name, (name,))
    return {first: {rest[0]: value}} if rest else {first: value}
