"""Checks on the final text: substrings and patterns."""

from __future__ import annotations

from itertools import accumulate
from typing import ClassVar

from skilltrial.graders._patterns import Unsearchable, count, search
from skilltrial.graders._source import Source, mock_calls, source, sources
from skilltrial.graders._verdict import ByType, Scene, Verdict, excerpt
from skilltrial.records.checks import Pattern, Substring, Substrings

Span = tuple[int, int]


def find(text: str, value: str, case_sensitive: bool) -> Span | None:
    """Where `value` stands in `text`; without case, `ß` finds `SS`."""
    if case_sensitive:
        at = text.find(value)
        return (at, at + len(value)) if at >= 0 else None
    folded, wanted = text.casefold(), value.casefold()
    at = folded.find(wanted)
    if at < 0:
        return None
    if len(folded) == len(text):
        return at, at + len(wanted)
    ends = list(accumulate(len(letter.casefold()) for letter in text))  # folding made some letters longer
    start = next(place for place, end in enumerate(ends) if end > at)
    return start, next(place + 1 for place, end in enumerate(ends) if end >= at + len(wanted))


def holds(seen: Source, value: str, case_sensitive: bool) -> Verdict:
    """Passed when `value` stands there."""
    span = find(seen.text, value, case_sensitive)
    if span:
        return Verdict.passed(f"found {value!r} in {seen.label}", excerpt(seen.text, *span), masked=seen.masked)
    if seen.cut:
        return Verdict.ungraded(f"{value!r} is not in the part of {seen.label} that was read", masked=seen.masked)
    return Verdict.failed(f"{value!r} is not in {seen.label}{_blank(seen)}", masked=seen.masked)


def lacks(seen: Source, value: str, case_sensitive: bool) -> Verdict:
    """Passed when `value` stands nowhere."""
    return holds(seen, value, case_sensitive).turned()


def any_of(verdicts: list[Verdict]) -> Verdict:
    """Passed when one is; of several that are not, one without a verdict comes before one that failed."""
    for state in ("passed", "ungraded"):
        for verdict in verdicts:
            if verdict.state == state:
                return verdict
    if len(verdicts) == 1:
        return verdicts[0]
    masked = any(verdict.masked for verdict in verdicts)
    return Verdict.failed(f"in none of {len(verdicts)} files: {verdicts[0].reason}", masked=masked)


def _blank(seen: Source) -> str:
    return "" if seen.text.strip() else ", which is empty"


# ---------------------------------------------------------------- the rules
def contains(options: Substring, scene: Scene) -> Verdict:
    seen = source(None, scene)
    return seen if isinstance(seen, Verdict) else holds(seen, options.value, options.case_sensitive)


def not_contains(options: Substring, scene: Scene) -> Verdict:
    seen = source(None, scene)
    return seen if isinstance(seen, Verdict) else lacks(seen, options.value, options.case_sensitive)


def contains_all(options: Substrings, scene: Scene) -> Verdict:
    seen = source(None, scene)
    if isinstance(seen, Verdict):
        return seen
    spans = {value: find(seen.text, value, options.case_sensitive) for value in options.values}
    lost = [value for value, span in spans.items() if span is None]
    if lost:
        return Verdict.failed(f"not in {seen.label}: {_listed(lost)}{_blank(seen)}", masked=seen.masked)
    quote = " | ".join(excerpt(seen.text, *span, around=20) for span in list(spans.values())[:5] if span)
    return Verdict.passed(f"found all of {_listed(options.values)} in {seen.label}", quote or None, masked=seen.masked)


def contains_any(options: Substrings, scene: Scene) -> Verdict:
    seen = source(None, scene)
    if isinstance(seen, Verdict):
        return seen
    for value in options.values:
        span = find(seen.text, value, options.case_sensitive)
        if span:
            reason = f"found {value!r}, one of {_listed(options.values)}, in {seen.label}"
            return Verdict.passed(reason, excerpt(seen.text, *span), masked=seen.masked)
    return Verdict.failed(f"none of {_listed(options.values)} is in {seen.label}{_blank(seen)}", masked=seen.masked)


def matches(options: Pattern, scene: Scene) -> Verdict:
    seen = _looked_at(options, scene)
    if isinstance(seen, Verdict):
        return seen
    if options.count is not None:
        return _counted(options, options.count, seen)
    return any_of([_matched(options, one) for one in seen])


def _looked_at(options: Pattern, scene: Scene) -> list[Source] | Verdict:
    if not options.mock_calls:
        return sources(options.path, scene, made=options.files)
    calls = mock_calls(scene)
    return calls if isinstance(calls, Verdict) else [calls]


def _matched(options: Pattern, seen: Source) -> Verdict:
    try:
        hit = search(options.pattern, seen.text, flags=options.flags, ignore_case=not options.case_sensitive)
    except Unsearchable as error:
        return Verdict.ungraded(str(error), masked=seen.masked)
    if hit:
        quote = excerpt(seen.text, hit.start, hit.end)
        return Verdict.passed(f"/{options.pattern}/ matches in {seen.label}", quote, masked=seen.masked)
    if seen.cut:
        return Verdict.ungraded(f"/{options.pattern}/ matches nothing in the part of {seen.label} that was read")
    return Verdict.failed(f"/{options.pattern}/ matches nothing in {seen.label}{_blank(seen)}", masked=seen.masked)


def _counted(options: Pattern, wanted: int, seen: list[Source]) -> Verdict:
    masked = any(one.masked for one in seen)
    try:
        ignore_case = not options.case_sensitive
        found = sum(count(options.pattern, one.text, flags=options.flags, ignore_case=ignore_case) for one in seen)
    except Unsearchable as error:
        return Verdict.ungraded(str(error), masked=masked)
    if any(one.cut for one in seen):
        return Verdict.ungraded("matches cannot be counted in a file of which only a part was read")
    where = seen[0].label if len(seen) == 1 else f"{len(seen)} files"
    reason = f"/{options.pattern}/ matches {found} times in {where}, expected {wanted}"
    return Verdict("passed" if found == wanted else "failed", reason, masked=masked)


def not_matches(options: Pattern, scene: Scene) -> Verdict:
    """The opposite; a file that is not there fails here too, and so does a run that made no file to look into."""
    seen = _looked_at(options, scene)
    return seen if isinstance(seen, Verdict) else matches(options, scene).turned()


def _listed(values: tuple[str, ...] | list[str]) -> str:
    return ", ".join(repr(value) for value in values)


class Text(ByType):
    """Substrings and patterns in the final text; a pattern may look into a file instead."""

    rules: ClassVar = {
        "contains": contains,
        "not_contains": not_contains,
        "contains_all": contains_all,
        "contains_any": contains_any,
        "regex": matches,
        "not_regex": not_matches,
    }


plugin = Text()
