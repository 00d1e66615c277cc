"""An experiment as it is read: results in plan order, one at a time, nowhere a list."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from skilltrial.records.certificate import Certificate
from skilltrial.records.evidence import Evidence
from skilltrial.records.grades import Comparison
from skilltrial.records.hooks import HookRun
from skilltrial.records.journal import ComparisonLine, EvidenceLine, GradingLine, Pair, Result, StopLine
from skilltrial.records.plan import Cell, Plan, cells_of, in_shard
from skilltrial.records.record import Record
from skilltrial.store.blobs import FolderBlobs
from skilltrial.store.handles import Handles
from skilltrial.store.index import NEEDS, Index, Need, Spent, Spot
from skilltrial.store.scan import JOURNAL, is_pack
from skilltrial.store.writer import HOOKS
from skilltrial.system.files import digest as digest_of

T = TypeVar("T", bound=Record)
_CERTIFICATES = TypeAdapter(tuple[Certificate, ...])


class Todo(NamedTuple):
    """A cell that is not finished."""

    cell: Cell
    need: Need
    """`run`: no evidence, or a failure that is not the agent's; `grade`: only the grading is missing."""


class Reading:
    """The ExperimentView of our own folders. Lines are found through the index and read when asked for."""

    def __init__(self, folder: Path, plan: Plan, index: Index) -> None:
        self.folder = folder
        self.plan = plan
        self.blobs = FolderBlobs(folder / "blobs")
        self.warnings: tuple[str, ...] = ()
        """What was found damaged on opening."""
        self._index = index
        self._guard = threading.Lock()
        self._files = Handles(folder)

    # ------------------------------------------------------------ every cell
    def results(self) -> Iterator[Result]:
        """Every planned cell in plan order, read as it goes; about 25 us a cell."""
        for cell, number in self._numbered():
            yield self._result(cell, number)

    def result(self, cell: str) -> Result | None:
        """One cell by its id; None: it is not planned."""
        planned, number = self._index.cell(cell), self._index.number(cell)
        if planned is None or number is None:
            return None
        return self._result(planned, number)

    def result_of(self, cell: Cell) -> Result:
        """What is known of a planned cell. Raises KeyError when this plan, or this shard of it, does not run it."""
        found = self.result(cell.id)
        if found is None:
            raise KeyError(cell.id)
        return found

    @property
    def answered(self) -> int:
        """Cells whose counted run ended ok."""
        return sum(self._index.outcome(number) == "ok" for number in self._numbers())

    @property
    def planned(self) -> int:
        """How many cells this plan, or this shard of it, runs."""
        return sum(1 for _ in self._numbers()) if self.plan.shard else self._index.count

    def remaining(self) -> Iterator[Todo]:
        """The cells that need something, in plan order."""
        for cell, number in self._numbered():
            need = self._index.need(number)
            if need != "nothing":
                yield Todo(cell, need)

    def need(self, cell: str) -> Need:
        """What one cell needs. Raises KeyError when it is not planned."""
        number = self._index.number(cell)
        if number is None:
            raise KeyError(cell)
        return self._index.need(number)

    def needs(self) -> bytes:
        """One byte per cell of the plan's grid, group by group: 0 nothing to do here, 1 run, 2 grade. For the queue."""
        needs = bytearray(self._index.count)
        for number in self._numbers():
            needs[number] = NEEDS.index(self._index.need(number))
        return bytes(needs)

    def next_attempt(self, cell: str) -> int:
        """From 1. Raises KeyError when the cell is not planned."""
        number = self._index.number(cell)
        if number is None:
            raise KeyError(cell)
        return self._index.attempts(number) + 1

    @property
    def spent(self) -> Spent:
        """What all attempts and the judge took so far."""
        return self._index.spent

    # ------------------------------------------------------------ one cell
    def evidence(self, result: Result) -> Evidence | None:
        """The stored run; None: not run, or its bytes are not those that the journal vouches for."""
        line = result.evidence
        if line is None:
            return None
        data = self._packed(line.pack, line.offset, line.size)
        if data is None or digest_of(data) != line.digest:
            return None
        try:
            return Evidence.from_stored(data)
        except ValidationError:
            return None

    def transcript(self, result: Result) -> tuple[dict[str, Any], ...]:
        """The judge's calls about a cell, as its grading recorded them; () when it asked nothing."""
        return self._calls(result.grading)

    def gradings(self, result: Result) -> tuple[GradingLine, ...]:
        """Every grading of a cell in the order they were made, also those that do not count any more."""
        number = self._index.number(result.cell.id)
        if number is None:
            return ()
        with self._guard:
            now = self._index.grading(number)
            spots = sorted([*self._index.older(number, "judged", "unjudged"), *([now] if now else [])])
        return tuple(self._lines(GradingLine, spots))

    def blob(self, digest: str) -> bytes | None:
        with suppress(KeyError):
            return self.blobs.get(digest)
        return None

    # ------------------------------------------------------------ other lines
    def comparisons(self) -> Iterator[Comparison]:
        """The newest counted choice per block, arms and order."""
        return (line.comparison for line in self._compared())

    def pairs(self) -> Iterator[Pair]:
        """The same with the questions to the judge and its replies."""
        return (Pair(line.comparison, self._calls(line)) for line in self._compared())

    def _compared(self) -> Iterable[ComparisonLine]:
        newest: dict[tuple[str, ...], ComparisonLine] = {}
        for line in self._lines(ComparisonLine, tuple(self._index.comparisons)):
            told = line.comparison
            if line.counted:
                newest[(told.block, told.arm, told.baseline, told.order)] = line
        return newest.values()

    def certificates(self) -> tuple[Certificate, ...]:
        """What the canaries came to; () when none was run."""
        try:
            return _CERTIFICATES.validate_json((self.folder / "certificates.json").read_bytes())
        except (OSError, ValidationError):
            return ()

    def stops(self) -> tuple[StopLine, ...]:
        """Why it was ended early, each time it was."""
        return tuple(self._lines(StopLine, tuple(self._index.stops)))

    def hooks(self) -> Iterator[HookRun]:
        """Every hook command that ran, in order."""
        try:
            lines = (self.folder / HOOKS).read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            with suppress(ValidationError):  # a torn last line
                yield HookRun.from_stored(line)

    def pending(self) -> dict[str, int]:
        """How many things of each kind `cleanup.json` records."""
        try:
            found = json.loads((self.folder / "cleanup.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(kind): len(things) for kind, things in found.items() if isinstance(things, list) and things}

    # ------------------------------------------------------------ disk
    def _numbers(self) -> Iterable[int]:
        """The numbers of these cells; without a shard no cell has to be made to know them."""
        return range(self._index.count) if self.plan.shard is None else (number for _, number in self._numbered())

    def _numbered(self) -> Iterator[tuple[Cell, int]]:
        number = 0
        shard = self.plan.shard
        for group in self.plan.groups:
            for cell in cells_of(group, self.plan.seed):
                if shard is None or in_shard(cell.block, shard):
                    yield cell, number
                number += 1

    def _result(self, cell: Cell, number: int) -> Result:
        with self._guard:
            at, grading = self._index.evidence(number), self._index.grading(number)
            older = self._index.older(number, "evidence")
            regraded = self._index.older(number, "judged")
        line = self._line(EvidenceLine, at) if at else None
        grades = self._line(GradingLine, grading) if grading else None
        if not (older or regraded):
            return Result(cell, line, grades)
        superseded = tuple(line.model_copy(update={"counted": False}) for line in self._lines(EvidenceLine, older))
        return Result(cell, line, grades, superseded, tuple(self._lines(GradingLine, regraded)))

    def _lines(self, kind: type[T], spots: Iterable[Spot]) -> Iterator[T]:
        return (line for spot in spots if (line := self._line(kind, spot)))

    def _line(self, kind: type[T], spot: Spot) -> T | None:
        data = self._files.read(JOURNAL, spot.at, spot.size)
        try:
            return kind.from_stored(data) if data else None
        except ValidationError:
            return None

    def _calls(self, line: GradingLine | ComparisonLine | None) -> tuple[dict[str, Any], ...]:
        if line is None or line.pack is None or line.offset is None or line.size is None:
            return ()
        try:
            calls = json.loads(self._packed(line.pack, line.offset, line.size) or b"[]")
        except ValueError:
            return ()
        return tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()

    def _packed(self, pack: str, offset: int, size: int) -> bytes | None:
        return self._files.read(f"evidence/{pack}.jsonl", offset, size) if is_pack(pack) else None
