"""Suites as users of the known tools have them, run without an edit: every case of both arms is measured."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from skilltrial.backends.local import bundled_weights
from skilltrial.load import project
from skilltrial.records.config import Config

SUITES = Path(__file__).parents[1] / "data" / "suites"
NAMES = sorted(path.name for path in SUITES.iterdir())
DIALECTS = {"claude-plugin-eval": "plugin-eval"}
NOT_FOR_CHAT = {
    "agent-skill-eval": ("tidy-json::2", "tidy-json::force"),
    "claude-plugin-eval": ("minutes::arithmetic",),
}
"""Cases of which every check needs a folder, a record of commands or of skills: a chat model has none, which is said before it runs."""
SET_ASIDE = {"agent-skill-eval": 1}
"""`file_unchanged` of a file that is no fixture: agent-skill-eval passes it, here there is nothing to compare with."""


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """Copies, so that nothing of a run is left beside the originals."""
    shutil.copytree(SUITES, tmp_path / "suites")
    return tmp_path


def test_every_known_tool_has_a_suite_here() -> None:
    assert {"agent-skill-eval", "agent-skills-eval", "claude-plugin-eval", "handbook", "skill-ab-eval"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_loads_without_an_error_and_is_known_for_what_it_is(trees: Path, name: str) -> None:
    loaded = project(Config(paths=(f"suites/{name}",)), trees)
    assert loaded.errors == ()
    assert [suite.dialect for suite in loaded.suites] == [DIALECTS.get(name, name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_runs_as_it_lies(skilltrial: Any, trees: Path, name: str) -> None:
    said = skilltrial("run", f"suites/{name}", "--target", "fake", "--judge", "fake", "--format", "json")
    assert said.code in (0, 1, 3), said.err
    cases = [case for suite in project(Config(paths=(f"suites/{name}",)), trees).suites for case in suite.cases]
    coverage = said.summary["coverage"]
    assert (coverage["failed_measurements"], coverage["set_aside"]) == ({}, SET_ASIDE.get(name, 0))
    assert {(row["case"], row["arm"]) for row in said.summary["cases"]} == {
        (case.id, arm) for case in cases for arm in ("with_skill", "without_skill")
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_runs_the_same_when_it_was_converted(skilltrial: Any, trees: Path, name: str) -> None:
    """The rates of both arms are those of the suite as it was."""
    target = ("--target", "fake", "--judge", "fake", "--format", "json")
    before = skilltrial("run", f"suites/{name}", *target).summary
    (skill,) = (path.parent for path in (trees / "suites" / name).rglob("SKILL.md"))
    made = trees / "suites" / name / "converted.json"
    assert skilltrial("convert", f"suites/{name}", "-o", made).code == 0
    assert json.loads(made.read_text(encoding="utf-8"))["evals"]
    after = skilltrial("run", "--skill", skill, "--evals", made, *target).summary
    keys = ("arm", "activation", "cases", "graded", "pass_rate", "mean_score")
    assert [{key: row[key] for key in keys} for row in after["rates"]] == [
        {key: row[key] for key in keys} for row in before["rates"]
    ]
    assert len(after["rates"]) >= 2


@pytest.mark.real
@pytest.mark.local_model
@pytest.mark.parametrize("name", NAMES)
def test_a_suite_runs_as_it_lies_on_the_local_model(skilltrial: Any, trees: Path, name: str) -> None:
    """Whatever so small a model answers: every run is made, and each is graded or has a reason."""
    if find_spec("xllamacpp") is None or bundled_weights() is None:
        pytest.skip("needs: skilltrial agents --install local")
    words = (
        "run", f"suites/{name}", "--target", "local", "--judge", "fake", "--target-param", "max_tokens=40", "--timeout", "300",
        "--format", "json",
    )  # fmt: skip
    if name in NOT_FOR_CHAT:
        refused = skilltrial(*words)
        assert (refused.code, refused.out) == (2, "") and all(case in refused.err for case in NOT_FOR_CHAT[name])
        words = (*words, "--grade-later")
    said = skilltrial(*words)
    assert "Traceback" not in said.err
    coverage = said.summary["coverage"]
    ungraded = {"judge_error": 2 * len(NOT_FOR_CHAT[name])} if name in NOT_FOR_CHAT else {}
    assert (coverage["finished"], coverage["failed_measurements"]) == (coverage["planned"], ungraded), said.err
    assert coverage["graded"] > 0
    states = {row["case"]: row["measured"] for row in said.summary["cases"]}
    assert {case for case, measured in states.items() if not measured} == {
        one.split("::")[1] for one in NOT_FOR_CHAT.get(name, ())
    }
