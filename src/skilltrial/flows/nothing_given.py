"""Checks that compare with what lay there at the start, in cases where nothing did: set aside before the first run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skilltrial.graders.files import NOTHING, compared
from skilltrial.records.checks import PathOnly
from skilltrial.records.plan import SetAside
from skilltrial.records.suite import Case, Check, Suite, landing


def set_aside(suites: Sequence[Suite], source_repo: str | None) -> tuple[tuple[Suite, ...], tuple[SetAside, ...]]:
    """The suites without such checks, and a row for each. With a source repository none is known to be one."""
    rows: list[SetAside] = []
    kept = []
    for suite in suites if source_repo is None else ():
        cases = []
        for case in suite.cases:
            lost = {check.id: NOTHING.format(check.options.get("path")) for check in _without(case)}
            rows += [SetAside(check=name, skill=suite.skill, case=case.id, reason=why) for name, why in lost.items()]
            left = tuple(check for check in case.checks if check.id not in lost)
            cases.append(case.model_copy(update={"checks": left}) if lost else case)
        kept.append(suite.model_copy(update={"cases": tuple(cases)}))
    return (tuple(kept) if rows else tuple(suites)), tuple(rows)


def _without(case: Case) -> Iterator[Check]:
    """The case's `file_unchanged` checks that name none of its files, neither as the suite lays them nor as adapters get them."""
    for check in case.checks:
        if check.type == "file_unchanged":
            places = {landing(file.path, stage) for file in case.fixtures.files for stage in (case.stage, "inputs", "keep")}
            if not any(compared(PathOnly.model_validate(check.options), places)):
                yield check
