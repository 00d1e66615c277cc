"""Regular expressions of suites: valid or not, and the flags of JavaScript in Python's letters."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

_JS_ONLY = frozenset("gudyv")
_OURS = frozenset("imsx")
_NAMED_GROUP = re.compile(r"\(\?<(?![=!])")
_UNICODE_CLASS = re.compile(r"\\[pP](?:\{[^}]*\}|[A-Z])")
_PLAIN = re.compile(r"[\w \-,:;/=<>\"'!@#%&~`\n]*")
_LENIENT = ("look-behind requires fixed-width", "multiple repeat", "unknown extension ?>")
"""What `re` of Python 3.11 may refuse and the grader's `regex` takes."""


def python_flags(flags: str) -> tuple[str, str]:
    """Flags as letters of i, m, s, x; and those that mean nothing to anybody. JavaScript's g, u, y, d, v change no search."""
    kept = "".join(dict.fromkeys(letter for letter in flags if letter in _OURS))
    return kept, "".join(letter for letter in flags if letter not in _OURS and letter not in _JS_ONLY)


@lru_cache(maxsize=4096)
def fault(pattern: str) -> str | None:
    """Why the pattern is no regular expression; None when it is one."""
    if _PLAIN.fullmatch(pattern):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(_UNICODE_CLASS.sub(r"\\w", _NAMED_GROUP.sub("(?P<", pattern)))
    except re.error as error:
        return None if str(error).startswith(_LENIENT) else str(error)
    except (RecursionError, OverflowError):
        return "it is too deep or too long"
    return None
