"""CPU per HTTP cell, target call and judge call, at zero latency; start-up and report included."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import HERE, PYTHON, Server, Took, cpu, in_turn, model_server, run
from benchmarks.scene import Scene
from benchmarks.table import Row


def figures(scene: Scene) -> Iterator[Row]:
    """With the folder of each cell, and without."""
    with model_server() as server:
        yield from _rows(scene, server, scene.cells, scene.times)
        if scene.full:
            yield from _rows(scene, server, 10_000, 3)


def _rows(scene: Scene, server: Server, cells: int, times: int) -> Iterator[Row]:
    without, with_tree, floor = in_turn(
        times,
        lambda: scene.trial(server, cells),
        lambda: scene.trial(server, cells, "--tree"),
        lambda: floor_run(scene, server, cells, 16),
    )
    least = cpu(floor) / cells * 1000
    for runs, words, budget in ((without, "", 1.0), (with_tree, ", with the tree", 2.0)):
        yield Row(f"CPU per HTTP cell, {cells:,} cells{words}", cpu(runs) / cells * 1000, "ms", least, budget)


def floor_run(scene: Scene, server: Server, cells: int, concurrency: int) -> Took:
    """`floor_http.py` on the same server."""
    argv = [PYTHON, str(HERE / "floor_http.py"), "--url", server.url, "--cells", str(cells), "--concurrency", str(concurrency)]
    return run(argv, scene.folder).wanted()
