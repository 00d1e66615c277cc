"""A case's side-effect contract: what it forbids is looked for in what the run changed, never in how it found things."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from skilltrial.graders.git import NO_RECORD, REMOVED, new_branches, pushed_branches
from skilltrial.records.evidence import GitDelta
from skilltrial.records.grades import Grade
from skilltrial.records.suite import Case
from skilltrial.seams import EvidenceView

QUOTE = 400
_FORBIDDEN: dict[str, tuple[str, Callable[[GitDelta], Sequence[str]]]] = {
    "allow_new_local_branches": ("no new local branches", new_branches),
    "allow_new_remote_branches": ("no new remote branches", lambda delta: tuple(pushed_branches(delta))),
    "allow_new_commits": ("no new commits", lambda delta: delta.commits),
    "allow_new_review_requests": ("no new review requests", lambda delta: _requests(delta)),
    "allow_worktree_changes": ("no changes of the work tree", lambda delta: delta.status),
}
_ASKS_GIT = frozenset({"allow_new_commits", "allow_worktree_changes"})


def forbidden(case: Case) -> tuple[str, ...]:
    """The keys that the case sets to false."""
    contract = case.side_effects.contract if case.side_effects else None
    return tuple(key for key in _FORBIDDEN if contract and contract.get(key) is False)


def check_id(key: str) -> str:
    """The name of the grade about one key."""
    return f"contract: {_FORBIDDEN[key][0]}"


def grades(case: Case, view: EvidenceView) -> Iterator[Grade]:
    """One grade per forbidden thing, passed or failed; none where the target works in no folder."""
    delta = view.record.delta
    for key in forbidden(case) if delta is not None else ():
        state, reason, found = _looked_for(key, delta.git if delta else None)
        quote = "\n".join(found)[:QUOTE] or None
        yield Grade.model_validate(
            {"check": check_id(key), "state": state, "reason": reason, "quote": quote, "method": "contract"}
        )


def _looked_for(key: str, delta: GitDelta | None) -> tuple[str, str, Sequence[str]]:
    if delta is None:
        return "ungraded", NO_RECORD, ()
    if delta.removed:
        return "failed", REMOVED, ()
    if delta.problem and key in _ASKS_GIT:
        return "ungraded", delta.problem, ()
    if key == "allow_new_review_requests" and delta.review_requests is None:
        return "ungraded", delta.review_problem or "nobody asked for pull or merge requests", ()
    words, find = _FORBIDDEN[key]
    found = find(delta)
    return ("failed", f"the contract says {words}", found) if found else ("passed", f"there are {words}", ())


def _requests(delta: GitDelta) -> tuple[str, ...]:
    return tuple(request.url or f"#{request.number}" for request in delta.review_requests or ())
