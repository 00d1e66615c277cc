"""What backends share that start one program per run: its options, its output, and how an end becomes an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import ValidationError

from skilltrial.errors import CellError, UsageError
from skilltrial.records.evidence import AgentRun, Outcome, Timing
from skilltrial.records.plan import Target
from skilltrial.records.record import Record
from skilltrial.seams import Command, Exit, Job, Machine, Place, Stop, Watch

TAIL = 600
"""Characters of an error stream that a reason quotes."""
_OURS = frozenset({"timeout", "budget", "agent_error", "infrastructure_error"})
Option = TypeVar("Option", bound=Record)


def built(backend: type[Option], target: Target, **settings: Any) -> Option:
    """The backend's record from a planned target's options and the given settings.

    Raises:
        UsageError: an option it does not have, or a value that does not fit; all of them in one message.
    """
    try:
        return backend.model_validate({**settings, **target.options})
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'options'}: {fault['msg']}" for fault in error.errors()]
        hint = f"{target.backend} has: {', '.join(backend.model_fields)}"
        raise UsageError(f"target '{target.name}': {'; '.join(faults)}", hint) from None


class Ended(NamedTuple):
    """A program that ran to its end, with all it printed."""

    exit: Exit
    stdout: bytes
    started_at: str

    @property
    def timing(self) -> Timing:
        return Timing(started_at=self.started_at, duration_s=round(self.exit.duration_s, 4))


class Failure(NamedTuple):
    """Why a run is no measurement."""

    outcome: Outcome
    reason: str
    setup: bool = False
    """It would hit every other cell too."""


def place_of(job: Job) -> Place:
    """The job's place.

    Raises:
        CellError: it has none.
    """
    if job.place is None:
        raise CellError("backend", "a program needs a folder to run in, and this cell has none")
    return job.place


def run_to_end(
    job: Job, watch: Watch, command: Command, output_bytes: int, hear: Callable[[bytes], Stop | None] | None = None
) -> Ended | Failure:
    """Starts the program in the job's place and keeps what it prints, up to `output_bytes` per stream.

    `hear` is told each line as it comes, and may end the run.
    """
    place, kept = place_of(job), bytearray()
    started = _now()

    def keep(line: bytes) -> Stop | None:
        if len(kept) <= output_bytes:
            kept.extend(line)
            return hear(line) if hear else None
        return None

    try:
        ended = place.start(command, job.limits.model_copy(update={"output_bytes": output_bytes}), keep, watch)
    except OSError as error:
        return Failure("infrastructure_error", f"{command.argv[0]} could not be started: {error.strerror or error}", setup=True)
    if len(kept) > output_bytes and not ended.overflow:
        ended = replace(ended, overflow=True)
    return Ended(ended, bytes(kept), started)


def failure_of(ended: Ended, output_bytes: int, machine: Machine) -> Failure | None:
    """What an end other than status 0 within all limits means; None: the output may be read."""
    exit_ = ended.exit
    if exit_.overflow:
        return Failure("agent_error", f"it wrote more than {output_bytes:,} bytes to one stream")
    if exit_.stop is not None:
        outcome = exit_.stop.outcome if exit_.stop.outcome in _OURS else "harness_error"
        said = "" if exit_.stdout_bytes else "; it had printed nothing by then"
        return Failure(cast(Outcome, outcome), exit_.stop.reason + said)
    if exit_.code != 0:
        how = f"ended with status {exit_.code}" if exit_.code is not None else f"was killed by signal {exit_.signal}"
        return Failure("infrastructure_error", f"it {how}{tail(exit_.stderr, machine)}")
    return None


def failed(failure: Failure, ended: Ended | None = None, **fields: Any) -> AgentRun:
    """The run of a failed measurement: no text, so that nothing can be graded."""
    timing = ended.timing if ended else Timing(started_at=_now(), duration_s=0.0)
    return AgentRun(outcome=failure.outcome, reason=failure.reason, setup=failure.setup, timing=timing, **fields)


def tail(stream: bytes, machine: Machine) -> str:
    """The end of an error stream, masked, as the last part of a reason; empty when there is nothing to show."""
    text = stream.decode("utf-8", "replace").strip()
    if not text:
        return ""
    return f": {machine.redactor.text(text)[0][-TAIL:].strip()}"


def logs_of(ended: Ended, name: str) -> dict[str, bytes]:
    """Raw output by file name; empty streams are left out."""
    return {key: data for key, data in ((name, ended.stdout), ("stderr.log", ended.exit.stderr)) if data}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
