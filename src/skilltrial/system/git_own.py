"""Our own git commands outside any run: with the user's settings and login, as if the user had typed them, and without hooks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from skilltrial.system import processes

_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "credential.interactive=false")
_ELSEWHERE = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR"}
    | {"GIT_NAMESPACE", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_CEILING_DIRECTORIES"}
)
"""What a git hook leaves in the environment of the programs it starts."""
_HELD = 8 * 1024 * 1024


class Answer(NamedTuple):
    """What git said; `code` None: it took too long, or could not be started."""

    code: int | None
    out: str
    complaint: str


def git(*arguments: str, environ: Mapping[str, str], cwd: Path, timeout_s: float) -> Answer:
    """Runs git to its end. A repository that the environment names (`GIT_DIR`, …) is not meant; nothing is asked for."""
    printed = bytearray()

    def keep(line: bytes) -> None:
        printed.extend(line[: max(0, _HELD - len(printed))])

    env = {name: value for name, value in environ.items() if name not in _ELSEWHERE}
    start = processes.Start(
        argv=("git", *_OPTIONS, *arguments),
        env={**env, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        cwd=str(cwd),
        deadline=time.monotonic() + timeout_s,
    )
    try:
        ended = processes.run(start, keep, lambda: None)
    except OSError as error:
        return Answer(None, "", f"git could not be started: {error.strerror or error}")
    complaint = ended.stderr.decode("utf-8", "replace").strip()[-400:]
    if ended.cause == "deadline":
        return Answer(None, "", f"git {arguments[0]} did not end within {timeout_s:g} s")
    return Answer(ended.returncode, bytes(printed).decode("utf-8", "replace"), complaint)
