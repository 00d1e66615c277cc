"""Checks on the state of the repository after a run."""

from __future__ import annotations

from typing import ClassVar

from skilltrial.graders._verdict import QUOTE, ByType, Scene, Verdict
from skilltrial.records.checks import NoOptions


def git_clean(_options: NoOptions, scene: Scene) -> Verdict:
    """Passed when `git status` had nothing to say; the staged skill is out of git's sight in every arm."""
    delta = scene.view.record.delta
    if delta is None or delta.git is None:
        return Verdict.ungraded("there is no record of the repository's state")
    if not delta.git.status:
        return Verdict.passed("git status is empty")
    count = len(delta.git.status)
    return Verdict.failed(f"git status lists {count} {'path' if count == 1 else 'paths'}", "\n".join(delta.git.status)[:QUOTE])


class State(ByType):
    """The repository as the run left it."""

    rules: ClassVar = {"git_clean": git_clean}


plugin = State()
