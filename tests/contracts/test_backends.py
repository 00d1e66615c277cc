"""What every backend keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.backends import library
from skilltrial.records.plan import Target
from skilltrial.testing.backends import RULES, RUNS, BackendCase, refuses_unknown_options

NAMES = registry.names("backends")
OFFERED = frozenset({"library"})
"""Built from a Python object of the calling program, never from what a user typed."""
VALUES = {"adapter": "./no-such-adapter", "runner": "no-such-runner", "library": "nobody"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract(name: str, rule: Any, capfd: Any) -> None:
    if rule is refuses_unknown_options and name in OFFERED:
        pytest.skip("takes no options from the user")
    target = Target(name="t", backend=name, value=VALUES.get(name, "model"))
    rule(BackendCase(registry.get("backends", name), target, {"PATH": os.defpath}))
    assert registry.get("backends", name).name == name
    assert capfd.readouterr() == ("", ""), "nor does a program that it started print"


@pytest.fixture(params=["fake", "library", "adapter", "runner"])
def offline(request: Any, tmp_path: Path) -> BackendCase:
    """Backends that can run a task here and now."""
    values = {
        "fake": None,
        "library": library.offer(str.upper),
        "adapter": str(tmp_path / "a.sh"),
        "runner": str(tmp_path / "r.sh"),
    }
    for name, line in (("a.sh", f"cat > /dev/null; echo '{json.dumps({'output': 'hello'})}'"), ("r.sh", 'echo "$PROMPT"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    target = Target(name="t", backend=request.param, value=values[request.param])
    return BackendCase(registry.get("backends", request.param), target, {"PATH": os.defpath})


@pytest.mark.parametrize("rule", RUNS, ids=lambda rule: rule.__name__)
def test_its_runs_keep_the_contract(offline: BackendCase, rule: Any) -> None:
    rule(offline)
