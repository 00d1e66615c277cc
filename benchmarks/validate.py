"""CPU to validate a library of skills, and whether it grows with their number and no faster."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.inputs import write_library
from benchmarks.measure import HERE, PROGRAM, PYTHON, cpu, in_turn, run
from benchmarks.scene import Scene
from benchmarks.table import Row


def figures(scene: Scene) -> Iterator[Row]:
    """1,000 skills, 10,000, and the one by the other."""
    small, large = (100, 400) if scene.smoke else (1_000, 10_000)
    few = _validated(scene, small, scene.times)
    yield Row(f"CPU of validate, {small:,} skills", few[0], "s", few[1], None if scene.smoke else 0.25)
    many = _validated(scene, large, 1 if scene.smoke else 3)
    yield Row(f"CPU of validate, {large:,} skills", many[0], "s", many[1])
    grown = many[0] / few[0] / (large / small)
    yield Row("growth of validate by that of the number of skills", grown, "", None, 1.1)


def _validated(scene: Scene, skills: int, times: int) -> tuple[float, float]:
    folder = write_library(scene.fresh("library"), skills)
    ours, floor = in_turn(
        times,
        lambda: run([PROGRAM, "validate", str(folder)], scene.folder).wanted(),
        lambda: run([PYTHON, str(HERE / "floors.py"), "library", str(folder)], scene.folder).wanted(),
    )
    return cpu(ours), cpu(floor)
