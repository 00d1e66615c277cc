"""`python -m benchmarks [--smoke] [--full] [NAME…]`: prints figures beside floors and budgets.

A missed budget is printed, never an error: CPU figures rise with the load of the machine. The exit code is 1 only when
something was lost, done twice or did not run at all, which no load excuses.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module

from benchmarks.measure import scratch, tmpfs
from benchmarks.scene import Scene
from benchmarks.table import Row, head, line, load_average

NAMES = (
    "startup",
    "validate",
    "http_cells",
    "program_cells",
    "efficiency",
    "memory",
    "report",
    "resume",
    "refusals",
)


def main() -> int:
    """Runs what was asked for, in the order of NAMES."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(NAMES)}; default: all")
    parser.add_argument("--smoke", action="store_true", help="small inputs, each once: shows that everything works")
    parser.add_argument("--full", action="store_true", help="also the slow ones: HTTP cells at 10,000 in turn with the floor")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in NAMES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    print(f"Python {platform.python_version()}, {platform.machine()}, {tmpfs()}, load {load_average()}")
    print(head())
    wrong = 0
    with scratch() as folder:
        scene = Scene(folder, smoke=given.smoke, full=given.full)
        for name in NAMES:
            if not given.names or name in given.names:
                wrong += _print(name, scene)
    print(f"load {load_average()}; other work on the machine raises CPU figures, so compare ratios")
    return 1 if wrong else 0


def _print(name: str, scene: Scene) -> int:
    """Prints the figures of one benchmark; answers with what went wrong: counts that are not 0 as they should be, a failure."""
    figures: Callable[[Scene], Iterator[Row]] = import_module(f"benchmarks.{name}").figures
    began, wrong = time.monotonic(), 0
    try:
        for row in figures(scene):
            if scene.smoke and row.budget:
                row = row._replace(budget=None)  # budgets are for the full sizes
            print(line(row), flush=True)
            wrong += row.budget == 0 and row.met is False
    except RuntimeError as error:
        print(f"{name} FAILED: {error}", flush=True)
        wrong += 1
    print(f"  {name}: {time.monotonic() - began:.0f} s, load {load_average()}", file=sys.stderr)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
