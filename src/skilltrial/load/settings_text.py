"""The text of a settings file (YAML, JSON or a TOML table) as plain values, with places for its problems."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from skilltrial.errors import BadInput
from skilltrial.load import yaml_text
from skilltrial.load.document import Fault, Notes, Pointer, Spot, decode, read_bytes
from skilltrial.records.problems import Problem, Where

MOST_BYTES = 1_000_000


class Settings(NamedTuple):
    """A parsed settings file."""

    file: str
    value: Any
    locate: Callable[[Pointer], Spot | None]

    def problem(
        self, at: Pointer, rule: str, found: str, hint: str | None = None, severity: Literal["error", "warning"] = "error"
    ) -> Problem:
        """A problem at `at`, or at the nearest thing around it that has a place."""
        notes = Notes(self.file, locate=self.locate)
        notes.say("eee" if severity == "error" else "www", rule, found, at, hint)
        return notes.problems[0]


def read_yaml(path: Path) -> Settings:
    """A YAML or JSON file. Duplicate keys, aliases and tags are errors, all reported at once.

    Raises:
        BadInput: the file cannot be read or parsed.
    """
    document = yaml_text.parse(_text(path))
    if document.faults:
        raise BadInput(tuple(_problem(path, fault) for fault in document.faults))
    return Settings(str(path), document.value, document.locate)


def read_toml_table(path: Path, *keys: str) -> Settings | None:
    """A table of a TOML file, as `tool`, `skilltrial`; None when the file has no such table.

    Raises:
        BadInput: the file cannot be read or parsed.
    """
    text = _text(path)
    try:
        value: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput((_problem(path, Fault("invalid-toml", f"not valid TOML: {why}", None)),)) from None
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return Settings(str(path), value, _toml_places(text, ".".join(keys)).get)


def _text(path: Path) -> str:
    data = read_bytes(path, MOST_BYTES)
    text = data if isinstance(data, Fault) else decode(data)
    if isinstance(text, Fault):
        raise BadInput((_problem(path, text),))
    return text


def _problem(path: Path, fault: Fault) -> Problem:
    line, column = fault.spot or (None, None)
    return Problem(
        where=Where(file=str(path), line=line, column=column),
        severity="error",
        rule=fault.rule,
        found=fault.found,
        hint=fault.hint,
    )


def _toml_places(text: str, table: str) -> dict[Pointer, Spot]:
    """Lines of the table's header and of the keys written plainly below it; tomllib itself tells no places."""
    places: dict[Pointer, Spot] = {}
    inside: Pointer | None = None
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*(#.*)?$", line)
        key = re.match(r"\s*([A-Za-z0-9_-]+)\s*=", line)
        if header:
            name = header[1].replace('"', "")
            rest = name[len(table) + 1 :]
            inside = tuple(rest.split(".")) if name.startswith(table + ".") else () if name == table else None
            if inside is not None:
                places.setdefault(inside, Spot(number, 1))
        elif key and inside is not None:
            places.setdefault((*inside, key[1]), Spot(number, key.start(1) + 1))
    return places
