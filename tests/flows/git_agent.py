"""An agent of one shell script, in a workspace that may be a repository."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@localhost",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@localhost",
}


def agent(folder: Path, script: str, name: str = "agent") -> Path:
    """An adapter that runs `script` in the workspace; `$ARM_HAS_SKILL` is 1 where a skill was delivered."""
    path = folder / f"{name}.sh"
    head = "#!/bin/sh\ncat >/dev/null\nif [ -d skills ]; then ARM_HAS_SKILL=1; else ARM_HAS_SKILL=0; fi\n"
    path.write_text(f'{head}exec 3>&1 1>&2\n{script}\nprintf \'{{"output": "done"}}\' >&3\n')
    path.chmod(0o755)
    return path


def git(root: Path, *arguments: str) -> str:
    """What git prints, with no settings but those of the repository."""
    return subprocess.run(["git", *arguments], cwd=root, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout


def states(folder: Path, method: str | None = None) -> dict[str, dict[str, str]]:
    """Cell -> check -> state, as the journal's newest gradings say."""
    found: dict[str, dict[str, str]] = {}
    for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        if row["kind"] == "grades":
            found[row["cell"]] = {grade["check"]: grade["state"] for grade in row["grades"] if method in (None, grade["method"])}
    return found
