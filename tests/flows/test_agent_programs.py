"""Whole trials with small agent programs under the real ones' names: from the command line to what was recorded."""

from __future__ import annotations

import json
import os
import secrets
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from skilltrial.backends._command_line import CONCURRENCY
from skilltrial.flows import certify
from skilltrial.records.certificate import Certificate

from . import agents
from .live import until


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


def test_what_a_judge_does_not_have_stands_with_its_answers(
    skilltrial: Any, new_skill: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    agents.install(tmp_path, "gemini", agents.GEMINI, monkeypatch)
    (tmp_path / "skilltrial.yaml").write_text(
        "targets: [{backend: fake, name: fake}]\njudge: {backend: gemini, options: {reasoning_effort: high}}\n", encoding="utf-8"
    )
    skilltrial("run", new_skill([{"id": 1, "prompt": "Say 1.", "assertions": ["It answers."]}]), "--sandbox", "none", "--tree")
    calls = [call for path in tmp_path.rglob("judge.json") for call in json.loads(path.read_text(encoding="utf-8"))]
    told = {text for call in calls for text in call["warnings"]}
    assert told == {"gemini has no setting for reasoning effort: 'high' is not passed on"}
    assert all(call["warnings"] for call in calls)


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


# ---------------------------------------------------------------- FC-08: parallel trigger runs share one folder
FIRST_SKILL = """\
seen = {"cwd": os.getcwd(), "home": os.environ["HOME"], "skills": found, "config": os.environ.get("CLAUDE_CONFIG_DIR")}
with open(LOG, "a") as log:
    log.write(json.dumps(seen) + "\\n")
(Path.home() / "left-by-the-agent").touch()
fired = [("Skill", {"skill": found[0]})] if found and "sky" in prompt else []
answers("done", *fired)
"""


def queries(count: int) -> list[dict[str, Any]]:
    """As many that should fire the skill as should not."""
    wanted = [{"id": f"yes-{n}", "prompt": f"What colour is sky {n}?", "should_trigger": True} for n in range(count)]
    unwanted = [{"id": f"no-{n}", "prompt": f"Add {n} and 1.", "should_trigger": False} for n in range(count)]
    for case in wanted + unwanted:
        case["checks"] = [{"id": "fired", "type": "loaded_skill", "skill": "colours", "loaded": case["should_trigger"]}]
    return wanted + unwanted


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_eight_workers_fire_the_skill_as_often_as_one(skilltrial: Any, new_skill: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """FC-08: each run has its own project folder and home, and finds one skill there, under its own name."""
    own_home, project = tmp_path / "home", tmp_path / "colours"
    (own_home / ".claude/skills").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(own_home))
    log = tmp_path / "seen.jsonl"
    agents.install(tmp_path, "claude", f"LOG = {str(log)!r}\n{agents.CLAUDE}{FIRST_SKILL}", monkeypatch)
    new_skill(queries(4))
    before = below(own_home) | below(project)
    rows = {}
    for workers in (1, 8):
        log.unlink(missing_ok=True)
        said = skilltrial(
            "run", "colours", "--target", "claude-code", "--sandbox", "none", "--no-certify", "-c", workers, "--format", "json"
        )
        (row,) = said.summary["activation"]
        rows[workers] = {key: row[key] for key in ("activated", "read", "not_seen", "unknown")}
        assert said.summary["coverage"]["failed_measurements"] == {}, said.err
        seen = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        assert len(seen) == 16
        assert (
            len({run["cwd"] for run in seen}) == len({run["home"] for run in seen}) == len({run["config"] for run in seen}) == 16
        )
        assert sorted(run["skills"] for run in seen) == [[]] * 8 + [["colours"]] * 8
        assert not any(Path(run[place]).exists() for run in seen for place in ("cwd", "home"))
    assert rows[1] == rows[8] == {"activated": 4, "read": 0, "not_seen": 4, "unknown": 0}
    assert below(own_home) | below(project) == before


# ---------------------------------------------------------------- FC-10, FC-11: what the agent can find
LOOK_ROUND = """\
def upward():
    here = Path.cwd()
    for folder in (here, *here.parents):
        yield from (folder / ".claude/skills", folder / ".agents/skills")
    for home in {Path.home(), Path(os.environ["CLAUDE_CONFIG_DIR"])}:
        yield from (home / ".claude/skills", home / ".agents/skills", home / "skills")

visible = sorted({str(path.resolve()) for folder in upward() if folder.is_dir() for path in folder.glob("*/SKILL.md")})
places = {Path.cwd(), Path.cwd().parent, Path.home(), Path.home().parent}
key = sorted({
    str(path) for place in places for path in place.rglob("*")
    if path.is_file() and path.stat().st_size < 100_000 and b"forty-two" in path.read_bytes()
})
with open(LOG, "a") as log:
    log.write(json.dumps({"visible": visible, "key": key, "listed": found}) + "\\n")
answers("done")
"""


def test_the_baseline_sees_none_of_77_skills_and_the_other_arm_one_and_neither_the_answers(
    skilltrial: Any, new_skill: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """FC-10 and FC-11: called in a repository that is full of skills, with a copy in the user's home."""
    own_home, log = tmp_path / "home", tmp_path / "seen.jsonl"
    monkeypatch.setenv("HOME", str(own_home))
    agents.install(tmp_path, "claude", f"LOG = {str(log)!r}\n{agents.CLAUDE}{LOOK_ROUND}", monkeypatch)
    checks = [{"id": "answer", "type": "not_contains", "value": "forty-two"}]
    skill = new_skill(
        [{"id": 1, "prompt": "Look round.", "checks": checks, "expected_output": "forty-two"}],
        files={"evals/notes.md": "forty-two"},
    )
    for number in range(77):
        for folder in (".claude", ".agents"):
            spot = tmp_path / folder / "skills" / f"demo-{number}"
            spot.mkdir(parents=True)
            (spot / "SKILL.md").write_text("---\nname: demo\ndescription: d\n---\n", encoding="utf-8")
    spot = own_home / ".claude/skills/colours"
    spot.mkdir(parents=True)
    (spot / "SKILL.md").write_text((skill / "SKILL.md").read_text(encoding="utf-8"), encoding="utf-8")
    said = skilltrial("run", skill, "--target", "claude-code", "--sandbox", "none", "--no-certify", "--format", "json")
    assert said.summary["coverage"]["graded"] == 2, said.err
    seen = sorted(
        (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()), key=lambda run: len(run["visible"])
    )
    assert [len(run["visible"]) for run in seen] == [0, 1]
    assert [run["listed"] for run in seen] == [[], ["colours"]]
    assert [run["key"] for run in seen] == [[], []]
    assert said.summary["isolation"][0]["clean"] is True


def test_a_baseline_that_uses_the_skill_is_marked_contaminated(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """FC-10: the program found it somewhere all the same."""
    agents.install(tmp_path, "claude", f"{agents.CLAUDE}answers('BLUE', ('Skill', {{'skill': 'colours'}}))\n", monkeypatch)
    said = skilltrial(
        "run", new_skill(colours[:2]), "--target", "claude-code", "--sandbox", "none", "--no-certify", "--format", "json"
    )
    assert {case["arm"]: case["state"] for case in said.summary["cases"]}["without_skill"] == "open"
    (row,) = said.summary["isolation"]
    assert row["clean"] is False and "2 of 2 baseline runs" in row["reason"]
    assert said.summary["lifts"][0]["verdict"] == "not measured"
    assert "contaminated" in skilltrial("report").out


# ---------------------------------------------------------------- FC-12: the arm with the skill never had it
STATES = {
    "never there": ("found.clear()", "answers('BLUE')", "not measured"),
    "there and not used": ("", "answers('BLUE')", "used"),
    "used": ("", "answers('BLUE', *[('Skill', {'skill': name}) for name in found])", "used"),
}


@pytest.mark.parametrize("state", STATES)
def test_never_there_and_not_used_and_used_without_effect_are_told_apart(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: Any, state: str
) -> None:
    """FC-12: all three answer alike in both arms; only where the skill was there is that a result about it."""
    hidden, does, _ = STATES[state]
    head = agents.CLAUDE.replace('skills(".claude/skills")\n', f'skills(".claude/skills")\n{hidden}\n')
    agents.install(tmp_path, "claude", f"{head}{does}\n", monkeypatch)
    said = skilltrial(
        "run", new_skill(colours[:2]), "--target", "claude-code", "--sandbox", "none", "--no-certify", "-n", 2, "--format", "json"
    )
    (lift,), (activation,), (isolation,) = (said.summary[name] for name in ("lifts", "activation", "isolation"))
    text = skilltrial("report").out
    if state == "never there":
        assert (lift["verdict"], lift["lift"], isolation["clean"]) == ("not measured", None, False)
        assert "no evidence that the skill was available in 4 of 4 runs with it" in isolation["reason"]
        assert "no evidence that the skill was available" in text
    else:
        assert (lift["lift"], isolation["clean"]) == (0.0, True)
        used = 4 if state == "used" else 0
        assert (activation["activated"], activation["not_seen"]) == (used, 4 - used)


# ---------------------------------------------------------------- shards
SECRET = """\
import re
def answer():
    for path in Path(".claude/skills").glob("*/SKILL.md"):
        if word := re.search("secret word is ([a-z]+)", path.read_text()):
            return word[1]
    return "UNKNOWN" if "secret word" in prompt else "BLUE"
"""
"""Tells the canary's word when it was given the canary."""


def test_merged_shards_keep_their_certificates_and_what_they_left_behind(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    agents.install(tmp_path, "claude", f"{agents.CLAUDE}{SECRET}answers(answer())\n", monkeypatch)
    skill, base = new_skill(colours[:2]), tmp_path / "kept"
    base.mkdir()
    for shard in ("1/2", "2/2"):
        said = skilltrial(
            "run", skill, "--target", "claude-code", "--sandbox", "none", "--shard", shard, "--keep-workspaces", "all", "--gate",
            "none", "--workspaces-dir", base,
        )  # fmt: skip
        assert said.code == 0, said.err
    workspace = tmp_path / "skilltrial-workspace"
    shards = [workspace / f"iteration-{number}" for number in (1, 2)]
    left = [path for shard in shards for path in json.loads((shard / "cleanup.json").read_text())["workspaces"]]
    assert len(left) == 4 and all(Path(path).is_dir() for path in left)
    assert skilltrial("merge", *shards).code == 0
    merged = workspace / "iteration-3"
    assert sorted(json.loads((merged / "cleanup.json").read_text())["workspaces"]) == sorted(left)
    (certificate,) = json.loads((merged / "certificates.json").read_text())
    assert (certificate["target"], certificate["clean"]) == ("claude-code", True)
    assert json.loads((merged / "summary.json").read_text())["isolation"][0]["reason"] == certificate["reason"]
    assert skilltrial("cleanup", "3", "--yes").code == 0
    assert not any(Path(path).exists() for path in left)


def test_of_several_certificates_the_one_that_vouches_for_least_holds(tmp_path: Path) -> None:
    def made(clean: bool | None, reason: str) -> Certificate:
        return Certificate(target="t", key="k", clean=clean, reason=reason, made_at="2026-01-01T00:00:00Z")

    certify.gathered(tmp_path, [made(True, "known"), made(None, "no sign"), made(True, "again")])
    assert [(one.clean, one.reason) for one in certify.read(tmp_path)] == [(None, "no sign")]
    certify.gathered(tmp_path, [made(None, "no sign"), made(False, "it knew the word")])
    assert [one.clean for one in certify.read(tmp_path)] == [False]


# ---------------------------------------------------------------- killed
LINGERS = """\
import subprocess, time
subprocess.Popen(["sleep", TOKEN], start_new_session=True)
open(READY, "w").close()
time.sleep(300 if not os.path.exists(AGAIN) else 0)
answers("BLUE")
"""


@pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="the system does not tell who left what")
def test_what_a_killed_trial_left_running_is_ended_by_the_next_one(
    live: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """At level `none` nothing ends an agent whose skilltrial was killed, until skilltrial starts again."""
    token, ready, again = f"300.{secrets.randbelow(10**9)}", tmp_path / "ready", tmp_path / "again"
    head = f"TOKEN, READY, AGAIN = {token!r}, {str(ready)!r}, {str(again)!r}\n"
    program = agents.install(tmp_path, "claude", f"{head}{agents.CLAUDE}{LINGERS}", monkeypatch)
    new_skill(colours[:1])
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": "a-key-of-the-user"}
    killed = live.start("run", "colours", "--target", "claude-code", "--sandbox", "none", "--no-certify", env=env)
    until(ready.exists, "the agent's start", killed)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    again.touch()
    said = live.call("resume", env=env)
    assert said.code in (0, 1, 3), said.err
    running = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [line for line in running if token in line]
    assert not [line for line in running if str(program) in line]
