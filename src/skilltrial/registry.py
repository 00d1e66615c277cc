"""A plug-in by family and name: a file of ours, or an installed entry point `skilltrial.<family>`."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.abc import SourceLoader
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from skilltrial.errors import UsageError

FAMILIES = ("backends", "graders", "sandboxes", "reports", "listeners", "executors", "formats")
_CLASHES = {"import": "import_"}


@cache
def names(family: str) -> tuple[str, ...]:
    """Names of all plug-ins of a family, ours first. A file of the folder is one when it has a `plugin`."""
    package = importlib.import_module(f"skilltrial.{family}")
    ours = sorted(
        module.name.rstrip("_").replace("_", "-")
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_") and _has_plugin(f"skilltrial.{family}.{module.name}")
    )
    theirs = sorted(point.name for point in _installed()[family])
    return tuple(dict.fromkeys([*ours, *theirs]))


def installed(family: str) -> tuple[str, ...]:
    """Names of the plug-ins that other packages bring, those apart that are called as one of ours."""
    return tuple(name for name in sorted({point.name for point in _installed()[family]}) if _ours(family, name) is None)


@cache
def _installed() -> Mapping[str, Sequence[EntryPoint]]:
    """The entry points of every family: each look at them reads a file per installed package, so there is one."""
    found = entry_points()
    return {family: tuple(found.select(group=f"skilltrial.{family}")) for family in FAMILIES}


def _has_plugin(module: str) -> bool:
    """Looks at the source, so that listing a family imports none of it."""
    found = importlib.util.find_spec(module)
    source = found.loader.get_source(module) if found and isinstance(found.loader, SourceLoader) else None
    return source is not None and any(line.startswith(("plugin =", "plugin:")) for line in source.splitlines())


@cache
def get(family: str, name: str) -> Any:
    """The `plugin` of `skilltrial.<family>.<name>`, imported now, or what an entry point of that name leads to. Ours goes first.

    Raises:
        UsageError: there is no such plug-in, or an installed one cannot be loaded.
    """
    module = _ours(family, name)
    plugin = getattr(importlib.import_module(module), "plugin", None) if module else None
    if plugin is not None:
        return plugin
    for point in _installed()[family]:
        if point.name == name:
            return _loaded(point)
    from difflib import get_close_matches

    close = get_close_matches(name, names(family), 1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise UsageError(f"no {_one_of(family)} called '{name}'", f"{hint}there are: {', '.join(names(family))}")


def _ours(family: str, name: str) -> str | None:
    """The module of ours that may hold the plug-in of this name."""
    spelled = name.replace("-", "_")
    module = f"skilltrial.{family}.{_CLASHES.get(spelled, spelled)}"
    usable = spelled.isidentifier() and "_" not in name and not name.startswith("-")
    return module if usable and importlib.util.find_spec(module) else None


def _loaded(point: EntryPoint) -> Any:
    """Foreign code: whatever it raises while it is imported is told with the name of its package."""
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else "an installed package"
        family = point.group.removeprefix("skilltrial.")
        raise UsageError(
            f"the {_one_of(family)} '{point.name}' of {package} cannot be loaded: {type(error).__name__}: {error}",
            f"it names {point.value}; repair or remove the package",
        ) from error


def _one_of(family: str) -> str:
    return family.removesuffix("es") if family.endswith("xes") else family.rstrip("s")
