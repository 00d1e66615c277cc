"""What goes wrong with the endpoint or the agent becomes the right outcome, soon, and leaves nothing running."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from scripted import Scene
from scripted.programs import missing

pytestmark = pytest.mark.real

OUTAGE = "infrastructure_error"


@pytest.fixture(params=["claude-code", "codex", "opencode", "gemini"])
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if reason := missing(name):
        pytest.skip(reason)
    return name


@pytest.fixture
def play(program: str, run_once: Callable[..., Any]) -> Callable[..., Any]:
    """`run, server, _ = play(scene, seconds, **limits)`."""

    def one(scene: str, seconds: float = 90.0, **limits: Any) -> Any:
        return run_once(program, Scene(scene), seconds, **limits)

    return one


def test_a_wrong_key_is_a_fault_of_set_up(play: Callable[..., Any]) -> None:
    run, server, _ = play("error401")
    assert (run.outcome, run.setup) == (OUTAGE, True), run.reason
    assert re.search("401|auth|key|log", str(run.reason), re.I), run.reason
    assert len(server.main) <= 5


def test_one_failing_call_is_no_failing_run(program: str, play: Callable[..., Any]) -> None:
    run, server, _ = play("error500once")
    if program == "claude-code":
        assert (run.outcome, run.setup) == (OUTAGE, False), "its own retries are off, so that ours decide"
        return
    assert (run.outcome, run.text) == ("ok", "Done, all of it (the last word)."), run.reason
    assert len(server.main) == 2


@pytest.mark.parametrize("fault", ["truncated", "html", "error429"])
def test_an_endpoint_that_does_not_answer_is_an_outage(program: str, play: Callable[..., Any], fault: str) -> None:
    run, server, _ = play(fault, 40.0)
    if program == "claude-code" and fault == "truncated":
        assert run.outcome == "ok", "it asks again without a stream"
    else:
        assert run.outcome in (OUTAGE, "timeout"), run.reason
    assert not run.setup or fault == "html"
    assert len(server.main) <= 30, "it would go on without end"


def test_an_answer_cut_at_the_token_limit_is_no_answer(program: str, play: Callable[..., Any]) -> None:
    run, *_ = play("maxtok")
    silent = program == "gemini"  # it reports success, and nothing in its output tells
    assert run.outcome == ("ok" if silent else "agent_error"), run.reason


def test_a_silent_endpoint_ends_at_the_time_limit(play: Callable[..., Any]) -> None:
    run, *_ = play("hang", 12.0)
    assert run.outcome == "timeout", run.reason
    assert run.timing.duration_s < 20


def test_a_run_without_end_is_ended(program: str, play: Callable[..., Any]) -> None:
    """By the cap on requests where the program tells of them while it runs, else by the time limit, and then it says so."""
    end = "timeout" if program == "codex" else "budget"
    run, server, _ = play("loop", 8.0 if end == "timeout" else 90.0, max_requests=4)
    assert run.outcome == end, run.reason
    assert len(server.main) >= 4
    assert end != "budget" or len(server.main) <= 8
    assert any("max_requests" in warning for warning in run.warnings) is (program == "codex")


def test_what_an_agent_leaves_running_is_ended_and_told(program: str, play: Callable[..., Any]) -> None:
    run, server, _ = play("bgproc")
    assert run.outcome == "ok", run.reason
    assert "started" in str(server.main[-1].body), "the agent did leave something running"
    assert any("outlived" in warning for warning in run.warnings) is (program != "codex"), "codex ends them itself"
