"""What goes wrong with the endpoint or the agent becomes the right outcome, soon, and leaves nothing running."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scripted import Scene, Server
from scripted.programs import missing, path_for
from skilltrial import registry, workspaces
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.suite import EMPTY_TREE, Limits
from skilltrial.seams import Access

pytestmark = pytest.mark.real

MODELS = {"claude-code": "claude-sonnet-4-5", "codex": "gpt-5", "opencode": "scripted-model", "gemini": "gemini-2.5-pro"}
OUTAGE = "infrastructure_error"


class Ended(NamedTuple):
    run: AgentRun
    server: Server


@pytest.fixture(params=MODELS)
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if reason := missing(name):
        pytest.skip(reason)
    return name


@pytest.fixture
def play(
    program: str,
    model: Callable[[Scene], Server],
    machine_with: Callable[..., Any],
    new_job: Callable[..., Any],
    new_watch: Callable[..., Any],
    blobs: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Ended]:
    """`play(scene, seconds, limits)` runs the program through its backend once."""

    def one(scene: str, seconds: float = 90.0, **limits: Any) -> Ended:
        server = model(Scene(scene))
        monkeypatch.setenv("PATH", path_for(program))
        target = Target(name="t", backend=program, value=MODELS[program], options={"base_url": server.url})
        backend = registry.get("backends", program).from_target(target)
        place = workspaces.fresh(
            sandbox=registry.get("sandboxes", "none")(), base=None, fixtures=EMPTY_TREE, stage="flat", skills=(),
            skill_dir=None, blobs=blobs, access=Access(), git=True,
        )  # fmt: skip
        with place as workspace, backend.open(machine_with(PATH=path_for(program))) as runner:
            job = new_job("Do what is to be done.", place=workspace.place, limits=Limits(timeout_s=seconds, **limits))
            run = runner.run(job, new_watch(seconds))
            assert not still_running(workspace.root), "processes outlived the run"
            assert not Path("/tmp/.git").exists(), "it made all of /tmp look like a repository"
        return Ended(run, server)

    return one


def still_running(folder: Path) -> list[str]:
    """Command lines of processes that work in a folder."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and str((process / "cwd").readlink()).startswith(str(folder)):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def test_a_wrong_key_is_a_fault_of_set_up(play: Callable[..., Ended]) -> None:
    run, server = play("error401")
    assert (run.outcome, run.setup) == (OUTAGE, True), run.reason
    assert re.search("401|auth|key|log", str(run.reason), re.I), run.reason
    assert len(server.main) <= 5


def test_one_failing_call_is_no_failing_run(program: str, play: Callable[..., Ended]) -> None:
    run, server = play("error500once")
    if program == "claude-code":
        assert (run.outcome, run.setup) == (OUTAGE, False), "its own retries are off, so that ours decide"
        return
    assert (run.outcome, run.text) == ("ok", "Done, all of it (the last word)."), run.reason
    assert len(server.main) == 2


@pytest.mark.parametrize("fault", ["truncated", "html", "error429"])
def test_an_endpoint_that_does_not_answer_is_an_outage(program: str, play: Callable[..., Ended], fault: str) -> None:
    run, server = play(fault, 40.0)
    if program == "claude-code" and fault == "truncated":
        assert run.outcome == "ok", "it asks again without a stream"
    else:
        assert run.outcome in (OUTAGE, "timeout"), run.reason
    assert not run.setup or fault == "html"
    assert len(server.main) <= 30, "it would go on without end"


def test_an_answer_cut_at_the_token_limit_is_no_answer(program: str, play: Callable[..., Ended]) -> None:
    run, _ = play("maxtok")
    silent = program == "gemini"  # it reports success, and nothing in its output tells
    assert run.outcome == ("ok" if silent else "agent_error"), run.reason


def test_a_silent_endpoint_ends_at_the_time_limit(play: Callable[..., Ended]) -> None:
    run, _ = play("hang", 12.0)
    assert run.outcome == "timeout", run.reason
    assert run.timing.duration_s < 20


def test_a_run_without_end_is_ended(program: str, play: Callable[..., Ended]) -> None:
    """By the cap on requests where the program tells of them while it runs, else by its own loop detection or the time limit."""
    end = {"codex": "timeout", "gemini": "agent_error"}.get(program, "budget")
    run, server = play("loop", 8.0 if end == "timeout" else 90.0, max_requests=4)
    assert run.outcome == end, run.reason
    assert len(server.main) >= 4
    assert end != "budget" or len(server.main) <= 8


def test_what_an_agent_leaves_running_is_ended_and_told(program: str, play: Callable[..., Ended]) -> None:
    run, server = play("bgproc")
    assert run.outcome == "ok", run.reason
    assert "started" in str(server.main[-1].body), "the agent did leave something running"
    assert any("outlived" in warning for warning in run.warnings) is (program != "codex"), "codex ends them itself"
