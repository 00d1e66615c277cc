"""Killed at any moment and resumed until done: every cell once, and the numbers of a run that was never broken."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .live import Live, until
from .stored import assert_whole, iteration, journal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9")
KEYS = {"OPENAI_API_KEY": "sk-test-0123456789abcdef0123"}
CASES, REPETITIONS = 10, 3
CELLS = CASES * REPETITIONS * 2

TIMES = frozenset({"created_at", "time_seconds", "time_delta", "time_ratio", "duration_s", "wall_s"})
NAMES_AND_ATTEMPTS = frozenset({"experiment", "attempts"})


def comparable(value: Any) -> Any:
    """A Summary without names of experiments, times and numbers of attempts; everything else stays."""
    if isinstance(value, dict):
        return {key: comparable(inner) for key, inner in value.items() if key not in TIMES | NAMES_AND_ATTEMPTS}
    return [comparable(inner) for inner in value] if isinstance(value, list) else value


def written(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


# ---------------------------------------------------------------- who is asked
def number_of(request: dict[str, Any]) -> int:
    return int(request["messages"][-1]["content"].split("sky number ")[1].split("?")[0])


def answering(request: dict[str, Any]) -> dict[str, Any]:
    """With the skill right but in one case, without it in two; each with its own tokens and dollars."""
    number, skilled = number_of(request), request["messages"][0]["role"] == "system"
    right = number != 4 if skilled else number in (2, 7)
    message = {"role": "assistant", "content": "BLUE" if right else "I do not know."}
    usage = {"prompt_tokens": 100 + number, "completion_tokens": 10 * number, "cost": 0.001 * number}
    return {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}


def judging(request: dict[str, Any]) -> dict[str, Any]:
    """Only what is one word is short."""
    passed = '"BLUE"' in request["messages"][-1]["content"]
    message = {"role": "assistant", "content": json.dumps({"verdicts": [{"id": "short", "passed": passed, "evidence": "BLUE"}]})}
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "cost": 0.0005}
    return {"model": "j", "choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}


@pytest.fixture
def trial(new_skill: Any, serve: Callable[..., Any], live: Live) -> tuple[list[str], Any]:
    """The command line of a run of 60 cells with a judge, and the target's server."""
    checks = [{"id": "blue", "type": "contains", "value": "BLUE"}, {"id": "short", "type": "rubric", "text": "It is short."}]
    new_skill([{"id": n, "prompt": f"What is the colour of sky number {n}?", "checks": checks} for n in range(1, CASES + 1)])
    target, judge = serve(answering, latency_s=0.02), serve(judging, latency_s=0.02)
    command = [
        "run", "colours", "--target", "openai:m", "--base-url", target.url, "-n", REPETITIONS, "-c", 3, "--yes", "--tree",
        "--judge", "openai:j", "--judge-base-url", judge.url, "--log-format", "silent",
    ]  # fmt: skip
    return [str(part) for part in command], target


# ---------------------------------------------------------------- the killing
def lines(folder: Path) -> int:
    """Whole lines of the journal."""
    path = folder / "results.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed(live: Live, command: list[str], folder: Path, after: int, then_s: float) -> bool:
    """Starts the command and kills it `then_s` after `after` further steps were stored; False: it was done before that."""
    before = lines(folder)
    process = live.start(*command, env=KEYS)
    until(lambda: lines(folder) >= before + after or process.poll() is not None, f"{after} further steps")
    time.sleep(then_s)
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.wait()
    return True


def moments(seed: int) -> Iterator[tuple[int, float]]:
    """Where to kill: after so many further steps, and a moment later, so that it dies within a step as well as between two."""
    luck = random.Random(seed)
    while True:
        yield luck.choice((1, 1, 1, 2, 2, 3)), luck.random() * 0.02


@pytest.mark.parametrize("kills", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_every_cell_counts_once_and_the_summary_is_that_of_an_unbroken_run(
    live: Live, trial: tuple[list[str], Any], tmp_path: Path, kills: int
) -> None:
    command, target = trial
    assert live.call(*command, env=KEYS).code == 1, "case 4 fails"
    whole = iteration(tmp_path, 1)
    asked = target.stats.calls
    assert asked == CELLS

    folder, dead = iteration(tmp_path, 2), 0
    for after, then_s in moments(20260729):
        dead += killed(live, ["resume", "2", "--log-format", "silent"] if dead else command, folder, after, then_s)
        assert_each_step_once(folder)
        if dead == kills:
            break
        assert lines(folder) < 2 * CELLS, f"done after {dead} kills only"
    said = live.call("resume", "2", env=KEYS)
    assert (said.code, "Traceback" in said.err) == (1, False)
    assert_whole(folder)
    assert written(folder)["coverage"]["graded"] == CELLS
    assert comparable(written(folder)) == comparable(written(whole))
    assert target.stats.calls - asked <= CELLS + 3 * kills, "finished runs were made again"
    views = [sorted(path.relative_to(at) for path in (at / "colours").rglob("*") if path.is_file()) for at in (whole, folder)]
    assert views[0] == views[1], "the folders of single cells are not all there"


def assert_each_step_once(folder: Path) -> None:
    """However it was killed, no cell has two runs and none is graded twice."""
    whole = (folder / "results.jsonl").read_bytes()
    rows = [json.loads(line) for line in whole[: whole.rfind(b"\n") + 1].splitlines()]
    assert max(Counter((row["kind"], row["cell"]) for row in rows).values(), default=0) <= 1


def test_killed_while_the_reports_are_written_it_writes_them_again(
    live: Live, trial: tuple[list[str], Any], tmp_path: Path
) -> None:
    command, target = trial
    folder = iteration(tmp_path)
    process = live.start(*command, env=KEYS)
    until((folder / "summary.json").exists, "the summary", process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    calls = target.stats.calls
    first = comparable(written(folder))
    (folder / "report.md").unlink(missing_ok=True)
    said = live.call("resume", env=KEYS)
    assert said.code == 1, said.err
    assert "nothing is missing" in said.err
    assert target.stats.calls == calls == CELLS
    assert comparable(written(folder)) == first
    assert (folder / "report.md").is_file()
    assert (folder / "report" / "index.html").is_file()


def test_two_writers_cannot_resume_the_same_experiment(live: Live, trial: tuple[list[str], Any], tmp_path: Path) -> None:
    """The second is refused at once and told why; the first goes on."""
    command, target = trial
    folder = iteration(tmp_path)
    target.reply = hanging(target)
    process = live.start(*command, env=KEYS)
    until(lambda: target.faults.hang and lines(folder) > 1, "a run that hangs", process)
    second = Live(tmp_path / "colours")
    said = second.call("resume", folder, env=KEYS)
    assert (said.code, "Traceback" in said.err) == (2, False)
    assert "is being written by process" in said.err
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert live.ended(process).code == 130
    assert max(Counter(row["cell"] for row in journal(folder, "evidence")).values()) == 1


def hanging(server: Any) -> Callable[[dict[str, Any]], Any]:
    """Answers eight times, then never more."""

    def reply(request: dict[str, Any]) -> Any:
        if server.stats.answered >= 8:
            server.faults.hang = True
        return answering(request)

    return reply
