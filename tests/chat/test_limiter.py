"""Slots per endpoint."""

import threading

import pytest

from skilltrial.chat.limiter import AimdLimiter
from skilltrial.errors import Interrupted


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_refusal_halves_what_is_in_flight_and_answers_bring_it_back() -> None:
    limiter = AimdLimiter(8, clock=Clock())
    for _ in range(8):
        limiter._take("k")
    limiter.refused("k", None)
    assert limiter.limit("k") == 4
    for _ in range(13):
        limiter.succeeded("k")
    assert limiter.limit("k") == 7  # a quarter per answer up to nine tenths of eight
    for _ in range(7):
        limiter.succeeded("k")
    assert limiter.limit("k") == 8  # then one for a round


def test_refusals_of_one_burst_halve_only_once() -> None:
    clock = Clock()
    limiter = AimdLimiter(16, clock=clock)
    for _ in range(16):
        limiter._take("k")
    limiter.refused("k", None)
    limiter.refused("k", None)
    assert limiter.limit("k") == 8
    clock.now += 1.0
    limiter.refused("k", None)
    assert limiter.limit("k") == 4


def test_the_limit_never_falls_below_one_nor_rises_above_the_ceiling() -> None:
    clock = Clock()
    limiter = AimdLimiter(2, clock=clock)
    for _ in range(5):
        limiter.refused("k", None)
        clock.now += 1.0
    assert limiter.limit("k") == 1
    for _ in range(20):
        limiter.succeeded("k")
    assert limiter.limit("k") == 2


def test_keys_do_not_share_slots() -> None:
    limiter = AimdLimiter(1)
    with limiter.slot("target"), limiter.slot("judge"):
        assert limiter.limit("target") == limiter.limit("judge") == 1


def test_slots_go_to_those_who_wait_longest() -> None:
    limiter = AimdLimiter(1)
    order: list[int] = []
    limiter._take("k")
    threads = []
    for number in range(4):
        thread = threading.Thread(
            target=lambda number=number: (limiter._take("k"), order.append(number), limiter._give_back("k"))
        )
        thread.start()
        threads.append(thread)
        while len(limiter._keys["k"].waiting) < number + 1:
            pass
    limiter._give_back("k")
    for thread in threads:
        thread.join(5)
    assert order == [0, 1, 2, 3]


def test_never_more_than_the_limit_hold_a_slot() -> None:
    limiter = AimdLimiter(3)
    lock, inside, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(200):
            with limiter.slot("k"):
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert 1 <= most <= 3
    assert limiter._keys["k"].in_use == 0


def test_who_waits_is_let_go_when_the_user_stops() -> None:
    stopping = threading.Event()
    limiter = AimdLimiter(1, stopping=stopping.is_set)
    with limiter.slot("k"):
        stopping.set()
        with pytest.raises(Interrupted), limiter.slot("k"):
            pass
    with limiter.slot("k"):
        pass
