"""What every listener keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.testing.listeners import RULES, ListenerCase


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", registry.names("listeners"))
def test_it_keeps_the_contract(name: str, rule: Any, tmp_path: Path) -> None:
    plugin = registry.get("listeners", name)
    rule(ListenerCase(plugin, (lambda: plugin(tmp_path / "progress.jsonl")) if name == "progress" else plugin))
