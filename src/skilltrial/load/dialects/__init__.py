"""Forms of suites. To add one, add a file here with a `plugin` (see `reading.Dialect`); nothing else changes."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from skilltrial.load.dialects import _unread
from skilltrial.load.reading import Dialect


@cache
def all_dialects() -> tuple[Dialect, ...]:
    """Every dialect, in the order they are asked."""
    names = (module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    found: list[Dialect] = [import_module(f"{__name__}.{name}").plugin for name in names]
    return tuple(sorted(found, key=lambda dialect: dialect.rank))


def dialect_of(value: Any) -> Dialect | None:
    """The dialect that claims a file's data."""
    return next((dialect for dialect in all_dialects() if dialect.claims(value)), None)


def not_read(value: Any) -> tuple[str, str]:
    """What is said of a file no dialect claims: what it is and the keys seen; and a hint."""
    name = _unread.name_of(value)
    what = f"this is the form '{name}', which is not read" if name else "this is no form of suite we know"
    hint = "name the folder of all cases" if name and "plugin-eval" in name else None
    return (
        f"{what}; keys seen: {_unread.keys_of(value)}",
        hint or 'the shared form is {"evals": [{"prompt": …}]}; skilltrial convert --help lists the others that are read',
    )
