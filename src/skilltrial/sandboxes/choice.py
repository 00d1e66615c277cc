"""Which level a program runs at: the walls it really starts behind, found out by starting it there."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from skilltrial.errors import CellError
from skilltrial.records.suite import Limits
from skilltrial.sandboxes.bwrap import Bubblewrap
from skilltrial.seams import Access, Command, Machine, Sandbox, Stop
from skilltrial.system.files import remove_tree

START_TIMEOUT_S = 60.0
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")


class Started(NamedTuple):
    """What a program said of itself behind walls."""

    version: str | None
    complaint: str | None
    """Why it does not start there; None: it does."""


_known: dict[tuple[object, ...], Started] = {}


def choose(machine: Machine, program: Path | None, access: Access) -> tuple[str, str | None]:
    """The level for `auto`, and why it is `none` where it is."""
    if access.keep_home:
        return "none", "it runs in the user's own home"
    probe = Bubblewrap().probe(machine)
    if not probe.ok:
        return "none", probe.reason
    if program is None:
        return "none", "the program was not found"
    started = version_inside(Bubblewrap(), machine, (str(program),), access)
    if started.complaint:
        return "none", f"{program.name} does not start behind the walls of bwrap: {started.complaint}"
    return "bwrap", None


def version_inside(sandbox: Sandbox, machine: Machine, argv: Sequence[str], access: Access) -> Started:
    """Starts `argv --version` in a place of this sandbox; asked once per process."""
    key = (sandbox.name, tuple(argv), access.readable, access.network, access.image)
    if key not in _known:
        _known[key] = _asked(sandbox, str(machine.temp), argv, access)
    return _known[key]


def _asked(sandbox: Sandbox, temp: str, argv: Sequence[str], access: Access) -> Started:
    printed = bytearray()

    def keep(line: bytes) -> Stop | None:
        printed.extend(line)
        return None

    network = "off" if access.network == "model-only" else access.network
    access = replace(access, network=network, env={}, keep_home=False)
    limits = Limits(timeout_s=START_TIMEOUT_S, output_bytes=1 << 20)
    command = Command((*argv, "--version"), {"NO_COLOR": "1", "TERM": "dumb"})
    folder = Path(tempfile.mkdtemp(prefix="skilltrial-probe-", dir=temp))
    try:
        with sandbox.enter(folder, access) as place:
            ended = place.start(command, limits, keep)
    except (OSError, CellError) as error:
        return Started(None, str(error))
    finally:
        remove_tree(folder)
    said = (bytes(printed) + ended.stderr).decode("utf-8", "replace").strip()
    if ended.code == 0:
        match = _VERSION.search(said)
        return Started(match[0].rstrip(".") if match else None, None)
    how = "it did not answer in time" if ended.stop else f"'--version' ended with status {ended.code}"
    return Started(None, f"{how}: {said[-200:]}" if said else how)
