"""What every form of results keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skilltrial import formats, registry
from skilltrial.testing.formats import RULES, FormatCase

DATA = Path(__file__).parent.parent / "data" / "foreign"
NAMES = registry.names("formats")
TREES = [(tree.format.name, tree.root) for tree in formats.trees(DATA)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract(name: str, rule: Any) -> None:
    plugin = registry.get("formats", name)
    assert plugin.name == name
    rule(FormatCase(plugin, tuple(root for owner, root in TREES if owner == name)))


def test_every_reader_has_its_turn() -> None:
    assert set(formats.ORDER) == {name for name in NAMES if hasattr(registry.get("formats", name), "claims")}


@pytest.mark.parametrize("name", formats.ORDER)
def test_what_is_unknown_is_said_in_words(name: str) -> None:
    for owner, root in TREES:
        if owner == name:
            view = registry.get("formats", name)().read(root)
            assert view.format == name and all(isinstance(text, str) for text in view.unknowns)
