"""The check on a number in the answer."""

from __future__ import annotations

import re
from collections import deque
from typing import ClassVar

from skilltrial.graders._patterns import Unsearchable, search
from skilltrial.graders._source import Source, source
from skilltrial.graders._verdict import ByType, Scene, Verdict, excerpt
from skilltrial.records.checks import Number

_NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?",
)
"""A number that is no part of a word or a version; `1,234.5` is one number, `3,4` are two."""
_DIGIT = re.compile(r"\d")
_SLACK = 1e-12
"""Share of the value that binary fractions may be off: 0.4 lies within 0.1 of 0.3."""


def number(options: Number, scene: Scene) -> Verdict:
    """Passed when the number found lies within the larger of both tolerances, ends included."""
    seen = source(options.path, scene)
    if isinstance(seen, Verdict):
        return seen
    try:
        found = _found(options, seen)
    except Unsearchable as error:
        return Verdict.ungraded(str(error), masked=seen.masked)
    if found is None:
        where = f"/{options.pattern}/ gives no number" if options.pattern else "there is no number"
        return Verdict.failed(f"{where} in {seen.label}", masked=seen.masked)
    value, quote = found
    allowed = max(options.tolerance, options.relative * abs(options.value))
    gap = abs(value - options.value)
    inside = gap <= allowed + _SLACK * max(1.0, abs(options.value))
    reason = f"found {_plain(value)}, expected {_plain(options.value)}" + (f" within {_plain(allowed)}" if allowed else "")
    return Verdict("passed" if inside else "failed", reason, quote, seen.masked)


def _found(options: Number, seen: Source) -> tuple[float, str] | None:
    if options.pattern is None:
        return _last(seen.text)
    hit = search(options.pattern, seen.text, flags="m", ignore_case=True)
    inner = _NUMBER.search(hit.group) if hit else None
    return (_value(inner.group()), excerpt(seen.text, hit.start, hit.end)) if hit and inner else None


def _last(text: str) -> tuple[float, str] | None:
    """The last number of a text, looked for from its end: a number holds no white space."""
    end = len(text) if _DIGIT.search(text) else 0
    for word in reversed(text[:end].split()):
        start = end = text.rindex(word, 0, end)
        last = next(iter(deque(_NUMBER.finditer(word), maxlen=1)), None) if not word.isalpha() else None
        if last:
            return _value(last.group()), excerpt(text, start + last.start(), start + last.end())
    return None


def _value(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def _plain(value: float) -> str:
    return f"{value:.0f}" if abs(value) < 1e15 and value.is_integer() else repr(value)


class Numbers(ByType):
    """A number with a tolerance."""

    rules: ClassVar = {"number": number}


plugin = Numbers()
