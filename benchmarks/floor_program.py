"""The least that any harness must do around a program: copy the files, start it, look at the folder, append one line.

    python benchmarks/floor_program.py FILES PROGRAM CELLS

prints CPU seconds per cell of this process and of the programs it started.
"""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def cell(files: Path, program: str, base: Path, number: int) -> str:
    """One run; a line of JSON about it."""
    folder = base / f"cell-{number}"
    shutil.copytree(files, folder)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    done = subprocess.run([program], cwd=folder, input=b'{"prompt": "p"}\n', capture_output=True, check=True)
    new = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name not in before}
    shutil.rmtree(folder)
    return json.dumps({"cell": number, "output": done.stdout.decode(), "new": new})


def main() -> None:
    files, program, cells = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    start = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as base, (Path(base) / "out.jsonl").open("w") as out:
        for number in range(cells):
            out.write(cell(files, program, Path(base), number) + "\n")
            out.flush()
    for who, before in zip((resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN), start, strict=True):
        used = resource.getrusage(who)
        print((used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime) / cells)


if __name__ == "__main__":
    main()
