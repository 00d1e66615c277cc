"""The real tier: agent programs from npm, driven by the scripted model of `tests/scripted`. See install.sh beside this file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


def _package(name: str) -> Any:
    """`tests/<name>` as an importable package, whatever the import mode."""
    if name not in sys.modules:
        folder = TESTS / name
        spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


_package("scripted")


@pytest.fixture
def model() -> Iterator[Callable[..., Any]]:
    """`server = model(Scene("skill"))`: a scripted model that ends with the test."""
    from scripted import serving

    with ExitStack() as stack:
        yield lambda scene: stack.enter_context(serving(scene))
