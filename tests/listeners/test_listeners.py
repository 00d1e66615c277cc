"""News while a run goes on."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.listeners.jsonl import JsonLines
from skilltrial.listeners.lines import Lines
from skilltrial.listeners.live import Live
from skilltrial.listeners.progress import Progress
from skilltrial.listeners.silent import Silent
from skilltrial.records.news import News
from skilltrial.system.redaction import Redactor

CELL = "notes/a/claude-code/with_skill/1"
EVIL = "\x1b]0;pwned\x07[red]x[/red]\r\x1b[2K::add-mask::x"


def news(type_: Any, **facts: Any) -> News:
    base: dict[str, Any] = {
        "ts": "2025-01-01T00:00:00Z",
        "elapsed_s": 12.0,
        "experiment": "iteration-7",
        "done": 3,
        "planned": 24,
    }
    return News(type=type_, **(base | facts))


def finished(**facts: Any) -> News:
    base: dict[str, Any] = {
        "cell": CELL, "outcome": "ok", "state": "passed", "passed": 2, "total": 2, "duration_s": 41.0,
        "input_tokens": 1500, "cached_tokens": 700, "output_tokens": 340, "cost_usd": 0.0016,
    }  # fmt: skip
    return news("cell_finished", **(base | facts))


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    """A pipe whose reader has left."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("name", ["progress", "jsonl", "lines", "live", "silent"])
def test_every_listener_is_found_by_its_name(name: str) -> None:
    assert {"hear", "close"} <= set(dir(registry.get("listeners", name)))


def test_a_finished_cell_is_one_line_with_all_its_numbers() -> None:
    out = io.StringIO()
    Lines(out).hear(finished())
    assert out.getvalue() == f"[3/24]  {CELL}  ■ passed 2/2  41 s  tokens in/cached/out 1,500/700/340  0.0016 USD\n"


def test_unknown_numbers_are_left_out_never_zero() -> None:
    out = io.StringIO()
    Lines(out).hear(finished(input_tokens=None, cached_tokens=None, output_tokens=None, cost_usd=None, duration_s=None))
    assert out.getvalue() == f"[3/24]  {CELL}  ■ passed 2/2\n"


@pytest.mark.parametrize(
    ("heard", "words"),
    [
        (finished(state="failed", passed=1), "□ failed 1/2"),
        (finished(state="ungraded", passed=None, total=None), "? not graded"),
        (news("cell_failed", cell=CELL, outcome="timeout", reason="no answer within 120 s"), "▨ timeout"),
    ],
)
def test_trouble_ends_with_the_line_that_shows_the_cell(heard: News, words: str) -> None:
    out = io.StringIO()
    Lines(out).hear(heard)
    first, second = out.getvalue().splitlines()
    assert words in first
    assert second.strip() == f"skilltrial show {CELL}"


def test_why_measurements_fail_is_said_once_while_it_stays_the_same() -> None:
    out = io.StringIO()
    lines = Lines(out)
    for reason in ("wrong key", "wrong key", "wrong key", "no such model"):
        lines.hear(news("cell_failed", cell=CELL, outcome="infrastructure_error", reason=reason))
    assert [row.rpartition("  ")[2] for row in out.getvalue().splitlines()] == [
        "wrong key", f"skilltrial show {CELL}", "as before", "as before", "no such model", f"skilltrial show {CELL}",
    ]  # fmt: skip


def test_start_end_budget_and_hooks_are_lines_of_their_own() -> None:
    out = io.StringIO()
    lines = Lines(out)
    lines.hear(news("experiment_started", done=4))
    lines.hear(news("agent_started", cell=CELL))
    lines.hear(news("budget_exceeded", cell=CELL, reason="cost_usd 0.6 > 0.5"))
    lines.hear(news("experiment_finished", total_cost_usd=1.94, reason="interrupted"))
    lines.close()
    assert out.getvalue().splitlines() == [
        "iteration-7: 24 runs planned, 4 of them finished before",
        f"budget exceeded: {CELL}: cost_usd 0.6 > 0.5",
        "3 of 24 runs finished in 12 s, 1.94 USD, stopped: interrupted",
    ]


def test_hostile_news_is_text(tmp_path: Path) -> None:
    heard = news("cell_failed", cell=f"notes/{EVIL}", outcome="timeout", reason=EVIL)
    out, screen = io.StringIO(), Screen()
    Lines(out).hear(heard)
    live = Live(screen, color=False)
    live.hear(news("experiment_started"))
    live.hear(heard)
    live.close()
    assert not set(out.getvalue()) & {"\x1b", "\x07", "\r"}
    assert "\x1b]0;" not in screen.getvalue()
    assert "\x07" not in screen.getvalue()
    assert "[red]x[/red]" in out.getvalue()


@pytest.mark.parametrize("make", [Lines, Live, lambda stream: JsonLines(stream=stream)], ids=["lines", "live", "jsonl"])
def test_a_reader_that_has_left_does_not_end_the_run(make: Callable[[Any], Any]) -> None:
    listener = make(Gone())
    for heard in (news("experiment_started"), finished(), news("experiment_finished")):
        listener.hear(heard)
    listener.close()


def test_a_stream_without_our_signs_gets_them_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Lines(stream).hear(finished())
    stream.flush()
    assert rb"\u25a0 passed" in raw.getvalue()


def test_progress_is_one_object_a_line_with_known_fields_only(tmp_path: Path) -> None:
    progress = Progress(tmp_path / "progress.jsonl", None)
    progress.hear(news("experiment_started"))
    progress.hear(finished())
    progress.close()
    rows = [json.loads(line) for line in (tmp_path / "progress.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["type"] for row in rows] == ["experiment_started", "cell_finished"]
    assert rows[1]["cell"] == CELL
    assert "reason" not in rows[1]
    assert all({"ts", "elapsed_s", "experiment"} <= row.keys() for row in rows)


def test_progress_is_on_disk_at_every_pause_and_each_piece_once(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    progress = Progress(path, None)
    for _ in range(2):
        progress.hear(news("cell_started"))
    progress.pause()
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
    progress.hear(finished())
    progress.pause()
    progress.pause()
    progress.close()
    types = [json.loads(line)["type"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert types == ["cell_started", "cell_started", "cell_finished"]


def test_jsonl_goes_to_its_file_or_to_the_stream_and_is_masked(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("hunter2-hunter2")
    heard = finished(reason="the key hunter2-hunter2 was refused")
    out = io.StringIO()
    to_stream, to_file = JsonLines(None, redactor, stream=out), JsonLines(tmp_path / "log.jsonl", redactor)
    for listener in (to_stream, to_file):
        listener.hear(heard)
        listener.close()
    for text in (out.getvalue(), (tmp_path / "log.jsonl").read_text(encoding="utf-8")):
        assert "hunter2" not in text
        assert json.loads(text)["cell"] == CELL


def test_silent_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    listener = Silent()
    listener.hear(finished(state="failed"))
    listener.close()
    assert capfd.readouterr() == ("", "")


def test_the_live_view_shows_progress_running_cells_and_failures() -> None:
    live = Live(Screen(), color=False)
    live.hear(news("experiment_started", done=0))
    live.hear(news("cell_started", cell=CELL))
    live.hear(news("cell_started", cell="notes/b/claude-code/with_skill/1"))
    live.hear(finished(state="failed", passed=1, eta_s=90.0, total_cost_usd=0.5))
    live._console.file = drawn = Screen()
    live._console.print(live._drawing())
    live.close()
    text = re.sub(r"\x1b\[[0-9;]*m", "", drawn.getvalue())
    assert "3/24" in text
    assert "about 90 s left · 0.50 USD" in text
    assert "1 failed" in text
    assert "notes/b/claude-code/with_skill/1" in text
    assert f"[3/24]  {CELL}  □ failed 1/2" in text


def test_the_live_view_leaves_the_terminal_as_it_was() -> None:
    screen = Screen()
    live = Live(screen, color=False)
    live.hear(news("experiment_started"))
    shown = [found[1] for found in re.finditer(r"\x1b\[\?25([hl])", screen.getvalue())]
    assert shown[-1:] == ["h"]  # a killed process can restore nothing, so the cursor is never left hidden
    live.close()
    live.close()
    live.hear(finished())


def test_the_live_view_off_a_terminal_draws_nothing() -> None:
    out = io.StringIO()
    live = Live(out)
    live.hear(news("experiment_started"))
    live.hear(finished())
    live.hear(news("experiment_finished"))
    live.close()
    assert "\x1b" not in out.getvalue()
    assert "3 of 24 runs finished" in out.getvalue()


def test_many_threads_write_whole_lines() -> None:
    out = io.StringIO()
    lines = Lines(out)
    threads = [threading.Thread(target=lambda: [lines.hear(finished()) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(out.getvalue().splitlines())) == 1
    assert len(out.getvalue().splitlines()) == 400
