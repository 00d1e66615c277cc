"""Numbers and outcomes as words: points, intervals, durations, dollars, tokens, states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

OUTCOMES: Mapping[str, str] = {
    "ok": "finished",
    "agent_error": "agent error",
    "infrastructure_error": "infrastructure error",
    "timeout": "timeout",
    "budget": "ended by a budget",
    "harness_error": "harness error",
    "judge_error": "not graded",
    "contaminated": "contaminated",
    "not_run": "not run",
    "waiting": "waiting for an answer",
}
"""Why a cell is no measurement, in words."""

SQUARES: Mapping[str, str] = {
    "P": "passed",
    "F": "failed",
    "U": "not graded",
    "X": "not measured",
    ".": "not run",
}
"""Letters of `cases[].squares`."""

METRICS: Mapping[str, str] = {
    "checks": "of checks pass",
    "cases": "of runs pass",
    "score": "of the judge's full score",
}

DELIVERIES: Mapping[str, str] = {
    "installed": "installed where the agent looks for skills",
    "injected": "injected into the prompt: this says nothing about discovery or scripts",
    "body_only": "injected, body only: this says nothing about discovery, references or scripts",
    "forced": "forced on: this says nothing about discovery",
    "none": "no skill",
}

FOOTNOTE = (
    "The words helps, hurts, no meaningful effect and inconclusive follow fixed rules about intervals; they are "
    "heuristics for reading, and the numbers beside them are the result. "
    "Intervals are 95 %. A failed measurement is outside every rate. "
    "Results describe these runs; they do not establish who produced them, what model answered, or compliance with anything."
)


def points(value: float | None) -> str:
    """A difference of rates from -1 to 1 as signed points: +46, -2, 0; one decimal below 1 point: +0.2."""
    if value is None:
        return "unknown"
    number = value * 100
    if abs(number) < 1e-7:
        return "0"
    return f"{number:+.1f}" if abs(number) < 1 else f"{number:+.0f}"


def points_words(value: float | None) -> str:
    """`points` with its unit."""
    text = points(value)
    return text if value is None else f"{text} {'point' if text in ('+1', '-1') else 'points'}"


def span(low: float | None, high: float | None) -> str:
    """Both ends of an interval in points, or that there is none."""
    if low is None or high is None:
        return "no interval"
    return f"95 % interval {points(low)} to {points(high)}"


def percent(value: float | None) -> str:
    """A share from 0 to 1: 88 %; one decimal where rounding would claim none or all: 99.6 %."""
    if value is None:
        return "unknown"
    number = value * 100
    if 0 < number < 1 or 99 < number < 100:
        return f"{min(max(number, 0.1), 99.9):.1f} %"
    return f"{number:.0f} %"


def usd(value: float | None) -> str:
    """US dollars: two decimals from 1 on, two digits below: 0.0016 USD."""
    if value is None:
        return "unavailable"
    if value == 0:
        return "0 USD"
    size = abs(value)
    if size >= 0.995:
        return f"{value:,.2f} USD"
    digits = 2
    while size < 0.0995 and digits < 8:
        size *= 10
        digits += 1
    return f"{value:.{digits}f} USD"


def duration(seconds: float | None) -> str:
    """41 s, 1.2 s, 41 min, 2 h 5 min."""
    if seconds is None:
        return "unknown"
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def count(value: float | None) -> str:
    """A whole number with separators, or unknown."""
    return "unknown" if value is None else f"{value:,.0f}"


def many(number: int, noun: str, plural: str | None = None) -> str:
    """1 case, 2 cases."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(size_bytes: int) -> str:
    """Bytes as people read them: 812 B, 1.2 KB, 3.4 MB."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1000:.1f} KB"
    return f"{size_bytes / 1_000_000:.1f} MB"


def arm(name: str) -> str:
    """with_skill -> with skill."""
    return name.replace("_", " ")


def outcome(state: str | None) -> str:
    """A state of a cell in words; unknown ones as they are."""
    return OUTCOMES.get(state or "", (state or "unknown").replace("_", " "))


def counted(states: Mapping[str, int]) -> str:
    """{"timeout": 2, "not_run": 1} -> `2 timeouts, 1 not run`; empty when there are none."""
    return ", ".join(f"{number:,} {_plural(outcome(state), number)}" for state, number in states.items() if number)


def _plural(words: str, number: int) -> str:
    return words + "s" if number != 1 and words.endswith(("timeout", "error")) else words


def listed(items: Sequence[str], limit: int = 5) -> str:
    """a, b and 3 more."""
    if len(items) <= limit:
        return ", ".join(items)
    return f"{', '.join(items[:limit])} and {len(items) - limit} more"
