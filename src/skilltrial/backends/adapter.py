"""Any executable that speaks the handbook's adapter protocol: version 1, or version 2 where it is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

from skilltrial.backends import _handbook, _program, _streamed
from skilltrial.errors import UsageError
from skilltrial.records.evidence import Activation, AgentRun, Usage
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import EMPTY_TREE
from skilltrial.sandboxes import programs
from skilltrial.seams import Capabilities, Command, Job, Machine, Probe, Stop, Watch
from skilltrial.system.files import safe_name


class Adapter(Record):
    """An executable: one request on standard input, one response on standard output; isolation is left to it."""

    name: ClassVar[str] = "adapter"
    skill_dir: ClassVar[str] = "skills"
    capabilities: ClassVar[Capabilities] = Capabilities(
        skills=True, activation=True, files=True, tokens=True, cost=True, own_environment=False, delivery="installed",
        stage="inputs", timeout_s=120.0, concurrency=1,
    )  # fmt: skip

    path: str
    """The executable, as a path; PATH is not searched."""
    args: tuple[str, ...] = ()
    protocol: Literal[1, 2] = 1
    """Version that is spoken with it. In 2 it says first what it can do, tells events as they come and the result last."""
    max_output_bytes: int = 1_048_576
    """Most it may write to each stream; more ends the process, and the run is no measurement."""

    @classmethod
    def from_target(cls, target: Target) -> Adapter:
        """Builds it from a planned target.

        Raises:
            UsageError: no path, or an option it does not have.
        """
        if not target.value and "path" not in target.options:
            raise UsageError(f"target '{target.name}': name the executable", "write adapter:PATH or --adapter PATH")
        made = _program.built(cls, target, path=target.value, args=target.args)
        return made if made.protocol == 1 else _program.built(Streaming, target, path=target.value, args=target.args)

    @property
    def program(self) -> Path:
        """Absolute, since the process starts elsewhere; links are kept, some programs look at their own name."""
        return Path(self.path).expanduser().absolute()

    def probe(self, machine: Machine) -> Probe:
        """The file is there and may be executed. Nothing is started."""
        if not self.program.is_file():
            hint = "; PATH is not searched, give a path" if os.sep not in self.path else ""
            return Probe(False, f"there is no adapter '{self.path}'{hint}")
        if not os.access(self.program, os.X_OK):
            return Probe(False, f"'{self.path}' is not executable; run: chmod +x {self.path}")
        return Probe(True, "found; isolation is left to the adapter", program=str(self.program))

    def executable(self, machine: Machine) -> str | None:
        """Where it is, as it is started."""
        return str(self.program)

    def installation(self, machine: Machine) -> tuple[Path, ...]:
        """What a sandbox has to show for it to start: the file alone, for its folder may hold more than a run should see."""
        return programs.needs(self.program, machine.environ.get("PATH", os.defpath))

    @contextmanager
    def open(self, machine: Machine) -> Iterator[AdapterRunner]:
        yield AdapterRunner(self, machine)

    def endpoint_name(self) -> str:
        return self.path


class Streaming(Adapter):
    """An adapter that tells its tool calls, as version 2 can."""

    capabilities: ClassVar[Capabilities] = Adapter.capabilities.model_copy(update={"tools": True})


plugin = Adapter


class AdapterRunner:
    """One process per run. It remembers whether this adapter has ever reported a skill."""

    def __init__(self, adapter: Adapter, machine: Machine) -> None:
        self.adapter = adapter
        self.machine = machine
        self.reports_skills = False

    def run(self, job: Job, watch: Watch) -> AgentRun:
        return self._streamed(job, watch) if self.adapter.protocol == _streamed.VERSION else self._whole(job, watch)

    def _whole(self, job: Job, watch: Watch) -> AgentRun:
        """Version 1: one object, read when it has ended."""
        sent = self.request(job)
        ended = _program.run_to_end(job, watch, self._command(sent), self.adapter.max_output_bytes)
        if isinstance(ended, _program.Failure):
            return _program.failed(ended, sent=sent)
        logs = _program.logs_of(ended, "response.json")
        failure = _program.failure_of(ended, self.adapter.max_output_bytes, self.machine)
        if failure:
            return _program.failed(failure._replace(reason=f"adapter: {failure.reason}"), ended, sent=sent, logs=logs)
        try:
            response = _handbook.response(ended.stdout)
        except _handbook.Violation as error:
            other = _handbook.Violation(f"{error}; it speaks version 2, which is --adapter-protocol 2")
            return self._refused(other if _speaks_2(ended.stdout) else error, ended, sent, logs)
        return self._run(job, ended, response, sent, logs)

    def _streamed(self, job: Job, watch: Watch) -> AgentRun:
        """Version 2: lines, read as they come. What was told before it was ended is kept, and so is a late result's usage."""
        sent = self.request(job)
        reader = _streamed.Reader()

        def hear(line: bytes) -> Stop | None:
            event = reader.feed(line)
            return watch.heard(event) if event is not None else None

        ended = _program.run_to_end(job, watch, self._command(sent), self.adapter.max_output_bytes, hear)
        if isinstance(ended, _program.Failure):
            return _program.failed(ended, sent=sent)
        logs = _program.logs_of(ended, "response.jsonl")
        failure = _program.failure_of(ended, self.adapter.max_output_bytes, self.machine)
        if failure:
            told = {"events": tuple(reader.events) or None, "usage": reader.usage}
            return _program.failed(failure._replace(reason=f"adapter: {failure.reason}"), ended, sent=sent, logs=logs, **told)
        try:
            response = reader.close()
        except _handbook.Violation as error:
            return self._refused(error, ended, sent, logs, reader.usage)
        if "events" in (reader.capabilities or ()):
            self.reports_skills = True
        root = _program.place_of(job).root
        lost = [f"files: '{name}' is not there" for name in reader.files if not (root / name).is_file()]
        return self._run(job, ended, response._replace(warnings=(*response.warnings, *lost)), sent, logs)

    def _command(self, sent: JsonObject) -> Command:
        return Command(
            argv=(str(self.adapter.program), *self.adapter.args),
            env={},  # the place keeps the caller's
            stdin=json.dumps(sent).encode(),
        )

    def _refused(
        self, error: Exception, ended: _program.Ended, sent: JsonObject, logs: dict[str, bytes], usage: Usage | None = None
    ) -> AgentRun:
        reason = f"adapter: {error}{_program.tail(ended.exit.stderr, self.machine)}"
        failure = _program.Failure("infrastructure_error", reason)
        return _program.failed(failure, ended, sent=sent, logs=logs, usage=usage or Usage())

    def request(self, job: Job) -> JsonObject:
        """What the adapter is told, in the words of its version."""
        root = _program.place_of(job).root
        skill = job.skills[0] if job.skills else None
        path = str(root / self.adapter.skill_dir / safe_name(skill.name)) if skill else None
        first = _handbook.request(job.prompt, skill, path, job.fixtures or EMPTY_TREE, str(root))
        return first if self.adapter.protocol == 1 else _streamed.request(first, job.limits.timeout_s)

    def _run(
        self, job: Job, ended: _program.Ended, response: _handbook.Response, sent: JsonObject, logs: dict[str, bytes]
    ) -> AgentRun:
        self.reports_skills = self.reports_skills or bool(response.loads)
        return AgentRun(
            outcome="ok",
            text=response.output,
            events=response.events,
            activation=self._activation(job, response),
            usage=response.usage,
            timing=ended.timing,
            warnings=response.warnings,
            sent=sent,
            logs=logs,
        )

    def _activation(self, job: Job, response: _handbook.Response) -> Activation:
        """Silence means `not seen` only from an adapter that has reported a skill before; else it may never report any."""
        if not job.skills:
            return "none_expected"
        if {skill.name for skill in job.skills} & set(response.loads):
            return "activated"
        if response.events is None or response.silent:
            return "unknown"
        return "not_seen" if self.reports_skills else "unknown"


def _speaks_2(stdout: bytes) -> bool:
    """Whether the first line is the one that version 2 begins with."""
    reader = _streamed.Reader()
    reader.feed(stdout.partition(b"\n")[0])
    return reader.capabilities is not None
