"""What a run did to the repository it worked in, with no git process before it and at most two after it."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from skilltrial.records.evidence import Delta, GitDelta
from skilltrial.records.suite import Limits
from skilltrial.seams import Command, Place, Stop
from skilltrial.system import git_history
from skilltrial.system.files import Manifest, read_capped, write_atomic
from skilltrial.system.git import SUBJECT
from skilltrial.system.git_history import History
from skilltrial.system.git_reading import (
    MOST_COMMITS,
    REMOTE,
    SAFE_ENVIRONMENT,
    STATUS,
    Head,
    entries_of,
    has_reftable,
    head_of,
    new_commits,
    path_of,
    refs_of,
    repository_of,
    safe_git,
)

_LIMITS = Limits(timeout_s=60.0, output_bytes=16 * 1024 * 1024)
_LONG_HISTORY = Limits(timeout_s=60.0, output_bytes=512 * 1024 * 1024)
_MOST_LINES = 20
_MOST_ENTRIES = 1000
_LARGEST_FILE = 64 * 1024 * 1024
_HEADS, _REMOTES, _ORIGIN = "refs/heads/", "refs/remotes/", "refs/remotes/origin/"
Known = MutableMapping[Any, Any]
"""What git says of workspaces that are made alike, by what they are made from: status and history."""


class Worked(Protocol):
    """A workspace as it is looked at here."""

    place: Place
    root: Path
    before: Manifest
    status: tuple[str, ...] | None
    """What `git status` says when the run begins; None: not known."""


class State(NamedTuple):
    """A repository at one moment."""

    head: Head
    refs: dict[str, str]
    status: tuple[str, ...]
    history: History | None
    """None: to tell it would take one git process more than a snapshot may cost."""

    def of(self, kind: str) -> dict[str, str]:
        """Branches of a kind by short name; the remote's pointer to its default branch is none."""
        return {
            name.removeprefix(kind): commit
            for name, commit in sorted(self.refs.items())
            if name.startswith(kind) and not name.endswith("/HEAD")
        }

    def as_json(self, remotes: tuple[str, ...]) -> dict[str, Any]:
        """In the shape of agent-skill-eval's state files."""
        heads, far = self.of(_HEADS), self.of(_REMOTES)
        plain = {name.partition("/")[2]: commit for name, commit in far.items()}
        newest = self.history.newest if self.history else ()
        return {
            "local_branches": list(heads),
            "remote_branches": sorted(plain),
            "current_branch": self.head.branch,
            "head_sha": self.head.commit,
            "commit_count": self.history.total if self.history else None,
            "commits": [f"{name[:7]} {subject}" for name, subject in newest[:_MOST_LINES]],
            "remote_names": list(remotes),
            "open_prs": None,
            "branch_heads": heads,
            "remote_branch_heads": plain,
            "commit_shas": [name for name, _ in newest],
            "status_porcelain": list(self.status),
            "changed_files": [path_of(entry) for entry in self.status],
        }


class Failed(Exception):
    """git did not answer."""


class Found(NamedTuple):
    """The delta, and both states in full."""

    delta: GitDelta
    before: dict[str, Any]
    after: dict[str, Any]


class Repository:
    """Made when a run is about to begin; asked once it has ended and every process of it is dead.

    Args:
        key, known: workspaces made from equal parts say the same at the start, so git is asked about the first alone.
    Raises:
        Failed: there is no repository, or git cannot be started.
    """

    def __init__(self, workspace: Worked, key: Any = None, known: Known | None = None) -> None:
        self.workspace = workspace
        folder = repository_of(workspace.root)
        if folder is None:
            raise Failed("there is no repository in the workspace")
        self._folder = folder
        self._config = _bytes(folder / "config")
        self._private = (folder / REMOTE).is_dir()
        status = workspace.status if workspace.status is not None else (known or {}).get(key)
        refs = self._refs()
        if status is None:
            status = self._status()
            if known is not None:
                known[key] = status
        head = head_of(folder, refs)
        self.before = State(head, refs, status, self._first_history(head, known))
        self._index = _bytes(folder / "index")

    def after(self, files: Delta) -> Found:
        """What changed, `files` being what the run did to the files of the workspace."""
        remotes = _remotes(self._config)
        if repository_of(self.workspace.root) is None:
            gone = GitDelta(branch_before=self.before.head.branch, head_before=self.before.head.commit, removed=True)
            return Found(gone, self.before.as_json(remotes), {})
        left = _bytes(self._folder / "config")
        if left != self._config:  # what the run wrote there could start programs
            write_atomic(self._folder / "config", self._config, None)
        try:
            delta, after = self._compared(files)
        finally:
            if left != self._config and left:
                write_atomic(self._folder / "config", left, None)
        return Found(delta, self.before.as_json(remotes), after.as_json(_remotes(left)))

    def _compared(self, files: Delta) -> tuple[GitDelta, State]:
        then, problem = self.before, None
        refs = self._refs()
        head = head_of(self._folder, refs)
        now, asked = State(head, refs, then.status, None), 0
        if _touched(files) or (head, refs) != (then.head, then.refs) or _bytes(self._folder / "index") != self._index:
            asked += 1
            try:
                now = now._replace(status=self._status())
            except Failed as error:
                problem = str(error)
        commits: tuple[str, ...] = ()
        try:
            commits = self._new_commits(now)
        except Failed as error:
            problem = problem or str(error)
        asked += self._has_new(now)
        now = now._replace(history=self._history(head, may_ask=asked < 2))
        status = _new_entries(now.status, then.status, files)
        return GitDelta(
            branches=tuple(name for name in now.of(_HEADS) if name not in then.of(_HEADS)),
            commits=commits,
            head=head.commit,
            head_before=then.head.commit,
            branch=head.branch,
            branch_before=then.head.branch,
            branch_heads=now.of(_HEADS) if now.of(_HEADS) != then.of(_HEADS) else {},
            pushed={name: commit for name, commit in now.of(_REMOTES).items() if then.of(_REMOTES).get(name) != commit},
            remotes=_remotes(_bytes(self._folder / "config")),
            status=status[:_MOST_ENTRIES],
            problem=problem,
            truncated=len(status) > _MOST_ENTRIES or len(commits) >= MOST_COMMITS,
        ), now

    def _new_commits(self, now: State) -> tuple[str, ...]:
        """Commits that local branches or HEAD reach now and nothing reached before: what was only fetched is none."""
        if not self._has_new(now):
            return ()
        return tuple(self._asked(new_commits(_tips(now) - self._before_tips(), self._before_tips())).splitlines())

    def _has_new(self, now: State) -> bool:
        return bool(_tips(now) - self._before_tips())

    def _before_tips(self) -> set[str]:
        return {*self.before.refs.values(), *([self.before.head.commit] if self.before.head.commit else [])}

    def _first_history(self, head: Head, known: Known | None) -> History | None:
        """What HEAD reaches when the run begins; git is asked once about one commit."""
        if head.commit is None:
            return git_history.NONE
        if self.workspace.status is not None:  # the repository is of our making
            return git_history.only(head.commit, SUBJECT)
        place = ("history", head.commit)
        found = (known or {}).get(place) or self._asked_history()
        if known is not None and found is not None:
            known[place] = found
        return found

    def _history(self, head: Head, *, may_ask: bool) -> History | None:
        if head.commit is None:
            return git_history.NONE
        before = self.before.history
        found = git_history.grown(self._folder, head.commit, before) if before is not None else None
        return found or (self._asked_history() if may_ask else None)

    def _asked_history(self) -> History | None:
        listing = git_history.Listing()
        try:
            self._run(git_history.ASKED, listing.add, _LONG_HISTORY)
        except Failed:
            return None
        return listing.history()

    def _status(self) -> tuple[str, ...]:
        return entries_of(self._asked(STATUS), self.workspace.before.skipped)

    def _refs(self) -> dict[str, str]:
        refs = self._own_refs()
        if not self._private:
            return refs
        far = {name for name in refs if name.startswith(_ORIGIN)}
        there = refs_of(self._folder / REMOTE)  # what really arrived, whatever the run wrote into its own notes about it
        arrived = {_ORIGIN + name.removeprefix(_HEADS): commit for name, commit in there.items() if name.startswith(_HEADS)}
        return {**{name: commit for name, commit in refs.items() if name not in far}, **arrived}

    def _own_refs(self) -> dict[str, str]:
        if not has_reftable(self._folder):
            return refs_of(self._folder)
        rows = self._asked(safe_git("for-each-ref", "--format=%(objectname) %(refname)")).splitlines()
        return {name: commit for commit, _, name in (row.partition(" ") for row in rows)}

    def _asked(self, argv: tuple[str, ...]) -> str:
        """What git prints, run where the agent ran.

        Raises:
            Failed: it cannot be started, ended otherwise than well, or took too long.
        """
        printed = bytearray()
        self._run(argv, printed.extend, _LIMITS)
        return bytes(printed).decode("utf-8", "replace")

    def _run(self, argv: tuple[str, ...], hear: Callable[[bytes], None], limits: Limits) -> None:
        def keep(line: bytes) -> Stop | None:
            hear(line)
            return None

        try:
            ended = self.workspace.place.start(Command(argv, SAFE_ENVIRONMENT), limits, keep)
        except OSError as error:
            raise Failed(f"git could not be started: {error.strerror or error}") from None
        if ended.code != 0:
            why = ended.stop.reason if ended.stop else ended.stderr.decode("utf-8", "replace").strip()[-200:]
            raise Failed(f"git {argv[len(safe_git())]} ended with status {ended.code}: {why}")


def _tips(state: State) -> set[str]:
    """The commits that local branches and HEAD stand at."""
    return {*state.of(_HEADS).values(), *([state.head.commit] if state.head.commit else [])}


def _touched(files: Delta) -> bool:
    return bool(files.created or files.changed or files.deleted or files.special or files.truncated)


def _new_entries(now: tuple[str, ...], then: tuple[str, ...], files: Delta) -> tuple[str, ...]:
    """Entries that were not there, and those of files that were in such a state already and that the run touched."""
    before = frozenset(then)
    touched = {file.path for file in (*files.created, *files.changed)} | set(files.deleted)
    return tuple(entry for entry in now if entry not in before or path_of(entry) in touched)


def _remotes(config: bytes) -> tuple[str, ...]:
    """Names of the remotes in a repository's settings."""
    lines = config.decode("utf-8", "replace").splitlines()
    heads = (line.strip() for line in lines)
    return tuple(sorted({line[9:-2] for line in heads if line.startswith('[remote "') and line.endswith('"]')}))


def _bytes(path: Path) -> bytes:
    read = read_capped(path, _LARGEST_FILE, force=True)
    return read.data if read else b""
