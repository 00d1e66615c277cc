"""Google's Antigravity CLI, run without a terminal: an answer and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends._command_line import CommandLine, abilities
from skilltrial.backends._login import Doors, Login
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Verdict
from skilltrial.records.evidence import Activation, AgentRun, Event
from skilltrial.seams import Capabilities, Exit, Job, Machine

_HINT = "start `agy` once and log in with Google"
_STATE = ".gemini/antigravity-cli"
_KEYRING = ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


class Agy(CommandLine):
    """Google's `agy -p`: its answer on standard output, no events. Whether it used the skill stays unknown."""

    name: ClassVar[str] = "agy"
    program: ClassVar[str] = "agy"
    package: ClassVar[str] = "curl -fsSL https://antigravity.google/cli/install.sh | bash"
    capabilities: ClassVar[Capabilities] = abilities()
    doors: ClassVar[Doors] = Doors(command=_HINT, variables=("GEMINI_API_KEY",))
    lists_tools: ClassVar[bool] = False

    def arguments(self, job: Job) -> tuple[str, ...]:
        given = ["--model", self.model] if self.model else []
        given += ["--print-timeout", f"{round(job.limits.timeout_s)}s"] if job.limits.timeout_s else []
        given += [] if job.judging else ["--dangerously-skip-permissions"]
        return (*given, "-p", self.prompt(job))

    def stdin(self, job: Job) -> bytes:
        return b""

    def login(self, machine: Machine) -> Login | None:
        """Its login lies in the system's keyring, which nobody but the program can ask: that it was started once has to do."""
        home = machine.environ.get("HOME")
        if home and (Path(home) / _STATE).is_dir():
            return Login("the system's keyring", {name: machine.environ[name] for name in _KEYRING if name in machine.environ})
        return None

    def missing(self, job: Job) -> tuple[str, ...]:
        own = (
            ("settings", self.settings, "settings of its own that could be set"),
            ("api_key_env", self.api_key_env, "key but its own login"),
        )
        return (*super().missing(job), *(f"agy has no {what}: {name} is not passed on" for name, given, what in own if given))

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        return AgyReader(skills, forced=forced)


plugin = Agy


class AgyReader(Reader):
    """Everything on standard output is the answer, and status 0 its final record."""

    has_final_record: ClassVar[bool] = False
    login_hint = _HINT

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lines: list[str] = []

    def feed(self, line: bytes, at_s: float | None = None) -> tuple[Event, ...]:
        self._lines.append(line.decode("utf-8", "replace"))
        self.reached = self.reached or bool(line.strip())
        return ()

    def _finish(self, complaint: str) -> None:
        self.answer = "".join(self._lines).rstrip("\r\n")

    def _verdict(self, exit_: Exit, complaint: str) -> Verdict:
        self.ended = exit_.code == 0 and self.reached
        return super()._verdict(exit_, complaint)

    def _activation(self, verdict: Verdict) -> Activation:
        return "unknown" if self.skills else "none_expected"

    def close(self, exit_: Exit) -> AgentRun:
        return super().close(exit_).model_copy(update={"events": None})
