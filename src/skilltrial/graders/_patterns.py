"""Users' patterns under a time limit: a pattern that takes too long gives no verdict."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # imported when the first pattern is compiled: most suites have none
    import regex

TIMEOUT_S = 0.5
LONGEST = 1_000_000
"""Characters of a text that are searched."""
_FLAGS = {"i": "IGNORECASE", "m": "MULTILINE", "s": "DOTALL", "x": "VERBOSE"}


class Hit(NamedTuple):
    """Where a pattern matched, with its first group when it has one."""

    start: int
    end: int
    group: str


class Unsearchable(Exception):
    """The pattern does not compile, or took too long; the text says which."""


def search(pattern: str, text: str, *, flags: str = "", ignore_case: bool = False) -> Hit | None:
    """The first match of a Python pattern; JavaScript's flags g, u, y, d, v change nothing here.

    Raises:
        Unsearchable: no answer within TIMEOUT_S, no valid pattern, or no match in a text of which only a part was searched.
    """
    letters = frozenset(flags) | ({"i"} if ignore_case else set())
    compiled = _compiled(pattern, "".join(sorted(letters & _FLAGS.keys())))
    try:
        found = compiled.search(text[:LONGEST], timeout=TIMEOUT_S)
    except TimeoutError:
        raise Unsearchable(f"pattern took too long: no answer within {TIMEOUT_S:g} s") from None
    if found is not None:
        group = found.group(1) if compiled.groups and found.group(1) is not None else found.group()
        return Hit(found.start(), found.end(), group)
    if len(text) > LONGEST:
        raise Unsearchable(f"no match in the first {LONGEST:,} characters; the rest was not searched")
    return None


def count(pattern: str, text: str, *, flags: str = "", ignore_case: bool = False) -> int:
    """Number of matches that do not overlap.

    Raises:
        Unsearchable: as `search`; also for a text of which only a part could be searched.
    """
    letters = frozenset(flags) | ({"i"} if ignore_case else set())
    compiled = _compiled(pattern, "".join(sorted(letters & _FLAGS.keys())))
    if len(text) > LONGEST:
        raise Unsearchable(f"matches are counted in texts of up to {LONGEST:,} characters")
    try:
        return sum(1 for _ in compiled.finditer(text, timeout=TIMEOUT_S))
    except TimeoutError:
        raise Unsearchable(f"pattern took too long: no answer within {TIMEOUT_S:g} s") from None


@lru_cache(maxsize=512)
def _compiled(pattern: str, letters: str) -> regex.Pattern[str]:
    import regex

    flags = 0
    for letter in letters:
        flags |= getattr(regex, _FLAGS[letter])
    try:
        return regex.compile(pattern, flags)
    except (regex.error, RecursionError, OverflowError) as error:
        raise Unsearchable(f"the pattern does not compile: {error}") from None
