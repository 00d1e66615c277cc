"""Two-way judging: once both arms of a block have ended ok, the judge chooses between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from skilltrial import collect
from skilltrial import plan as planning
from skilltrial.flows.bench import Bench
from skilltrial.flows.desk import CellDesk
from skilltrial.flows.listed import in_threads
from skilltrial.graders.pairwise import comparer
from skilltrial.records.evidence import Usage, summed
from skilltrial.records.grades import Comparison
from skilltrial.records.journal import Pair
from skilltrial.records.plan import Cell, Contrast, cell_of, cells
from skilltrial.seams import Done, EvidenceView


class Pairs:
    """Compares every pair once; one of which an arm is lost is never judged. `again`: pairs judged before, too.

    `told` hears of each pair once it is stored.
    """

    def __init__(self, bench: Bench, *, again: bool = False, told: Callable[[Pair], None] | None = None) -> None:
        judge = bench.plan.judge
        self.bench, self._told = bench, told
        self.on = judge is not None and judge.mode == "pairwise" and bench.judge is not None
        self._lock = threading.Lock()
        self._done: set[tuple[str, str, str]] = set()
        """Block, arm, baseline."""
        if self.on and not again:
            before = bench.experiment.comparisons()
            self._done = {(one.block, one.arm, one.baseline) for one in before if one.winner != "ungraded"}

    def after(self, cell: Cell, done: Done | None = None) -> Done:
        """Judges the pairs that became complete with this cell, and adds what that took."""
        found = [told for contrast in self._contrasts(cell) if (told := self._compare(cell, contrast)) is not None]
        done = done or Done(cell, "ok", None, Usage(), None, 0, graded=True)
        usages = [usage for usage in (done.judge_usage, *(told.usage for told in found)) if usage is not None]
        if not found:
            return done
        return done._replace(judge_usage=summed(usages) if usages else None, calls=done.calls + sum(told.calls for told in found))

    def rest(self) -> None:
        """Judges what is left: pairs that an earlier session completed, or whose judge could not be reached then."""
        left = [cell for cell in cells(self.bench.plan) if any(cell.arm == contrast.arm for contrast in self._contrasts(cell))]
        in_threads(self.after, left, self.bench.plan.options.concurrency)

    def _contrasts(self, cell: Cell) -> Iterator[Contrast]:
        for contrast in self.bench.plan.contrasts if self.on else ():
            if contrast.skill == cell.skill and cell.arm in (contrast.arm, contrast.baseline):
                yield contrast

    def _compare(self, cell: Cell, contrast: Contrast) -> Comparison | None:
        if self.bench.machine.stopping():
            return None
        arm, baseline = (self._view(cell, name) for name in (contrast.arm, contrast.baseline))
        if arm is None or baseline is None:
            return None
        pair = (cell.block, contrast.arm, contrast.baseline)
        with self._lock:
            if pair in self._done:
                return None
            self._done.add(pair)
        desk = CellDesk(self.bench, cell._replace(arm=contrast.arm))
        told = comparer.compare(self.bench.lookup.case(cell), arm, baseline, desk, cell.seed)
        if told.winner == "ungraded" and self.bench.machine.stopping():
            return None
        stored = self.bench.experiment.append_comparison(told, desk.calls).comparison
        if self._told is not None:
            self._told(Pair(stored, tuple(call.model_dump(mode="json") for call in desk.calls)))
        return stored

    def _view(self, cell: Cell, arm: str) -> EvidenceView | None:
        """The stored run of the block in this arm; None unless it ended ok in a clean arm."""
        group = self.bench.lookup.groups.get((cell.skill, cell.case, cell.target, arm))
        if group is None:
            return None
        experiment = self.bench.experiment
        result = experiment.result_of(cell_of(group, cell.repetition, self.bench.plan.seed))
        line = result.evidence
        if line is None or line.outcome != "ok" or line.clean is False:
            return None
        record = experiment.evidence(result)
        if record is None:
            return None
        case = self.bench.lookup.case(cell)
        stage = planning.stage_of(case, self.bench.backends[cell.target].capabilities)
        return collect.StoredView(record, case=case, stage=stage, blobs=experiment.blobs)
