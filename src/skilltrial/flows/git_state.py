"""The repository of a cell before and after its run, looked at only where something asks for it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from skilltrial.collect.repository import Failed, Found, Repository
from skilltrial.flows.bench import Bench
from skilltrial.graders import contract
from skilltrial.records.checks import NEEDS_GIT
from skilltrial.records.evidence import Delta, GitDelta
from skilltrial.records.plan import Cell, Hooks, SetAside
from skilltrial.records.suite import Case, Suite
from skilltrial.workspaces import Workspace

REVIEWS = "allow_new_review_requests"
NO_PROVIDER = "pull and merge requests are seen only with a --source-repo at GitHub or GitLab, and gh or glab installed"


def needed(case: Case, *, tree: bool | None, hooks: Hooks) -> bool:
    """A check or the contract is about git, or the state files of the cell's folder were asked for."""
    about_git = any(check.type in NEEDS_GIT for check in case.checks)
    return about_git or bool(contract.forbidden(case)) or bool(tree) or bool(hooks.post_grade)


def needed_by(cell: Cell, bench: Bench) -> bool:
    """Whether the state of this cell's repository is to be recorded."""
    return needed(bench.lookup.case(cell), tree=bench.plan.options.tree, hooks=bench.plan.hooks)


class Looked(NamedTuple):
    """A delta with what changed in the repository, and the whole states at both ends where they are known."""

    delta: Delta
    states: Mapping[str, object]


class Watched:
    """The repository of one run: made before it, asked after it."""

    def __init__(self, cell: Cell, bench: Bench, workspace: Workspace) -> None:
        case = bench.lookup.case(cell)
        self._repository: Repository | None = None
        self._problem: str | None = None
        try:
            key = (case.fixtures.digest, case.stage, case.stage_files, sorted(workspace.landed))
            self._repository = Repository(workspace, repr(key), bench.repositories)
        except Failed as error:
            self._problem = str(error)

    def after(self, files: Delta) -> Looked:
        """Every process of the run must be dead."""
        if self._repository is None:
            return Looked(files.model_copy(update={"git": GitDelta(problem=self._problem)}), {})
        try:
            found: Found = self._repository.after(files)
        except Failed as error:
            return Looked(files.model_copy(update={"git": GitDelta(problem=str(error))}), {})
        states = {"before": found.before, **({"after": found.after} if found.after else {})}
        return Looked(files.model_copy(update={"git": found.delta}), states)


def watched(cell: Cell, bench: Bench, workspace: Workspace | None) -> Watched | None:
    """Looks at the repository of a run about to begin; None where nothing asks for that."""
    return Watched(cell, bench, workspace) if workspace is not None and needed_by(cell, bench) else None


# ---------------------------------------------------------------- what cannot be looked at here
def set_aside(suites: Sequence[Suite], environ: Mapping[str, str]) -> tuple[tuple[Suite, ...], tuple[SetAside, ...]]:
    """The suites without the checks and contract rows that cannot be graded on this machine, and a row for each of those."""
    rows: list[SetAside] = []
    kept = []
    for suite in suites:
        cases = []
        for case in suite.cases:
            left, reasons = _gradable(case, environ)
            cases.append(left)
            rows += [SetAside(check=check, skill=suite.skill, case=case.id, reason=why) for check, why in reasons.items()]
        kept.append(suite.model_copy(update={"cases": tuple(cases)}))
    return (tuple(kept) if rows else tuple(suites)), tuple(rows)


def _gradable(case: Case, environ: Mapping[str, str]) -> tuple[Case, dict[str, str]]:
    """The case without what nobody can grade here, and why, by the name of the check or contract row."""
    reasons = {check.id: why for check in case.checks if (why := _why_not(check.type, environ))}
    update: dict[str, object] = {"checks": tuple(check for check in case.checks if check.id not in reasons)}
    for key in contract.forbidden(case):
        why = _why_not("pr_created" if key == REVIEWS else "git_clean", environ)
        if why and case.side_effects is not None:
            reasons[contract.check_id(key)] = why
            terms = {name: value for name, value in (case.side_effects.contract or {}).items() if name != key}
            case = case.model_copy(update={"side_effects": case.side_effects.model_copy(update={"contract": terms})})
    return (case.model_copy(update=update) if reasons else case), reasons


def _why_not(kind: str, environ: Mapping[str, str]) -> str | None:
    if kind not in NEEDS_GIT:
        return None
    if not shutil.which("git", path=environ.get("PATH")):
        return "git is not installed here"
    if kind == "pr_created":
        return NO_PROVIDER
    return None
