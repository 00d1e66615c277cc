"""What every report keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

from typing import Any

import pytest

from skilltrial import registry
from skilltrial.testing.reports import RULES, ReportCase


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", registry.names("reports"))
def test_it_keeps_the_contract(name: str, rule: Any) -> None:
    plugin = registry.get("reports", name)
    assert plugin.name == name
    rule(ReportCase(plugin))
