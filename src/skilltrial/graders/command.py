"""The check that runs a command on what a run left, in a scratch place, after every process of the run is dead."""

from __future__ import annotations

from typing import ClassVar

from skilltrial.errors import CellError
from skilltrial.graders._verdict import QUOTE, ByType, Scene, Verdict
from skilltrial.records.checks import CommandCheck
from skilltrial.records.suite import Limits
from skilltrial.seams import Command, Exit, Stop

KEPT_BYTES = 262_144
"""Of standard output, at most, for `stdout_contains` and the quote."""
_CANNOT_START = {126: "cannot be executed", 127: "was not found"}
"""What a shell answers when there is nothing to run."""


def command(options: CommandCheck, scene: Scene) -> Verdict:
    """Passed when the command ends with the wanted status and output. No verdict when it cannot start or runs out of time."""
    output = bytearray()

    def keep(line: bytes) -> Stop | None:
        if len(output) < KEPT_BYTES:
            output.extend(line)
        return None

    masked = _masked(scene)
    try:
        with scene.desk.scratch(scene.view) as place:
            ended = place.start(_command(options), Limits(timeout_s=options.timeout_s), keep)
    except CellError as error:
        return Verdict.ungraded(f"the command could not be run: {error.reason}", masked=masked)
    except OSError as error:
        return Verdict.ungraded(f"the command could not be run: {error.strerror or error}", masked=masked)
    return _verdict(options, ended, bytes(output).decode("utf-8", "replace"), masked)


def _command(options: CommandCheck) -> Command:
    argv = options.argv if options.argv is not None else ("sh", "-c", options.shell or "")
    return Command(argv=argv, env={"PYTHONDONTWRITEBYTECODE": "1"})


def _verdict(options: CommandCheck, ended: Exit, output: str, masked: bool) -> Verdict:
    if ended.stop is not None:
        return Verdict.ungraded(f"the command was ended: {ended.stop.reason}", masked=masked)
    if ended.overflow:
        return Verdict.ungraded("the command wrote more than the output limit", masked=masked)
    if ended.code in _CANNOT_START and ended.code != options.exit_code:
        detail = f": {tail}" if (tail := _tail(ended, output)) else ""
        return Verdict.ungraded(f"the command {_CANNOT_START[ended.code]}{detail}", masked=masked)
    if ended.code != options.exit_code:
        how = f"ended with status {ended.code}" if ended.code is not None else f"was killed by signal {ended.signal}"
        return Verdict.failed(f"the command {how}, expected {options.exit_code}", _tail(ended, output), masked=masked)
    wanted = options.stdout_contains
    if wanted is not None and wanted not in output:
        return Verdict.failed(f"{wanted!r} is not in the command's output", _tail(ended, output), masked=masked)
    found = f" and printed {wanted!r}" if wanted is not None else ""
    return Verdict.passed(f"the command ended with status {ended.code}{found}", _tail(ended, output), masked=masked)


def _tail(ended: Exit, output: str) -> str | None:
    errors = ended.stderr.decode("utf-8", "replace")
    return (errors.strip() or output.strip())[-QUOTE:] or None


def _masked(scene: Scene) -> bool:
    """A command may read every file that the run left."""
    delta = scene.view.record.delta
    return delta is not None and any(scene.view.masked(file.path) for file in (*delta.created, *delta.changed))


class Commands(ByType):
    """A command's exit status and output."""

    rules: ClassVar = {"command": command}


plugin = Commands()
