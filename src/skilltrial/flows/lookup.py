"""Finds the parts of a plan by the names that a cell carries. All ids in a plan are path-safe."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from skilltrial.errors import UsageError
from skilltrial.records.plan import Arm, Cell, CellGroup, Plan, SetAside, Target
from skilltrial.records.suite import Case, Check, Skill, Suite


class Lookup:
    """An index over a Plan; `cases` stand in for stored ones, by (skill, case)."""

    def __init__(self, plan: Plan, cases: Mapping[tuple[str, str], Case] | None = None) -> None:
        self.plan = plan
        self._instead = cases or {}

    @cached_property
    def skills(self) -> dict[str, Skill]:
        return {skill.id: skill for skill in self.plan.skills}

    @cached_property
    def cases(self) -> dict[tuple[str, str], Case]:
        stored = {(suite.skill, case.id): case for suite in self.plan.suites for case in suite.cases}
        return {**stored, **self._instead}

    @cached_property
    def suites(self) -> dict[tuple[str, str], Suite]:
        return {(suite.skill, case.id): suite for suite in self.plan.suites for case in suite.cases}

    @cached_property
    def arms(self) -> dict[tuple[str, str], Arm]:
        return {(arm.skill, arm.name): arm for arm in self.plan.arms}

    @cached_property
    def targets(self) -> dict[str, Target]:
        return {target.name: target for target in self.plan.targets}

    @cached_property
    def groups(self) -> dict[tuple[str, str, str, str], CellGroup]:
        return {(group.skill, group.case, group.target, group.arm): group for group in self.plan.groups}

    @cached_property
    def _aside(self) -> dict[tuple[str, str], tuple[SetAside, ...]]:
        found: dict[tuple[str, str], list[SetAside]] = {}
        for item in self.plan.set_aside:
            found.setdefault((item.skill, item.case), []).append(item)
        return {key: tuple(items) for key, items in found.items()}

    def case(self, cell: Cell) -> Case:
        return self.cases[cell.skill, cell.case]

    def skills_of(self, cell: Cell) -> tuple[Skill, ...]:
        """What the cell's arm may see: () in a baseline."""
        return self._seen[cell.skill, cell.arm]

    @cached_property
    def _seen(self) -> dict[tuple[str, str], tuple[Skill, ...]]:
        by_digest: dict[str, list[Skill]] = {}
        for skill in self.plan.skills:
            by_digest.setdefault(skill.tree.digest, []).append(skill)
        place = {skill.id: number for number, skill in enumerate(self.plan.skills)}
        found = {}
        for key, arm in self.arms.items():
            skills = [skill for digest in {tree.digest for tree in arm.trees} for skill in by_digest.get(digest, ())]
            own = [skill for skill in skills if skill.id == arm.skill or len(arm.trees) > 1]
            found[key] = tuple(sorted(own, key=lambda skill: place[skill.id]))
        return found

    def checks(self, cell: Cell) -> tuple[Check, ...]:
        """The checks to ask of a cell: those of its arm that are not set aside on its target."""
        aside = {
            item.check
            for item in self._aside.get((cell.skill, cell.case), ())
            if item.target is None or item.target == cell.target
        }
        return tuple(
            check for check in self.case(cell).checks if check.id not in aside and (check.arms is None or cell.arm in check.arms)
        )

    def cell(self, name: str) -> Cell:
        """The cell called `skill/case/target/arm/repetition`, or the only one that a shorter form fits.

        Raises:
            UsageError: none fits, or several do; the message lists up to ten.
        """
        from skilltrial.records.plan import cells_of

        wanted = [part for part in name.replace("::", "/").split("/") if part]
        fits = [
            cell
            for group in self.plan.groups
            for cell in cells_of(group, self.plan.seed)
            if cell.id == name or _fits(wanted, cell)
        ]
        if len(fits) == 1 or (fits and fits[0].id == name):
            return fits[0]
        exact = [cell for cell in fits if cell.id == name]
        if exact:
            return exact[0]
        if not fits:
            some = [f"{group.skill}/{group.case}/{group.target}/{group.arm}/1" for group in self.plan.groups[:10]]
            raise UsageError(f"no cell called '{name}' in {self.plan.experiment}", "cells look like " + ", ".join(some))
        raise UsageError(
            f"'{name}' fits {len(fits)} cells of {self.plan.experiment}",
            "give more of the name: " + ", ".join(cell.id for cell in fits[:10]),
        )


def _fits(wanted: list[str], cell: Cell) -> bool:
    parts = iter(cell.id.split("/"))
    return all(any(part == want for part in parts) for want in wanted)
