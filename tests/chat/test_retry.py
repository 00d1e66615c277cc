"""When and how long to wait, and when to give up."""

import random
from email.utils import formatdate

import pytest

from skilltrial.chat.retry import Budget, back_off_s, retry_after_s, retryable


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 599])
def test_statuses_that_may_pass_are_tried_again(status: int) -> None:
    assert retryable(status)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422, 501, 505])
def test_statuses_that_will_not_pass_are_not(status: int) -> None:
    assert not retryable(status)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("0.5", 0.5), ("-1", 0.0), (formatdate(1_000_007, usegmt=True), 7.0), ("soon", None), ("", None), (None, None)],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, now=1_000_000.0) == seconds


@pytest.mark.parametrize(("attempt", "full"), [(1, 0.5), (2, 1.0), (4, 4.0), (6, 16.0), (7, 20.0), (40, 20.0)])
def test_waits_double_from_half_a_second_to_twenty_with_jitter_below(attempt: int, full: float) -> None:
    waits = [back_off_s(attempt, random.Random(seed)) for seed in range(50)]
    assert all(full / 10 <= wait <= full for wait in waits)
    assert len(set(waits)) > 40


def test_a_dead_endpoint_uses_its_retries_up() -> None:
    budget = Budget(attempts=3, clock=lambda: 0.0)
    assert [budget.spend("k", 1.0) for _ in range(5)] == [True, True, True, False, False]


def test_each_answer_gives_one_retry_back_so_a_busy_server_never_runs_out() -> None:
    budget = Budget(attempts=2, clock=lambda: 0.0)
    for _ in range(100):
        assert budget.spend("k", 1.0)
        budget.answered("k")


def test_an_outage_ends_the_retries_after_its_time_and_an_answer_starts_it_anew() -> None:
    now = 0.0
    budget = Budget(attempts=1000, seconds=60.0, clock=lambda: now)
    assert budget.spend("k", 20.0)
    now = 50.0
    assert not budget.spend("k", 20.0)
    budget.answered("k")
    assert budget.spend("k", 20.0)


def test_endpoints_have_budgets_of_their_own() -> None:
    budget = Budget(attempts=1, clock=lambda: 0.0)
    assert budget.spend("target", 1.0)
    assert budget.spend("judge", 1.0)
