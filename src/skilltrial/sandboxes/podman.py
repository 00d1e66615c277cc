"""Walls by Podman, with or without root."""

from __future__ import annotations

import os
from typing import ClassVar

from skilltrial.sandboxes._cli import Cli
from skilltrial.sandboxes._engine import Engine
from skilltrial.sandboxes._identity import Identity, ours


class Podman(Engine):
    """Containers of Podman, with an image of the user's."""

    name: ClassVar[str] = "podman"

    def user(self, cli: Cli) -> tuple[Identity, tuple[str, ...]]:
        """The caller's number, kept the same inside where there is no root."""
        who = ours()
        keep = ("--userns", "keep-id") if os.getuid() else ()
        return who, (*keep, "--user", f"{who.user}:{who.group}")


plugin = Podman
