"""CPU per cell that starts a program in a workspace: ours alone, and with git and the program itself.

The program is a shell script that writes one file. A cell's cost is the difference between a large and a small trial, so
that start-up and report fall out. The floor copies the same files, starts the same script, looks at the folder and appends
one line of JSON.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import HERE, PYTHON, median, run
from benchmarks.scene import Scene
from benchmarks.table import Row

AGENT = '#!/bin/sh\nread -r line\necho done > out.txt\necho \'{"output": "done"}\'\n'
OWN = (
    "import resource, sys\n"
    "from skilltrial.cli import exit_code_of\n"
    "code = exit_code_of(sys.argv[1:])\n"
    "for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):\n"
    "    used = resource.getrusage(who)\n"
    "    print('CPU', used.ru_utime + used.ru_stime)\n"
    "sys.exit(code)\n"
)


class Used(NamedTuple):
    """CPU seconds."""

    own: float
    children: float


def figures(scene: Scene) -> Iterator[Row]:
    """Without git, and with what git says of the run; with the folder of each cell, and without."""
    few, many = (4, 20) if scene.smoke else (20, 220)
    floors = [_floor(scene, many) for _ in range(scene.times)]
    least = Used(median(one.own for one in floors), median(one.children for one in floors))
    for words, check, more, budget in (
        ("", "file_exists", ("--no-tree",), 4.0),
        (", with the tree", "file_exists", (), None),
        (", with git delta", "git_clean", ("--no-tree",), 8.0),
    ):
        used = [_per_cell(scene, check, few, many, *more) for _ in range(scene.times)]
        own, children = (median(one[place] for one in used) * 1000 for place in (0, 1))
        note = f"programs started: {children:.1f} ms"
        yield Row(f"own CPU per program cell{words}", own, "ms", least.own * 1000, budget, note=note)


def _per_cell(scene: Scene, check: str, few: int, many: int, *more: str) -> Used:
    small, large = (_trial(scene, check, cells, *more) for cells in (few, many))
    return Used((large.own - small.own) / (many - few), (large.children - small.children) / (many - few))


def _trial(scene: Scene, check: str, cells: int, *more: str) -> Used:
    folder = scene.fresh("programs")
    _write(folder, check)
    argv = [
        PYTHON,
        "-c",
        OWN,
        "run",
        "notes",
        "--adapter",
        "./agent.sh",
        "--repetitions",
        str(cells // 2),
        "--gate",
        "none",
        "--yes",
    ]
    took = run([*argv, "--workspaces-dir", str(folder / "places"), "--concurrency", "2", *more], folder).wanted()
    shutil.rmtree(folder)
    own, children = (float(line.split()[1]) for line in took.out.splitlines() if line.startswith("CPU "))
    return Used(own, children)


def _write(folder: Path, check: str) -> None:
    """A skill with one case of three files, and the program."""
    skill = folder / "notes"
    (skill / "evals" / "files").mkdir(parents=True)
    (folder / "places").mkdir()
    head = "---\nname: notes\ndescription: Keeps notes short. Use it whenever notes are written or read.\n---\n"
    (skill / "SKILL.md").write_text(head + "Keep notes short. " * 100)
    names = [f"files/{letter}.txt" for letter in "abc"]
    for name in names:
        (skill / "evals" / name).write_text(name * 100)
    checks = [{"id": "c", "type": check, **({"path": "out.txt"} if check == "file_exists" else {})}]
    evals = [{"id": 1, "prompt": "Write out.txt.", "files": names, "checks": checks}]
    (skill / "evals" / "evals.json").write_text(json.dumps({"skill_name": "notes", "evals": evals}))
    agent = folder / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)


def _floor(scene: Scene, cells: int) -> Used:
    """`floor_program.py` on the same files and the same program."""
    folder = scene.fresh("floor")
    _write(folder, "file_exists")
    argv = [
        PYTHON,
        str(HERE / "floor_program.py"),
        str(folder / "notes" / "evals" / "files"),
        str(folder / "agent.sh"),
        str(cells),
    ]
    took = run(argv, folder).wanted()
    shutil.rmtree(folder)
    own, children = map(float, took.out.split()[-2:])
    return Used(own, children)
