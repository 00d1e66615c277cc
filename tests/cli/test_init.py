"""`skilltrial init`: what it leaves validates at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from skilltrial.cli import exit_code_of


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_new_skill_validates_under_the_strict_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["init", "my-notes"]) == 0
    said = capsys.readouterr()
    assert said.out == "" and "run" in said.err and "--target fake" in said.err
    assert exit_code_of(["validate", "my-notes", "--level", "strict"]) == 0
    assert "3 cases: 0 errors, 0 warnings" in capsys.readouterr().out


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
