"""The runs that show how an adapter behaves: good requests, bad ones, one that is stopped, two at once."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from skilltrial import registry, workspaces
from skilltrial.backends.adapter import Adapter
from skilltrial.collect import delta as changes
from skilltrial.errors import CellError
from skilltrial.records.evidence import AgentRun, Event
from skilltrial.records.problems import Where
from skilltrial.records.suite import EMPTY_TREE, FileRef, Limits, Skill, Tree
from skilltrial.seams import Access, Command, Exit, Job, Machine, Place, Stop, Watch
from skilltrial.system.files import digest, remove_tree
from skilltrial.workspaces import Workspace

NAME = "conformance-sample"
NO_FILES = "no fixtures"
READY = "This is a test of how you are started. Change no file. Answer with the one word READY."
STOP_AFTER_S = 1.0
UNICODE = "Ä 漢字 🙂 \u202eרטל\u202c \u2028 \"quotes\" 'and' \\back\\ $HOME `tick` \t tab"
GOOD: Mapping[str, Mapping[str, Any]] = {
    "without_skill": {},
    "with_skill": {"skill": True},
    NO_FILES: {"files": False},
    "large prompt": {"prompt": READY + "\n" + "Filler that means nothing. " * 7_410},
    "unicode": {"prompt": f"{READY}\n{UNICODE}", "env": {"LC_ALL": "C", "LANG": "C"}},
    "prompt like an option": {"prompt": "--help"},
}
BAD: Mapping[str, Callable[[dict[str, Any]], bytes]] = {
    "no JSON": lambda request: b"{not json",
    "no JSON again": lambda request: b"{not json",
    "nothing": lambda request: b"",
    "another version": lambda request: json.dumps({**request, "protocol_version": 99}).encode(),
    "no prompt": lambda request: json.dumps({key: value for key, value in request.items() if key != "prompt"}).encode(),
}
_FIXTURES = {"notes.txt": b"alpha\nbeta\n", "data/t\u00e4bel.csv": b"a,b\n1,2\n", "blob.bin": bytes(range(256))}
_SKILL = {
    "SKILL.md": f"---\nname: {NAME}\ndescription: A sample for tests of adapters. Use it when asked to.\n---\nAnswer in upper case.\n".encode(),
    "references/more.md": b"More words.\n",
    "scripts/run.sh": b"#!/bin/sh\necho run\n",
}


@dataclass(slots=True)
class Ran:
    """One run, as far as it came."""

    exit: Exit | None = None
    run: AgentRun | None = None
    stdout: bytes = b""
    changed: tuple[str, ...] = ()
    """Given files that are not as they were, and those that are gone."""
    created: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    """New names beside the workspace."""
    reason: str = ""
    """Why it could not be run."""

    @property
    def trouble(self) -> str:
        """Why it is no measurement; empty when it is one."""
        if self.run is None:
            return self.reason
        return "" if self.run.outcome == "ok" else (self.run.reason or self.run.outcome).removeprefix("adapter: ")

    @property
    def loads(self) -> tuple[str, ...]:
        return tuple(event.name or "" for event in (self.run.events if self.run else None) or () if event.kind == "skill")

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.run.warnings if self.run else ()


class _Blobs:
    """The Blobs seam in memory."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def put_new(self, digest: str, data: bytes) -> bool:
        return self._data.setdefault(digest, data) is data

    def get(self, digest: str) -> bytes:
        return self._data[digest]

    def keys(self, prefix: str = "") -> Iterator[str]:
        return iter([key for key in self._data if key.startswith(prefix)])

    def tree(self, files: Mapping[str, bytes]) -> Tree:
        """A tree over these files, whose bytes are kept here."""
        refs = []
        for path, data in files.items():
            reference = FileRef(path=path, size=len(data), digest=digest(data), executable=path.endswith(".sh"))
            self.put_new(reference.digest, data)
            refs.append(reference)
        return Tree(digest=digest("".join(ref.digest for ref in refs).encode()), files=tuple(refs))


@dataclass(slots=True)
class _Limit:
    """The Watch seam: a time limit, and Ctrl-C."""

    reason: str
    deadline: float
    stopping: Callable[[], bool]

    def heard(self, event: Event | None) -> Stop | None:
        if self.stopping():
            return Stop("interrupted", "stopped by the user")
        return Stop("timeout", self.reason) if time.monotonic() >= self.deadline else None


@dataclass(slots=True)
class _Seen:
    """The Place seam: passes everything on and keeps what came of it."""

    place: Place
    root: Path = field(init=False)
    home: Path = field(init=False)
    level: str = field(init=False)
    exit: Exit | None = None
    stdout: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.root, self.home, self.level = self.place.root, self.place.home, self.place.level

    def start(
        self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: Watch | None = None
    ) -> Exit:
        def keep(line: bytes) -> Stop | None:
            self.stdout.extend(line)
            return on_line(line)

        self.exit = self.place.start(command, limits, keep, watch)
        return self.exit


class Runs:
    """Every run of one adapter, each made when it is first asked for and then remembered."""

    def __init__(
        self,
        path: str,
        args: tuple[str, ...],
        protocol: Literal[1, 2],
        timeout_s: float,
        machine: Machine,
        told: Callable[[str], None],
    ) -> None:
        self.adapter = Adapter(path=path, args=args, protocol=protocol)
        self.protocol, self.timeout_s, self.machine, self.told = protocol, timeout_s, machine, told
        self.blobs = _Blobs()
        self.fixtures = self.blobs.tree(_FIXTURES)
        self.skill = Skill(
            id=NAME, name=NAME, description="A sample.", body="Answer in upper case.", tree=self.blobs.tree(_SKILL), frontmatter={},
            where=Where(file="SKILL.md"),
        )  # fmt: skip
        self._known: dict[str, Ran] = {}

    def good(self, name: str) -> Ran:
        """A request that has to be answered."""
        return self._once(name, lambda: self._answer(**GOOD[name]))

    def bad(self, name: str) -> Ran:
        """A request that has to be refused."""
        return self._once(name, lambda: self._refused(BAD[name]))

    def stopped(self) -> Ran:
        """A request that is ended from outside after a second."""
        return self._once("stopped", lambda: self._answer(stop_after_s=STOP_AFTER_S))

    def together(self) -> tuple[Ran, Ran]:
        """Two good requests at once."""
        done: list[Ran] = []
        threads = [threading.Thread(target=lambda: done.append(self._answer()), daemon=True) for _ in range(2)]
        self.told("two at once")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return done[0], done[1]

    def _once(self, name: str, make: Callable[[], Ran]) -> Ran:
        if name not in self._known:
            self.told(name)
            self._known[name] = make()
        return self._known[name]

    # ------------------------------------------------------------ one run
    def _answer(
        self,
        *,
        skill: bool = False,
        files: bool = True,
        prompt: str = READY,
        env: Mapping[str, str] | None = None,
        stop_after_s: float | None = None,
    ) -> Ran:
        with self._workspace(skill, files, env or {}) as (workspace, folder):
            seen = _Seen(workspace.place)
            with self.adapter.open(self.machine) as runner:
                try:
                    run = runner.run(self._job(seen, skill, files, prompt), self._watch(stop_after_s))
                except CellError as error:
                    return Ran(reason=str(error))
            return self._looked(workspace, folder, Ran(seen.exit, run, bytes(seen.stdout)))

    def _refused(self, request: Callable[[dict[str, Any]], bytes]) -> Ran:
        with self._workspace(False, False, {}) as (workspace, folder):
            seen = _Seen(workspace.place)
            with self.adapter.open(self.machine) as runner:
                good = runner.request(self._job(seen, False, False, READY))
            command = Command(argv=(str(self.adapter.program), *self.adapter.args), env={}, stdin=request(good))
            try:
                seen.start(command, Limits(timeout_s=self.timeout_s, output_bytes=1 << 20), lambda line: None, self._watch(None))
            except OSError as error:
                return Ran(reason=str(error))
            return self._looked(workspace, folder, Ran(seen.exit, None, bytes(seen.stdout)))

    def _job(self, place: Place, skill: bool, files: bool, prompt: str) -> Job:
        return Job(
            cell=f"{NAME}/1/adapter/{'with_skill' if skill else 'without_skill'}/1",
            prompt=prompt,
            blobs=self.blobs,
            seed=1,
            limits=Limits(timeout_s=self.timeout_s),
            skills=(self.skill,) if skill else (),
            fixtures=self.fixtures if files else EMPTY_TREE,
            stage="inputs",
            place=place,
        )

    def _watch(self, stop_after_s: float | None) -> _Limit:
        seconds = self.timeout_s if stop_after_s is None else min(stop_after_s, self.timeout_s)
        reason = f"time limit of {self.timeout_s:g} s reached" if stop_after_s is None else "stopped on purpose"
        return _Limit(reason, time.monotonic() + seconds, self.machine.stopping)

    @contextmanager
    def _workspace(self, skill: bool, files: bool, env: Mapping[str, str]) -> Iterator[tuple[Workspace, Path]]:
        """In a folder of its own whose name has a space and an umlaut, so that what is written beside it is seen."""
        folder = Path(tempfile.mkdtemp(prefix="adapter check \u00e4 ", dir=self.machine.temp))
        try:
            with workspaces.fresh(
                sandbox=registry.get("sandboxes", "none")(),
                base=folder,
                fixtures=self.fixtures if files else EMPTY_TREE,
                stage="inputs",
                skills=(self.skill,) if skill else (),
                skill_dir=self.adapter.skill_dir,
                blobs=self.blobs,
                access=Access(env={**self.machine.environ, **env}, keep_home=True),
                git=False,
            ) as workspace:
                yield workspace, folder
        finally:
            remove_tree(folder)

    def _looked(self, workspace: Workspace, folder: Path, ran: Ran) -> Ran:
        """What the run left behind."""
        found, _ = changes(workspace)
        skill = workspace.root / self.adapter.skill_dir / NAME
        staged = ran.run is not None and (ran.run.sent or {}).get("mode") == "with_skill"
        spoilt = [f"skills/{NAME}/{path}" for path, data in _SKILL.items() if staged and not _is(skill / path, data)]
        ran.changed = (*(file.path for file in found.changed), *found.deleted, *spoilt)
        ran.created = tuple(file.path for file in found.created)
        around = workspace.root.parent
        strange = [path.name for path in around.iterdir() if path not in (workspace.root, workspace.home)]
        strange += [path.name for path in folder.iterdir() if path != around]
        ran.outside = tuple(sorted(strange))
        return ran


def _is(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
