"""The commits that HEAD reaches, read without git where that can be told from files, so that a snapshot costs no process."""

from __future__ import annotations

import heapq
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from skilltrial.system.files import read_capped
from skilltrial.system.git_reading import MOST_COMMITS, safe_git

ASKED = safe_git("log", "--no-decorate", "--no-color", "--format=%H %s", "HEAD", "--")
"""Lists every commit of HEAD, newest first, as `<hash> <subject>`."""
_MOST_KNOWN = 20_000
_LARGEST = 1 << 20
_WHEN = re.compile(r"^committer .*> (\d+) [+-]\d{4}$", re.MULTILINE)


class History(NamedTuple):
    """What HEAD reaches."""

    total: int
    newest: tuple[tuple[str, str], ...]
    """Hash and subject of the newest ones, at most MOST_COMMITS, newest first."""
    known: frozenset[str]
    """Hashes of all of them, as far as they were kept."""


class Commit(NamedTuple):
    """One commit that lies as a file of its own."""

    parents: tuple[str, ...]
    when: int
    """Seconds since 1970."""
    subject: str


NONE = History(0, (), frozenset())


def only(commit: str, subject: str) -> History:
    """A repository with one commit."""
    return History(1, ((commit, subject),), frozenset({commit}))


class Listing:
    """Takes the lines of ASKED as they come; a long history is counted and not kept."""

    def __init__(self) -> None:
        self._count = 0
        self._newest: list[tuple[str, str]] = []
        self._known: set[str] = set()

    def add(self, line: bytes) -> None:
        commit, _, subject = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
        self._count += 1
        if len(self._newest) < MOST_COMMITS:
            self._newest.append((commit, subject))
        if len(self._known) < _MOST_KNOWN:
            self._known.add(commit)

    def history(self) -> History:
        return History(self._count, tuple(self._newest), frozenset(self._known))


def grown(folder: Path, head: str, before: History) -> History | None:
    """The history of a HEAD whose new commits all stand on the last HEAD; None: git has to be asked.

    New commits lie as files of their own until git packs them, and what they stand on is known already.
    """
    last = before.newest[0][0] if before.newest else None
    if head == last:
        return before
    found: dict[str, Commit] = {}
    pending, ends = [head], set()
    while pending:
        name = pending.pop()
        if name in before.known:
            ends.add(name)
        elif name not in found:
            commit = loose(folder, name)
            if commit is None or len(found) >= _MOST_KNOWN:
                return None
            found[name] = commit
            pending += commit.parents
    if ends != ({last} if last else set()):
        return None
    new = [(name, found[name].subject) for name in _newest_first(head, found)]
    return History(before.total + len(new), (*new, *before.newest)[:MOST_COMMITS], before.known | found.keys())


def _newest_first(head: str, found: dict[str, Commit]) -> Iterable[str]:
    """As git lists them: by date, a commit after all that stand on it where dates are in order."""
    queue, seen = [(-found[head].when, 0, head)] if head in found else [], {head}
    while queue:
        _, _, name = heapq.heappop(queue)
        yield name
        for parent in found[name].parents:
            if parent in found and parent not in seen:
                seen.add(parent)
                heapq.heappush(queue, (-found[parent].when, len(seen), parent))


def loose(folder: Path, name: str) -> Commit | None:
    """A commit that lies in a file of its own below `objects`; None: it does not, or is none."""
    read = read_capped(folder / "objects" / name[:2] / name[2:], _LARGEST, force=True)
    if read is None or read.truncated:
        return None
    try:
        data = zlib.decompressobj().decompress(read.data, _LARGEST)
    except zlib.error:
        return None
    kind, _, body = data.partition(b"\0")
    if not kind.startswith(b"commit "):
        return None
    heads, _, message = body.decode("utf-8", "replace").partition("\n\n")
    when = _WHEN.search(heads)
    parents = tuple(line.removeprefix("parent ") for line in heads.splitlines() if line.startswith("parent "))
    return Commit(parents, int(when[1]) if when else 0, _subject(message))


def _subject(message: str) -> str:
    """The first paragraph as one line, as git shows it."""
    return " ".join(line.strip() for line in message.lstrip("\n").partition("\n\n")[0].splitlines())
