"""What every sandbox keeps to, whoever wrote it; found through the registry. Its walls are tried in tests/sandboxes."""

from __future__ import annotations

import os
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.testing.backends import machine
from skilltrial.testing.sandboxes import PLACES, RULES, SandboxCase


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", registry.names("sandboxes"))
def test_it_keeps_the_contract(name: str, rule: Any) -> None:
    rule(SandboxCase(registry.get("sandboxes", name)))


@pytest.mark.parametrize("rule", PLACES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", ["none", "bwrap"])
def test_its_places_keep_the_contract(name: str, rule: Any) -> None:
    plugin = registry.get("sandboxes", name)
    with machine(dict(os.environ)) as able:
        probe = plugin().probe(able)
    if not probe.ok:
        pytest.skip(probe.reason)
    rule(SandboxCase(plugin))
