"""Peak memory of a whole trial, and how it grows with the number of cells."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.http_cells import floor_run
from benchmarks.measure import model_server
from benchmarks.scene import Scene
from benchmarks.table import Row


def figures(scene: Scene) -> Iterator[Row]:
    """At 10,000 HTTP cells, and per cell between 1,000 and 10,000. CPU of that run beside it."""
    few, many = scene.cells, scene.many_cells
    with model_server() as server:
        small = scene.trial(server, few)
        floor = floor_run(scene, server, many, 16)
    _, large = scene.large
    yield Row(f"peak memory, {many:,} HTTP cells", large.peak_mb, "MB", floor.peak_mb, 80)
    slope = (large.peak_mb - small.peak_mb) * 1024 / (many - few)
    yield Row(f"its growth from {few:,} cells on, per cell", slope, "KB", None, 1.0)
    ours, least = (took.cpu_s / many * 1000 for took in (large, floor))
    yield Row(f"CPU per HTTP cell, {many:,} cells, one run", ours, "ms", least)
