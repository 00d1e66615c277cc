"""Trees of other tools: those kept in tests/data/foreign, and small ones written by a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent.parent / "data" / "foreign"


@pytest.fixture
def plant(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes files below a folder of their own: text as it is, anything else as JSON."""

    def planted(files: dict[str, Any]) -> Path:
        root = tmp_path / "tree"
        for name, value in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return root

    return planted
