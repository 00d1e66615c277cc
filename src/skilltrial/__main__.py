"""`skilltrial` and `python -m skilltrial`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Answers `--version` without importing anything; hands all else to the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from skilltrial.version import VERSION

        print(f"skilltrial {VERSION}")
        return
    gc.set_threshold(10_000)  # what a command makes lives to its end: looking for garbage less often saves a tenth of a report
    from skilltrial.cli import run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
