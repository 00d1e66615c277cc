"""The repository of a cell before and after its run, looked at only where something asks for it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from skilltrial.collect.repository import Failed, Repository
from skilltrial.errors import UsageError
from skilltrial.flows import leftovers, reviews
from skilltrial.flows.bench import Bench
from skilltrial.graders import contract
from skilltrial.graders.git import pushed_branches
from skilltrial.records.checks import NEEDS_GIT
from skilltrial.records.config import Config
from skilltrial.records.evidence import Delta, GitDelta, ReviewRequest
from skilltrial.records.plan import Cell, Options, SetAside
from skilltrial.records.suite import Case, FileRef, Suite, is_live
from skilltrial.seams import Blobs, Machine
from skilltrial.workspaces import Workspace
from skilltrial.workspaces.sources import SourceRepository, stand_of

REVIEWS = "allow_new_review_requests"
_MOST_GIVEN = 500
"""Files of the source repository that are stored for the checks of one cell."""


def needed_by(cell: Cell, bench: Bench) -> bool:
    """A check or the contract is about git, or the state files of the cell's folder were asked for."""
    case, plan = bench.lookup.case(cell), bench.plan
    about_git = any(check.type in NEEDS_GIT for check in case.checks) or bool(contract.forbidden(case))
    lives = is_live(case) and plan.options.source_repo is not None
    return about_git or lives or bool(plan.options.tree) or bool(plan.hooks.post_grade)


class Looked(NamedTuple):
    """A delta with what changed in the repository, and the whole states at both ends where they are known."""

    delta: Delta
    states: Mapping[str, object]


class Watched:
    """The repository of one run: made before it, asked after it."""

    def __init__(self, cell: Cell, bench: Bench, workspace: Workspace) -> None:
        self._cell, self._bench = cell, bench
        self._case = bench.lookup.case(cell)
        self._repository: Repository | None = None
        self._problem: str | None = None
        try:
            self._repository = Repository(workspace, f"{cell.case}/{cell.skill}/{cell.target}", bench.repositories)
        except Failed as error:
            self._problem = str(error)
        self._provider = _provider(self._case, bench.plan.options, bench.machine)
        self._reviews = self._asked()

    def after(self, files: Delta) -> Looked:
        """Every process of the run must be dead."""
        states: dict[str, object] = {}
        delta = GitDelta(problem=self._problem)
        if self._repository is not None:
            try:
                found = self._repository.after(files)
                delta = found.delta
                states = {"before": found.before, **({"after": found.after} if found.after else {})}
            except Failed as error:
                delta = GitDelta(problem=str(error))
        delta = self._reviewed(delta, states)
        if is_live(self._case):
            self._recorded(delta, states.get("before"))
        return Looked(files.model_copy(update={"git": delta}), states)

    def _asked(self) -> dict[int, ReviewRequest] | str | None:
        """The requests there are; a text when the provider does not say; None where nobody asks."""
        if self._provider is None:
            return None
        try:
            return reviews.listed(self._provider, self._bench.machine)
        except Failed as error:
            return str(error)

    def _reviewed(self, delta: GitDelta, states: Mapping[str, object]) -> GitDelta:
        before = self._reviews
        after = self._asked() if isinstance(before, dict) else before
        for name, asked in (("before", before), ("after", after)):
            if isinstance(asked, dict) and isinstance(state := states.get(name), dict):
                state["open_prs"] = [_as_pull_request(request) for _, request in sorted(asked.items()) if request.open]
        if isinstance(before, dict) and isinstance(after, dict):
            new = tuple(request for number, request in sorted(after.items()) if number not in before)
            return delta.model_copy(update={"review_requests": new})
        return delta.model_copy(update={"review_problem": after}) if isinstance(after, str) else delta

    def _recorded(self, delta: GitDelta, before: object) -> None:
        """Notes what now lies at the real remote, for `cleanup`."""
        address = self._bench.plan.options.source_repo
        if address is None:
            return
        there = set(before.get("remote_branches", ())) if isinstance(before, dict) else set()
        names = {name.partition("/")[2]: commit for name, commit in pushed_branches(delta).items()}
        leftovers.made(
            self._bench.experiment,
            address,
            {name: commit for name, commit in names.items() if name not in there},
            delta.review_requests or (),
        )


def _as_pull_request(request: ReviewRequest) -> dict[str, object]:
    """In the shape of agent-skill-eval's state files, which is that of `gh`."""
    names = {"number": request.number, "headRefName": request.branch, "baseRefName": request.base}
    return {**names, "url": request.url, "state": "OPEN"}


def watched(cell: Cell, bench: Bench, workspace: Workspace | None) -> Watched | None:
    """Looks at the repository of a run about to begin; None where nothing asks for that."""
    return Watched(cell, bench, workspace) if workspace is not None and needed_by(cell, bench) else None


def _provider(case: Case, options: Options, machine: Machine) -> reviews.Provider | None:
    asked = any(check.type == "pr_created" for check in case.checks) or REVIEWS in contract.forbidden(case)
    if not asked or reviews.why_not(options.source_repo, live=is_live(case), environ=machine.environ):
        return None
    return reviews.provider_of(options.source_repo)


# ---------------------------------------------------------------- the source repository
def with_source(config: Config, cwd: Path, machine: Machine) -> Config:
    """The configuration with the commit that the source repository stands at.

    Raises:
        UsageError: git is not there, or the repository cannot be reached.
    """
    if config.source_repo is None:
        return config
    if not shutil.which("git", path=machine.environ.get("PATH")):
        raise UsageError("--source-repo: git is not installed here")
    address = config.source_repo
    if "://" not in address and Path(cwd, address).exists():
        address = str(Path(cwd, address).resolve())
    return config.model_copy(update={"source_repo": address, "source_commit": stand_of(address, machine.environ, cwd)})


def given(case: Case, source: SourceRepository, blobs: Blobs) -> tuple[FileRef, ...]:
    """Files of the source repository that a check names, as they were at the start; their bytes are in `blobs` afterwards."""
    found: dict[str, FileRef] = {}
    for check in case.checks:
        path = check.options.get("path")
        if isinstance(path, str) and not check.type.startswith("tool_"):
            anywhere = bool(check.options.get("anywhere"))
            named = (name for name in source.files if _names(path, name, anywhere=anywhere))
            found |= {name: source.files[name] for name in named if len(found) < _MOST_GIVEN}
    for name, ref in found.items():
        data = source.read(name)
        if data is not None:
            blobs.put_new(ref.digest, data)
    return tuple(found[name] for name in sorted(found))


def _names(path: str, name: str, *, anywhere: bool) -> bool:
    plain = path.rstrip("/")
    return name == plain or name.startswith(f"{plain}/") or (anywhere and (name.endswith(f"/{plain}") or f"/{plain}/" in name))


# ---------------------------------------------------------------- what cannot be looked at here
def set_aside(
    suites: Sequence[Suite], config: Config, environ: Mapping[str, str]
) -> tuple[tuple[Suite, ...], tuple[SetAside, ...]]:
    """The suites without the checks and contract rows that cannot be graded on this machine, and a row for each of those."""
    rows: list[SetAside] = []
    kept = []
    for suite in suites:
        cases = []
        for case in suite.cases:
            left, reasons = _gradable(case, config.source_repo, environ)
            cases.append(left)
            rows += [SetAside(check=check, skill=suite.skill, case=case.id, reason=why) for check, why in reasons.items()]
        kept.append(suite.model_copy(update={"cases": tuple(cases)}))
    return (tuple(kept) if rows else tuple(suites)), tuple(rows)


def _gradable(case: Case, address: str | None, environ: Mapping[str, str]) -> tuple[Case, dict[str, str]]:
    """The case without what nobody can grade here, and why, by the name of the check or contract row."""

    def why_not(kind: str) -> str | None:
        if kind not in NEEDS_GIT:
            return None
        if not shutil.which("git", path=environ.get("PATH")):
            return "git is not installed here"
        return reviews.why_not(address, live=is_live(case), environ=environ) if kind == "pr_created" else None

    reasons = {check.id: why for check in case.checks if (why := why_not(check.type))}
    update: dict[str, object] = {"checks": tuple(check for check in case.checks if check.id not in reasons)}
    for key in contract.forbidden(case):
        why = why_not("pr_created" if key == REVIEWS else "git_clean")
        if why and case.side_effects is not None:
            reasons[contract.check_id(key)] = why
            terms = {name: value for name, value in (case.side_effects.contract or {}).items() if name != key}
            case = case.model_copy(update={"side_effects": case.side_effects.model_copy(update={"contract": terms})})
    return (case.model_copy(update=update) if reasons else case), reasons
