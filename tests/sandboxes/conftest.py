"""The levels that start here, and why the others do not."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.seams import Machine, Probe
from skilltrial.system import processes

IMAGE = os.environ.get("SKILLTRIAL_TEST_IMAGE")
"""An image with python3; `engines.sh` makes one and starts the engines."""


@pytest.fixture(scope="session")
def conformance() -> Any:
    """The module beside this file, which is a program too."""
    spec = importlib.util.spec_from_file_location("sandbox_conformance", Path(__file__).with_name("conformance.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hard signal follows the gentle one at once: nothing hostile heeds that anyway."""
    monkeypatch.setattr(processes, "GRACE_S", 0.2)


@pytest.fixture
def needs_level(machine_with: Callable[..., Machine]) -> Callable[[str], Any]:
    """`needs_level(name)`: the sandbox, or a skip whose reason is the probe's own."""

    def make(name: str) -> Any:
        plugin = registry.get("sandboxes", name)
        sandbox = plugin(image=IMAGE) if "image" in plugin.model_fields else plugin()
        probe: Probe = sandbox.probe(machine_with(PATH=os.environ["PATH"]))
        if not probe.ok:
            pytest.skip(f"{name}: {probe.reason}")
        return sandbox

    return make
