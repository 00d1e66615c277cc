"""`cleanup.json`: what an experiment left on this machine and at real remotes."""

from __future__ import annotations

from skilltrial.records.record import Record


class RemoteBranch(Record):
    """A branch that a run made at a real remote."""

    repository: str
    name: str
    head: str
    """The commit that the run pushed; a branch that stands elsewhere by now is not touched."""

    def __str__(self) -> str:
        return f"branch {self.name} of {self.repository}"


class Leftovers(Record):
    """Everything that `cleanup` may touch, and what it only tells of."""

    workspaces: tuple[str, ...] = ()
    """Absolute paths of kept workspaces."""
    remote_branches: tuple[RemoteBranch, ...] = ()
    review_requests: tuple[str, ...] = ()
    """Pull and merge requests that runs opened: told, never touched."""
