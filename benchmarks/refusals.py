"""A server that refuses one call in three: what is lost, and what it costs in time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Took, model_server, run
from benchmarks.scene import Scene
from benchmarks.table import Row

LATENCY_MS = "50"


def figures(scene: Scene) -> Iterator[Row]:
    """200 cells at 50 ms, 16 at once, without and with refusals."""
    cells = 60 if scene.smoke else 200
    calm, _, _ = _trial(scene, cells, "0")
    took, lost, refused = _trial(scene, cells, "3")
    yield Row(f"cells not measured when 1 call in 3 is refused, {cells} cells", lost, "", None, 0, note=f"{refused} refusals")
    yield Row("wall time of it, beside that without refusals", took.wall_s, "s", calm.wall_s)


def _trial(scene: Scene, cells: int, refuse_every: str) -> tuple[Took, int, int]:
    """The run, how many cells it did not measure, and how many calls were refused."""
    folder = scene.trial_folder(cells)
    with model_server("--latency-ms", LATENCY_MS, "--refuse-every", refuse_every) as server:
        took = run(scene.trial_command(server, cells), folder).wanted()
        refused = server.stats()["refused"]
    return took, cells - _measured(next((folder / "trial").glob("iteration-*"))), refused


def _measured(trial: Path) -> int:
    """Cells whose every check passed, as each does when no error text is taken for an answer."""
    lines = [json.loads(raw) for raw in (trial / "results.jsonl").read_bytes().splitlines()]
    good = [line for line in lines if line["kind"] == "grades" and all(grade["state"] == "passed" for grade in line["grades"])]
    return len({line["cell"] for line in good})
