"""What pydantic refuses, said in our words and with its place in the user's file."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skilltrial.load.document import Pointer
from skilltrial.load.settings_text import Settings
from skilltrial.records.problems import Problem
from skilltrial.records.record import Record

_EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_pattern_mismatch": "text of the form {pattern}",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "greater_than": "more than {gt}",
}


def problems_of(error: ValidationError, document: Settings, model: type[Record]) -> tuple[Problem, ...]:
    """One problem per place."""
    problems: dict[Pointer, Problem] = {}
    for detail in error.errors(include_url=False):
        steps = _steps(detail["loc"], document.value)
        problems.setdefault(steps, _problem(detail, steps, document, model))
    return tuple(problems.values())


def expected(detail: ErrorDetails) -> str:
    """What would be right, in plain words."""
    form = _EXPECTED.get(detail["type"])
    return form.format(**detail.get("ctx", {})) if form else detail["msg"]


def did_you_mean(word: str, known: list[str], title: str) -> str:
    """A hint naming the nearest known word, and all of them when they are few."""
    close = get_close_matches(word, known, 1, 0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"{title}: {', '.join(sorted(known))}"


def _problem(detail: ErrorDetails, steps: Pointer, document: Settings, model: type[Record]) -> Problem:
    if detail["type"] == "extra_forbidden":
        key = str(steps[-1])
        known = _keys(_model_at(model, steps[:-1]))
        return document.problem(steps, "unknown-key", f"unknown key '{key}'", did_you_mean(key, known, "known keys"))
    if detail["type"] == "missing":
        return document.problem(steps, "missing-key", f"key '{steps[-1]}' is missing")
    return document.problem(steps, "wrong-value", f"found {_shown(detail['input'])}; expected {expected(detail)}")


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list | tuple):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = str(value)
    return repr(text if len(text) <= 60 else text[:57] + "...") if isinstance(value, str) else text


def _steps(loc: tuple[int | str, ...], value: Any) -> Pointer:
    """`loc` without the names that pydantic adds for the branch of a union; a missing key is its last step."""
    steps: list[int | str] = []
    for index, step in enumerate(loc):
        if _has(value, step):
            value = value[step]
        elif isinstance(value, dict) and index == len(loc) - 1:
            value = None
        else:
            continue
        steps.append(step)
    return tuple(steps)


def _has(value: Any, step: int | str) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _keys(model: type[Record] | None) -> list[str]:
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _model_at(model: type[Record], steps: Pointer) -> type[Record] | None:
    """The record that stands at `steps`, whatever unions and lists lie between."""
    options: list[Any] = [model]
    for step in steps:
        inner: list[Any] = []
        for option in options:
            if isinstance(option, type) and issubclass(option, Record):
                for name, field in option.model_fields.items():
                    if step in (name, field.alias):
                        inner += _branches(field.annotation)
            elif get_origin(option) is tuple:
                inner += _branches(get_args(option)[0])
            elif get_origin(option) is dict:
                inner += _branches(get_args(option)[1])
        options = inner
    return next((option for option in options if isinstance(option, type) and issubclass(option, Record)), None)


def _branches(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _branches(get_args(annotation)[0])
    if origin is not None and origin not in (tuple, dict) and not isinstance(annotation, type):
        return [branch for argument in get_args(annotation) for branch in _branches(argument)]
    return [annotation]
