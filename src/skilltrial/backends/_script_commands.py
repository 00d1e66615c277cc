"""The commands of a script, really run in the workspace and told as an agent program tells its tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skilltrial.errors import CellError
from skilltrial.records.evidence import Event
from skilltrial.seams import Command, Job, Stop, Watch
from skilltrial.system.files import safe_name

TOOL = "Bash"
"""What a command's tool call is called, as in most agent programs."""
_KEPT_BYTES = 65_536


class Stopped(Exception):
    """A command was ended from outside; the first argument is the Stop."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


def run(commands: Sequence[str], job: Job, watch: Watch, skill_dir: str) -> Iterator[Event]:
    """Runs shell commands one after the other, whatever their status, and tells a call and its result for each.

    `$SKILL` is the folder of the arm's first skill, empty in a baseline.

    Raises:
        CellError: there is no folder to run in, or no shell.
        Stopped: the run's time was over.
    """
    place = job.place
    if place is None:
        raise CellError("backend", "the script runs commands, and this cell has no folder to run them in")
    skill = f"{skill_dir}/{safe_name(job.skills[0].name)}" if job.skills else ""
    for number, line in enumerate(commands, 1):
        printed = bytearray()

        def keep(row: bytes, into: bytearray = printed) -> Stop | None:
            into.extend(row[: max(0, _KEPT_BYTES - len(into))])
            return None

        name = f"call-{number}"
        yield Event(kind="tool_call", name=TOOL, call=name, arguments={"command": line})
        try:
            ended = place.start(Command(("sh", "-c", line), {"SKILL": skill}), job.limits, keep, watch)
        except OSError as error:
            raise CellError("backend", f"sh could not be started: {error.strerror or error}") from None
        if ended.stop is not None:
            raise Stopped(ended.stop)
        text = (bytes(printed) + ended.stderr).decode("utf-8", "replace")
        yield Event(kind="tool_result", name=TOOL, call=name, ok=ended.code == 0, text=text)


def output_of(events: Sequence[Event]) -> str:
    """What the last command printed, without the line ends around it."""
    return next((event.text.strip() for event in reversed(events) if event.kind == "tool_result" and event.text), "")
