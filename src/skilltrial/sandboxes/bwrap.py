"""Walls by bubblewrap: the system read-only, one folder and one home writable, and an end that nothing outlives."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from skilltrial.errors import CellError
from skilltrial.records.record import Record
from skilltrial.records.suite import Limits
from skilltrial.sandboxes import _doors, _identity, _profile, _running
from skilltrial.seams import Access, Command, Exit, Machine, Probe, Stop, Watch
from skilltrial.system import environment
from skilltrial.system.files import remove_tree

PROGRAM = "bwrap"
_INSTALL = "install it: apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap"
_PROBE_TIMEOUT_S = 20.0
_OWN_COMPLAINT = re.compile(rb"\Abwrap: ([^\n]+)\n\Z")


@dataclass(slots=True)
class Walled:
    """A Place of which programs see the system, their own installation, the root and the home."""

    root: Path
    home: Path
    level: str
    access: Access
    caller: Mapping[str, str]
    removed: tuple[str, ...]
    bwrap: str
    identity: Mapping[str, Path]
    doors: tuple[_doors.Door, ...]
    """Ways out to the model, when there are no others."""

    @property
    def facts(self) -> dict[str, str]:
        """What is recorded of these walls."""
        return {"network": self.access.network, "bwrap": version(self.bwrap) or "unknown"}

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """All a program started here sees, `own` being what its backend sets. The home is the place's in any case."""
        caller = self.caller if self.access.network == "on" else environment.without_proxies(self.caller)
        if self.access.keep_home:
            kept = environment.callers(caller, self.access.env, {})
            return {**kept, **environment.homes(self.home), **own}
        return environment.clean(caller, self.access.env, own, self.home)

    def start(
        self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: Watch | None = None
    ) -> Exit:
        """Runs to the end; the kernel ends the whole tree with it, also when we are killed ourselves.

        Raises:
            OSError: the program cannot be started.
        """
        env = self.environment(command.env)
        if "/" not in command.argv[0] and shutil.which(command.argv[0], path=env.get("PATH", os.defpath)) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command.argv[0])
        walls = _profile.walls(self.root, self.home, self.access, self.identity, environment.named_files(env))
        cwd = command.cwd or self.root
        with _doors.opened(self.doors) as way:
            exit_ = _running.run(
                (self.bwrap, *walls, *way.arguments, "--chdir", str(cwd), "--", *command.argv),
                env,
                self.root,
                command.stdin,
                limits,
                _running.Ears(on_line, watch),
                launcher=True,
                contained=True,
                pass_fds=way.descriptors,
            )
        complaint = _OWN_COMPLAINT.match(exit_.stderr)
        if complaint and exit_.code == 1 and not exit_.stdout_bytes:
            raise OSError(errno.ENOEXEC, f"bwrap: {complaint[1].decode('utf-8', 'replace')}")
        return exit_


class Bubblewrap(Record):
    """File, process and, on request, network walls, made by `bwrap` without any privilege."""

    name: ClassVar[str] = "bwrap"

    def probe(self, machine: Machine) -> Probe:
        """Starts `true` behind the very walls that a run gets."""
        program = shutil.which(PROGRAM, path=machine.environ.get("PATH", os.defpath))
        if program is None:
            return Probe(False, f"{PROGRAM} is not on PATH; {_INSTALL}")
        complaint = _complaint(program)
        if complaint:
            return Probe(False, f"{PROGRAM} does not start here: {complaint}", program=program, version=version(program))
        return Probe(
            True, "walls for files and processes, and for the network on request", program=program, version=version(program)
        )

    @contextmanager
    def enter(self, folder: Path, access: Access) -> Iterator[Walled]:
        """A place below `folder`: `work` is its root, `home` its home; /tmp is the home's own temporary folder.

        Raises:
            CellError: bubblewrap is gone, or the way to the model cannot be told.
        """
        program = shutil.which(PROGRAM)
        if program is None:
            raise CellError("sandbox", f"{PROGRAM} is not on PATH any more; {_INSTALL}")
        if not access.nested and _older(version(program)):
            access = replace(access, nested=True)
        folder = folder.resolve()
        root, home = _running.folders(folder)
        doors = _doors.planned(access)
        identity = _identity.files(folder / "etc", _identity.ours(), home, [door.hosts_line for door in doors])
        caller = dict(os.environ)
        marks = environment.session_marks(caller)
        removed = tuple(name for name in marks if name not in access.env)
        try:
            yield Walled(root, home, self.name, access, caller, removed, program, identity, doors)
        finally:
            remove_tree(folder / "etc")


plugin = Bubblewrap


@cache
def version(program: str) -> str | None:
    """As `0.8.0`."""
    try:
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip().rpartition(" ")[2] or None


def _older(version: str | None) -> bool:
    """Than 0.8.0, which brought the option that `nested` stands for."""
    numbers = [int(part) for part in (version or "0").split(".")[:2] if part.isdecimal()]
    return numbers < [0, 8]


@cache
def _complaint(program: str) -> str | None:
    """What stands in the way of a start; None: nothing does."""
    argv = [program, *_profile.bare(), "--", "true"]
    try:
        tried = subprocess.run(
            argv, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False, env={"PATH": os.defpath}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if tried.returncode == 0:
        return None
    said = tried.stderr.strip().splitlines()[-1:] or [f"it ended with status {tried.returncode}"]
    return f"{said[0]}; unprivileged user namespaces may be switched off (sysctl, AppArmor, or a container)"
