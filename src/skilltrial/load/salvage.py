"""Frontmatter that YAML refuses, read all the same: key by key, with a line to paste for every key that had to be guessed."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from skilltrial.load import yaml_text
from skilltrial.load.document import Document, Fault, Spot

_KEY = re.compile(r"""(["']?)([A-Za-z_$][\w.$-]*)\1[ \t]*:(?:[ \t]+|$)""")
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?(?:[ \t]+|$)")
_BAD_ITEM = re.compile(r"([ \t]*-[ \t]+)([@`%].*)$")


class _Chunk(NamedTuple):
    """One top-level key with the lines that belong to it."""

    key: str
    line: int
    """From 1, inside the frontmatter."""
    lines: list[str]


def salvage(text: str, first_line: int) -> Document:
    """Every top-level key of a broken frontmatter, and one fault per key that was not valid YAML. Places: keys only.

    A value that YAML refuses is taken as the text that stands there, continuation lines joined by a space.
    """
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    chunks = _chunks(text)
    for chunk in chunks:
        line = first_line + chunk.line - 1
        source = "\n".join(chunk.lines)
        parsed = yaml_text.parse(source, line)
        if not parsed.broken and isinstance(parsed.value, dict):
            values.update(parsed.value)
            faults.extend(parsed.faults)
            continue
        value, paste = _repaired(chunk)
        values[chunk.key] = value
        fault = parsed.faults[0] if parsed.faults else Fault("invalid-yaml", "not valid YAML", None)
        faults.append(
            Fault(
                "salvaged-yaml",
                f"the value of '{chunk.key}' is {fault.found}; it was read as the text that stands there, and most agents drop such a skill",
                fault.spot or Spot(line, 1),
                f"write: {paste}",
                (chunk.key,),
            )
        )
    lines = {chunk.key: first_line + chunk.line - 1 for chunk in chunks}
    return Document(values, tuple(faults), locate=lambda at: Spot(lines[str(at[0])], 1) if at and str(at[0]) in lines else None)


def _chunks(text: str) -> list[_Chunk]:
    chunks: list[_Chunk] = []
    for number, line in enumerate(text.split("\n"), 1):
        found = _KEY.match(line)
        if found:
            chunks.append(_Chunk(found[2], number, [line]))
        elif chunks:
            chunks[-1].lines.append(line)
    return chunks


def _repaired(chunk: _Chunk) -> tuple[Any, str]:
    """The value of a broken chunk, and YAML to paste instead."""
    mended = [
        _BAD_ITEM.sub(lambda found: found[1] + json.dumps(found[2].strip(), ensure_ascii=False), line) for line in chunk.lines
    ]
    if mended != chunk.lines:
        parsed = yaml_text.parse("\n".join(mended))
        if not parsed.broken and isinstance(parsed.value, dict) and chunk.key in parsed.value:
            changed = next(line for line, before in zip(mended, chunk.lines, strict=True) if line != before)
            return parsed.value[chunk.key], changed.strip()
    found = _KEY.match(chunk.lines[0])
    head = chunk.lines[0][found.end() :] if found else chunk.lines[0]
    head = _BLOCK.sub("", head, count=1)
    text = " ".join(part for part in (line.strip() for line in [head, *chunk.lines[1:]]) if part)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text, f"{chunk.key}: {json.dumps(text, ensure_ascii=False)}"
