"""Variables from a `.env` file, for the one who names it: no such file is read by itself."""

from __future__ import annotations

import re
from pathlib import Path

from skilltrial.errors import UsageError

_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)")
_ESCAPED = re.compile(r"\\(.)")
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}


def read(path: Path) -> dict[str, str]:
    """`NAME=value` a line, with or without `export`; single quotes take all as it is, double ones know `\\n` and `\\"`.

    A value without quotes ends before ` #`. Nothing is put in for `$NAME`.

    Raises:
        UsageError: the file cannot be read, or lines are none of these; all are named by number, their text is not shown.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'it is no UTF-8 text'}") from None
    found: dict[str, str] = {}
    wrong = []
    for number, line in enumerate((line.strip() for line in lines), 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = None if match is None else _value(match[2])
        if match is None or value is None:
            wrong.append(f"{path}:{number}: no line of the form NAME=value")
        else:
            found[match[1]] = value
    if wrong:
        raise UsageError("\n".join(wrong))
    return found


def _value(text: str) -> str | None:
    """None: a quote is not closed, or something stands behind it."""
    quote = text[:1]
    if quote not in ("'", '"'):
        return text.partition(" #")[0].rstrip()
    end = re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}[ \t]*(?:#.*)?" if quote == '"' else r"'([^']*)'[ \t]*(?:#.*)?")
    match = end.fullmatch(text)
    if match is None:
        return None
    return match[1] if quote == "'" else _ESCAPED.sub(lambda one: _MEANS.get(one[1], one[1]), match[1])
