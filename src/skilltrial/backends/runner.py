"""A shell script that answers a prompt: skill-ab-eval's `runners/NAME.sh`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

from skilltrial.backends import _program
from skilltrial.chat.package import Packages
from skilltrial.errors import UsageError
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import Skill
from skilltrial.sandboxes import programs
from skilltrial.seams import Capabilities, Command, Job, Machine, Probe, Watch

LONGEST_VARIABLE = 131_000
"""Bytes that fit into one variable of a process (Linux: 131,072 with its name)."""
_NOT_RUNNABLE = frozenset({126, 127})


class Runner(Record):
    """`bash NAME.sh` with the prompt in `$PROMPT` and on standard input; what it prints is the answer."""

    name: ClassVar[str] = "runner"
    capabilities: ClassVar[Capabilities] = Capabilities(
        skills=True, files=True, own_environment=False, delivery="body_only", timeout_s=120.0, concurrency=1
    )

    script: str
    """A name, looked up as `NAME.sh` in `search`, or a path."""
    args: tuple[str, ...] = ()
    search: tuple[str, ...] = ("runners", ".")
    """Folders for a bare name, relative to the working folder."""
    max_output_bytes: int = 1_048_576
    """Most it may write to each stream; more ends the process, and the run is no measurement."""

    @classmethod
    def from_target(cls, target: Target) -> Self:
        """Builds it from a planned target.

        Raises:
            UsageError: no script named, or an option it does not have.
        """
        if not target.value and "script" not in target.options:
            raise UsageError(f"target '{target.name}': name the script", "write runner:NAME for runners/NAME.sh, or runner:PATH")
        return _program.built(cls, target, script=target.value, args=target.args)

    def places(self) -> tuple[Path, ...]:
        """Where the script may lie, best first."""
        given = Path(self.script).expanduser()
        if len(given.parts) > 1 or given.suffix == ".sh":
            return (given.absolute(),)
        return tuple((Path(folder) / f"{self.script}.sh").absolute() for folder in self.search)

    def file(self) -> Path | None:
        """The script; None: there is none."""
        return next((place for place in self.places() if place.is_file()), None)

    def probe(self, machine: Machine) -> Probe:
        """The script is there and bash is on PATH. Nothing is started."""
        file = self.file()
        if file is None:
            return Probe(False, f"there is no runner '{self.script}'; looked for {', '.join(map(str, self.places()))}")
        bash = _bash(machine)
        if bash is None:
            return Probe(False, "bash is not on PATH, and runners are bash scripts")
        return Probe(True, "found; isolation is left to the runner", program=str(file))

    def executable(self, machine: Machine) -> str | None:
        """Where the script is."""
        file = self.file()
        return str(file) if file else None

    def installation(self, machine: Machine) -> tuple[Path, ...]:
        """What a sandbox has to show for it to start: the script alone, and bash."""
        path = machine.environ.get("PATH", os.defpath)
        return tuple(found for start in (self.file(), _bash(machine)) if start for found in programs.needs(Path(start), path))

    @contextmanager
    def open(self, machine: Machine) -> Iterator[ScriptRunner]:
        yield ScriptRunner(self, machine)

    def endpoint_name(self) -> str:
        return self.script


plugin = Runner


class ScriptRunner:
    """One process per run."""

    def __init__(self, runner: Runner, machine: Machine) -> None:
        self.runner = runner
        self.machine = machine
        self._packages = Packages()

    def run(self, job: Job, watch: Watch) -> AgentRun:
        package = self._packages.of(_without_skills(job))
        prompt = _prefix(job.skills) + package.user
        sent: JsonObject = {"prompt": prompt}
        activation = "forced" if job.skills else "none_expected"
        file, bash = self.runner.file(), _bash(self.machine)
        if file is None or bash is None:
            return _program.failed(_program.Failure("infrastructure_error", self.runner.probe(self.machine).reason, setup=True))
        variables, warnings = _variables(prompt)
        command = Command(
            argv=(bash, str(file), *self.runner.args),
            env=variables,
            stdin=prompt.encode("utf-8", "replace"),
        )
        ended = _program.run_to_end(job, watch, command, self.runner.max_output_bytes)
        if isinstance(ended, _program.Failure):
            return _program.failed(ended, sent=sent)
        run = self._read(ended, sent)
        return run.model_copy(update={"activation": activation, "warnings": (*package.warnings, *warnings)})

    def _read(self, ended: _program.Ended, sent: JsonObject) -> AgentRun:
        logs = _program.logs_of(ended, "stdout.log")
        failure = self._failure(ended)
        if failure:
            return _program.failed(failure, ended, sent=sent, logs=logs)
        text = ended.stdout.decode("utf-8", "replace").rstrip("\r\n")
        return AgentRun(outcome="ok", text=text, timing=ended.timing, sent=sent, logs=logs)

    def _failure(self, ended: _program.Ended) -> _program.Failure | None:
        """A status other than 0 is no measurement even when something was printed, and neither is an empty answer."""
        errors = _program.tail(ended.exit.stderr, self.machine)
        failure = _program.failure_of(ended, self.runner.max_output_bytes, self.machine)
        if failure is None:
            empty = not ended.stdout.strip()
            reason = f"runner: it ended with status 0 and printed nothing{errors}"
            return _program.Failure("infrastructure_error", reason) if empty else None
        reason = f"runner: {failure.reason}"
        if ended.exit.code and ended.stdout.strip():  # it got as far as an answer
            printed = _program.tail(ended.stdout, self.machine)
            return _program.Failure("agent_error", f"{reason}; it had printed{printed}")
        return failure._replace(reason=reason, setup=ended.exit.code in _NOT_RUNNABLE)


def _without_skills(job: Job) -> Job:
    return replace(job, skills=())


def _prefix(skills: tuple[Skill, ...]) -> str:
    """The skills' instructions before the task; scripts and references do not reach a runner."""
    parts = [
        f"Skill '{skill.name}'. Follow these instructions where they fit the task:\n\n{skill.body.strip()}" for skill in skills
    ]
    return "\n\n".join([*parts, "---", "The task:\n\n"]) if parts else ""


def _variables(prompt: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """`PROMPT` for the script, unless the prompt cannot be a variable."""
    size = len(prompt.encode("utf-8", "replace"))
    if size > LONGEST_VARIABLE or "\0" in prompt:
        return {"PROMPT": ""}, (f"the prompt ({size:,} bytes) does not fit into $PROMPT; it is on standard input only",)
    return {"PROMPT": prompt.encode("utf-8", "replace").decode()}, ()


def _bash(machine: Machine) -> str | None:
    return shutil.which("bash", path=machine.environ.get("PATH"))
