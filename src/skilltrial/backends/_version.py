"""The version of an installed program, asked for once per file."""

from __future__ import annotations

import os
import re
import tempfile
import time
from functools import cache
from pathlib import Path

from skilltrial.seams import Machine
from skilltrial.system import environment, processes
from skilltrial.system.files import remove_tree

_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")
_TIMEOUT_S = 60.0
_QUIET = {"NO_COLOR": "1", "TERM": "dumb"}


def version_of(program: str, machine: Machine) -> tuple[str | None, str]:
    """What `--version` says, asked once per file; None and why not."""
    try:
        status = Path(program).stat()
    except OSError as error:
        return None, str(error.strerror)
    path = machine.environ.get("PATH", os.defpath)
    return _version(program, (status.st_mtime_ns, status.st_size), path, str(machine.temp))


@cache
def _version(program: str, stamp: tuple[int, int], path: str, temp: str) -> tuple[str | None, str]:
    folder = Path(tempfile.mkdtemp(prefix="skilltrial-version-", dir=temp))
    printed = bytearray()
    try:
        (folder / "tmp").mkdir()
        start = processes.Start(
            argv=(program, "--version"),
            env=environment.clean({"PATH": path}, {}, _QUIET, folder),
            cwd=str(folder),
            output_bytes=1 << 20,
            deadline=time.monotonic() + _TIMEOUT_S,
            roots=(str(folder),),
        )
        ended = processes.run(start, lambda line: printed.extend(line), lambda: None)
    except OSError as error:
        return None, str(error.strerror or error)
    finally:
        remove_tree(folder)
    said = bytes(printed).decode("utf-8", "replace") + ended.stderr.decode("utf-8", "replace")
    match = _VERSION.search(said)
    if ended.returncode == 0 and match:
        return match[0].rstrip("."), ""
    how = "it did not answer in time" if ended.cause == "deadline" else f"'--version' ended with status {ended.returncode}"
    return None, f"{how}: {said.strip()[-200:]}" if said.strip() else how
