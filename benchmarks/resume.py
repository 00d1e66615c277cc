"""After `kill -9` half way: no finished step is done again, and the first new call comes soon."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import PROGRAM, Server, finish, model_server, run, start
from benchmarks.scene import Scene
from benchmarks.table import Row


def figures(scene: Scene) -> Iterator[Row]:
    """Calls that the journal already held, and seconds until the first call."""
    cells = scene.many_cells
    with model_server() as server:
        folder = scene.trial_folder(cells)
        kill_half_way(scene, server, folder, cells)
        journal = next((folder / "trial").glob("iteration-*")) / "results.jsonl"
        done = journal.read_bytes().count(b"\n")
        server.reset()
        took = run([PROGRAM, "resume", "--workspace", "trial"], folder).wanted()
        told = server.stats()
    again = told["calls"] - (2 * cells - done)
    yield Row(f"finished steps done again after kill -9, {cells:,} cells", again, "", None, 0, note=f"{done:,} were finished")
    first_s = told["first"] - took.began
    yield Row("first call of resume after", first_s, "s", None, 0.3 + 20e-6 * cells)


def kill_half_way(scene: Scene, server: Server, folder: Path, cells: int) -> None:
    """Starts a trial and ends it, as a power cut would, once half of the calls are made."""
    server.reset()
    process, began, out = start(scene.trial_command(server, cells), folder)
    while process.poll() is None and server.stats()["calls"] < cells:
        time.sleep(0.005)
    process.kill()
    finish(process, began, out)
