"""A canary before the suite proves the baseline clean, or stops the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skilltrial.flows.certify import _judged
from skilltrial.records.evidence import AgentRun, Event, Inventory, Timing

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
