"""Checks on git, and the side-effect contract: what is new is looked at, never how things were found."""

from __future__ import annotations

from typing import Any

import pytest

from skilltrial.graders import contract
from skilltrial.records.evidence import GitDelta, ReviewRequest
from skilltrial.records.suite import SideEffects

BASE, NEW, OTHER = "a" * 40, "b" * 40, "c" * 40
NOTHING: dict[str, Any] = {"head": BASE, "head_before": BASE, "branch": "main", "branch_before": "main", "remotes": ("origin",)}
WORKED: dict[str, Any] = {
    **NOTHING, "branches": ("feat",), "branch": "feat", "head": NEW, "commits": (f"{NEW} Add it",),
    "branch_heads": {"main": BASE, "feat": NEW}, "pushed": {"origin/feat": NEW},
    "review_requests": (ReviewRequest(number=3, branch="feat", url="https://x/3"),),
}  # fmt: skip
TYPES = ("git_branch", "git_commit", "git_pushed", "pr_created")


@pytest.fixture
def state(run: Any) -> Any:
    """`state("git_commit", absent=True, head=…)`: the state of the grade, NOTHING being the delta but for what is given."""

    def grade(type_: str, *, absent: bool | None = None, after: dict[str, Any] | None = None, **changes: Any) -> str:
        git = GitDelta(**{**(after or {**NOTHING, "review_requests": ()}), **changes})
        options = {} if absent is None else {"absent": absent}
        found: str = run.grade(type_, run.view(git=git), **options).state
        return found

    return grade


@pytest.mark.parametrize("type_", TYPES)
def test_a_check_on_git_passes_when_the_thing_was_made_and_its_opposite_when_it_was_not(state: Any, type_: str) -> None:
    assert (state(type_, after=WORKED), state(type_)) == ("passed", "failed")
    assert (state(type_, absent=True, after=WORKED), state(type_, absent=True)) == ("failed", "passed")


def test_a_branch_without_a_commit_counts_as_a_switch_to_a_new_branch(state: Any) -> None:
    orphan = {"branch": "x", "head": None}
    assert state("git_branch", absent=True, **orphan) == "failed"
    assert state("git_branch", **orphan) == "failed"


def test_a_new_commit_that_head_does_not_stand_on_is_not_enough(state: Any) -> None:
    assert state("git_commit", commits=(f"{NEW} Aside",)) == "failed"
    assert state("git_commit", absent=True, commits=(f"{NEW} Aside",)) == "failed"


def test_a_push_has_to_bring_what_the_run_ended_on(state: Any) -> None:
    assert state("git_pushed", after={**WORKED, "pushed": {"origin/feat": BASE, "origin/x": BASE}}) == "failed"
    assert state("git_pushed", after={**WORKED, "pushed": {"origin/any-name": NEW}}) == "passed"


def test_what_was_only_fetched_was_not_pushed(state: Any) -> None:
    fetched = {"origin/theirs": OTHER}
    assert state("git_pushed", pushed=fetched) == "failed"
    assert state("git_pushed", absent=True, pushed=fetched) == "passed"


def test_a_request_for_another_branch_or_a_closed_one_is_not_the_runs(state: Any) -> None:
    for request in (ReviewRequest(number=1, branch="theirs"), ReviewRequest(number=1, branch="feat", open=False)):
        assert state("pr_created", after={**WORKED, "review_requests": (request,)}) == "failed"


def test_a_provider_that_gave_no_answer_is_no_verdict_either_way(state: Any, run: Any) -> None:
    for absent in (True, False):
        assert state("pr_created", absent=absent, review_requests=None, review_problem="gh: HTTP 502") == "ungraded"
    git = GitDelta(**NOTHING, review_problem="gh: HTTP 502")
    assert run.grade("pr_created", run.view(git=git)).reason == "gh: HTTP 502"


@pytest.mark.parametrize(("type_", "fitting"), [("git_clean", "ungraded"), ("git_commit", "ungraded"), ("git_branch", "passed")])
def test_a_git_that_failed_takes_only_the_verdicts_that_needed_it(state: Any, type_: str, fitting: str) -> None:
    assert state(type_, after={**WORKED, "problem": "git status ended with status 128: broken"}) == fitting


@pytest.mark.parametrize("type_", (*TYPES, "git_clean"))
def test_a_run_that_takes_the_repository_away_fails_and_one_without_record_has_no_verdict(
    state: Any, run: Any, type_: str
) -> None:
    assert state(type_, removed=True) == "failed"
    assert run.grade(type_, run.view()).state == "ungraded"


def test_git_clean_asks_for_new_entries_alone(state: Any) -> None:
    assert state("git_clean") == "passed"
    assert state("git_clean", status=("?? junk.txt",)) == "failed"


# ---------------------------------------------------------------- the contract
def rows(run: Any, delta: dict[str, Any] | None, **terms: bool) -> dict[str, str]:
    view = run.view(git=GitDelta(**delta)) if delta is not None else run.view(folder=False)
    case = run.case(side_effects=SideEffects(contract=terms))
    return {grade.check: grade.state for grade in contract.grades(case, view)}


@pytest.mark.parametrize(
    ("term", "check"),
    [
        ("allow_new_local_branches", "contract: no new local branches"),
        ("allow_new_remote_branches", "contract: no new remote branches"),
        ("allow_new_commits", "contract: no new commits"),
        ("allow_new_review_requests", "contract: no new review requests"),
        ("allow_worktree_changes", "contract: no changes of the work tree"),
    ],
)
def test_each_term_that_forbids_gives_one_row_and_one_that_allows_none(run: Any, term: str, check: str) -> None:
    broken = {**WORKED, "status": (" M a.txt",)}
    assert rows(run, broken, **{term: False}) == {check: "failed"}
    assert rows(run, {**NOTHING, "review_requests": ()}, **{term: False}) == {check: "passed"}
    assert rows(run, broken, **{term: True}) == {}


def test_the_contract_of_a_run_that_works_in_no_folder_has_no_rows(run: Any) -> None:
    assert rows(run, None, allow_new_commits=False) == {}
