"""Every program really starts behind walls, reaches its model there, and does its work."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from scripted import Scene
from scripted.programs import MODELS, missing
from skilltrial import registry

pytestmark = pytest.mark.real


@pytest.fixture(params=MODELS)
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if reason := missing(name):
        pytest.skip(reason)
    return name


@pytest.mark.parametrize(("level", "network"), [("bwrap", "on"), ("bwrap", "model-only")])
def test_a_program_works_behind_walls(
    program: str, level: str, network: str, run_once: Callable[..., Any], machine_with: Callable[..., Any]
) -> None:
    probe = registry.get("sandboxes", level)().probe(machine_with(PATH=os.environ["PATH"]))
    if not probe.ok:
        pytest.skip(probe.reason)
    run, server, left = run_once(program, Scene("noskill"), level=level, network=network)
    assert (run.outcome, run.text) == ("ok", "Done, all of it (the last word)."), run.reason
    assert left == {"out.txt": b"nobody told me what to write\n"}
    assert len(server.main) == 2
