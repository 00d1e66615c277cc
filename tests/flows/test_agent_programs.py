"""Whole trials with small agent programs under the real ones' names: from the command line to what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skilltrial.backends._command_line import CONCURRENCY

from . import agents


def test_a_limit_that_a_program_cannot_be_held_to_is_a_warning_of_each_run(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    agents.install(tmp_path, "codex", agents.CODEX, monkeypatch)
    limited = [{**case, "limits": {"max_requests": 3, "max_turns": 2, "max_tokens": 5}} for case in colours[:1]]
    said = skilltrial("run", new_skill(limited), "--target", "codex", "--sandbox", "none", "--no-certify", "--gate", "none")
    assert said.code == 0, said.err
    metas = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("run_meta.json")]
    assert len(metas) == 2
    for meta in metas:
        warned = " ".join(meta["warnings"])
        assert all(f"({name}) is not enforced" in warned for name in ("max_requests", "max_turns", "max_tokens")), warned


ALONE = """\
import time
from pathlib import Path
running = Path({folder!r}) / "running"
try:
    running.mkdir()
except FileExistsError:
    (running.parent / "overlap").touch()
time.sleep(0.05)
"""
LAST = """
running.rmdir()
"""


def test_agent_programs_share_one_limit_over_all_targets(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """`-c 1` with two program targets is one run at a time on this machine."""
    alone = ALONE.format(folder=str(tmp_path))
    agents.install(tmp_path, "claude", f"{agents.CLAUDE}{alone}answers('BLUE'){LAST}", monkeypatch)
    head, tail = agents.CODEX.split("sys.stdin.read()")
    agents.install(tmp_path, "codex", f"{head}{alone}sys.stdin.read(){tail}{LAST}", monkeypatch)
    said = skilltrial(
        "run", new_skill(colours[:2]), "--target", "claude-code", "--target", "codex", "--sandbox", "none", "--no-certify",
        "-c", 1, "--format", "json",
    )  # fmt: skip
    assert said.summary["coverage"]["graded"] == 8, said.err
    assert not (tmp_path / "overlap").exists()
    shown = skilltrial("plan", "colours", "--target", "claude-code", "--target", "codex", "--sandbox", "none", "-c", 3).out
    assert "agent programs share this machine: 3 runs at once over all of them" in shown


COUNTED = """\
mine = Path({folder!r}) / str(os.getpid())
mine.touch()
together = len(list(mine.parent.iterdir()))
with open({folder!r} + ".log", "a") as log:
    log.write(f"{{together}}\\n")
"""


def test_programs_that_judge_the_answers_of_an_endpoint_share_a_limit_too(
    skilltrial: Any, new_skill: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """An endpoint answers sixteen at once; no sixteen agents are started to judge that."""
    running = tmp_path / "running"
    running.mkdir()
    verdict = json.dumps({"results": [{"id": 1, "passed": True, "evidence": "x"}]})
    body = f"{agents.CLAUDE}{COUNTED.format(folder=str(running))}answers({verdict!r})\nmine.unlink()\n"
    agents.install(tmp_path, "claude", body, monkeypatch)
    cases = [{"id": n, "prompt": f"Say {n}.", "assertions": ["It answers."]} for n in range(6)]
    said = skilltrial(
        "run", new_skill(cases), "--target", "fake", "--judge", "claude-code", "--sandbox", "none", "--format", "json"
    )
    assert said.summary["judge"][0]["calls"] >= 12, said.err
    at_once = [int(line) for line in (tmp_path / "running.log").read_text(encoding="utf-8").splitlines()]
    assert len(at_once) >= 12 and max(at_once) <= CONCURRENCY
