"""In which order a target's cells run: by repetition, so that repetitions of a case lie apart; arms of a block side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from skilltrial.records.plan import CellGroup, Plan, in_shard


class Place(NamedTuple):
    """One cell in the order, as numbers."""

    group: int
    """Position in `plan.groups`."""
    repetition: int
    block: int
    """Number of its block on this target."""
    arms: int
    """How many cells of the block are to be run."""


class TargetOrder:
    """The cells of one target that need something, made one at a time.

    Longest block first within a repetition, where that is known; blocks of unknown length come first of all, since a
    long one started last would end last. Which arm goes first alternates, except by the adapter's rules: baseline first.
    """

    def __init__(self, plan: Plan, target: str, needs: bytes | None) -> None:
        self._plan = plan
        self._needs = needs
        self._first: dict[int, int] = {}
        blocks: dict[tuple[str, str], list[int]] = {}
        start = 0
        for index, group in enumerate(plan.groups):
            if group.target == target:
                self._first[index] = start
                blocks.setdefault((group.skill, group.case), []).append(index)
            start += group.repetitions
        self._blocks = sorted(map(tuple, blocks.values()), key=self._length, reverse=True)
        self._most = max((plan.groups[index].repetitions for index in self._first), default=0)
        self.blocks = len(self._blocks) * self._most

    def count(self) -> int:
        """How many cells need something."""
        if self._plan.shard is None and self._needs is not None:
            sizes = ((first, self._plan.groups[index].repetitions) for index, first in self._first.items())
            return sum(size - self._needs.count(0, first, first + size) for first, size in sizes)
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Place]:
        for repetition in range(1, self._most + 1):
            for number, block in enumerate(self._blocks):
                due = [index for index in block if self._due(index, repetition)]
                if due and self._ours(due[0], repetition):
                    place = (repetition - 1) * len(self._blocks) + number
                    for index in self._arms(due, number + repetition):
                        yield Place(index, repetition, place, len(due))

    def _length(self, block: tuple[int, ...]) -> float:
        known = [self._plan.groups[index].expected_s for index in block]
        return max((seconds for seconds in known if seconds is not None), default=float("inf"))

    def _due(self, index: int, repetition: int) -> bool:
        if repetition > self._plan.groups[index].repetitions:
            return False
        return self._needs is None or self._needs[self._first[index] + repetition - 1] != 0

    def _ours(self, index: int, repetition: int) -> bool:
        return self._plan.shard is None or in_shard(_block_id(self._plan.groups[index], repetition), self._plan.shard)

    def _arms(self, due: list[int], turn: int) -> list[int]:
        if self._plan.options.adapter_rules:
            return sorted(due, key=lambda index: self._plan.groups[index].arm not in self._baselines)
        return due if turn % 2 else due[::-1]

    @property
    def _baselines(self) -> set[str]:
        return {arm.name for arm in self._plan.arms if not arm.trees}


def _block_id(group: CellGroup, repetition: int) -> str:
    return f"{group.skill}/{group.case}/{group.target}/{repetition}"
