"""`packets.jsonl`: which packet is about which cell, and which answers were handed in. Whoever answers never sees it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skilltrial.records.record import Record


class PacketLine(Record):
    """A packet was written: a task to do, or a question to the judge."""

    kind: Literal["packet"] = "packet"
    packet: str
    """Name of its folder; says nothing of arm, case or order."""
    about: Literal["run", "judge"]
    cell: str
    question: str | None = None
    """Of a judge's packet: digest of what is asked, its random token left out."""
    evidence: str | None = None
    """Of a judge's packet: digest of the evidence it shows."""
    token: str | None = None
    """Of a judge's packet: the random token of its fences."""
    at: str
    """UTC, ISO 8601."""


class AnswerLine(Record):
    """The answer to a packet was accepted."""

    kind: Literal["answer"] = "answer"
    packet: str
    context: str
    """The session or subagent that gave it, as it named itself."""
    digest: str
    """Of the answer file."""
    at: str


class SpentLine(Record):
    """The judge's reply in a packet could not be used: its cell needs a new packet."""

    kind: Literal["spent"] = "spent"
    packet: str
    at: str


PacketsLine = Annotated[PacketLine | AnswerLine | SpentLine, Field(discriminator="kind")]
