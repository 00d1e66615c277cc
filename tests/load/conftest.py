"""A folder of skills written from a dictionary, and what loading it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

SKILL = "---\nname: {name}\ndescription: Formats tables. Use when the user asks for tables.\n---\nDo it well.\n"
Write = Callable[[Mapping[str, Any]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files below a fresh folder: text as UTF-8, bytes as they are, anything else as JSON; `SKILL` makes a good one."""

    def make(files: Mapping[str, Any]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                content = SKILL.format(name=path.parent.name)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8", newline="")
        return tmp_path

    return make
