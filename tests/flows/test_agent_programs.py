"""Whole trials with small agent programs under the real ones' names: from the command line to what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import agents


def test_a_limit_that_a_program_cannot_be_held_to_is_a_warning_of_each_run(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    agents.install(tmp_path, "codex", agents.CODEX, monkeypatch)
    limited = [{**case, "limits": {"max_requests": 3, "max_turns": 2, "max_tokens": 5}} for case in colours[:1]]
    said = skilltrial("run", new_skill(limited), "--target", "codex", "--sandbox", "none", "--no-certify", "--gate", "none")
    assert said.code == 0, said.err
    metas = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("run_meta.json")]
    assert len(metas) == 2
    for meta in metas:
        warned = " ".join(meta["warnings"])
        assert all(f"({name}) is not enforced" in warned for name in ("max_requests", "max_turns", "max_tokens")), warned
