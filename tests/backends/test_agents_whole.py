"""Fake agent programs in real places: a whole run from an empty folder to what it left, for every program."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from skilltrial import collect, registry, workspaces
from skilltrial.records.evidence import AgentRun
from skilltrial.records.plan import Target
from skilltrial.records.suite import EMPTY_TREE, Limits
from skilltrial.seams import Access, Stop

TESTS = Path(__file__).parents[1]
AGENT = TESTS / "fakes" / "agent.py"
NEWEST = {
    "claude-code": "claude-code/2.1.332", "codex": "codex/0.171.0", "opencode": "opencode/1.18.33", "gemini": "gemini/0.61.0",
    "qwen": "qwen/0.24.4", "copilot": "copilot/1.0.102", "pi": "pi/0.73.1",
}  # fmt: skip
TOKENS = {
    "claude-code": "ANTHROPIC_API_KEY", "codex": "CODEX_API_KEY", "opencode": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY",
    "qwen": "OPENAI_API_KEY", "copilot": "COPILOT_GITHUB_TOKEN", "pi": "OPENAI_API_KEY",
}  # fmt: skip
SECRET = "secret-of-the-user-1234567890"
OK = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "ok", "usage": {"output_tokens": 1}}


class Clock:
    """The Watch seam with a time limit."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds

    def heard(self, event: object) -> Stop | None:
        if time.monotonic() >= self.deadline:
            return Stop("timeout", f"time limit of {self.seconds:g} s reached")
        return None


class Stage:
    """A fake program first on PATH, and whole runs of its backend."""

    def __init__(self, name: str, bench: Any, monkeypatch: Any) -> None:
        self.backend_type = registry.get("backends", name)
        self.name, self.bench = name, bench
        self.folder = bench.base / "bin"
        self.folder.mkdir(exist_ok=True)
        self.program = self.folder / self.backend_type.program
        self.program.write_text(f"#!{sys.executable}\n{AGENT.read_text(encoding='utf-8')}", encoding="utf-8")
        self.program.chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        monkeypatch.setenv("PATH", path)
        bench.environ.update(PATH=path, **({TOKENS[name]: SECRET} if name in TOKENS else {}))

    def plays(self, **script: Any) -> None:
        if "recording" in script:
            script["recording"] = str(TESTS / "recordings" / NEWEST[self.name] / f"{script['recording']}.jsonl")
        self.program.with_suffix(".json").write_text(json.dumps(script), encoding="utf-8")

    @property
    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.program.with_suffix(".seen.json").read_text(encoding="utf-8"))
        return found

    @contextmanager
    def workspace(self, *, with_skill: bool) -> Iterator[workspaces.Workspace]:
        with workspaces.fresh(
            sandbox=registry.get("sandboxes", "none")(),
            base=None,
            fixtures=EMPTY_TREE,
            stage="flat",
            skills=(self.bench.skill,) if with_skill else (),
            skill_dir=self.backend_type.skill_dir,
            blobs=self.bench.blobs,
            access=Access(),
            git=True,
        ) as workspace:
            yield workspace

    def run(self, *, with_skill: bool = False, seconds: float = 30.0, options: Any = None, **fields: Any) -> tuple[AgentRun, Any]:
        target = Target(name="t", backend=self.name, value="some-model", options=options or {})
        backend = self.backend_type.from_target(target)
        with self.workspace(with_skill=with_skill) as workspace, backend.open(self.bench.machine) as runner:
            job = self.bench.job(workspace.place, with_skill=with_skill, **{"limits": Limits(timeout_s=seconds), **fields})
            run = runner.run(job, Clock(seconds))
            return run, collect.delta(workspace)[0]


@pytest.fixture(params=NEWEST)
def stage(request: Any, bench: Any, monkeypatch: Any) -> Stage:
    return Stage(request.param, bench, monkeypatch)


@pytest.fixture
def claude(bench: Any, monkeypatch: Any) -> Stage:
    return Stage("claude-code", bench, monkeypatch)


# ---------------------------------------------------------------- every program
def test_a_run_is_read_and_its_files_are_found(stage: Stage) -> None:
    stage.plays(recording="noskill", writes={"out.txt": "RELEASE NOTES"})
    run, delta = stage.run(with_skill=True)
    assert (run.outcome, run.activation) == ("ok", "not_seen")
    assert "MOCK-FINAL" in run.text
    assert [file.path for file in delta.created] == ["out.txt"], "neither the skill nor the home is in the delta"
    assert run.timing.started_at
    assert run.timing.duration_s
    assert run.logs["stdout.log"]


def test_the_prompt_arrives_on_standard_input_and_nowhere_else(stage: Stage) -> None:
    stage.plays(recording="answer")
    stage.run(prompt="Do what I say.")
    assert stage.seen["stdin"] == "Do what I say."
    assert not any("Do what I say." in word for word in stage.seen["argv"])


def test_it_runs_in_a_home_of_its_own(stage: Stage) -> None:
    stage.plays(recording="answer")
    stage.run()
    env = stage.seen["env"]
    assert env["HOME"] not in (os.environ.get("HOME"), stage.bench.environ["HOME"])
    assert not Path(env["HOME"]).exists(), "it is gone with the run"
    assert stage.seen["cwd"] != env["HOME"]
    own = [value for name, value in env.items() if name.endswith(("_HOME", "CONFIG_DIR", "AGENT_DIR"))]
    assert all(value.startswith(env["HOME"]) for value in own)


def test_the_login_reaches_the_program_and_no_record(stage: Stage) -> None:
    stage.plays(recording="answer", prints=[SECRET])
    run, _ = stage.run()
    assert SECRET in stage.seen["env"].values()
    assert not any(SECRET in word for word in stage.seen["argv"])
    assert SECRET not in json.dumps(run.sent)
    assert SECRET not in stage.bench.redactor.text(json.dumps(run.sent) + SECRET)[0]


def test_what_was_sent_is_equal_for_equal_cells(stage: Stage) -> None:
    stage.plays(recording="answer")
    assert stage.run()[0].sent == stage.run()[0].sent


def test_an_endpoint_of_the_users_own_gets_its_own_key_only(stage: Stage) -> None:
    stage.plays(recording="answer")
    stage.bench.environ["MY_KEY"] = "key-of-my-endpoint-1234567890"
    run, _ = stage.run(options={"base_url": "http://127.0.0.1:9/v1", "api_key_env": "MY_KEY"})
    assert run.outcome == "ok"
    given = json.dumps(stage.seen)
    assert "127.0.0.1:9" in given
    assert "key-of-my-endpoint-1234567890" in stage.seen["env"].values()
    assert "key-of-my-endpoint-1234567890" not in json.dumps([stage.seen["argv"], stage.seen["files"]])
    assert SECRET not in given


def test_a_judge_gets_no_permission_to_do_anything(stage: Stage) -> None:
    stage.plays(recording="answer")
    run, _ = stage.run(judging=True, system="You are a judge.")
    assert run.outcome == "ok"
    assert stage.seen["stdin"].startswith("You are a judge.\n\n")
    allowed = ("--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox", "--yolo", "--auto", "--allow-all")
    assert not set(allowed) & set(stage.seen["argv"])


def test_a_program_that_cannot_be_found_is_a_failure_of_set_up(stage: Stage) -> None:
    stage.plays(recording="answer")
    run, _ = stage.run(options={"path": str(stage.folder / "no-such-program")})
    assert (run.outcome, run.setup) == ("infrastructure_error", True)
    assert "no-such-program" in (run.reason or "")


def test_no_login_is_told_with_what_to_do(stage: Stage) -> None:
    stage.plays(recording="answer")
    del stage.bench.environ[TOKENS[stage.name]]
    probe = stage.backend_type().probe(stage.bench.machine)
    assert not probe.ok
    assert stage.backend_type.doors.command in probe.reason
    run, _ = stage.run()
    assert (run.outcome, run.setup) == ("infrastructure_error", True)
    assert stage.backend_type.doors.command in (run.reason or "")


def test_its_version_and_login_are_told_without_a_run(stage: Stage) -> None:
    stage.plays(version="fake 7.8.9")
    probe = stage.backend_type().probe(stage.bench.machine)
    assert (probe.ok, probe.version, probe.login) == (True, "7.8.9", TOKENS[stage.name])
    assert not stage.program.with_suffix(".seen.json").exists()


# ---------------------------------------------------------------- what happens in the field
def test_an_agent_that_reads_standard_input_does_not_wait_for_ever(claude: Stage, monkeypatch: Any) -> None:
    """FC-01: ours is an open pipe that nobody writes to."""
    read_end, write_end = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(read_end))
    claude.plays(prints=[OK])
    run, _ = claude.run(seconds=60)
    os.close(write_end)
    sys.stdin.close()
    assert (run.outcome, run.text) == ("ok", "ok")


def test_an_enclosing_agent_session_is_not_seen(claude: Stage, monkeypatch: Any) -> None:
    """FC-02."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "x")
    claude.plays(prints=[OK], refuses_with=["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"])
    assert claude.run()[0].outcome == "ok"


def test_a_start_up_that_fails_is_a_failure_of_set_up(claude: Stage) -> None:
    """FC-02: it is told once, before the other cells are paid for."""
    claude.plays(refuses_with=["HOME"])
    run, _ = claude.run()
    assert (run.outcome, run.setup) == ("infrastructure_error", True)
    assert "cannot be launched inside another session" in (run.reason or "")


@pytest.mark.parametrize("last", [None, '{"type":"assistant","message":{"id":"m","content":[{"type":"te'])
def test_a_stream_without_its_final_record_keeps_the_text_and_measures_nothing(claude: Stage, last: str | None) -> None:
    """FC-03."""
    said = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "42"}]}}
    claude.plays(prints=[said, *([last] if last else [])])
    run, _ = claude.run()
    assert (run.outcome, run.text) == ("agent_error", "42")
    assert run.usage.input_tokens is run.usage.output_tokens is run.usage.cost_usd is None
    assert "no final record" in run.warnings
    assert run.setup is False


@pytest.mark.parametrize("printed", [[], [{"type": "error", "message": "ProviderModelNotFoundError: no such model"}]])
def test_status_zero_without_a_reply_is_an_outage_with_the_programs_own_words(stage: Stage, printed: list[Any]) -> None:
    """FC-04."""
    stage.plays(stderr="ProviderModelNotFoundError: no such model\n", prints=printed)
    run, _ = stage.run()
    assert run.outcome == "infrastructure_error"
    assert run.text == ""
    assert "no such model" in (run.reason or "")
    assert run.setup


def test_a_grandchild_that_holds_the_pipe_is_ended_with_the_run(claude: Stage) -> None:
    """FC-06."""
    said = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "so far"}]}}
    claude.plays(prints=[said], leaves=True, sleeps=300)
    run, _ = claude.run(seconds=2)
    assert (run.outcome, run.text) == ("timeout", "so far")
    home = claude.seen["env"]["HOME"]
    assert not [p for p in psutil.process_iter(["environ"]) if (p.info["environ"] or {}).get("HOME") == home]


def test_a_time_limit_says_that_nothing_was_printed(claude: Stage) -> None:
    """FC-01, FC-06."""
    claude.plays(sleeps=300)
    run, _ = claude.run(seconds=1)
    assert run.outcome == "timeout"
    assert "printed nothing" in (run.reason or "")


def test_a_process_left_behind_is_ended_and_told(claude: Stage) -> None:
    claude.plays(prints=[OK], leaves=True)
    run, _ = claude.run()
    assert run.outcome == "ok"
    assert any("outlived" in warning for warning in run.warnings)
