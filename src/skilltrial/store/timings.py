"""How long cells took before, so that the longest can start first and `plan` can say what to expect."""

from __future__ import annotations

from pathlib import Path

from skilltrial.errors import UsageError
from skilltrial.store.folders import experiments
from skilltrial.store.opening import open_


def timings(workspace: Path, newest: int = 3) -> dict[str, tuple[float, float | None]]:
    """Mean seconds and mean known cost in US dollars of a cell, from the newest experiments; failed runs left out.

    Keys are inputs digests and `skill/case/target/arm`; a newer experiment wins.
    """
    known: dict[str, tuple[float, float | None]] = {}
    for folder in list(experiments(workspace))[-newest:]:
        try:
            experiment = open_(folder)
        except UsageError:
            continue
        sums: dict[str, list[tuple[float, float | None]]] = {}
        for result in experiment.results():
            line = result.evidence
            if line is not None and line.outcome == "ok" and line.duration_s is not None:
                took = (line.duration_s, line.usage.cost_usd)
                for key in (line.inputs, result.cell.id.rpartition("/")[0]):
                    sums.setdefault(key, []).append(took)
        known |= {key: _mean(rows) for key, rows in sums.items()}
    return known


def _mean(rows: list[tuple[float, float | None]]) -> tuple[float, float | None]:
    costs = [cost for _, cost in rows if cost is not None]
    return sum(seconds for seconds, _ in rows) / len(rows), sum(costs) / len(costs) if costs else None
