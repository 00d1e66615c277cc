"""Where things stand in the plot of lifts: shares of its width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from skilltrial.records.summary import Lift
from skilltrial.wording import words


class Tick(NamedTuple):
    """A line of the grid."""

    x: str
    text: str
    zero: bool


class Scale(NamedTuple):
    """From points to the width of the plot."""

    low: float
    high: float
    ticks: tuple[Tick, ...]

    def x(self, value: float) -> str:
        """Place of a lift from -1 to 1 as a percentage of the width."""
        return _place(value * 100, self.low, self.high)

    def ends(self, low: float | None, high: float | None) -> tuple[str, str] | None:
        """Both ends of an interval, or None when there is none."""
        return None if low is None or high is None else (self.x(low), self.x(high))


def _place(points: float, low: float, high: float) -> str:
    share = (points - low) / (high - low)
    return f"{min(max(3 + share * 94, 0), 100):.2f}%"


def scale(lifts: Iterable[Lift]) -> Scale:
    """The smallest range of round numbers that holds zero and every interval of these lifts."""
    values = [0.0]
    for lift in lifts:
        row = lift.like_these
        values += [value * 100 for value in (lift.lift, lift.low, lift.high, row.low, row.high) if value is not None]
    low, high = min(values), max(values)
    width = high - low
    step = 5 if width <= 20 else 10 if width <= 50 else 20 if width <= 120 else 50
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    if high - low < 2 * step:
        low, high = low - step, high + step
    marks = range(int(low), int(high) + 1, step)
    return Scale(low, high, tuple(Tick(_place(mark, low, high), words.points(mark / 100), mark == 0) for mark in marks))
