"""What a run left behind, before anyone judges it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, JsonValue, SkipValidation

from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import FileRef

Outcome = Literal["ok", "agent_error", "infrastructure_error", "timeout", "budget", "harness_error"]
Activation = Literal["activated", "read", "forced", "not_seen", "unknown", "none_expected"]
"""activated: a tool event; read: a file read of SKILL.md; forced: by construction; not_seen: a record of events exists and shows nothing; unknown: this backend cannot tell; none_expected: the arm has no skill."""
Source = Literal["ran", "replayed", "reused", "answered", "imported"]
IMPORTED: Literal["imported"] = "imported"
"""Backend of targets that ran in another tool. There is none of that name, so that nothing can be run."""


class Usage(Record):
    """What one run consumed, as its backend reported it. None means not reported, never zero."""

    input_tokens: int | None = None
    """Prompt tokens, cache reads included."""
    cached_tokens: int | None = None
    """The part of input_tokens read from a cache."""
    cache_write_tokens: int | None = None
    """The part of input_tokens written to a cache, which some providers charge for."""
    output_tokens: int | None = None
    """Reasoning included where the provider counts it so."""
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    """Only where a record holds the sum and not its parts."""
    cost_usd: float | None = None
    """US dollars; `cost_source` says who computed it."""
    cost_source: str | None = None
    """cli, pricing-config, price-table, openrouter-pricing, provider, cli-unreconciled."""


def summed(usages: Iterable[Usage]) -> Usage:
    """What several calls took together; a figure that none of them reported stays unknown."""
    listed = list(usages)
    if len(listed) == 1:
        return listed[0]
    names = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
    known = {name: [value for usage in listed if (value := getattr(usage, name)) is not None] for name in names}
    sources = {usage.cost_source for usage in listed} - {None}
    totals: dict[str, Any] = {name: sum(values) for name, values in known.items() if values}
    return Usage(**totals, cost_source=sources.pop() if len(sources) == 1 else None)


class Timing(Record):
    """When and how long."""

    started_at: str
    """UTC, ISO 8601."""
    duration_s: float | None = None
    """From start to end of the run itself, waiting for a slot left out. None: an imported run whose record does not say."""
    queued_s: float = 0.0
    turns: int | None = None
    model_requests: int | None = None


class Event(Record):
    """One step of a run as its backend told it."""

    kind: Literal["text", "tool_call", "tool_result", "skill", "error", "other", "mock_call"]
    """mock_call: a call that a stand-in MCP server answered, as the server itself recorded it."""
    name: str | None = None
    call: str | None = None
    """Id that joins a result to its call."""
    parent: str | None = None
    ok: bool | None = None
    arguments: JsonValue = None
    """Parsed arguments of a tool call; the raw text when it is not JSON."""
    text: str | None = None
    at_s: float | None = None


class Inventory(Record):
    """What the program said it can see. None: this backend cannot tell."""

    skills: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None
    mcp_servers: tuple[str, ...] | None = None
    instructions: tuple[str, ...] | None = None


class ReviewRequest(Record):
    """A pull request, or a merge request."""

    number: int
    branch: str
    """The branch it wants to see merged."""
    base: str | None = None
    url: str | None = None
    open: bool = True


class GitDelta(Record):
    """What changed in the repository between the start of the run and its end. The staged skill and fixtures never count."""

    branches: tuple[str, ...] = ()
    """Local branches that are new."""
    commits: tuple[str, ...] = ()
    """New commits that a local branch or HEAD reaches, newest first, as hash and subject; at most 50."""
    head: str | None = None
    """The commit at HEAD after the run."""
    head_before: str | None = None
    branch: str | None = None
    """The current branch after the run; None: detached."""
    branch_before: str | None = None
    branch_heads: dict[str, str] = {}
    """Commits of all local branches, where any is new, gone or moved."""
    pushed: dict[str, str] = {}
    """Remote branches, as `origin/name`, that are new or moved, with their commits."""
    remotes: tuple[str, ...] = ()
    """Names of the remotes there are."""
    status: tuple[str, ...] = ()
    """What `git status` says anew, as `XY path`; at most 1,000."""
    review_requests: tuple[ReviewRequest, ...] | None = None
    """Pull or merge requests that are new. None: nobody asked the provider, or it gave no answer."""
    removed: bool = False
    """The run took the repository away."""
    problem: str | None = None
    """Why a part of this is not known."""
    review_problem: str | None = None
    """Why the provider gave no answer."""
    truncated: bool = False
    before: FileRef | None = None
    """The state at the start as JSON, a blob."""
    after: FileRef | None = None


class Delta(Record):
    """Files that the run created, changed or deleted in its workspace, the staged skill left out."""

    created: tuple[FileRef, ...] = ()
    changed: tuple[FileRef, ...] = ()
    deleted: tuple[str, ...] = ()
    git: GitDelta | None = None
    given: tuple[FileRef, ...] = ()
    """Files of the source repository that a check looks at, as they were at the start."""
    special: tuple[str, ...] = ()
    """Links, pipes, devices and names that are no text; never opened, never stored."""
    truncated: bool = False
    """A cap was hit: absence from the lists then proves nothing. A file listed with digest `unread` was not read."""


class AgentRun(Record):
    """What a Runner returns: the run in its own words, nothing stored yet."""

    outcome: Outcome
    reason: str | None = None
    text: str = ""
    """The final text. Empty when the run did not end `ok`, unless part of it is worth showing."""
    events: tuple[Event, ...] | None = None
    """None: this backend has no record of events."""
    activation: Activation = "unknown"
    inventory: Inventory = Inventory()
    usage: Usage = Usage()
    timing: Timing
    model: str | None = None
    """As the provider reported it."""
    program_version: str | None = None
    warnings: tuple[str, ...] = ()
    setup: bool = False
    """The failure is one of set-up (key, model name, address, program) and would hit every other cell of this target too."""
    retry_after_s: float | None = None
    sent: SkipValidation[JsonObject] | None = None  # ours, and written as JSON next: walking it was half the CPU of this record
    """What was sent: system, user, tools, staged paths."""
    logs: dict[str, bytes] = Field(default_factory=dict)  # a `{}` here would be copied by pydantic, at the price of ten fields
    """Raw output by file name (stdout.log, stderr.log, response.json), already cut to head and tail."""


class Evidence(Record):
    """One finished run as stored: redacted, one line of `evidence/<writer>.jsonl`."""

    schema_: str = Field(default="skilltrial.evidence/1", alias="schema")
    cell: str
    inputs: str
    attempt: int
    """From 1."""
    outcome: Outcome
    reason: str | None = None
    text: str = ""
    events: tuple[Event, ...] | None = None
    activation: Activation = "unknown"
    inventory: Inventory = Inventory()
    usage: Usage = Usage()
    timing: Timing
    delta: Delta | None = None
    """None: the target has no workspace."""
    logs: tuple[FileRef, ...] = ()
    sent: FileRef | None = None
    """JSON blob of what was sent; equal for equal cells."""
    warnings: tuple[str, ...] = ()
    sandbox: str = "none"
    """Level it was started at."""
    walls: dict[str, str] = {}
    """Of that level: network, version of the program that made the walls, image. Empty at `none`."""
    model: str | None = None
    program_version: str | None = None
    redactions: int = 0
    """Places masked in this record and its files; a check on masked input is never graded again."""
    masked_text: bool = False
    """The final text is stored masked."""
    masked_paths: tuple[str, ...] = ()
    """Files of the delta that are stored masked; their size and digest are those of the masked bytes."""
    source: Source = "ran"
