"""How a run of an agent program ended, judged from what it said, never from its exit status alone.

The rule, in this order:
    we ended it                        timeout, budget, …; a time limit that only saw failing calls is the outage it shows
    its final record names a failure   by what that failure is
    its final record is good           ok, unless not one reply of the model stands before it: then the model was not reached
    no final record                    status 0 after a reply: `agent_error`, its text is kept and graded by nobody;
                                       without a reply the model was not reached: `infrastructure_error`;
                                       another status: by the last failure it told of, else a crash
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, cast

from skilltrial.records.evidence import Outcome
from skilltrial.seams import Exit

Kind = Literal["login", "model", "unreachable", "rate", "server", "overflow", "length", "refusal", "turns", "budget", "other"]
TAIL = 600
"""Characters of an error stream that a reason quotes."""
_LONGEST_MESSAGE = 400
_STATUS = re.compile(r"(?:status(?: code)?|HTTP|API Error|\"code\")[\s:=]*\(?(\d{3})\b|^(\d{3}) [a-zA-Z]", re.MULTILINE)
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (cast(Kind, kind), re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("turns", r"max(imum)?[ _-]?(session )?turns|turn.?limit|wall-clock budget|tool.?call budget|loop detect"),
        (
            "overflow",
            r"context[ _]?(length|window|size|limit|overflow)|prompt is too long|prompt_too_long|too many (input )?tokens"
            r"|rejected the prompt as too long|exceeds? the (available|maximum) (context|number of tokens)",
        ),
        ("length", r"max_output_tokens|output token maximum|output token limit"),
        ("refusal", r"content[ _-]?(filter|policy)|can't help with this\. start a new session|safety system|/legal/aup"),
        (
            "login",
            r"authenticat|unauthori[sz]ed|invalid[ _](api[ _])?key|api key (not|is|was) |not logged in|please (run )?/?log ?in|log in\b"
            r"|sign in\b|missing environment variable|oauth token|credentials|no api key|set an auth method|permission_error"
            r"|insufficient[ _](quota|credits?|balance|funds)|credit balance|exceeded your current quota",
        ),
        (
            "model",
            r"model.{0,120}?(not found|does not exist|not exist|not a valid|unknown|not available|no longer)|model_?not_?found"
            r"|(unknown|invalid|no such|unsupported) model|providermodelnotfound",
        ),
        ("rate", r"rate.?limit|too many requests|resource_exhausted|overloaded"),
        (
            "unreachable",
            r"connection (refused|failed|error|reset)|econn|enotfound|fetch failed|waiting for network|error sending request"
            r"|could not connect|unable to connect|getaddrinfo|dns|unable to connect to api",
        ),
    )
)
_BY_STATUS: dict[int, Kind] = {401: "login", 402: "login", 403: "login", 404: "model", 413: "overflow", 429: "rate", 529: "rate"}
_OUTCOMES: dict[Kind, Outcome] = {
    "overflow": "agent_error", "length": "agent_error", "refusal": "agent_error", "turns": "agent_error", "budget": "budget",
}  # fmt: skip
_SETUP = frozenset({"login", "model"})
_OURS = frozenset({"timeout", "budget", "agent_error", "infrastructure_error"})


class Trouble(NamedTuple):
    """A failure that a program told of."""

    message: str
    status: int | None = None
    """HTTP status, where it was told."""
    kind: Kind | None = None
    """None: read from status and message."""

    def what(self) -> Kind:
        """Which failure it is."""
        if self.kind:
            return self.kind
        status = self.status or status_in(self.message)
        for kind, pattern in _KINDS:
            if pattern.search(self.message) and not (kind in ("model", "login") and status in (429, 500, 502, 503, 529)):
                return kind
        if status is None:
            return "other"
        return _BY_STATUS.get(status, "server")

    def __str__(self) -> str:
        flat = " ".join(self.message.split())
        flat = flat if len(flat) <= _LONGEST_MESSAGE else f"{flat[:_LONGEST_MESSAGE]}…"
        return flat if self.status is None or str(self.status) in flat else f"{self.status} {flat}".strip()


class Story(NamedTuple):
    """What a stream told until it ended."""

    ended: bool
    """Its final record was seen."""
    failure: Trouble | None
    """What its final record calls the failure."""
    trouble: Trouble | None
    """The last failed call it told of, in the stream or on its error stream; None once a reply followed."""
    reached: bool
    """At least one reply of the model is in the stream."""


class Verdict(NamedTuple):
    """How the run counts."""

    outcome: Outcome
    reason: str | None = None
    setup: bool = False
    kind: Kind | None = None


def status_in(message: str) -> int | None:
    """The HTTP status that a message names."""
    found = _STATUS.search(message)
    status = int(found[1] or found[2]) if found else 0
    return status if 400 <= status < 600 else None


def judged(story: Story, exit_: Exit, complaint: str) -> Verdict:
    """The verdict by the rule above.

    Args:
        complaint: the end of the program's error stream, its usual noise left out.
    """
    if exit_.stop is not None:
        return _stopped(story, exit_)
    if story.ended:
        if story.failure:
            return failed(story.failure, story.reached)
        if story.reached:
            return Verdict("ok")
        return _never_reached(story, "it ended well without one reply of the model", complaint)
    if exit_.code == 0:
        if story.reached:
            return Verdict("agent_error", f"no final record: the stream stopped before its end{_quoted(complaint)}")
        return _never_reached(story, "it ended with status 0 and the model was never reached", complaint)
    return _crashed(story, exit_, complaint)


def failed(trouble: Trouble, reached: bool) -> Verdict:
    """The verdict on a failure by its kind. What only set-up can mend is marked so: it would hit every other cell too."""
    kind = trouble.what()
    setup = kind in _SETUP or (kind == "unreachable" and not reached)
    return Verdict(_OUTCOMES.get(kind, "infrastructure_error"), f"{_named(kind)}{trouble}", setup, kind)


def _named(kind: Kind) -> str:
    return {
        "login": "not let in: ", "model": "the model is not known: ", "rate": "too many requests: ",
        "unreachable": "the endpoint cannot be reached: ", "overflow": "longer than the model takes: ",
        "length": "the answer was cut at the model's limit: ", "refusal": "the provider refused: ",
        "turns": "its own limit ended it: ", "budget": "",
    }.get(kind, "")  # fmt: skip


def _stopped(story: Story, exit_: Exit) -> Verdict:
    assert exit_.stop is not None
    outcome, reason = exit_.stop
    if outcome == "timeout" and story.trouble and not story.reached:
        verdict = failed(story.trouble, False)
        if verdict.outcome == "infrastructure_error":
            return verdict._replace(reason=f"the model was never reached until the {reason}; {verdict.reason}")
    known = cast(Outcome, outcome) if outcome in _OURS else "harness_error"
    if known == "infrastructure_error" and story.trouble:
        return failed(story.trouble, story.reached)._replace(outcome=known, reason=reason)
    notes = [reason]
    if not exit_.stdout_bytes:
        notes.append("it had printed nothing by then")
    elif outcome == "timeout" and not story.reached:
        notes.append("the model had not answered by then")
    if story.trouble:
        notes.append(f"the last it told of was: {story.trouble}")
    return Verdict(known, "; ".join(notes), kind=story.trouble.what() if story.trouble else None)


def _never_reached(story: Story, what: str, complaint: str) -> Verdict:
    trouble = story.trouble or (Trouble(complaint) if complaint else None)
    if trouble is None:
        return Verdict("infrastructure_error", f"{what}; it said nothing about it")
    verdict = failed(trouble, False)
    return verdict._replace(outcome=_OUTCOMES.get(verdict.kind or "other", "infrastructure_error"), reason=f"{what}: {trouble}")


def _crashed(story: Story, exit_: Exit, complaint: str) -> Verdict:
    how = f"it ended with status {exit_.code}" if exit_.code is not None else f"it was killed by signal {exit_.signal}"
    trouble = story.trouble or (Trouble(complaint) if complaint else None)
    verdict = failed(trouble, story.reached) if trouble else Verdict("infrastructure_error")
    if story.reached and verdict.kind in (None, "other"):
        verdict = verdict._replace(outcome="agent_error")
    never_started = exit_.code is not None and not exit_.stdout_bytes
    reason = f"{how} without a final record{_quoted(str(trouble) if trouble else '')}"
    return verdict._replace(reason=reason, setup=verdict.setup or never_started)


def _quoted(complaint: str) -> str:
    return f": {complaint}" if complaint else ""


def complaint_of(stderr: bytes, noise: re.Pattern[str] | None) -> str:
    """The last of what a program said on its error stream, without its usual noise and without stack traces."""
    lines = [line.rstrip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [line for line in lines if not _TRACE.match(line) and not (noise and noise.search(line))]
    return "\n".join(told)[-TAIL:].strip()


_TRACE = re.compile(r"\s+at .+[:)]\d*|\s*(\}|status: \d+)$")
