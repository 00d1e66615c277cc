"""`run --reuse`: baseline runs of earlier experiments whose inputs are the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from skilltrial.errors import UsageError
from skilltrial.records.evidence import Evidence
from skilltrial.records.journal import EvidenceLine
from skilltrial.records.plan import Cell
from skilltrial.store.blobs import files_of
from skilltrial.store.experiment import Experiment
from skilltrial.store.folders import experiments
from skilltrial.store.opening import open_

MAX_AGE = timedelta(days=7)


class Reusable(NamedTuple):
    """A finished baseline run of another experiment."""

    experiment: Experiment
    """Open for reading."""
    line: EvidenceLine
    evidence: Evidence

    def append_to(self, experiment: Experiment, cell: Cell, *, durable: bool = False) -> EvidenceLine:
        """Copies the run and its files into another experiment as `cell`, source `reused`; it is graded there anew."""
        for digest in files_of(self.evidence):
            data = self.experiment.blob(digest)
            if data is not None:
                experiment.blobs.put_new(digest, data)
        copied = self.evidence.model_copy(
            update={"cell": cell.id, "attempt": experiment.next_attempt(cell.id), "source": "reused"}
        )
        return experiment.append_evidence(copied, clean=self.line.clean, tool_calls=self.line.tool_calls, durable=durable)


def reusable(
    workspace: Path,
    inputs: Collection[str],
    max_age: timedelta = MAX_AGE,
    *,
    now: datetime | None = None,
    without: Path | None = None,
) -> Iterator[Reusable]:
    """Finished baseline runs with one of these inputs digests, newest experiment first, each run once.

    Left out: runs that were reused themselves, contaminated ones, and those stored masked, since new checks cannot
    see what they held. `without` is the experiment they are meant for.
    """
    oldest = (now or datetime.now(UTC)) - max_age
    for folder in reversed(list(experiments(workspace))):
        if without is not None and folder.resolve() == without.resolve():
            continue
        try:
            found = open_(folder)
        except UsageError:  # of another version, say: it has nothing for us
            continue
        yield from _of(found, inputs, oldest)


def _of(experiment: Experiment, inputs: Collection[str], oldest: datetime) -> Iterator[Reusable]:
    plan = experiment.plan
    baselines = {(arm.skill, arm.name) for arm in plan.arms if not arm.trees}
    if not any(group.inputs in inputs and (group.skill, group.arm) in baselines for group in plan.groups):
        return
    for result in experiment.results():
        line = result.evidence
        if line is None or line.inputs not in inputs or (result.cell.skill, result.cell.arm) not in baselines:
            continue
        if line.outcome != "ok" or line.source != "ran" or line.clean is False or line.redactions or not _young(line, oldest):
            continue
        evidence = experiment.evidence(result)
        if evidence is not None:
            yield Reusable(experiment, line, evidence)


def _young(line: EvidenceLine, oldest: datetime) -> bool:
    try:
        started = datetime.fromisoformat(line.started_at)
    except ValueError:
        return False
    return (started if started.tzinfo else started.replace(tzinfo=UTC)) >= oldest
