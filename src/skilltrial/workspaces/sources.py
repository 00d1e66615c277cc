"""A repository that every case starts from: cloned once, copied for each cell."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from skilltrial.errors import CellError, UsageError
from skilltrial.records.suite import FileRef, Limits
from skilltrial.seams import Command, Place
from skilltrial.system.addresses import parts_of
from skilltrial.system.files import digest, manifest, read_capped, remove_tree, replicate, write_atomic
from skilltrial.system.git_own import git
from skilltrial.system.git_reading import REMOTE, SAFE_ENVIRONMENT, safe_git
from skilltrial.workspaces.bases import choose

_SHARE_OVER = 4 * 1024 * 1024
_CLONE_S, _ASK_S = 1800.0, 60.0
_SETTINGS = (
    "user.name=skilltrial", "user.email=skilltrial@localhost", "commit.gpgsign=false", "tag.gpgsign=false", "gc.auto=0",
    "core.trustctime=false", "core.checkStat=minimal", "core.autocrlf=false",
)  # fmt: skip


@dataclass(frozen=True)
class SourceRepository:
    """A clone of the repository with its files checked out, and a bare one to copy remotes from."""

    address: str
    commit: str
    folder: Path

    @cached_property
    def files(self) -> Mapping[str, FileRef]:
        """Every file that is checked out, by content."""
        work = self.folder / "work"
        found = {}
        for path, entry in manifest(work, max_files=1_000_000, max_seconds=600).files.items():
            read = read_capped(work / path, entry.size + 1)
            if read is not None:
                found[path] = FileRef(path=path, size=read.size, digest=digest(read.data), executable=entry.executable)
        return found

    def read(self, path: str) -> bytes | None:
        """The bytes of one of `files`."""
        read = read_capped(self.folder / "work" / path, 1 << 30) if path in self.files else None
        return read.data if read else None

    def copy_to(self, root: Path, *, live: bool, hidden: tuple[str, ...]) -> None:
        """Puts the repository into an empty folder.

        Args:
            live: pushes go to the address itself; else to a private copy of it within `.git`.
            hidden: folders that git is not to see.
        Raises:
            CellError: it cannot be copied.
        """
        try:
            replicate(self.folder / "work", root, share_over=_SHARE_OVER)
            if not live:
                replicate(self.folder / "bare", root / ".git" / REMOTE, share_over=_SHARE_OVER)
            config = root / ".git" / "config"
            there = self.address if live else f"./.git/{REMOTE}"
            text = config.read_bytes().replace(str(self.folder / "bare").encode(), there.encode())
            write_atomic(config, text, None)
            exclude = root / ".git" / "info" / "exclude"
            write_atomic(exclude, "".join(f"/{folder}/\n" for folder in hidden), None)
        except OSError as error:
            raise CellError("workspace", f"the source repository cannot be copied: {error}") from error

    def refuse(self, names: Collection[str], folders: Collection[str]) -> None:
        """Refuses to be used where it holds a skill under test in a folder that agents look into.

        Raises:
            UsageError: the baseline would have the skill too; the message names where.
        """
        spots = {f"{folder}/{name}/SKILL.md" for folder in folders for name in names}
        if found := sorted(spots & self.files.keys()):
            raise UsageError(
                f"--source-repo: it holds {', '.join(found)}, so the baseline would have the skill too",
                "use a commit or a copy of it without the skill",
            )

    def fill(self, root: Path, without: frozenset[str]) -> None:
        """Puts every file that is not there yet, but for those in `without`, into a folder; no repository."""
        for path in self.files:
            spot = root / path
            data = None if path in without or spot.exists() else self.read(path)
            if data is not None:
                write_atomic(spot, data, None)
                spot.chmod(0o755 if self.files[path].executable else 0o644)


def stand_of(address: str, environ: Mapping[str, str], cwd: Path) -> str:
    """The commit that a repository stands at, asked of it without cloning.

    Raises:
        UsageError: it cannot be reached, is empty, or its address holds a password.
    """
    parts = parts_of(address)
    if parts.password or (parts.scheme in ("http", "https") and parts.username):
        raise UsageError(
            f"--source-repo: the address of {parts.hostname} holds a login", "leave it out; git's credential helper is used"
        )
    said = git("ls-remote", "--", address, "HEAD", environ=environ, cwd=cwd, timeout_s=_ASK_S)
    if said.code != 0:
        raise UsageError(f"--source-repo {address}: {said.complaint or 'git gave no answer'}")
    commit = said.out.split("\t")[0].strip()
    if not commit:
        raise UsageError(f"--source-repo {address}: it has no commit yet")
    return commit


@contextmanager
def cloned(address: str, commit: str, base: Path | None, environ: Mapping[str, str]) -> Iterator[SourceRepository]:
    """The repository at that commit, in a folder of its own that is gone afterwards.

    Raises:
        UsageError: it cannot be cloned, or does not hold the commit any more.
    """
    folder = Path(tempfile.mkdtemp(prefix="skilltrial-source-", dir=choose(base)))
    try:
        _clone(address, commit, folder, environ)
        yield SourceRepository(address, commit, folder)
    finally:
        remove_tree(folder)


def _clone(address: str, commit: str, folder: Path, environ: Mapping[str, str]) -> None:
    def must(*arguments: str) -> str:
        said = git(*arguments, environ=environ, cwd=folder, timeout_s=_CLONE_S)
        if said.code != 0:
            raise UsageError(f"--source-repo {address}: git {arguments[0]}: {said.complaint or 'it gave no answer'}")
        return said.out

    must("clone", "--quiet", "--bare", "--template=", "--", address, "bare")
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    must("clone", "--quiet", "--no-hardlinks", "--template=", "--no-checkout", *settings, "--", str(folder / "bare"), "work")
    if git("-C", "work", "cat-file", "-e", f"{commit}^{{commit}}", environ=environ, cwd=folder, timeout_s=_ASK_S).code != 0:
        raise UsageError(f"--source-repo {address}: it does not hold commit {commit[:12]} any more, which the trial began with")
    branch = must("-C", "work", "symbolic-ref", "--short", "HEAD").strip()
    must("-C", "work", "checkout", "--quiet", "-B", branch, commit)
    must("-C", "bare", "config", "gc.auto", "0")
    must("-C", "bare", "remote", "remove", "origin")


def stage(place: Place, paths: list[str]) -> None:
    """Puts files into the index of the repository in a place.

    Raises:
        CellError: git does not do it.
    """
    try:
        ended = place.start(
            Command(safe_git("add", "--force", "--", *paths), SAFE_ENVIRONMENT), Limits(timeout_s=_ASK_S), lambda _: None
        )
    except OSError as error:
        raise CellError("workspace", f"git could not be started: {error.strerror or error}") from error
    if ended.code != 0:
        raise CellError("workspace", f"git add: {ended.stderr.decode('utf-8', 'replace').strip()[-200:]}")
