"""The base of all agent programs: two pure halves, a command and a reader, and one way to run them in a place."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from skilltrial.backends import _login, _program
from skilltrial.backends._address import address_of, shown_host
from skilltrial.backends._login import Doors, Login
from skilltrial.backends._running import CommandLineRunner
from skilltrial.backends._stream import Reader
from skilltrial.backends._version import version_of
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record
from skilltrial.sandboxes import programs
from skilltrial.seams import Capabilities, Command, Job, Machine, Probe

CONCURRENCY = min(4, os.cpu_count() or 1)
ENDPOINT_KEY = "SKILLTRIAL_ENDPOINT_KEY"
"""Variable that holds the key of an endpoint of the user's own, for programs that let us choose its name."""
NO_KEY = "none"
"""Stands where a program insists on a key and the endpoint wants none."""
_QUIET = {"NO_COLOR": "1", "TERM": "dumb"}


def abilities(**fields: Any) -> Capabilities:
    """What all agent programs have, and what this one has besides."""
    common: dict[str, Any] = {
        "skills": True, "files": True, "program": True, "judge": True, "delivery": "installed",
        "timeout_s": 600.0, "concurrency": CONCURRENCY,
    }  # fmt: skip
    return Capabilities(**{**common, **fields})


class CommandLine(Record):
    """An agent program, run without a terminal in a home and a folder of its own."""

    name: ClassVar[str]
    program: ClassVar[str]
    """Its executable on PATH."""
    package: ClassVar[str]
    """What to type to install it."""
    skill_dir: ClassVar[str] = ".agents/skills"
    capabilities: ClassVar[Capabilities]
    doors: ClassVar[Doors]
    key_variable: ClassVar[str] = ENDPOINT_KEY
    """Where the program looks for the key of an endpoint of the user's own."""
    usual_hosts: ClassVar[tuple[str, ...]] = ()
    """`host:port` of its model where the user names no endpoint and there is only one that it calls."""
    usual_keys: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    """Variables of the user that may hold that key when `api_key_env` names none."""
    leaves: ClassVar[tuple[str, ...]] = ()
    """Files below its home that the reader is given after the run."""
    keeps: ClassVar[frozenset[str]] = frozenset()
    """Limits of a run that it keeps itself when told, by their names in `Limits`."""
    counts: ClassVar[frozenset[str]] = frozenset()
    """What its stream tells while it runs: `requests`, `tokens`, `cost`. What is told at the end only can end no run."""
    lists_tools: ClassVar[bool] = True
    """It can be held to a list of allowed tools."""
    home_only: ClassVar[frozenset[str]] = frozenset()
    """Options and limits that reach it through files in its home alone; in the user's own home nothing is written."""

    model: str | None = None
    """Passed on as it is; None keeps the program's own choice, which the evidence then records."""
    path: str | None = None
    """The executable; None: found on PATH."""
    base_url: str | None = None
    """Endpoint of the model instead of the program's own."""
    api_key_env: str | None = None
    """Name of the variable that holds the key of that endpoint, or of the program's own one."""
    reasoning_effort: str | None = None
    """How hard the model is to think, in the program's own words: low, medium, high, …"""
    allowed_tools: tuple[str, ...] = ()
    """Tools it may use, in the program's own spelling; () allows all."""
    model_hosts: tuple[str, ...] = ()
    """`host:port` of its model, for a network that leads nowhere else and when no base_url is given."""
    args: tuple[str, ...] = ()
    """More arguments, put after ours."""
    settings: JsonObject = {}
    """Merged into the settings file that the program finds in its home, in the program's own format."""
    max_output_bytes: int = 268_435_456
    """Most it may write to each stream; more ends the run. What is kept as a log is cut to head and tail."""

    @classmethod
    def from_target(cls, target: Target) -> Self:
        """Builds it from a planned target.

        Raises:
            UsageError: an option it does not have.
        """
        return _program.built(cls, target, model=target.value, args=target.args)

    # ------------------------------------------------------------ the two pure halves
    def command(self, job: Job) -> Command:
        """What to start for a job; no secret is in it, and nothing is touched."""
        place = _program.place_of(job)
        return Command(
            argv=(self.path or self.program, *self.arguments(job), *self.args),
            env={**_QUIET, **(self.isolation(place.home) if job.own_home else {}), **self.environment(job)},
            stdin=self.stdin(job),
        )

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        """A reader of its output; `skills` are the names of this arm's skills."""
        raise NotImplementedError

    def arguments(self, job: Job) -> tuple[str, ...]:
        """Everything after the executable."""
        raise NotImplementedError

    def environment(self, job: Job) -> Mapping[str, str]:
        """Variables that hold in every home: endpoint, switches. Never a secret."""
        return {}

    def isolation(self, home: Path) -> Mapping[str, str]:
        """Variables that keep it in a home of its own."""
        return {}

    def home_files(self, job: Job) -> Mapping[str, bytes]:
        """Files it needs in a fresh home, by path below it."""
        return {}

    def login_files(self, source: str, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The files of its home once the way in is known, for programs whose settings name it."""
        return files

    def furnish(self, home: Path, machine: Machine) -> tuple[str, ...]:
        """Puts things of the machine into a fresh home that are no settings; answers with what is missing."""
        return ()

    def stdin(self, job: Job) -> bytes:
        return self.prompt(job).encode("utf-8", "replace")

    def prompt(self, job: Job) -> str:
        """The task as it is sent; a forced case names its skill first."""
        task = f"{job.system}\n\n{job.prompt}" if job.system else job.prompt
        return self.force(job.skills[0].name, task) if job.forced and job.skills else task

    def force(self, skill: str, task: str) -> str:
        """The task with the skill called for, where the program has no spelling of its own for that."""
        return f"Use the skill '{skill}' for this task.\n\n{task}"

    def forces(self) -> bool:
        """A forced skill is loaded by construction, with no event to show for it."""
        return type(self).force is not CommandLine.force

    def endpoint_of(self, job: Job) -> str | None:
        """The endpoint to use instead of the program's own: the gateway's, else the user's."""
        return job.endpoint or self.base_url

    def merged(self, settings: Mapping[str, Any]) -> bytes:
        """Our settings with the user's `settings` over them, as JSON."""
        return json.dumps(over(settings, self.settings), indent=1).encode()

    def kept(self, job: Job) -> frozenset[str]:
        """The limits that the program keeps itself in this run; the others are ours to keep."""
        return self.keeps if job.own_home else self.keeps - self.home_only

    def missing(self, job: Job) -> tuple[str, ...]:
        """What was asked for and this program does not have: warnings of the run."""
        asked = [*self._no_setting(job), *self._no_limit(job), *self._no_home(job)]
        return tuple(f"{self.name} has {what}" for what in asked)

    def _no_setting(self, job: Job) -> Iterator[str]:
        able = self.capabilities
        if self.reasoning_effort and not able.reasoning:
            yield f"no setting for reasoning effort: '{self.reasoning_effort}' is not passed on"
        if self.base_url and not able.endpoint:
            yield "no setting for the endpoint: base_url is not passed on"
        if self.allowed_tools and not self.lists_tools and not job.judging:
            yield f"no list of allowed tools: {', '.join(self.allowed_tools)} is not enforced"
        if not job.judging:
            yield from (f"no setting for '{name}': it is not passed on" for name in sorted(job.params))
            yield from ("no way to add tools to its own",) if job.tools else ()
            if job.mocks and not (job.own_home and able.mcp):
                yield "no way to be given MCP servers here: those of the case are not started"

    def _no_limit(self, job: Job) -> Iterator[str]:
        """A limit nobody keeps: the program does not, and its stream does not tell in time what we would have to know."""
        for limit, number, counted, what in (
            ("max_turns", job.limits.max_turns, "requests", "limit of turns"),
            ("max_requests", job.limits.max_requests, "requests", "count of model requests while it runs"),
            ("max_tokens", job.limits.max_tokens, "tokens", "count of tokens while it runs"),
            ("max_cost_usd", job.limits.max_cost_usd, "cost", "record of cost while it runs"),
        ):
            if number is not None and limit not in self.kept(job) and counted not in self.counts:
                yield f"no {what}: the limit of {number:g} per run ({limit}) is not enforced"

    def _no_home(self, job: Job) -> Iterator[str]:
        if not job.own_home:
            given = (name for name in sorted(self.home_only & self.model_fields_set) if getattr(self, name))
            yield from (f"no way to be told in the user's own home: {name} is not passed on" for name in given)

    # ------------------------------------------------------------ the machine
    def probe(self, machine: Machine) -> Probe:
        """Program, version and login; a version is all that is started."""
        program = self.executable(machine)
        if program is None:
            wanted = f"'{self.path}' is no program" if self.path else f"{self.program} is not on PATH"
            return Probe(False, f"{wanted}; install it: {self.package}")
        version, complaint = version_of(program, machine)
        if version is None:
            return Probe(False, f"{self.program} does not start: {complaint}", program=program)
        return self.let_in(machine, program, version)

    def let_in(self, machine: Machine, program: str | None, version: str | None) -> Probe:
        """The login alone, of a program that is known to start."""
        login = self.login(machine)
        if login is None or login.expired:
            return Probe(False, self.shut_out(login), program=program, version=version)
        how = f"calls {shown_host(self.base_url)}, key: {login.source}" if self.base_url else f"logged in by {login.source}"
        return Probe(True, how, program=program, version=version, login=login.source)

    def executable(self, machine: Machine) -> str | None:
        """Where the program is; None: nowhere."""
        return shutil.which(self.path or self.program, path=machine.environ.get("PATH", os.defpath))

    def installation(self, machine: Machine) -> tuple[Path, ...]:
        """What a sandbox has to show for the program to start: where it is called, where it really lies, what interprets it."""
        program = self.executable(machine)
        return programs.needs(Path(program), machine.environ.get("PATH", os.defpath)) if program else ()

    def hosts(self) -> tuple[str, ...]:
        """`host:port` of its model; () where that is not known."""
        return (address_of(self.base_url),) if self.base_url else self.model_hosts or self.usual_hosts

    def login(self, machine: Machine) -> Login | None:
        """How it is let in; None: not at all."""
        if self.base_url:
            return self._endpoint_key(machine)
        if self.api_key_env:
            value = machine.environ.get(self.api_key_env)
            return Login(self.api_key_env, {self.own_key(): value}) if value else None
        return _login.found(self.ways_in(), machine)

    def ways_in(self) -> Doors:
        """Where this target's login may be."""
        return self.doors

    def shut_out(self, login: Login | None) -> str:
        """What to do when there is no way in."""
        if self.api_key_env and login is None:
            return f"{self.api_key_env} is not set, and it is to hold the key"
        what = f"its login in {login.source} has expired" if login else "it is not logged in"
        return f"{what}: {self.doors.command}"

    def own_key(self) -> str:
        """Variable in which the program looks for the key of its own endpoint."""
        return self.doors.variables[0]

    def _endpoint_key(self, machine: Machine) -> Login | None:
        names = (self.api_key_env,) if self.api_key_env else self.usual_keys
        for name in names:
            if value := machine.environ.get(name):
                return Login(name, {self.key_variable: value})
        return None if self.api_key_env else Login("none", {self.key_variable: NO_KEY})

    @contextmanager
    def open(self, machine: Machine) -> Iterator[CommandLineRunner]:
        yield CommandLineRunner(self, machine)

    def endpoint_name(self) -> str:
        if self.base_url:
            return f"{self.program} at {shown_host(self.base_url)}"
        return self.program


def over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings of which the upper ones win."""
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        merged[key] = over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
