"""What the benchmarks of one invocation share: a folder in memory, how thorough to be, and one large stored experiment."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchmarks.inputs import write_skill
from benchmarks.measure import PROGRAM, Server, Took, model_server, run

MOST_CASES = 100


def shape(cells: int) -> tuple[int, int]:
    """Cases and repetitions of a trial of so many cells in two arms."""
    repetitions = -(-cells // (2 * MOST_CASES))
    return cells // (2 * repetitions), repetitions


@dataclass
class Scene:
    """One invocation."""

    folder: Path
    smoke: bool = False
    """Small and once: shows that everything works, its figures mean little."""
    full: bool = False
    _count: int = field(default=0, repr=False)

    @property
    def times(self) -> int:
        """Counted runs of a short program."""
        return 1 if self.smoke else 5

    @property
    def cells(self) -> int:
        """Of a usual trial."""
        return 100 if self.smoke else 1000

    @property
    def many_cells(self) -> int:
        """Of a large one."""
        return 400 if self.smoke else 10_000

    def fresh(self, name: str) -> Path:
        """A new empty folder."""
        self._count += 1
        folder = self.folder / f"{name}-{self._count}"
        folder.mkdir()
        return folder

    def trial_command(self, server: Server, cells: int, concurrency: int = 16) -> list[str]:
        """A trial of `cells` cells, target and judge at the server. It runs in a folder that `trial_folder` made."""
        repetitions = shape(cells)[1]
        where = ["--base-url", server.url, "--judge-base-url", server.url]
        what = ["--target", "openai:m", "--judge", "openai:j", "--repetitions", str(repetitions), "--gate", "none", "--yes"]
        return [PROGRAM, "run", "answers", *what, *where, "--concurrency", str(concurrency), "--workspace", "trial"]

    def trial_folder(self, cells: int) -> Path:
        folder = self.fresh("trial")
        write_skill(folder / "answers", shape(cells)[0])
        return folder

    def trial(self, server: Server, cells: int, *more: str, concurrency: int = 16) -> Took:
        """One whole trial in a folder of its own, which is gone afterwards."""
        folder = self.trial_folder(cells)
        took = run([*self.trial_command(server, cells, concurrency), *more], folder)
        shutil.rmtree(folder)
        return took.wanted()

    @cached_property
    def large(self) -> tuple[Path, Took]:
        """A stored experiment of `many_cells` cells, and what making it took."""
        folder = self.trial_folder(self.many_cells)
        with model_server() as server:
            took = run(self.trial_command(server, self.many_cells), folder).wanted()
        return folder, took
