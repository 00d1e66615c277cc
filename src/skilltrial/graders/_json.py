"""JSON read strictly, paths into it, and equality that tells true from 1."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

MISSING = object()
"""Nothing lies at the path."""
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class NotJson(Exception):
    """The text is no JSON; the message says where it breaks."""


def loads(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        NotJson: with line and column; also for NaN, infinities, and nesting or numbers too large to read.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError as error:
        raise NotJson(str(error).split(";")[0]) from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def at(value: Any, path: str) -> Any:
    """What lies at a dot path (`a.b[0].c`, `a.b.0.c`, a leading `$.` allowed), or MISSING.

    A key that holds the whole path as it stands is found too.
    """
    if isinstance(value, dict) and path in value:
        return value[path]
    steps = path.removeprefix("$").removeprefix(".")
    for index, key in _STEP.findall(steps):
        if isinstance(value, list):
            spot = index or key
            if not spot.isdecimal() or int(spot) >= len(value):
                return MISSING
            value = value[int(spot)]
        elif isinstance(value, dict) and (key or index) in value:
            value = value[key or index]
        else:
            return MISSING
    return value


def same(one: Any, other: Any) -> bool:
    """Deep equality of JSON values: order of keys is irrelevant, of items not; true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool) and one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def short(value: Any, longest: int = 160) -> str:
    """The value as JSON on one line, cut."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else text[: longest - 1] + "…"
