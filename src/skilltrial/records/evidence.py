"""What a run left behind, before anyone judges it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import FileRef

Outcome = Literal["ok", "agent_error", "infrastructure_error", "timeout", "budget", "harness_error"]
Activation = Literal["activated", "read", "forced", "not_seen", "unknown", "none_expected"]
"""activated: a tool event; read: a file read of SKILL.md; forced: by construction; not_seen: a record of events exists and shows nothing; unknown: this backend cannot tell; none_expected: the arm has no skill."""
Source = Literal["ran", "replayed", "reused", "answered", "imported"]


class Usage(Record):
    """What one run consumed, as its backend reported it. None means not reported, never zero."""

    input_tokens: int | None = None
    """Prompt tokens, cache reads included."""
    cached_tokens: int | None = None
    """The part of input_tokens read from a cache."""
    output_tokens: int | None = None
    """Reasoning included where the provider counts it so."""
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    """Only where a record holds the sum and not its parts."""
    cost_usd: float | None = None
    """US dollars; `cost_source` says who computed it."""
    cost_source: str | None = None
    """cli, pricing-config, price-table, openrouter-pricing, provider, cli-unreconciled."""


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

    kind: Literal["text", "tool_call", "tool_result", "skill", "error", "other"]
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


class GitDelta(Record):
    """What changed in the repository."""

    branches: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    head: str | None = None
    status: tuple[str, ...] = ()


class Delta(Record):
    """Files that the run created, changed or deleted in its workspace, the staged skill left out."""

    created: tuple[FileRef, ...] = ()
    changed: tuple[FileRef, ...] = ()
    deleted: tuple[str, ...] = ()
    git: GitDelta | None = None
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
    sent: JsonObject | None = None
    """What was sent: system, user, tools, staged paths."""
    logs: dict[str, bytes] = {}
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
    model: str | None = None
    program_version: str | None = None
    redactions: int = 0
    """Places masked in this record and its files; a check on masked input is never graded again."""
    masked_text: bool = False
    """The final text is stored masked."""
    masked_paths: tuple[str, ...] = ()
    """Files of the delta that are stored masked; their size and digest are those of the masked bytes."""
    source: Source = "ran"
