"""When a call is made again, after how long, and when we stop trying."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
REFUSALS = frozenset({429, 503, 529})
"""Statuses that say "too much at once"."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 20.0
ATTEMPTS = 8
"""Of one call, the first included: about a minute of waiting."""
BUSY_LEVEL = 2
"""A call that is refused while others are answered waits 1 s at most, as often as it takes: the limiter makes room, and a long
sleep would only idle."""


def retryable(status: int) -> bool:
    """Whether the same request may be answered later."""
    return status in RETRYABLE or (500 <= status < 600 and status not in (501, 505))


def retry_after_s(value: str | None, now: float | None = None) -> float | None:
    """Seconds asked for by a Retry-After header, given as seconds or as a date; None when there is none to read."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now))
    except (ValueError, TypeError, OverflowError):
        return None


def back_off_s(level: int, chance: random.Random) -> float:
    """Seconds to wait: 0.5 s at level 1, doubled with each level up to 20 s, of that a random tenth to all."""
    full = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (level - 1))
    return float(full * chance.uniform(0.1, 1.0))


class Budget:
    """Retries that all calls of an experiment share, so that an outage cannot go on for ever.

    Per endpoint: `attempts` retries, of which every answer gives one back, and at most `seconds` from the first failure
    to the end of a wait without a single answer between. A server that refuses one call in three never uses it up.
    """

    def __init__(self, attempts: int = 1000, seconds: float = 180.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._attempts = attempts
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[str, int] = {}
        self._failing_since: dict[str, float] = {}

    def spend(self, key: str, wait_s: float) -> bool:
        """Takes one retry that starts after `wait_s`; False: there is none left and the call has failed."""
        with self._lock:
            now = self._clock()
            since = self._failing_since.setdefault(key, now)
            left = self._left.get(key, self._attempts)
            if left < 1 or now + wait_s - since > self._seconds:
                return False
            self._left[key] = left - 1
            return True

    def answered(self, key: str) -> None:
        """The endpoint answered: an outage, if there was one, is over."""
        if key not in self._failing_since and key not in self._left:
            return
        with self._lock:
            self._failing_since.pop(key, None)
            left = self._left.get(key, self._attempts) + 1
            if left >= self._attempts:
                self._left.pop(key, None)
            else:
                self._left[key] = left
