"""Where workspaces may lie: below no repository and below no folder that tells agents what to do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from skilltrial.errors import CellError

INSTRUCTIONS = (
    "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "AGENT.md", "GEMINI.md", "QWEN.md", ".claude", ".agents",
    ".opencode", ".codex", ".gemini", ".qwen", ".pi", ".copilot", ".cursor", ".cursorrules", ".windsurfrules", ".goosehints",
    ".mcp.json", "opencode.json", "opencode.jsonc",
)  # fmt: skip
"""Names by which agents find instructions, skills and settings in a folder above the one they work in."""
REPOSITORY = (".git", ".hg", ".jj", ".github")
_ROOM_BYTES = 1 << 30
"""Free bytes that a memory-backed file system needs to be chosen."""
_checked: dict[str, tuple[int, str | None]] = {}


def choose(base: Path | None, *, memory: bool = True) -> Path:
    """The folder to make workspaces in, resolved: the one asked for, else memory with room, else the temporary folder.

    `memory=False` leaves `/dev/shm` out, for programs that put a `/dev` of their own around their commands.

    Raises:
        CellError: none will do; the message names what is in the way.
    """
    reasons = []
    for folder in [base] if base else _candidates(memory):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            resolved = folder.resolve(strict=True)
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror}")
            continue
        found = in_the_way(resolved)
        if found is None:
            return resolved
        reasons.append(f"agents that work below {resolved} would find {found}")
    raise CellError("workspace", f"{'; '.join(reasons)}; choose another place with --workspaces-dir")


def in_the_way(folder: Path) -> str | None:
    """The first thing in this folder or above that an agent could find, or that makes it part of a repository."""
    for place in (folder, *folder.parents):
        if found := _found_in(str(place)):
            return found
    return None


def _found_in(place: str) -> str | None:
    try:
        changed = os.stat(place).st_mtime_ns  # noqa: PTH116 - a folder changes whenever a name is added to it
    except OSError:
        return None
    known = _checked.get(place)
    if known is None or known[0] != changed:
        names = (*INSTRUCTIONS, *REPOSITORY)
        known = (
            changed,
            next((f"{place}/{name}".replace("//", "/") for name in names if os.path.lexists(f"{place}/{name}")), None),
        )
        _checked[place] = known
    return known[1]


def _candidates(memory: bool) -> Iterator[Path]:
    shared = Path("/dev/shm")
    if memory and _has_room(shared):
        yield shared
    yield Path(tempfile.gettempdir())
    if os.name == "posix":
        yield Path("/var/tmp")


def _has_room(folder: Path) -> bool:
    try:
        status = os.statvfs(folder)
    except (OSError, AttributeError):
        return False
    runs_programs = not status.f_flag & getattr(os, "ST_NOEXEC", 0)
    return runs_programs and status.f_bavail * status.f_frsize >= _ROOM_BYTES and os.access(folder, os.W_OK)
