"""Checks on the repository after a run: what is new in it, never what lay there before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from skilltrial.graders._verdict import QUOTE, ByType, Scene, Verdict
from skilltrial.records.checks import GitFact, NoOptions
from skilltrial.records.evidence import GitDelta, ReviewRequest

NO_RECORD = "there is no record of the repository's state"
REMOVED = "the run took the repository away"


def git_clean(_options: NoOptions, scene: Scene) -> Verdict:
    """Passed when `git status` says nothing anew; staged skill and fixtures never count, so arms are looked at alike."""
    delta = _delta(scene)
    if isinstance(delta, Verdict):
        return delta
    if delta.problem:
        return Verdict.ungraded(delta.problem)
    if not delta.status:
        return Verdict.passed("git status lists nothing new")
    count = len(delta.status)
    return Verdict.failed(f"git status lists {count} new {'path' if count == 1 else 'paths'}", "\n".join(delta.status)[:QUOTE])


def git_branch(options: GitFact, scene: Scene) -> Verdict:
    """Passed when the run left a new local branch; with `absent`, when it left none and stands on none."""
    delta = _delta(scene)
    if isinstance(delta, Verdict):
        return delta
    found = new_branches(delta)
    if options.absent:
        return _none(found, "new branch")
    if delta.branches:
        return Verdict.passed(f"there is a new branch: {', '.join(delta.branches[:10])}")
    on = f"'{delta.branch}'" if delta.branch else "no branch"
    return Verdict.failed(f"there is no new branch; the run ended on {on}")


def git_commit(options: GitFact, scene: Scene) -> Verdict:
    """Passed when there are new commits and HEAD is one of them; with `absent`, when there are none."""
    delta = _delta(scene)
    if isinstance(delta, Verdict):
        return delta
    if delta.problem:
        return Verdict.ungraded(delta.problem)
    if options.absent:
        return _none(delta.commits, "new commit")
    if not delta.commits:
        return Verdict.failed("there is no new commit")
    if delta.head not in hashes(delta):
        return Verdict.failed("there are new commits, but HEAD is none of them", "\n".join(delta.commits)[:QUOTE])
    return Verdict.passed(f"new commits: {len(delta.commits)}", "\n".join(delta.commits)[:QUOTE])


def git_pushed(options: GitFact, scene: Scene) -> Verdict:
    """Passed when a remote branch got what HEAD, or the new branch, stands on; with `absent`, when none got anything."""
    delta = _delta(scene)
    if isinstance(delta, Verdict):
        return delta
    pushed = pushed_branches(delta)
    if options.absent:
        return _none(pushed, "pushed branch")
    wanted = {delta.head, delta.branch_heads.get(branch_of(delta) or "")} - {None}
    there = [name for name, commit in pushed.items() if commit in wanted]
    if there:
        return Verdict.passed(f"pushed: {', '.join(there)}")
    if pushed:
        return Verdict.failed(f"{', '.join(pushed)} was pushed, but not what the run ended on")
    return Verdict.failed(
        "nothing was pushed" + ("" if delta.remotes else "; the repository has no remote (--source-repo gives one)")
    )


def pr_created(options: GitFact, scene: Scene) -> Verdict:
    """Passed when a new, open pull or merge request is for the run's branch; with `absent`, when none is new and open."""
    delta = _delta(scene)
    if isinstance(delta, Verdict):
        return delta
    if delta.review_requests is None:
        return Verdict.ungraded(delta.review_problem or "nobody asked for pull or merge requests")
    still = [request for request in delta.review_requests if request.open]
    if options.absent:
        return _none(map(_named, still), "new request")
    mine = [request for request in still if request.branch in {branch_of(delta), *delta.branches}]
    if mine:
        return Verdict.passed(f"there is {_named(mine[0])}", mine[0].url)
    others = f"; new ones: {', '.join(map(_named, delta.review_requests))}" if delta.review_requests else ""
    return Verdict.failed(f"there is no new open request for '{branch_of(delta)}'{others}")


# ---------------------------------------------------------------- what is new
def branch_of(delta: GitDelta) -> str | None:
    """The branch that the run worked on: the current one if it is new, else the first new one, else the current one."""
    if delta.branch in delta.branches or not delta.branches:
        return delta.branch
    return min(delta.branches)


def new_branches(delta: GitDelta) -> tuple[str, ...]:
    """New local branches, also one that has no commit yet and that the run stands on."""
    unborn = delta.branch is not None and delta.head is None and delta.branch != delta.branch_before
    return (*delta.branches, *((delta.branch,) if unborn and delta.branch else ()))


def pushed_branches(delta: GitDelta) -> dict[str, str]:
    """Remote branches that got something of this run; what it only fetched is none."""
    own = {*hashes(delta), *delta.branch_heads.values(), *([delta.head] if delta.head else [])}
    return {name: commit for name, commit in delta.pushed.items() if commit in own}


def hashes(delta: GitDelta) -> frozenset[str]:
    """Of the new commits."""
    return frozenset(commit.partition(" ")[0] for commit in delta.commits)


def _delta(scene: Scene) -> GitDelta | Verdict:
    delta = scene.view.record.delta
    if delta is None or delta.git is None:
        return Verdict.ungraded(NO_RECORD)
    if delta.git.removed:
        return Verdict.failed(REMOVED)
    return delta.git


def _none(found: Iterable[str], what: str) -> Verdict:
    listed = list(found)
    if not listed:
        return Verdict.passed(f"there is no {what}")
    return Verdict.failed(f"there is a {what}, and there should be none", "\n".join(listed)[:QUOTE])


def _named(request: ReviewRequest) -> str:
    return f"#{request.number} from {request.branch}"


class Git(ByType):
    """Branches, commits, pushes, review requests and the work tree."""

    rules: ClassVar = {
        "git_clean": git_clean,
        "git_branch": git_branch,
        "git_commit": git_commit,
        "git_pushed": git_pushed,
        "pr_created": pr_created,
    }


plugin = Git()
