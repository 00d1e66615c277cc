"""A fresh workspace for whatever a target has to do: a cell, a canary, a question to a judge that is a program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from skilltrial import workspaces
from skilltrial.flows import walls
from skilltrial.flows.bench import Bench
from skilltrial.records.plan import Target
from skilltrial.records.suite import EMPTY_TREE, Skill, Tree
from skilltrial.sandboxes import programs
from skilltrial.seams import Access, Backend
from skilltrial.workspaces import Workspace
from skilltrial.workspaces.sources import SourceRepository


@contextmanager
def workspace_for(
    bench: Bench,
    target: Target,
    backend: Backend,
    *,
    fixtures: Tree = EMPTY_TREE,
    stage: str = "flat",
    skills: Sequence[Skill] = (),
    stage_files: bool = False,
    git: bool = False,
    source: SourceRepository | None = None,
    live: bool = False,
    mocks: bool = False,
) -> Iterator[Workspace | None]:
    """Gone afterwards, unless kept; None for a target that touches no files. Agent programs always get a repository."""
    able = backend.capabilities
    if not able.files or able.deferred:
        yield None
        return
    with workspaces.fresh(
        sandbox=walls.sandbox_of(target),
        base=bench.base,
        fixtures=fixtures,
        stage=stage,
        skills=skills,
        skill_dir=getattr(backend, "skill_dir", None),
        blobs=bench.experiment.blobs,
        access=_with_python(access_of(bench, target, backend)) if mocks and able.mcp else access_of(bench, target, backend),
        stage_files=stage_files,
        git=able.program or git,
        source=source,
        live=live,
        memory=backend.capabilities.memory,
    ) as workspace:
        yield workspace


def _with_python(access: Access) -> Access:
    """What starts stand-in MCP servers is shown too."""
    return replace(access, readable=(*access.readable, *programs.needs(Path(sys.executable), os.environ.get("PATH", os.defpath))))


def access_of(bench: Bench, target: Target, backend: Backend) -> Access:
    """What its processes may reach: variables let through by name, and the caller's own environment where the backend keeps it."""
    environ = bench.machine.environ
    passed = {*bench.plan.options.env, *target.env}
    env = {name: environ[name] for name in passed if name in environ}
    return walls.access_of(target, backend, bench.machine, env)
