"""A canary before the suite proves the baseline clean, or stops the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skilltrial.flows.certify import _judged
from skilltrial.records.evidence import AgentRun, Event, Inventory, Timing

from . import agents

TIME = Timing(started_at="2026-01-01T00:00:00Z", duration_s=1.0)
NAME, WORD = "secret-word-bcdf", "bcdfghjklmnp"


def run(text: str = "UNKNOWN", **fields: Any) -> AgentRun:
    return AgentRun(**{"outcome": "ok", "text": text, "timing": TIME, **fields})


@pytest.mark.parametrize(
    ("with_it", "without", "clean"),
    [
        (run(f"It is {WORD}."), run(), True),
        (run(inventory=Inventory(skills=(NAME,))), run(inventory=Inventory(skills=())), True),
        (run(inventory=Inventory(skills=(f"plugin:{NAME}",))), run(), True),
        (run(), run(), None),
        (run(WORD), run(WORD), False),
        (run(WORD), run(inventory=Inventory(skills=(NAME,))), False),
        (run(WORD), run(events=(Event(kind="tool_result", text=f"The secret word is {WORD}"),)), False),
        (run("", outcome="timeout"), run(), None),
        (run(WORD), run("", outcome="infrastructure_error"), None),
    ],
)
def test_only_a_word_known_with_the_canary_and_unknown_without_certifies(
    with_it: AgentRun, without: AgentRun, clean: bool | None
) -> None:
    assert _judged(WORD, NAME, with_it, without)[0] is clean


def test_the_bare_name_in_the_answer_proves_nothing() -> None:
    assert _judged(WORD, NAME, run(WORD), run(f"I have no skill {NAME}"))[0] is True


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake backend takes the part of an agent program."""
    from skilltrial.backends.fake import Fake

    monkeypatch.setattr(Fake, "capabilities", Fake.capabilities.model_copy(update={"program": True}))


@pytest.mark.usefixtures("program")
def test_a_certificate_is_made_once_for_a_workspace_and_kept_with_each_experiment(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    skill = new_skill(colours)
    for number in (1, 2):
        said = skilltrial("run", skill, "--target", "fake", "--format", "json")
        (row,) = said.summary["isolation"]
        assert row["clean"] is True
        kept = json.loads((tmp_path / f"skilltrial-workspace/iteration-{number}/certificates.json").read_text())
        assert [(one["clean"], one["cached"]) for one in kept] == [(True, number == 2)]


@pytest.mark.usefixtures("program")
def test_a_run_without_the_canary_has_no_certificate(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skilltrial("run", new_skill(colours), "--target", "fake", "--no-certify")
    assert not list(tmp_path.rglob("certificates.json"))


@pytest.mark.usefixtures("program")
def test_a_run_in_the_users_own_home_is_said_in_every_report(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    said = skilltrial("run", new_skill(colours), "--target", "fake", "--user-home", "--format", "json")
    assert any("--user-home" in warning for warning in said.summary["warnings"])
    assert "--user-home" in (tmp_path / "skilltrial-workspace/iteration-1/report.md").read_text()
    assert "--user-home" in (tmp_path / "skilltrial-workspace/iteration-1/report/index.html").read_text()
    refused = skilltrial("run", "colours", "--target", "fake", "--user-home", "--sandbox", "docker")
    assert refused.code == 2 and "--user-home" in refused.err


def test_agents_gives_a_backend_one_tiny_task_on_request(skilltrial: Any, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve("READY")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    said = skilltrial("agents", "openai:m", "--probe")
    assert said.code == 0 and "answered 'READY'" in said.out and server.stats.calls == 1
    assert "answered" in skilltrial("agents", "fake", "--probe").out
    assert skilltrial("agents", "openai:m").code == 0 and server.stats.calls == 1


# ---------------------------------------------------------------- through small agent programs under the real ones' names
ANSWER = """\
import re
def answer(folder, prompt):
    if "secret word" not in prompt:
        return "BLUE"
    for path in Path(folder).glob("*/SKILL.md"):
        if word := re.search("secret word is ([a-z]+)", path.read_text()):
            return word[1]
    return "UNKNOWN"
"""
"""The canary's word where the canary lies."""
TOLD = 'open(LOG, "a").write(("canary" if "secret word" in prompt else "case") + "\\n")\n'
CLAUDE = f"{agents.CLAUDE}{ANSWER}{TOLD}"
CODEX = agents.CODEX.replace("sys.stdin.read()", f"from pathlib import Path\nprompt = sys.stdin.read()\n{ANSWER}{TOLD}").replace(
    '"BLUE"}', 'answer(".agents/skills", prompt)}'
)


class Trial:
    """A suite of one case, and a fake program that notes what it was asked."""

    def __init__(self, skilltrial: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.skilltrial, self.folder, self.monkeypatch = skilltrial, folder, monkeypatch
        self.log = folder / "asked.log"

    def program(self, name: str, body: str) -> None:
        agents.install(self.folder, name, f"LOG = {str(self.log)!r}\n{body}", self.monkeypatch)

    def run(self, target: str, *options: object) -> Any:
        self.log.unlink(missing_ok=True)
        return self.skilltrial(
            "run", "colours", "--target", target, "--sandbox", "none", "--gate", "none", "--format", "json", *options
        )

    def asked(self) -> dict[str, int]:
        lines = self.log.read_text(encoding="utf-8").split() if self.log.exists() else []
        return {kind: lines.count(kind) for kind in ("canary", "case")}

    def certificates(self, number: int) -> list[dict[str, Any]]:
        path = self.folder / f"skilltrial-workspace/iteration-{number}/certificates.json"
        found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return found


@pytest.fixture
def trial(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    new_skill(colours[:1])
    return Trial(skilltrial, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("program", "body", "target"),
    [("claude", f"{CLAUDE}answers(answer('.claude/skills', prompt))\n", "claude-code"), ("codex", CODEX, "codex")],
)
def test_a_program_that_knows_the_word_only_where_the_canary_lies_is_certified(
    trial: Trial, program: str, body: str, target: str
) -> None:
    trial.program(program, body)
    said = trial.run(target)
    assert said.code == 0, said.err
    (certificate,) = trial.certificates(1)
    assert (certificate["target"], certificate["clean"], certificate["cached"]) == (target, True, False)
    assert trial.asked() == {"canary": 2, "case": 2}
    (row,) = said.summary["isolation"]
    assert (row["clean"], row["reason"]) == (True, "the canary was known with it and unknown without it")
    assert "baseline clean on 1 of 1 target" in trial.skilltrial("report", "--format", "markdown").out


def test_a_certificate_holds_for_the_same_version_and_settings_and_for_no_others(trial: Trial) -> None:
    body = f"{CLAUDE}answers(answer('.claude/skills', prompt))\n"
    trial.program("claude", body)
    steps: list[tuple[tuple[object, ...], bool]] = [
        ((), False),
        ((), True),
        (("-n", 2, "--metric", "cases"), True),
        (("--reasoning-effort", "high"), False),
        (("--reasoning-effort", "high"), True),
        ((), True),
    ]
    for number, (options, cached) in enumerate(steps, 1):
        assert trial.run("claude-code", *options).code == 0
        assert trial.asked()["canary"] == (0 if cached else 2), (number, options)
        assert [one["cached"] for one in trial.certificates(number)] == [cached]
    trial.program("claude", body.replace('"2.1.332"), "(Claude', '"2.1.400"), "(Claude'))
    assert trial.run("claude-code").code == 0
    assert trial.asked()["canary"] == 2, "another version is another program"


POLLUTED = """\
import shutil
kept = Path(LOG).parent / "global-skills"
if Path(".claude/skills").is_dir():
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(".claude/skills", kept)
answers(answer(kept, prompt))
"""
"""What one run was given shows up in the next, as where a program keeps skills in a place that all runs share."""


def test_a_polluted_baseline_is_refused_before_anything_is_paid_for(trial: Trial) -> None:
    trial.program("claude", f"{CLAUDE}{POLLUTED}")
    said = trial.run("claude-code")
    assert (said.code, said.out) == (2, "")
    assert "claude-code: the baseline knew the canary's word: it sees skills that it was not given" in said.err
    assert "--no-certify" in said.err
    assert trial.asked() == {"canary": 2, "case": 0}
    assert [one["clean"] for one in trial.certificates(1)] == [False]
    assert trial.run("claude-code").code == 2, "no certificate is kept of it"
    assert trial.asked()["canary"] == 2


def test_without_a_canary_every_report_says_so(trial: Trial) -> None:
    """Also where the program lists the skills it sees, so that each run tells by itself."""
    trial.program("codex", CODEX)
    said = trial.run("codex", "--no-certify")
    (row,) = said.summary["isolation"]
    assert row["clean"] is None and "no canary was run (--no-certify)" in row["reason"]
    assert trial.asked() == {"canary": 0, "case": 2}
    trial.program("claude", f"{CLAUDE}answers('BLUE')\n")
    listed = trial.run("claude-code", "--no-certify")
    assert listed.summary["isolation"][0]["clean"] is True
    for number in (1, 2):
        for form in ("text", "markdown"):
            assert "no canary was run (--no-certify)" in trial.skilltrial("report", number, "--format", form).out
        page = (trial.folder / f"skilltrial-workspace/iteration-{number}/report/index.html").read_text(encoding="utf-8")
        assert "no canary was run (--no-certify)" in page


def test_a_program_that_gives_no_sign_of_the_canary_is_not_certified_and_the_report_says_so(trial: Trial) -> None:
    trial.program("codex", agents.CODEX)
    said = trial.run("codex")
    assert said.code == 0
    assert "warning: codex: not certified: the program gave no sign of the canary in the arm that had it" in said.err
    (row,) = said.summary["isolation"]
    assert (row["clean"], row["reason"]) == (None, "the program gave no sign of the canary in the arm that had it")
    assert row["reason"] in trial.skilltrial("report", "--format", "markdown").out
    assert trial.run("codex").code == 0 and [one["cached"] for one in trial.certificates(2)] == [False], "it is tried again"


def test_a_resumed_trial_is_not_certified_twice(trial: Trial) -> None:
    trial.program("codex", CODEX)
    assert trial.run("codex").code == 0
    assert trial.skilltrial("resume").code == 0
    assert trial.asked() == {"canary": 2, "case": 2}
