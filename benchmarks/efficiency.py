"""How well slots are used: ideal time by the time it took. 320 cells of two calls, 500 ms each, 64 at once: ideally 5 s."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.http_cells import floor_run
from benchmarks.measure import model_server
from benchmarks.scene import Scene
from benchmarks.table import Row

LATENCY_S = 0.5
AT_ONCE = 64


def figures(scene: Scene) -> Iterator[Row]:
    """By the server's span, and over the whole process."""
    cells = 128 if scene.smoke else 320
    with model_server("--latency-ms", str(LATENCY_S * 1000)) as server:
        ideal = -(-cells // AT_ONCE) * 2 * LATENCY_S
        server.reset()
        ours = scene.trial(server, cells, concurrency=AT_ONCE)
        span = server.stats()
        server.reset()
        floor = floor_run(scene, server, cells, AT_ONCE)
        floor_span = server.stats()
    what = f"efficiency, {cells} cells × 2 × 500 ms, {AT_ONCE} at once"
    note = f"{span['mean_in_flight']:.1f} in flight on average"
    yield Row(f"{what}, by the server", ideal / span["span_s"], "", ideal / floor_span["span_s"], 0.95, at_least=True, note=note)
    yield Row(f"{what}, whole run", ideal / ours.wall_s, "", ideal / floor.wall_s, 0.90, at_least=True)
