"""`agent-skills-eval.yaml`: another tool's settings, read with that tool's own defaults.

Keys are camelCase, wrong types are errors, null is absent, unknown keys are warned about (there they are silently
ignored), and paths are relative to the working folder. As there, every assertion decides the exit code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skilltrial.errors import BadInput
from skilltrial.load.complaints import did_you_mean
from skilltrial.load.document import Pointer
from skilltrial.load.settings_text import Settings
from skilltrial.records.config import Config, GateConfig, LoggingConfig, ReportConfig, TargetConfig
from skilltrial.records.problems import Problem

FILE_NAMES = ("agent-skills-eval.yaml", "agent-skills-eval.yml", "agent-skills-eval.json")
DEFAULT_MODEL = "gpt-4o-mini"
DEFAULT_CONCURRENCY = 4
WORKSPACE = "agent-skills-workspace"
_MARKS = {"root", "target", "baseUrl", "apiKeyEnv", "targetParams", "judgeParams", "evalIds", "judgeRuntime", "runtimeOptions"}
_OURS = {"skills", "targets", "arms", "repetitions", "suites", "gate"}
RUNTIMES = {"provider": "openai", "codex": "codex", "claude": "claude-code"}
"""What it calls a runtime, and our backend."""
_NO_COUNTERPART = {
    "structuredOutput": "a judge is asked for JSON by a schema wherever its endpoint or program takes one",
    "judgeOptions": "settings of a judge's program stand under `judge` in skilltrial.yaml",
    "allowWrites": "an agent always works in a fresh folder of its own, where it may write; `allowedTools` holds it back",
}
"""Keys of its agent runs that are read and not needed, and why."""


def claims(path: Path, document: Settings) -> bool:
    """By its name, or by keys that only that tool has."""
    if path.name.startswith("agent-skills-eval."):
        return True
    keys = set(document.value) if isinstance(document.value, dict) else set()
    return bool(keys & _MARKS) and not keys & _OURS


def read(document: Settings, cwd: Path) -> tuple[Config, tuple[Problem, ...]]:
    """Settings and warnings.

    Raises:
        BadInput: values of a wrong type, all at once.
    """
    keys = _Keys(document, _TYPES)
    given = keys.values(document.value or {}, (), _TYPES)
    logging = keys.values(given.get("logging", {}), ("logging",), _LOGGING)
    report = given.get("report", True)
    report = keys.values(report, ("report",), _REPORT) if isinstance(report, dict) else {"enabled": report}
    runtime = keys.values(given.get("runtimeOptions", {}), ("runtimeOptions",), _RUNTIME)
    for name in ("targetParams", "judgeParams"):
        for key in sorted({"model", "messages"} & set(given.get(name, {}))):
            found = f"'{key}' is never overwritten by parameters"
            keys.errors.append(document.problem((name, key), "params-refused", found, "name models under target and judge"))
    if keys.errors:
        raise BadInput(tuple(keys.errors))
    return _config(given, logging, report, runtime, cwd), tuple(keys.warnings)


def _config(given: dict[str, Any], logging: dict[str, Any], report: dict[str, Any], runtime: dict[str, Any], cwd: Path) -> Config:
    """What holds for every call (address, key, parameters) stands in the common options, so that `--target` keeps it."""
    kind = given.get("runtime", "provider")
    target = _target(given.get("target"), kind, runtime)
    judge_kind = given.get("judgeRuntime", kind)
    judge = "none" if judge_kind == "none" else _target(given.get("judge") or given.get("target"), judge_kind, {})
    address = {name: given[key] for name, key in (("base_url", "baseUrl"), ("api_key_env", "apiKeyEnv")) if key in given}
    common = address if kind == "provider" else {}
    apart = address if judge_kind == "provider" != kind else {}
    said: dict[str, Any] = {
        "paths": (os.path.normpath(cwd / given.get("root", ".")),),
        "workspace": os.path.normpath(cwd / given.get("workspace", WORKSPACE)),
        "targets": (target,),
        "judge": judge,
        "options": common | ({"params": given["targetParams"]} if "targetParams" in given else {}),
        "judge_params": given.get("judgeParams", {}),
        "baseline": given.get("baseline", False),
        "concurrency": int(given.get("concurrency", DEFAULT_CONCURRENCY)),
        "strict": given.get("strict", False),
        "gate": GateConfig(cases="every", checks="all"),
        "report": _report(given, report, cwd),
        "logging": _logging(logging, cwd),
    }
    said |= {f"judge_{name}": value for name, value in apart.items()}
    for key, name in (("include", "include"), ("exclude", "exclude"), ("evalIds", "eval_ids")):
        if key in given:
            said[name] = tuple(str(value) for value in given[key])
    return Config(**said)


def _target(model: str | None, runtime: str, settings: dict[str, Any]) -> TargetConfig:
    """A program keeps its own model where none is named."""
    backend = RUNTIMES[runtime]
    if backend == "openai":
        return TargetConfig(backend=backend, model=model or DEFAULT_MODEL)
    options = {
        name: settings[key] for name, key in (("path", "executable"), ("max_output_bytes", "maxOutputBytes")) if key in settings
    }
    return TargetConfig(
        backend=backend,
        model=model,
        timeout_s=settings["timeoutMs"] / 1000 if "timeoutMs" in settings else None,
        args=tuple(settings.get("executableArgs", ())),
        allowed_tools=tuple(settings.get("allowedTools", ())),
        options=options,
    )


def _report(given: dict[str, Any], report: dict[str, Any], cwd: Path) -> ReportConfig:
    """Its `output` is a folder. Without a page there is none to put there."""
    wanted = report.get("enabled", True)
    output = (os.path.normpath(cwd / report["output"] / "index.html"),) if wanted and "output" in report else ()
    return ReportConfig(
        title=report.get("title"), output=output, html=None if wanted else False, layout=given.get("layout", "iteration")
    )


def _logging(logging: dict[str, Any], cwd: Path) -> LoggingConfig:
    return LoggingConfig(
        format=logging.get("format"),
        file=os.path.normpath(cwd / logging["file"]) if "file" in logging else None,
        verbose=logging.get("verbose"),
        color=logging.get("color"),
        snippet_length=logging.get("snippetLength"),
    )


class _Keys:
    """Takes known keys of the right type, and keeps what is wrong with the others."""

    def __init__(self, document: Settings, known: dict[str, tuple[str, Callable[[Any], bool]]]) -> None:
        self.document = document
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def values(self, given: Any, steps: Pointer, known: dict[str, tuple[str, Callable[[Any], bool]]]) -> dict[str, Any]:
        if not isinstance(given, dict):
            self.errors.append(self.document.problem(steps, "wrong-value", "expected a mapping"))
            return {}
        taken = {}
        for key, value in given.items():
            inner = (*steps, key)
            if key in _NO_COUNTERPART and key in known:
                self.warnings.append(
                    self.document.problem(
                        inner, "no-counterpart", f"'{key}' changes nothing: {_NO_COUNTERPART[key]}", None, "warning"
                    )
                )
            elif key not in known:
                hint = did_you_mean(key, list(known), "known keys")
                self.warnings.append(
                    self.document.problem(inner, "unknown-key", f"unknown key '{key}' is ignored", hint, "warning")
                )
            elif value is None:
                continue
            elif not known[key][1](value):
                self.errors.append(self.document.problem(inner, "wrong-value", f"expected {known[key][0]}"))
            else:
                taken[key] = value
        return taken


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf")


def _one_of(*words: str) -> tuple[str, Callable[[Any], bool]]:
    return "one of " + ", ".join(words), lambda value: value in words


_TEXT = ("text", lambda value: isinstance(value, str))
_BOOL = ("true or false", lambda value: isinstance(value, bool))
_COUNT = ("a whole number of 1 or more", lambda value: _is_number(value) and value >= 1 and value == int(value))
_LENGTH = ("a whole number of 0 or more", lambda value: _is_number(value) and value >= 0 and value == int(value))
_TEXTS = ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value))
_IDS = ("a list of ids", lambda value: isinstance(value, list) and all(isinstance(one, str | int) for one in value))
_OBJECT = ("a mapping", lambda value: isinstance(value, dict))
_ANY = ("anything", lambda value: True)
_ANY_OBJECT = ("true, false or a mapping", lambda value: isinstance(value, dict | bool))
_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "root": _TEXT, "workspace": _TEXT, "baseline": _BOOL, "target": _TEXT, "judge": _TEXT, "baseUrl": _TEXT,
    "apiKeyEnv": _TEXT, "include": _TEXTS, "exclude": _TEXTS, "evalIds": _IDS, "concurrency": _COUNT, "strict": _BOOL,
    "layout": _one_of("iteration", "flat"), "report": _ANY_OBJECT, "logging": _OBJECT, "targetParams": _OBJECT,
    "judgeParams": _OBJECT, "runtime": _one_of(*RUNTIMES), "judgeRuntime": _one_of(*RUNTIMES, "none"),
    "runtimeOptions": _OBJECT, "judgeOptions": _ANY, "structuredOutput": _ANY,
}  # fmt: skip
_LOGGING: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "format": _one_of("pretty", "jsonl", "silent"), "verbose": _BOOL, "file": _TEXT, "snippetLength": _LENGTH,
    "color": ("true, false or auto", lambda value: isinstance(value, bool) or value == "auto"),
}  # fmt: skip
_REPORT: dict[str, tuple[str, Callable[[Any], bool]]] = {"enabled": _BOOL, "title": _TEXT, "output": _TEXT}
_RUNTIME: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "timeoutMs": ("a number above 0", lambda value: _is_number(value) and value > 0),
    "maxOutputBytes": _COUNT,
    "executable": _TEXT,
    "executableArgs": _TEXTS,
    "allowedTools": _TEXTS,
    "allowWrites": _ANY,
}
