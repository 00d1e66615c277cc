"""What an experiment left on this machine and at real remotes, and how it goes away: `cleanup.json`."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from skilltrial.errors import UsageError
from skilltrial.records.evidence import ReviewRequest
from skilltrial.records.leftovers import Leftovers, RemoteBranch
from skilltrial.store import Experiment
from skilltrial.system.files import remove_tree, write_atomic
from skilltrial.system.git_own import git

_lock = threading.Lock()
NAME, MARK = "cleanup.json", "skilltrial-"
_TIMEOUT_S = 120.0


class Cleaned(NamedTuple):
    """What became of what was recorded."""

    removed: tuple[str, ...]
    refused: tuple[str, ...]
    """Each with the reason."""


def read(folder: Path) -> Leftovers:
    """What is recorded; nothing where there is no file.

    Raises:
        UsageError: the file is not ours.
    """
    path = folder / NAME
    if not path.is_file():
        return Leftovers()
    try:
        return Leftovers.from_stored(path.read_bytes())
    except ValueError:
        raise UsageError(f"{path} cannot be read", "nothing was removed") from None


def kept(experiment: Experiment, workspace: Path) -> None:
    """Records a workspace that stays."""
    with _lock:
        before = read(experiment.folder)
        _write(experiment.folder, before.model_copy(update={"workspaces": (*before.workspaces, str(workspace))}))


def made(experiment: Experiment, repository: str, branches: Mapping[str, str], requests: Sequence[ReviewRequest]) -> None:
    """Records what a run made at a real remote: branches with their commits, requests by address."""
    if not branches and not requests:
        return
    new = tuple(RemoteBranch(repository=repository, name=name, head=head) for name, head in branches.items())
    told = tuple(request.url or f"#{request.number} of {repository}" for request in requests)
    with _lock:
        before = read(experiment.folder)
        names = {(branch.repository, branch.name) for branch in new}
        stay = tuple(branch for branch in before.remote_branches if (branch.repository, branch.name) not in names)
        asked = tuple(dict.fromkeys((*before.review_requests, *told)))
        _write(experiment.folder, before.model_copy(update={"remote_branches": (*stay, *new), "review_requests": asked}))


def gathered(experiment: Experiment, folders: Sequence[Path]) -> None:
    """Records in one experiment what several left, so that its `cleanup` is enough for all of them."""
    found = [read(folder) for folder in folders]
    whole = Leftovers(
        workspaces=tuple(dict.fromkeys(path for one in found for path in one.workspaces)),
        remote_branches=tuple(dict.fromkeys(branch for one in found for branch in one.remote_branches)),
        review_requests=tuple(dict.fromkeys(request for one in found for request in one.review_requests)),
    )
    if whole != Leftovers():
        with _lock:
            _write(experiment.folder, whole)


def clean(folder: Path, environ: Mapping[str, str]) -> Cleaned:
    """Removes what is recorded: workspaces that carry our mark, and branches that still stand where a run put them."""
    found = read(folder)
    removed: list[str] = []
    workspaces, branches = [], []
    refused: list[str] = []
    for text in found.workspaces:
        if not Path(text).exists():
            continue
        if _remove_workspace(Path(text)):
            removed.append(text)
        else:
            workspaces.append(text)
            refused.append(f"{text}: not a workspace of ours")
    for branch in found.remote_branches:
        why = _remove_branch(branch, environ)
        if why is None:
            removed.append(str(branch))
        else:
            branches.append(branch)
            refused.append(f"{branch}: {why}")
    if found.workspaces or found.remote_branches:
        _write(folder, found.model_copy(update={"workspaces": tuple(workspaces), "remote_branches": tuple(branches)}))
    return Cleaned(tuple(removed), tuple(refused))


def _remove_workspace(path: Path) -> bool:
    """Only a folder that carries our mark is touched: the one recorded, or the one it lies in."""
    folder = path if path.name.startswith(MARK) else path.parent
    if not folder.name.startswith(MARK) or path.is_symlink() or folder.is_symlink():
        return False
    return remove_tree(folder)


def _remove_branch(branch: RemoteBranch, environ: Mapping[str, str]) -> str | None:
    """Why a branch is left alone; None: it is gone."""
    reference = f"refs/heads/{branch.name}"
    with tempfile.TemporaryDirectory(prefix="skilltrial-cleanup-") as scratch:

        def asked(*arguments: str) -> tuple[int | None, str, str]:
            return git(*arguments, environ=environ, cwd=Path(scratch), timeout_s=_TIMEOUT_S)

        code, there, complaint = asked("ls-remote", "--", branch.repository, reference)
        if code != 0:
            return complaint or "the remote gave no answer"
        if not there.strip():
            return None
        if there.split("\t")[0] != branch.head:
            return "it has moved since"
        asked("init", "--quiet", "--template=")
        lease = f"--force-with-lease={reference}:{branch.head}"
        code, _, complaint = asked("push", "--quiet", lease, "--", branch.repository, f":{reference}")
        return None if code == 0 else complaint or "the remote refused"


def _write(folder: Path, left: Leftovers) -> None:
    write_atomic(folder / NAME, left.to_json(indent=2) + "\n", None)
