"""What every listener keeps to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, get_args

from skilltrial.records.news import News, NewsType
from skilltrial.seams import Listener
from skilltrial.testing._rules import Rule, docstring_of, holds, printing_nothing, try_all

HOSTILE = "\x1b]0;title\x07\x1b[31mred\x1b[0m [bold]x[/bold] \u202e\r\n::error::x"


class ListenerCase(NamedTuple):
    """A listener, and how to build it."""

    plugin: Any
    build: Callable[[], Listener]


def check_listener(plugin: Any, build: Callable[[], Listener] | None = None) -> None:
    """Raises AssertionError unless the listener keeps to its contract.

    Args:
        plugin: the class that the entry point names.
        build: makes one, where it should not write to its usual place; default: the class without arguments.
    """
    try_all(RULES, ListenerCase(plugin, build or plugin), f"listener {getattr(plugin, '__name__', plugin)}")


def all_news() -> Iterator[News]:
    """A run with every type of news: numbers known and unknown, and texts that are hostile."""
    known: dict[str, Any] = {
        "outcome": "ok", "state": "failed", "passed": 1, "total": 2, "duration_s": 1.5, "input_tokens": 10, "cached_tokens": 0,
        "output_tokens": 3, "cost_usd": 0.01, "eta_s": 2.0, "total_cost_usd": 0.02,
    }  # fmt: skip
    for kind in get_args(NewsType):
        cell = None if kind.startswith("experiment_") else f"skill/{HOSTILE}/target/with_skill/1"
        for facts in ({}, known, {"outcome": "timeout", "reason": HOSTILE}):
            yield News(
                type=kind,
                ts="2026-01-01T00:00:00.000Z",
                elapsed_s=1.0,
                experiment="iteration-1",
                cell=cell,
                done=1,
                planned=2,
                **facts,
            )


def is_described(case: ListenerCase) -> None:
    """It is a class with a docstring of its own."""
    holds(isinstance(case.plugin, type), "the entry point has to name a class")
    holds(docstring_of(case.plugin, case.plugin.__base__ or object), "it has no docstring of its own")


def hears_everything(case: ListenerCase) -> None:
    """It takes every type of news, with numbers known and unknown, and may be closed twice."""
    listener = case.build()
    for news in all_news():
        listener.hear(news)
    listener.close()
    listener.close()


def leaves_standard_output_alone(case: ListenerCase) -> None:
    """It prints nothing to standard output, which is for data."""
    with printing_nothing("to standard output", stderr=False):
        hears_everything(case)


def may_hear_nothing(case: ListenerCase) -> None:
    """It can be closed without having heard anything."""
    case.build().close()


RULES: tuple[Rule, ...] = (is_described, hears_everything, leaves_standard_output_alone, may_hear_nothing)
