#!/usr/bin/env python3
"""Prints what is wrong with a settings file: check_settings.py FILE. Status 0: nothing, 1: something, 2: it cannot be read."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KNOWN = {"name", "port", "retries", "log_level"}
LEVELS = ("debug", "info", "warning", "error")


def faults(settings: dict[str, Any]) -> Iterator[str]:
    """Every fault as `key: what is wrong`."""
    for key in sorted(settings.keys() - KNOWN):
        yield f"{key}: there is no such key"
    if not isinstance(settings.get("name"), str):
        yield "name: has to be a text"
    if settings.get("port") not in range(1024, 65536):
        yield f"port: {settings.get('port')!r} is not a whole number from 1024 to 65535"
    if settings.get("retries") not in range(6):
        yield f"retries: {settings.get('retries')!r} is not a whole number from 0 to 5"
    if settings.get("log_level", "info") not in LEVELS:
        yield f"log_level: {settings['log_level']!r} is none of {', '.join(LEVELS)}"


def main(arguments: list[str]) -> int:
    try:
        settings = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    except (IndexError, OSError, ValueError) as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    found = list(faults(settings))
    print("\n".join(found) or "nothing is wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
