"""A judge's reply, read with suspicion: as it stands, else from a fence, else the first balanced object."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from skilltrial.graders._json import NotJson, loads

LONGEST = 200_000
"""Characters of a reply that are read."""
_STARTS = 200
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)\n?[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
"""Some models print what they thought first; drafts in it are no verdicts."""


class Unreadable(Exception):
    """The reply holds no verdict that can be used; the text says why."""


class Said(NamedTuple):
    """The judge's word on one statement."""

    passed: bool
    evidence: str


class Scored(NamedTuple):
    """The judge's quality score from 0 to 10."""

    score: float
    evidence: str


def parsed(reply: str, keys: tuple[str, ...] = ("verdicts", "score")) -> dict[str, Any]:
    """The reply's JSON object; where other text stands around it, one that has one of `keys`.

    Raises:
        Unreadable: there is none, or several that hold verdicts and contradict each other.
    """
    text = _THOUGHT.sub("", reply).strip()
    if len(text) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST:,} characters")
    if not text:
        raise Unreadable("it is empty")
    whole = _object(text)
    if whole is not None:
        return whole
    fenced = [item for match in _FENCE.finditer(text) if (item := _object(match.group(2))) is not None]
    telling = [item for item in (*fenced, *_balanced(text)) if any(key in item for key in keys)]
    if not telling:
        raise Unreadable(f"it holds no JSON object with a verdict: {' '.join(text[:160].split())!r}")
    if any(item != telling[0] for item in telling[1:]):
        raise Unreadable("it holds several verdicts that contradict each other")
    return telling[0]


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = loads(text)
    except NotJson:
        return None
    if isinstance(value, list):
        return {"verdicts": value}
    return value if isinstance(value, dict) else None


def _balanced(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in the text."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(_STARTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            value, at = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            at += 1


def verdicts(found: dict[str, Any], wanted: frozenset[str]) -> dict[str, Said]:
    """The usable verdicts by id: `passed` is a real boolean, and an id with two different words is left out."""
    rows = found.get("verdicts")
    said: dict[str, Said] = {}
    unclear: set[str] = set()
    for row in rows if isinstance(rows, list) else ():
        name = _id_of(row)
        if name not in wanted or not isinstance(row.get("passed"), bool):
            continue
        word = Said(row["passed"], text_of(row.get("evidence")))
        if name in said and said[name].passed != word.passed:
            unclear.add(name)
        said.setdefault(name, word)
    return {name: word for name, word in said.items() if name not in unclear}


def _id_of(row: Any) -> str | None:
    name = row.get("id") if isinstance(row, dict) else None
    return str(name) if isinstance(name, str | int) and not isinstance(name, bool) else None


def quality(found: dict[str, Any]) -> Scored:
    """The quality score.

    Raises:
        Unreadable: there is none, or it lies outside 0 to 10.
    """
    score = found.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise Unreadable("it gives no score")
    if not 0 <= score <= 10:
        raise Unreadable(f"the score {score:g} lies outside 0 to 10")
    return Scored(float(score), text_of(found.get("evidence")))


def text_of(value: Any) -> str:
    """The judge's evidence as one text, whether it gave one or a list."""
    if isinstance(value, list):
        return " | ".join(item for item in value if isinstance(item, str)).strip()
    return value.strip() if isinstance(value, str) else ""
