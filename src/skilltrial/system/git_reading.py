"""Reads a repository that a stranger worked in: branches and HEAD from its files, the rest by a git that obeys nobody there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from skilltrial.system.files import manifest, read_capped

SAFE_ENVIRONMENT: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_INDEX_FILE": ".git/index",
    "GIT_OBJECT_DIRECTORY": ".git/objects",
    "LC_ALL": "C",
}
"""No configuration but the repository's own, no prompt, no lock; also where the caller stands inside a git hook."""
_SAFE_OPTIONS = (
    "--git-dir=.git", "--work-tree=.", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
    "-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=true",
    "-c", "core.untrackedCache=false", "-c", "log.showSignature=false",
)  # fmt: skip
REMOTE = "origin.git"
"""Folder within the `.git` of a workspace that is its private remote, where it has one."""
MOST_COMMITS = 50
_LARGEST = 8 * 1024 * 1024
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Head(NamedTuple):
    """Where a repository stands."""

    branch: str | None
    """None: detached, or unreadable."""
    commit: str | None
    """None: a branch without a commit, or unreadable."""


def safe_git(*arguments: str) -> tuple[str, ...]:
    """A git command on the repository in the working folder that starts no hook and no other program."""
    return ("git", *_SAFE_OPTIONS, *arguments)


STATUS = safe_git("status", "--porcelain=v2", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")


def new_commits(heads: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Lists commits that `heads` reach and `known` do not, newest first, as `<hash> <subject>`."""
    without = [f"^{commit}" for commit in sorted(set(known))]
    return safe_git(
        "log", "--no-decorate", "--no-color", "--ignore-missing", f"--max-count={MOST_COMMITS}", "--format=%H %s",
        *sorted(set(heads)), *without, "--",
    )  # fmt: skip


def repository_of(root: Path) -> Path | None:
    """The `.git` folder in a workspace; None when it is gone, or something else than a folder of its own."""
    folder = root / ".git"
    return folder if folder.is_dir() and not folder.is_symlink() else None


def has_reftable(folder: Path) -> bool:
    """Branches are kept in git's newer binary form, which is not read here."""
    return (folder / "reftable").is_dir()


def refs_of(folder: Path) -> dict[str, str]:
    """Every branch and tag with its commit, by full name, loose files over packed ones."""
    found = dict(_packed(_text(folder / "packed-refs")))
    for path in manifest(folder / "refs", everything=True, max_files=20_000).files:
        commit = _text(folder / "refs" / path, 256).strip()
        if _HASH.fullmatch(commit):
            found[f"refs/{path}"] = commit
    return found


def head_of(folder: Path, refs: Mapping[str, str]) -> Head:
    said = _text(folder / "HEAD", 4096).strip()
    if said.startswith("ref:"):
        name = said.removeprefix("ref:").strip()
        return Head(name.removeprefix("refs/heads/"), refs.get(name))
    return Head(None, said if _HASH.fullmatch(said) else None)


def entries_of(printed: str, hidden: Collection[str] = ()) -> tuple[str, ...]:
    """`git status --porcelain=v2` as `XY path` lines, sorted; what lies below `hidden` folders is left out."""
    found = []
    for line in printed.splitlines():
        kind, _, rest = line.partition(" ")
        fields = {"1": 8, "2": 9, "u": 10}.get(kind)
        if fields is not None:
            parts = rest.split(" ", fields - 1)
            state, path = parts[0].replace(".", " "), parts[-1].partition("\t")[0]
        elif kind == "?":
            state, path = "??", rest
        else:
            continue
        plain = path.lstrip('"')
        if not any(plain.startswith(f"{folder}/") for folder in hidden):
            found.append(f"{state} {path}")
    return tuple(sorted(found))


def path_of(entry: str) -> str:
    """The path of an `XY path` line, git's quotes taken off."""
    path = entry[3:]
    if not path.startswith('"'):
        return path
    body = path[1:-1].encode("ascii", "replace").decode("unicode_escape")
    return body.encode("latin-1", "replace").decode("utf-8", "replace")


def _packed(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        commit, _, name = line.partition(" ")
        if name and _HASH.fullmatch(commit):
            yield name, commit


def _text(path: Path, limit: int = _LARGEST) -> str:
    read = read_capped(path, limit, force=True)
    return read.data.decode("utf-8", "replace") if read else ""
