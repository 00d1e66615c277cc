"""The real tier: agent programs from npm, driven by the scripted model of `tests/scripted`. See install.sh beside this file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skilltrial import registry, workspaces
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.suite import EMPTY_TREE, Limits
from skilltrial.sandboxes import programs
from skilltrial.seams import Access

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


class Ended(NamedTuple):
    """One run of a program, the model it asked, and what its workspace held then."""

    run: AgentRun
    server: Any
    left: dict[str, bytes]


@pytest.fixture
def run_once(
    model: Callable[..., Any],
    machine_with: Callable[..., Any],
    new_job: Callable[..., Any],
    new_watch: Callable[..., Any],
    blobs: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Ended]:
    """`run_once(program, scene, seconds, level, **limits)` runs a program through its backend, in a workspace of its own."""
    from scripted.programs import MODELS, path_for

    def one(
        program: str,
        scene: Any,
        seconds: float = 90.0,
        level: str = "none",
        network: str = "on",
        mocks: tuple[Any, ...] = (),
        **limits: Any,
    ) -> Ended:
        server = model(scene)
        monkeypatch.setenv("PATH", path_for(program))
        target = Target(name="t", backend=program, value=MODELS[program], options={"base_url": server.url})
        backend, machine = registry.get("backends", program).from_target(target), machine_with(PATH=path_for(program))
        python = programs.needs(Path(sys.executable), path_for(program)) if mocks else ()
        with ExitStack() as stack:
            workspace = stack.enter_context(
                workspaces.fresh(
                    sandbox=registry.get("sandboxes", level)(),
                    base=None,
                    fixtures=EMPTY_TREE,
                    stage="flat",
                    skills=(),
                    skill_dir=None,
                    blobs=blobs,
                    access=Access(network, (*backend.installation(machine), *python), hosts=backend.hosts()),
                    git=True,
                    memory=backend.capabilities.memory,
                )
            )
            runner = stack.enter_context(backend.open(machine))
            job = new_job(
                "Do what is to be done.", place=workspace.place, limits=Limits(timeout_s=seconds, **limits), mocks=mocks
            )
            run = runner.run(job, new_watch(seconds))
            assert not working_in(workspace.root), "processes outlived the run"
            assert not Path("/tmp/.git").exists(), "it made all of /tmp look like a repository"
            left = {path.name: path.read_bytes() for path in workspace.root.iterdir() if path.is_file()}
        return Ended(run, server, left)

    return one


def working_in(folder: Path) -> list[str]:
    """Command lines of processes that work in a folder."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and str((process / "cwd").readlink()).startswith(str(folder)):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found
