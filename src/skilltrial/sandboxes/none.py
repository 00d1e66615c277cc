"""No walls: a folder, a home and an environment of its own. It makes runs repeatable, not safe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

from skilltrial.records.record import Record
from skilltrial.records.suite import Limits
from skilltrial.sandboxes import _running
from skilltrial.seams import Access, Command, Exit, Machine, Probe, Stop, Watch
from skilltrial.system import environment


class Unconfined(NamedTuple):
    """A Place without walls."""

    root: Path
    home: Path
    level: str
    access: Access
    caller: Mapping[str, str]
    removed: tuple[str, ...]
    """Names of variables of an enclosing agent session that programs here do not see."""

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """All a program started here sees, `own` being what its backend sets."""
        if self.access.keep_home:
            return environment.callers(self.caller, self.access.env, own)
        return environment.clean(self.caller, self.access.env, own, self.home)

    def start(
        self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: Watch | None = None
    ) -> Exit:
        """Runs to the end; the whole tree is gone on return.

        Raises:
            OSError: the program cannot be started.
        """
        return _running.run(
            command.argv,
            self.environment(command.env),
            command.cwd or self.root,
            command.stdin,
            limits,
            _running.Ears(on_line, watch),
            roots=(self.root, self.home),
        )


class NoSandbox(Record):
    """Starts programs as they are, in a folder and with an environment of their own."""

    name: ClassVar[str] = "none"

    def probe(self, machine: Machine) -> Probe:
        return Probe(True, "no walls: a clean home, environment and folder, and nothing left running")

    @contextmanager
    def enter(self, folder: Path, access: Access) -> Iterator[Unconfined]:
        """A place below `folder`: `work` is its root, `home` its home, with the temporary folder inside."""
        root, home = _running.folders(folder.resolve())
        caller = dict(os.environ)
        marks = environment.session_marks(caller)
        yield Unconfined(root, home, self.name, access, caller, tuple(name for name in marks if name not in access.env))


plugin = NoSandbox
