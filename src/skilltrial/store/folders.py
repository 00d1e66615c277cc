"""Where experiments lie: `iteration-N` in a workspace, found by path, number, name, `latest` or `previous`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from skilltrial.errors import UsageError
from skilltrial.system.files import write_atomic

PLAN = "experiment.json"
_ITERATION = re.compile(r"iteration-([1-9][0-9]*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_CREATED = re.compile(rb'"created_at": ?("(?:[^"\\]|\\.)*")')


def allocate(workspace: Path, run_id: str | None = None) -> Path:
    """A new empty folder in the workspace: `iteration-<highest + 1>`, or `run_id`. An existing folder is never used again.

    Raises:
        UsageError: the workspace cannot be written, or `run_id` is no safe name or is taken.
    """
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        ignore = workspace / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, "*\n", None)
        return _named(workspace, run_id) if run_id is not None else _numbered(workspace)
    except OSError as error:
        raise UsageError(f"{error.filename or workspace}: cannot make the experiment's folder: {error.strerror}") from error


def _named(workspace: Path, run_id: str) -> Path:
    if run_id in ("latest", "previous"):
        raise UsageError(f"run id {run_id!r} would hide what {run_id} means", "choose another name")
    if not _NAME.fullmatch(run_id):
        raise UsageError(
            f"run id {run_id!r} cannot name a folder",
            "use letters, digits, '.', '_' and '-', at most 100, a letter or digit first",
        )
    folder = workspace / run_id
    try:
        folder.mkdir()
    except FileExistsError:
        raise UsageError(f"{folder} exists already", "choose another run id; `resume` goes on with an existing one") from None
    return folder


def _numbered(workspace: Path) -> Path:
    number = max((int(match[1]) for path in workspace.iterdir() if (match := _ITERATION.fullmatch(path.name))), default=0)
    while True:  # another process may take the same number first
        number += 1
        folder = workspace / f"iteration-{number}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder


def experiments(workspace: Path) -> Iterator[Path]:
    """All experiments of a workspace, oldest first."""
    if workspace.is_dir():
        found = [path for path in workspace.iterdir() if (path / PLAN).is_file()]
        yield from sorted(found, key=lambda path: (_created(path), _number(path), path.name))


def locate(workspace: Path, which: str | int = "latest") -> Path:
    """The folder meant by a path, a number, a name, `latest` or `previous`.

    A folder that is no experiment of ours is handed on as it is: it may be a foreign tree.

    Raises:
        UsageError: there is none; the message lists those there are.
    """
    which = str(which)
    if which in ("latest", "previous"):
        found = list(experiments(workspace))
        back = 1 if which == "latest" else 2
        if len(found) >= back:
            return found[-back]
        raise UsageError(f"{workspace} has no {which} experiment", _listing(workspace))
    named = workspace / (f"iteration-{which}" if which.isdecimal() else which)
    for folder in (named, workspace / which, Path(which)):
        if (folder / PLAN).is_file():
            return folder
    if Path(which).is_dir() and not which.isdecimal():
        inside = list(experiments(Path(which)))
        return inside[-1] if inside else Path(which)
    raise UsageError(f"there is no experiment '{which}'", _listing(workspace))


def _listing(workspace: Path) -> str:
    names = [path.name for path in experiments(workspace)]
    if not names:
        return f"{workspace} holds no experiments; `skilltrial run` makes one, and --workspace names another folder"
    shown = ", ".join(names[-20:])
    return f"{workspace} holds {'the last 20 of ' + str(len(names)) + ': ' if len(names) > 20 else ''}{shown}"


def _created(folder: Path) -> str:
    with (folder / PLAN).open("rb") as file:
        match = _CREATED.search(file.read(4096))  # stands near the start; plans may be megabytes
    if match:
        return str(json.loads(match[1]))
    return datetime.fromtimestamp((folder / PLAN).stat().st_mtime, UTC).isoformat()


def _number(folder: Path) -> int:
    match = _ITERATION.fullmatch(folder.name)
    return int(match[1]) if match else 0


def seen_in(folder: Path) -> str:
    """What a folder holds, for a message about one that is not ours."""
    if not folder.exists():
        return "it does not exist"
    if not folder.is_dir():
        return "it is a file"
    names = sorted(path.name + ("/" if path.is_dir() else "") for path in folder.iterdir())
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"it holds {', '.join(names[:8])}{more}" if names else "it is empty"
