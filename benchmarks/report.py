"""A stored experiment of 10,000 cells: its summary with all reports, and its evidence graded again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import HERE, PROGRAM, PYTHON, cpu, in_turn, median, run
from benchmarks.scene import Scene
from benchmarks.table import Row


def figures(scene: Scene) -> Iterator[Row]:
    """CPU, memory, size of the page, and of the grading."""
    folder, _ = scene.large
    cells, times = scene.many_cells, 1 if scene.smoke else 5
    trial = next((folder / "trial").glob("iteration-*"))
    pages, floor = in_turn(
        times,
        lambda: run([PROGRAM, "report", "--workspace", "trial", "--format", "html"], folder).wanted(),
        lambda: run([PYTHON, str(HERE / "floors.py"), "journal", str(trial)], folder).wanted(),
    )
    least = cpu(floor)
    yield Row(f"CPU of summary and HTML report, {cells:,} cells", cpu(pages), "s", least, 1.0)
    peak = median(took.peak_mb for took in pages)
    yield Row(f"peak memory of it, {cells:,} cells", peak, "MB", median(took.peak_mb for took in floor), 120)
    yield Row("its first page", _first_page(trial), "MB", None, 2.0)
    (graded,) = in_turn(
        times - 1 or 1, lambda: run([PROGRAM, "grade", "--workspace", "trial", "--stored-checks"], folder).wanted()
    )
    said = f"graded {cells} cells again, 0 changed"
    if not all(said in took.out for took in graded):
        raise RuntimeError(f"not '{said}':\n{graded[0].out[-2000:]}")
    yield Row(f"CPU of grading again, {cells:,} cells", cpu(graded), "s", least, 1.5)


def _first_page(trial: Path) -> float:
    """MB of what a browser loads first."""
    return (trial / "report" / "index.html").stat().st_size / 1e6
