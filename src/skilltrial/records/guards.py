"""Limits per case that are looked at after a run: what one run took, and where it went beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from skilltrial.records.evidence import Usage

UNITS = {"cost_usd": "US dollars", "duration_s": "seconds"}


class Beyond(NamedTuple):
    """A limit per case that a run exceeded."""

    name: str
    value: float
    limit: float

    def __str__(self) -> str:
        unit = UNITS.get(self.name) or self.name.replace("_", " ")
        return f"{self.value:,.6g} {unit}, limit {self.limit:,.6g}"


def exceeded(limits: Mapping[str, float], usage: Usage, duration_s: float | None, tool_calls: int | None) -> tuple[Beyond, ...]:
    """The limits that what is known went beyond. Equal is within; an unknown value never exceeds anything."""
    if not limits:
        return ()
    took = _took(usage, duration_s, tool_calls)
    found = ((name, took.get(name), limit) for name, limit in limits.items())
    return tuple(Beyond(name, value, limit) for name, value, limit in found if value is not None and value > limit)


def _took(usage: Usage, duration_s: float | None, tool_calls: int | None) -> dict[str, float | None]:
    read, cached, written = usage.input_tokens, usage.cached_tokens, usage.output_tokens
    return {
        "input_tokens": read,
        "non_cached_input_tokens": read - cached if read is not None and cached is not None else None,
        "output_tokens": written,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_tokens": read + written if read is not None and written is not None else usage.total_tokens,
        "cost_usd": usage.cost_usd,
        "duration_s": duration_s,
        "tool_calls": tool_calls,
    }
