"""One question to one endpoint, from the free slot to an AgentRun: retries, refused parameters, costs, clear failures."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from skilltrial.chat import anthropic, openai, retry
from skilltrial.chat.client import Client, of_stop
from skilltrial.chat.exchange import Answer
from skilltrial.chat.failures import Failure, of_status, said, shown
from skilltrial.chat.wire import Ask, Habits, Heard, Wire, broken, cost
from skilltrial.errors import Interrupted
from skilltrial.records.evidence import AgentRun, Event, Timing, Usage
from skilltrial.seams import Machine, Stop, Watch

_TICK_S = 0.1
_MOST_ADAPTED = 6
"""Parameters left out in one call at most."""
_LONGEST_RETRY_AFTER_S = 120.0
"""A server that wants longer has failed this call; the queue may come back to it."""


_NOTHING: Mapping[str, Any] = {}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class Endpoint(NamedTuple):
    """Where and how to ask. One per target."""

    url: str
    """Base URL; the wire's path is added."""
    key: str
    """Limits and retries are kept by this."""
    headers: Mapping[str, str]
    key_name: str | None = None
    """Variable that the key came from, for messages."""
    pricing: Mapping[str, float] | None = None
    attempts: int = retry.ATTEMPTS


class Asker:
    """Asks one endpoint. Holds its open connections and what it learned about the endpoint; close it after use."""

    def __init__(self, wire: Wire, endpoint: Endpoint, machine: Machine, client: Client | None = None) -> None:
        self._wire = wire
        self._endpoint = endpoint
        self._machine = machine
        self._client = client or Client(machine.environ)
        self._budget: retry.Budget = machine.retry_budget or retry.Budget()
        self._habits: dict[tuple[str, str], Habits] = {}
        self._chance = random.Random()
        self._answers = 0

    def close(self) -> None:
        self._client.close()

    def ask(self, ask: Ask, watch: Watch, base_url: str | None = None, noted: Mapping[str, Any] = _NOTHING) -> AgentRun:
        """Asks until there is an answer or no sense in asking again.

        Waiting, for a slot or for the next try, does not count as the run's time: it moves `watch.deadline`.

        Args:
            base_url: used in place of the endpoint's own (gateway).
            noted: further fields of the AgentRun; its `warnings` come first.
        """
        url = join(base_url or self._endpoint.url, self._wire.path)
        habits = self._habits.setdefault((url, ask.model), Habits())
        began = time.monotonic()
        tries = _Tries(self._answers)
        while True:
            result = self._once(url, ask, habits, watch, tries)
            if isinstance(result, Heard):
                return self._run(result, ask, habits, tries.timing(began), watch, noted)
            if not self._again(result, tries, watch):
                return self._failed(result, tries, began, noted)

    def _once(self, url: str, ask: Ask, habits: Habits, watch: Watch, tries: _Tries) -> Heard | Failure:
        """One exchange, or several when a parameter is refused."""
        for _ in range(_MOST_ADAPTED):
            before = habits.dropped, habits.renamed
            request = self._wire.body(ask, habits)
            answer = self._send(url, json.dumps(request).encode(), watch, tries)
            if isinstance(answer, Failure):
                return answer
            data = _parsed(answer.body)
            if 200 <= answer.status < 300 and not _is_error(data):
                if data is None:
                    return broken(shown(url), answer.body)
                heard = self._wire.read(data)
                if isinstance(heard, Heard):
                    return heard
                return Failure(heard.outcome, f"{shown(url)} sent {heard.reason}", page=answer.body[:4096])
            failure, adapted = self._refusal(url, answer, data, ask, request, habits)
            if not adapted or (habits.dropped, habits.renamed) == before:
                return failure
        return failure

    def _send(self, url: str, body: bytes, watch: Watch, tries: _Tries) -> Answer | Failure:
        key = self._endpoint.key
        waiting = time.monotonic()
        try:
            with self._machine.limiter.slot(key):
                tries.started = tries.ended = time.monotonic()
                watch.deadline += tries.started - waiting
                tries.requests += 1
                answer = self._client.post(url, body, self._endpoint.headers, watch)
                tries.ended = time.monotonic()
        except Interrupted as error:
            return of_stop(Stop("interrupted", str(error)), url)
        return answer

    def _refusal(
        self, url: str, answer: Answer, data: Any, ask: Ask, request: Mapping[str, Any], habits: Habits
    ) -> tuple[Failure, bool]:
        """What an error answer means, and whether the request was changed so that it is worth sending again."""
        error = said(data)
        status = _inner_status(data) if answer.status < 300 else answer.status
        failure = of_status(status, error, url=url, model=ask.model, key_name=self._endpoint.key_name)
        asked_for = retry.retry_after_s(answer.headers.get("retry-after"))
        failure = failure._replace(retry_after_s=asked_for)
        if data is None:
            failure = failure._replace(page=answer.body[:4096])
        return failure, self._wire.adapt(status, error, request, habits)

    def _again(self, failure: Failure, tries: _Tries, watch: Watch) -> bool:
        """Waits for the next try; False: this call has failed for good."""
        key = self._endpoint.key
        if failure.refused and failure.retryable:
            self._machine.limiter.refused(key, failure.retry_after_s)
        tries.fail(busy=failure.refused and self._answers > tries.seen, answers=self._answers)
        if not failure.retryable or tries.counted >= self._endpoint.attempts:
            return False
        wait_s = failure.retry_after_s
        if wait_s is None:
            wait_s = retry.back_off_s(tries.level, self._chance)
        if wait_s > _LONGEST_RETRY_AFTER_S or not self._budget.spend(key, wait_s):
            return False
        watch.deadline += tries.ended - tries.started  # every try has the whole limit
        return self._rest(wait_s, watch)

    def _rest(self, wait_s: float, watch: Watch) -> bool:
        """Sleeps, moving the deadline along; False when the user or the watch stopped us meanwhile."""
        until = time.monotonic() + wait_s
        watch.deadline += wait_s
        while (left := until - time.monotonic()) > 0:
            if self._machine.stopping() or watch.heard(None) is not None:
                return False
            time.sleep(min(_TICK_S, left))
        return True

    def _run(self, heard: Heard, ask: Ask, habits: Habits, timing: Timing, watch: Watch, noted: Mapping[str, Any]) -> AgentRun:
        self._answers += 1
        self._machine.limiter.succeeded(self._endpoint.key)
        self._budget.answered(self._endpoint.key)
        left_out = tuple(
            f"parameter '{name}' was left out, the server refuses it: {self._machine.redactor.text(why)[0]}"
            for name, why in habits.dropped.items()
            if name in ask.params or (name == "response_format" and ask.json_schema is not None)
        )
        stop = _told(watch, heard.events)
        return AgentRun(
            **{name: value for name, value in noted.items() if name != "warnings"},
            outcome="ok" if stop is None else _outcome(stop),
            reason=None if stop is None else stop.reason,
            text=heard.text,
            events=heard.events,
            usage=cost(heard.usage, self._endpoint.pricing),
            timing=timing,
            model=heard.model,
            warnings=(*noted.get("warnings", ()), *heard.warnings, *left_out),
        )

    def _failed(self, failure: Failure, tries: _Tries, began: float, noted: Mapping[str, Any]) -> AgentRun:
        reason = self._machine.redactor.text(failure.reason)[0]
        if tries.failed > 1:
            reason += f"; tried {tries.failed} times"
        if failure.interrupted or self._machine.stopping():
            failure = failure._replace(outcome="harness_error")
            reason = "interrupted"
        return AgentRun(
            **noted,
            outcome=failure.outcome,
            reason=reason,
            timing=tries.timing(began),
            usage=Usage(),
            setup=failure.setup,
            retry_after_s=failure.retry_after_s,
            logs={"response.txt": failure.page} if failure.page else {},
        )


class _Tries:
    """Clock and counters of one call and its repetitions."""

    __slots__ = ("counted", "ended", "failed", "level", "requests", "seen", "started")

    def __init__(self, seen: int) -> None:
        self.started = self.ended = time.monotonic()
        self.failed = 0
        self.counted = 0
        """Failures that count towards the attempts of one call."""
        self.level = 0
        """How far the waits have doubled."""
        self.seen = seen
        """Answers that anyone had from the endpoint when we last failed there."""
        self.requests = 0

    def fail(self, *, busy: bool, answers: int) -> None:
        """One try has failed. `busy`: it was refused while others were answered, which is no sign of an outage."""
        self.failed += 1
        self.seen = answers
        if busy:
            self.level = min(self.level + 1, retry.BUSY_LEVEL)
        else:
            self.counted += 1
            self.level += 1

    def timing(self, began: float) -> Timing:
        """The last exchange is the run; all before it was waiting."""
        start = time.time() - (time.monotonic() - self.started)
        return Timing(
            started_at=time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start)) + f".{int(start % 1 * 1000):03d}Z",
            duration_s=max(0.0, self.ended - self.started),
            queued_s=max(0.0, self.started - began),
            turns=1,
            model_requests=self.requests,
        )


@lru_cache(maxsize=256)
def join(base_url: str, path: str) -> str:
    """Base URL and path; what the base already has of the path's start is not repeated, and its query stays at the end."""
    base, mark, query = base_url.partition("?")
    base = base.rstrip("/")
    shared = max(
        (end for end in range(len(path) + 1) if base.endswith(path[:end]) and path[end : end + 1] in ("", "/")), default=0
    )
    return f"{base}{path[shared:]}{mark}{query}"


def complete_openai(ask: Ask, endpoint: Endpoint, machine: Machine, watch: Watch) -> AgentRun:
    """One question to a chat completions endpoint, connection closed afterwards. For many, keep an Asker."""
    return _one(openai, ask, endpoint, machine, watch)


def complete_anthropic(ask: Ask, endpoint: Endpoint, machine: Machine, watch: Watch) -> AgentRun:
    """One question to Anthropic's Messages endpoint, connection closed afterwards."""
    return _one(anthropic, ask, endpoint, machine, watch)


def _one(wire: Wire, ask: Ask, endpoint: Endpoint, machine: Machine, watch: Watch) -> AgentRun:
    asker = Asker(wire, endpoint, machine)
    try:
        return asker.ask(ask, watch)
    finally:
        asker.close()


def _parsed(body: bytes) -> Any:
    """The JSON, or None for what is none; NaN and infinities are none."""
    try:
        return _DECODER.decode(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _is_error(data: Any) -> bool:
    """Some gateways answer 200 with an error inside."""
    return isinstance(data, dict) and bool(data.get("error")) and not data.get("choices") and not data.get("content")


def _inner_status(data: Any) -> int:
    error = data.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _told(watch: Watch, events: tuple[Event, ...]) -> Stop | None:
    """Tells the watch what came; a cap that this breaks ends the run."""
    for event in events:
        stop = watch.heard(event)
        if stop is not None:
            return stop
    return None


def _outcome(stop: Stop) -> Any:
    return stop.outcome if stop.outcome in ("timeout", "budget") else "harness_error"
