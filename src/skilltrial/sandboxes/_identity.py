"""The few files of /etc by which a program learns who it is, so that nothing is told of the machine's other users."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from skilltrial.system.files import write_new

HOSTNAME = "skilltrial"
ORDINARY = 1000
"""Who root is inside: programs refuse much as root, and root's own name opens files of the machine."""


class Identity(NamedTuple):
    """A user and a group, as numbers."""

    user: int
    group: int


def ours() -> Identity:
    """The caller's own; an ordinary one for root."""
    return Identity(os.getuid() or ORDINARY, os.getgid() if os.getuid() else ORDINARY)


def files(folder: Path, who: Identity, home: Path, hosts: Sequence[str] = ()) -> dict[str, Path]:
    """Writes `passwd`, `group` and `hosts` below `folder`; by the path they belong at.

    Args:
        hosts: lines that come first in `hosts`.
    """
    texts = {
        "passwd": f"trial:x:{who.user}:{who.group}::{home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
        "group": f"trial:x:{who.group}:\nnogroup:x:65534:\n",
        "hosts": "\n".join([*hosts, f"127.0.0.1 localhost {HOSTNAME}", "::1 localhost", _known_hosts()]) + "\n",
    }
    for name, text in texts.items():
        write_new(folder / name, text.encode(), None)
    return {f"/etc/{name}": folder / name for name in texts}


def _known_hosts() -> str:
    try:
        return Path("/etc/hosts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
