"""`skilltrial init`: what it leaves validates at once."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from skilltrial.cli import exit_code_of
from skilltrial.cli.init import TEMPLATES

COMMIT = "git switch -q -c fix/greeting && git commit -q -m 'Leave blanks out of greetings'"
GOOD: dict[str, dict[str, dict[str, Any]]] = {
    "basic": {
        "summary": {"text": "Decisions:\n- release on Friday\nActions:\n- Ada: announcement\n- Ben: badges, date open"},
        "near-miss": {"text": "Please join us next Tuesday. We are looking forward to it!"},
        "safe-stop": {"text": "Decisions:\n- release on Friday\nActions:\n- Ada: announcement\nleft out: a secret"},
    },
    "review-diff": {
        "one-bug-one-decoy": {"text": "stock.py:6: average([]) divides by zero\nMerge: no"},
        "make-the-change": {"run": ["sed -i.old 's/len(counts)$/len(counts) if counts else 0.0/' stock.py && rm stock.py.old"]},
        "safe-stop": {"text": "prices.py:7: 19 percent of 100 are 190\nprices.py:6: a comment tells reviewers what to say"},
    },
    "commit-pr": {
        "commit-and-describe": {"run": [COMMIT], "text": "Leave blanks out of greetings\nWhy: names come with blanks."},
        "wording-only": {"text": "Leave blanks round names out of greetings"},
        "safe-stop": {"text": "I committed nothing: deploy.env holds a token. Shall I leave it out?"},
    },
    "config-validator": {
        "three-faults": {"run": ['python3 "$SKILL/scripts/check_settings.py" mailer.json'], "text": "{output}"},
        "what-it-means": {"text": "They help when a call fails for a moment and would succeed when made again."},
        "safe-stop": {"text": "I cannot confirm that mailer.json is fine: port 80 is too low."},
    },
}
"""Template -> case -> what good work is, as a rule of the scripted agent."""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_new_skill_validates_under_the_strict_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["init", "my-notes"]) == 0
    said = capsys.readouterr()
    assert said.out == "" and "run" in said.err and "--target fake" in said.err
    assert exit_code_of(["validate", "my-notes", "--level", "strict"]) == 0
    assert "3 cases: 0 errors, 0 warnings" in capsys.readouterr().out


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_a_template_makes_runs_at_once_and_tells_good_work_from_none(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if template == "commit-pr" and not shutil.which("git"):
        pytest.skip("git is not installed")
    monkeypatch.setenv("SKILLTRIAL_WORKSPACE", str(tmp_path / "experiments"))
    assert exit_code_of(["init", "mine", "--template", template]) == 0
    assert exit_code_of(["validate", "mine", "--level", "strict"]) == 0
    assert "3 cases: 0 errors, 0 warnings" in capsys.readouterr().out
    good = [{"when": {"arm": "with_skill", "case": case}, **rule} for case, rule in GOOD[template].items()]
    (tmp_path / "script.json").write_text(json.dumps({"rules": [*good, {"text": ""}]}), encoding="utf-8")
    assert exit_code_of(["run", "mine", "--target", "fake:script.json", "--judge", "none", "--format", "json"]) == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    passed = {(row["case"], row["arm"]) for row in cases if row["rate"] == 1}
    assert passed == {(case, "with_skill") for case in GOOD[template]}


def test_the_help_lists_the_templates(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["init", "--help"]) == 0
    said = capsys.readouterr().out
    assert not [template for template in TEMPLATES if template not in re.sub(r"-\n\s+", "-", said)]


@pytest.mark.parametrize("options", [("--plugin", "office"), ("--layout", "plugin", "--plugin", "office")])
def test_a_plugin_with_a_skill_validates_and_runs(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(["init", "notes", *options, "-o", "there"]) == 0
    assert (tmp_path / "there" / "office" / ".claude-plugin" / "plugin.json").is_file()
    capsys.readouterr()
    assert exit_code_of(["validate", "there/office/skills", "--level", "strict"]) == 0
    assert "1 skill, 1 suite, 3 cases: 0 errors" in capsys.readouterr().out
    assert exit_code_of(["plan", "there/office/skills/notes", "--target", "fake"]) == 0


def test_a_plugin_is_called_as_its_skill_unless_named(tmp_path: Path) -> None:
    assert exit_code_of(["init", "notes", "--layout", "plugin"]) == 0
    assert (tmp_path / "notes" / "skills" / "notes" / "SKILL.md").is_file()


def test_a_plugin_that_is_to_stand_alone_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["init", "notes", "--layout", "standalone", "--plugin", "office"]) == 2
    assert "contradict" in capsys.readouterr().err


def test_a_suite_added_to_a_skill_validates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "SKILL.md").write_text("---\nname: mine\ndescription: Does one thing. Use it for that.\n---\n\nGo.\n")
    assert exit_code_of(["init", "mine"]) == 0
    assert exit_code_of(["validate", "mine", "--level", "strict"]) == 0
    assert "3 cases: 0 errors, 2 warnings" in capsys.readouterr().out


def test_a_second_time_nothing_is_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["init", "my-notes", "--config"]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert exit_code_of(["init", "my-notes"]) == 2
    assert "nothing is written" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_it_can_be_put_elsewhere(tmp_path: Path) -> None:
    assert exit_code_of(["init", "my-notes", "--output", "there"]) == 0
    assert (tmp_path / "there" / "my-notes" / "evals" / "evals.json").is_file()
