"""Ctrl-C and SIGTERM on a real process: it ends soon, leaves nothing running, loses nothing, and says how to go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.flows.trial import ending_signals

from .live import Live, lives, until
from .stored import assert_sound, assert_whole, iteration, journal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
KEYS = {"OPENAI_API_KEY": "sk-test-0123456789abcdef0123"}
LONGEST_S = 5.0
"""From the signal to the end of the process; 0.2 to 1.9 s were measured on a busy machine of two cores."""

ADAPTER = """\
import json, os, signal, subprocess, sys, time
request = json.load(sys.stdin)
here = os.path.dirname(os.path.abspath(__file__))
if os.path.exists(os.path.join(here, "healthy")):
    print(json.dumps({"output": "BLUE" if request["skill"] else "I do not know"}))
    sys.exit()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE)
stray = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline(), stray.stdout.readline()
with open(os.path.join(here, "pids.new"), "w") as file:
    file.write(f"{os.getpid()} {child.pid} {stray.pid}")
os.rename(os.path.join(here, "pids.new"), os.path.join(here, "pids"))
time.sleep(600)
"""


def interrupt(process: subprocess.Popen[bytes], number: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Sends the signal, waits for the end, and prints how long it took."""
    began = time.monotonic()
    process.send_signal(number)
    process.wait(60)
    took_s = time.monotonic() - began
    with capsys.disabled():
        print(f" [{signal.Signals(number).name}: {took_s:.2f} s]", end="")
    assert took_s < LONGEST_S


def assert_told_how_to_go_on(process: subprocess.Popen[bytes], live: Live) -> None:
    said = live.ended(process)
    assert said.code == 130, said.err
    last = said.err.strip().splitlines()[-1]
    assert last == f"interrupted; everything finished is kept. Go on with: skilltrial resume {iteration(live.folder)}"
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_reads_in_flight_do_not_hold_it_up(
    live: Live,
    new_skill: Any,
    colours: Any,
    serve: Callable[..., Any],
    tmp_path: Path,
    number: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Some answers came, then the server went silent with four calls in flight."""

    def some(request: dict[str, Any]) -> str:
        if server.stats.answered == 8:
            server.faults.hang = True
        return "BLUE" if request["messages"][0]["role"] == "system" else "I do not know"

    server = serve(some, latency_s=0.01)
    new_skill(colours)
    process = live.start(
        "run", "colours", "--target", "openai:m", "--base-url", server.url, "-n", 3, "-c", 4, env=KEYS
    )  # fmt: skip
    folder = iteration(tmp_path)
    until(lambda: server.faults.hang and server.stats.in_flight == 4, "four calls that hang", process)
    until(lambda: len(journal(folder, "grades")) >= 1, "a finished cell", process)
    interrupt(process, number, capsys)
    assert_told_how_to_go_on(process, live)
    assert_sound(folder)
    before = {row["cell"] for row in journal(folder, "evidence")}
    assert {row["outcome"] for row in journal(folder, "evidence")} == {"ok"}, "what was interrupted is stored as a failure"

    asked = len(server.requests)
    server.faults.hang = False
    server.reply = lambda request: "BLUE" if request["messages"][0]["role"] == "system" else "I do not know"
    said = live.call("resume", env=KEYS)
    assert said.code == 0, said.err
    assert_whole(folder)
    assert len(server.requests) - asked == 24 - len(before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stubborn_adapter_and_its_children_are_gone(
    live: Live, new_skill: Any, colours: Any, tmp_path: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ignores SIGTERM, so does its child, and one more child has left its session."""
    new_skill(colours)
    adapter = tmp_path / "adapter.py"
    adapter.write_text(f"#!{sys.executable}\n{ADAPTER}", encoding="utf-8")
    adapter.chmod(0o755)
    process = live.start("run", "colours", "--adapter", "./adapter.py", "--judge", "none")
    until((tmp_path / "pids").exists, "the adapter with its children", process)
    pids = [int(text) for text in (tmp_path / "pids").read_text().split()]
    assert all(map(lives, pids))
    interrupt(process, number, capsys)
    until(lambda: not any(map(lives, pids)), "the end of the adapter and its children")
    assert_told_how_to_go_on(process, live)
    assert not [row for row in journal(iteration(tmp_path), "evidence") if row["outcome"] != "ok"]

    (tmp_path / "healthy").touch()
    said = live.call("resume")
    assert said.code == 0, said.err
    assert_whole(iteration(tmp_path))


def test_ctrl_c_again_and_again_does_not_leave_processes_behind(live: Live, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    """An impatient user: the signals that follow must not cut the cleaning up short."""
    new_skill(colours)
    adapter = tmp_path / "adapter.py"
    adapter.write_text(f"#!{sys.executable}\n{ADAPTER}", encoding="utf-8")
    adapter.chmod(0o755)
    process = live.start("run", "colours", "--adapter", "./adapter.py", "--judge", "none")
    until((tmp_path / "pids").exists, "the adapter with its children", process)
    pids = [int(text) for text in (tmp_path / "pids").read_text().split()]
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    assert_told_how_to_go_on(process, live)
    until(lambda: not any(map(lives, pids)), "the end of the adapter and its children")


# ---------------------------------------------------------------- pipes that are closed
@pytest.mark.parametrize("style", ["pretty", "jsonl"])
def test_a_reader_that_goes_away_early_does_not_stop_the_run(
    live: Live, new_skill: Any, colours: Any, serve: Callable[..., Any], tmp_path: Path, style: str
) -> None:
    """`skilltrial run … 2>&1 | head -1`: everything is run and stored all the same."""
    server = serve(lambda request: "BLUE" if request["messages"][0]["role"] == "system" else "no", latency_s=0.01)
    new_skill(colours)
    read, write = os.pipe()
    process = live.start(
        "run", "colours", "--target", "openai:m", "--base-url", server.url, "-n", 3, "-c", 2, "--log-format", style,
        env=KEYS, stdout=write, stderr=write,
    )  # fmt: skip
    os.close(write)
    assert os.read(read, 1)
    os.close(read)
    assert process.wait(60) == 0
    assert_whole(iteration(tmp_path))
    assert (iteration(tmp_path) / "summary.json").is_file()
    assert (iteration(tmp_path) / "report" / "index.html").is_file()


@pytest.mark.parametrize("command", [["status"], ["report", "--format", "json"], ["show", "colours/1/openai-m/with_skill/1"]])
def test_output_that_nobody_reads_is_no_error(
    live: Live, new_skill: Any, colours: Any, serve: Callable[..., Any], tmp_path: Path, command: list[str]
) -> None:
    server = serve("BLUE")
    new_skill(colours)
    live.call("run", "colours", "--target", "openai:m", "--base-url", server.url, env=KEYS)
    read, write = os.pipe()
    os.close(read)
    process = live.start(*command, stdout=write)
    os.close(write)
    said = live.ended(process)
    assert "Traceback" not in said.err
    assert "Exception ignored" not in said.err


def test_interrupted_while_the_judge_is_asked_only_the_judge_is_asked_again(
    live: Live, new_skill: Any, serve: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [{"id": "r", "type": "rubric", "text": "It is short."}]
    new_skill([{"id": n, "prompt": f"Sky {n}?", "checks": checks} for n in range(1, 5)])
    verdict = '{"verdicts": [{"id": "r", "passed": true, "evidence": "BLUE"}]}'
    target, judge = serve("BLUE"), serve(verdict, faults={"hang": True})
    process = live.start(
        "run", "colours", "--target", "openai:m", "--base-url", target.url, "-c", 4, "--judge", "openai:j", "--judge-base-url",
        judge.url, env=KEYS,
    )  # fmt: skip
    until(lambda: judge.stats.in_flight == 4, "four questions to the judge", process)
    interrupt(process, signal.SIGINT, capsys)
    assert_told_how_to_go_on(process, live)
    assert journal(iteration(tmp_path), "grades") == []
    assert target.stats.calls == len(journal(iteration(tmp_path), "evidence")) == 4

    judge.faults.hang = False
    said = live.call("resume", env=KEYS)
    assert said.code == 0, said.err
    assert_whole(iteration(tmp_path))
    assert target.stats.calls == 8


def test_grading_again_can_be_interrupted_and_loses_no_grade(
    live: Live, new_skill: Any, serve: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new_skill([{"id": 1, "prompt": "Sky?", "checks": [{"id": "r", "type": "rubric", "text": "It is short."}]}])
    target, judge = serve("BLUE"), serve('{"verdicts": [{"id": "r", "passed": true, "evidence": "BLUE"}]}')
    by = ["--judge", "openai:j", "--judge-base-url", judge.url]
    live.call("run", "colours", "--target", "openai:m", "--base-url", target.url, *by, env=KEYS)
    before = journal(iteration(tmp_path), "grades")
    judge.faults.hang = True
    process = live.start("grade", *by, env=KEYS)
    until(lambda: judge.stats.in_flight == 2, "two questions to the judge", process)
    interrupt(process, signal.SIGINT, capsys)
    said = live.ended(process)
    assert (said.code, "Traceback" in said.err) == (130, False)
    assert said.err.strip().splitlines()[-1].endswith(f"skilltrial grade {iteration(tmp_path)}")
    assert journal(iteration(tmp_path), "grades") == before


def test_a_run_under_nohup_outlives_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert signal.SIGHUP in ending_signals() or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    monkeypatch.setattr(signal, "getsignal", lambda _number: signal.SIG_IGN)
    assert ending_signals() == [signal.SIGINT, signal.SIGTERM]
