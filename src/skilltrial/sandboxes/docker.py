"""Walls by Docker, local, remote or rootless as `docker` itself is set up."""

from __future__ import annotations

import os
from typing import ClassVar

from skilltrial.sandboxes._cli import Cli
from skilltrial.sandboxes._engine import Engine
from skilltrial.sandboxes._identity import Identity, ours


class Docker(Engine):
    """Containers of Docker, with an image of the user's."""

    name: ClassVar[str] = "docker"

    def user(self, cli: Cli) -> tuple[Identity, tuple[str, ...]]:
        """The caller's number; without root on either side, root inside is the caller outside."""
        who = Identity(0, 0) if os.getuid() and cli.rootless() else ours()
        return who, ("--user", f"{who.user}:{who.group}")


plugin = Docker
