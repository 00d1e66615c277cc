"""What every format keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skilltrial import analyze, formats, registry
from skilltrial.flows.out import FolderOut
from skilltrial.system.redaction import Redactor

DATA = Path(__file__).parent.parent / "data" / "foreign"
NAMES = registry.names("formats")
READERS = [name for name in NAMES if hasattr(registry.get("formats", name), "claims")]
WRITERS = [name for name in NAMES if hasattr(registry.get("formats", name), "write")]


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_or_writes_under_its_own_name(name: str) -> None:
    plugin = registry.get("formats", name)
    assert plugin.name == name and plugin.__doc__
    assert name in READERS or name in WRITERS
    assert hasattr(plugin, "claims") == hasattr(plugin, "read")


def test_every_reader_has_its_turn() -> None:
    assert set(formats.ORDER) == set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_it_claims_neither_an_empty_folder_nor_an_absent_one_nor_a_file_of_another_kind(name: str, tmp_path: Path) -> None:
    reader: Any = registry.get("formats", name)
    (tmp_path / "notes.json").write_text('{"evals": []}')
    assert not reader.claims(tmp_path)
    assert not reader.claims(tmp_path / "absent")
    assert not reader.claims(tmp_path / "notes.json")


@pytest.mark.parametrize("name", READERS)
def test_reading_leaves_the_tree_as_it_is(name: str) -> None:
    trees = [tree for tree in formats.trees(DATA) if tree.format.name == name]
    for tree in trees:
        before = {path: path.stat().st_mtime_ns for path in tree.root.rglob("*")}
        view = tree.read()
        analyze.summary(view)
        assert {path: path.stat().st_mtime_ns for path in tree.root.rglob("*")} == before
        assert view.format == name and all(isinstance(text, str) for text in view.unknowns)


@pytest.mark.parametrize("name", WRITERS)
def test_it_writes_through_the_out_it_is_given(name: str, tmp_path: Path) -> None:
    found = formats.find(DATA / "ase-npm" / "iteration-single")
    assert found is not None
    view = found.read()
    registry.get("formats", name)().write(analyze.summary(view), view, FolderOut(tmp_path, Redactor()))
    assert any(path.is_file() for path in tmp_path.rglob("*"))
