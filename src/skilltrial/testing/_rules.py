"""How the rules of a contract are tried."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

Rule = Callable[[Any], None]
"""Raises AssertionError with what is broken. Its docstring says what should hold."""


def holds(claim: object, broken: str) -> None:
    """Also under `python -O`, which drops assert statements."""
    if not claim:
        raise AssertionError(broken)


def try_all(rules: Sequence[Rule], subject: Any, what: str) -> None:
    """Tries every rule.

    Raises:
        AssertionError: some are broken; each is named with the reason.
    """
    broken = []
    for rule in rules:
        try:
            rule(subject)
        except Exception as error:  # foreign code may raise anything, and the other rules are still of interest
            told = str(error) if isinstance(error, AssertionError) else f"it raised {type(error).__name__}: {error}"
            broken.append(f"- {(rule.__doc__ or rule.__name__).splitlines()[0]}\n  {told}")
    if broken:
        raise AssertionError(f"{what} breaks {len(broken)} of {len(rules)} rules:\n" + "\n".join(broken))


@contextmanager
def printing_nothing(when: str, *, stderr: bool = True) -> Iterator[None]:
    """Raises AssertionError when anything was printed by the end; `stderr` False: the error stream may be used."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out if stderr else io.StringIO()):
        yield
    holds(not out.getvalue(), f"it printed {out.getvalue()[:200]!r} {when}")


def docstring_of(plugin: type, base: type) -> str:
    """Its own, not one that it got from its base."""
    text = plugin.__doc__ or ""
    return "" if text == base.__doc__ else text.strip()
