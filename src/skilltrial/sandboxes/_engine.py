"""Walls by a container engine, through the user's own command line program: image, limits and the same two folders."""

from __future__ import annotations

import errno
import math
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from skilltrial.errors import CellError
from skilltrial.records.record import Record
from skilltrial.records.suite import Limits
from skilltrial.sandboxes import _cli, _identity, _running
from skilltrial.sandboxes._cli import Cli
from skilltrial.seams import Access, Command, Exit, Machine, Probe, Stop, Watch
from skilltrial.system import environment
from skilltrial.system.files import remove_tree

OWNER = "skilltrial.owner"
"""Label of every container of ours: process, its start, and the boot it belongs to."""
_BEYOND_S = 60.0
"""After its time limit a container ends itself, in case that we are gone."""
_LAUNCH_FAILED = frozenset({125, 126, 127})
_COMPLAINTS = (b"docker: ", b"Error", b"timeout: ", b"[FATAL tini")


class Engine(Record):
    """A container engine; its own command line program decides which, by its usual variables and settings."""

    name: ClassVar[str]
    image: str | None = None
    """Image to start; it is never fetched."""
    memory: str | None = None
    """Most memory of a container, as `2g`; None: no limit."""
    processes: int = 4096
    """Most processes of a container."""

    def user(self, cli: Cli) -> tuple[_identity.Identity, tuple[str, ...]]:
        """Who programs are in the container, so that what they write belongs to the caller; and the arguments for it."""
        raise NotImplementedError

    # ------------------------------------------------------------ seam
    def probe(self, machine: Machine) -> Probe:
        """Starts `true` in the image, behind the very walls that a run gets; removes what earlier processes left running."""
        found = shutil.which(self.name, path=machine.environ.get("PATH", os.defpath))
        if found is None:
            return Probe(False, f"{self.name} is not on PATH")
        cli = Cli(found)
        version, complaint = cli.version()
        if version is None:
            return Probe(False, f"{self.name} does not answer: {complaint}", program=found)
        sweep(cli)
        if self.image is None:
            return Probe(False, f"{self.name} answers; name an image with --image", program=found, version=version)
        _, refusal = cli.has_timeout(self.image, self._walls(cli, Access(network="off")))
        if refusal:
            return Probe(False, f"'{self.image}' does not start: {refusal}", program=found, version=version)
        return Probe(True, f"'{self.image}' starts", program=found, version=version)

    @contextmanager
    def enter(self, folder: Path, access: Access) -> Iterator[Container]:
        """A place below `folder`, at the same paths inside: `work` is its root, `home` its home, /tmp the home's own.

        Raises:
            CellError: no engine, no image, or a network that an engine has not.
        """
        image, found = access.image or self.image, shutil.which(self.name)
        if found is None or image is None:
            raise CellError("sandbox", f"{self.name} is not on PATH any more" if found is None else f"{self.name} needs an image")
        if access.network == "model-only":
            raise CellError("sandbox", f"{self.name} has no network 'model-only'; use on, off, or the sandbox bwrap")
        folder = folder.resolve()
        root, home = _running.folders(folder)
        cli = Cli(found)
        identity, _ = self.user(cli)
        caller = dict(os.environ)
        removed = tuple(name for name in environment.session_marks(caller) if name not in access.env)
        shown = _identity.files(folder / "etc", identity, home)
        _make_ways(home, root)
        _make_ways(home, home)
        place = Container(root, home, self.name, access, caller, removed, cli, image, self._walls(cli, access), shown, identity)
        try:
            yield place
        finally:
            _hand_over(root, os.getuid(), os.getgid())
            remove_tree(folder / "etc")

    def with_image(self, image: str | None) -> Self:
        return self.model_copy(update={"image": image or self.image})

    def _walls(self, cli: Cli, access: Access) -> tuple[str, ...]:
        arguments = ["--rm", "--init", "-i", "--pull", "never", "--read-only", "--cap-drop", "ALL", "--log-driver", "none"]
        arguments += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
        arguments += ["--hostname", _identity.HOSTNAME, "--pids-limit", str(self.processes), "--tmpfs", "/run"]
        arguments += ["--memory", self.memory] if self.memory else []
        arguments += [*self.user(cli)[1], "--label", f"{OWNER}={_owner()}"]
        if access.network == "off":
            arguments += ["--network", "none"]
        elif any(host.startswith(("127.", "localhost:", "[::1]")) for host in access.hosts):
            arguments += ["--network", "host"]
        return tuple(arguments)


@dataclass(slots=True)
class Container:
    """A Place whose programs run in containers, one for every start."""

    root: Path
    home: Path
    level: str
    access: Access
    caller: Mapping[str, str]
    removed: tuple[str, ...]
    cli: Cli
    image: str
    walls: tuple[str, ...]
    identity: Mapping[str, Path]
    who: _identity.Identity
    facts: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.facts = {"network": self.access.network, "image": self.image, self.level: self.cli.version()[0] or "unknown"}

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """All that is set for a program; the image's own variables come before it, its PATH stays."""
        if self.access.keep_home:
            kept = environment.callers(self.caller, self.access.env, {})
            whole = {**kept, **environment.homes(self.home), **own}
        else:
            whole = environment.clean(self.caller, self.access.env, own, self.home)
        whole.pop("PATH", None)
        if folders := _program_folders(self.access.readable):
            whole["PATH"] = os.pathsep.join((self.cli.path_in(self.image), *folders))
        return whole

    def start(
        self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: Watch | None = None
    ) -> Exit:
        """Runs to the end; the container is gone on return.

        Raises:
            OSError: the program cannot be started.
        """
        _hand_over(self.root, *self.who)
        _hand_over(self.home, *self.who)
        name = f"skilltrial-{secrets.token_hex(8)}"
        env, given = _cli.split(self.environment(command.env), self.caller)
        argv = [self.cli.program, "run", "--name", name, *self.walls, *self._mounts(), *given]
        argv += ["--workdir", str(command.cwd or self.root), self.image, *self._limit(limits, watch), *command.argv]
        over = False
        try:
            exit_ = _running.run(argv, env, self.root, command.stdin, limits, _running.Ears(on_line, watch), contained=True)
            over = exit_.stop is None and exit_.signal is None
        finally:
            if not over:
                self.cli.remove(name)
        _refuse(exit_, command.argv[0])
        return exit_

    def _limit(self, limits: Limits, watch: Watch | None) -> tuple[str, ...]:
        ends = _running.deadline(limits, watch)
        if math.isinf(ends) or not self.cli.has_timeout(self.image, self.walls)[0]:
            return ()
        return ("timeout", "-s", "KILL", str(math.ceil(max(ends - time.monotonic(), 0.0) + _BEYOND_S)))

    def _mounts(self) -> Iterator[str]:
        yield from _mount(Path(self.home, "tmp"), Path("/tmp"))
        for folder in (self.root, self.home, *self.access.writable):
            yield from _mount(folder, folder)
        for place, file in self.identity.items():
            if place != "/etc/hosts":  # the engine has one of its own
                yield from _mount(file, Path(place), readonly=True)
        for path in (*self.access.readable, *map(Path, environment.named_files({**self.caller, **self.access.env}))):
            if path.exists() and path != Path("/"):  # an image shows its own
                yield from _mount(path.resolve(), path, readonly=True)


def _mount(source: Path, target: Path, *, readonly: bool = False) -> tuple[str, str]:
    return "--mount", f"type=bind,source={source},target={target}{',readonly' if readonly else ''}"


def _program_folders(readable: tuple[Path, ...]) -> tuple[str, ...]:
    """Folders of the programs that are shown; they come last on PATH, so that the image's own program is taken."""
    programs = (path for path in readable if path.is_file() and os.access(path, os.X_OK))
    return tuple(dict.fromkeys(str(path.parent) for path in programs))


def _refuse(exit_: Exit, program: str) -> None:
    """Tells an engine that could not start the program from a program that failed."""
    if exit_.code in _LAUNCH_FAILED and not exit_.stdout_bytes and exit_.stderr.lstrip().startswith(_COMPLAINTS):
        said = exit_.stderr.decode("utf-8", "replace").strip()[-300:]
        raise OSError(errno.ENOENT if exit_.code == 127 else errno.ENOEXEC, said, program)


# ---------------------------------------------------------------- whose files
def _make_ways(home: Path, folder: Path) -> None:
    """A place below /tmp needs folders to be mounted at, and an engine would make them as root."""
    if folder.is_relative_to("/tmp"):
        (home / "tmp" / folder.relative_to("/tmp")).mkdir(parents=True, exist_ok=True)


def _hand_over(folder: Path, user: int, group: int) -> None:
    """Gives all of a folder to somebody; only root can, and only root has to."""
    if os.getuid() != 0 or folder.lstat().st_uid == user:
        return
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with suppress(OSError):
                os.lchown(f"{place}/{name}", user, group)
    os.lchown(folder, user, group)


# ---------------------------------------------------------------- whose containers
def _owner() -> str:
    return f"{os.getpid()}.{_started(os.getpid())}.{_boot()}"


def _started(pid: int) -> str:
    """When a process started, in seconds; empty: there is none."""
    import psutil

    try:
        return str(int(psutil.Process(pid).create_time()))
    except psutil.Error:
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()[:8]
    except OSError:
        return "none"


def sweep(cli: Cli) -> int:
    """Removes containers of ours whose process on this machine is gone; answers how many."""
    swept = 0
    for container, owner in cli.containers(OWNER):
        pid, _, rest = owner.partition(".")
        started, _, boot = rest.partition(".")
        if boot == _boot() and pid.isdecimal() and started and _started(int(pid)) != started:
            cli.remove(container)
            swept += 1
    return swept
