"""CPU to answer `--version` and `--help`, beside an interpreter that does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import PROGRAM, PYTHON, cpu, in_turn, run
from benchmarks.scene import Scene
from benchmarks.table import Row


def figures(scene: Scene) -> Iterator[Row]:
    """As ratios: the interpreter's own start is not ours."""
    bare, version, help_ = in_turn(
        3 if scene.smoke else 15,
        lambda: run([PYTHON, "-c", "pass"], scene.folder).wanted(),
        lambda: run([PROGRAM, "--version"], scene.folder).wanted(),
        lambda: run([PROGRAM, "--help"], scene.folder).wanted(),
    )
    for runs, name, budget in ((version, "--version", 3.0), (help_, "--help", 6.0)):
        yield Row(f"CPU of {name}", cpu(runs) * 1000, "ms", cpu(bare) * 1000, budget, by_ratio=True)
