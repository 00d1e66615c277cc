"""Fewer cases than there are: skills changed since a commit, and what failed before."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import HELPFUL, script

needs_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
NAMES = ("alpha", "beta", "gamma")


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, new_skill: Any, skilltrial: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three skills in a repository whose `origin/main` is its first commit; gamma's suite lies in tests/gamma with a fixture."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in NAMES:
        new_skill([{"id": 1, "prompt": f"Say {name}.", "checks": [{"type": "contains", "value": name}]}], name=f"skills/{name}")
        text = (tmp_path / f"skills/{name}/SKILL.md").read_text().replace(f"name: skills/{name}", f"name: {name}")
        (tmp_path / f"skills/{name}/SKILL.md").write_text(text)
        suite = tmp_path / f"skills/{name}/evals/evals.json"
        suite.write_text(json.dumps({**json.loads(suite.read_text()), "skill_name": name}))
    (tmp_path / "tests/gamma").mkdir(parents=True)
    shutil.move(tmp_path / "skills/gamma/evals", tmp_path / "tests/gamma/evals")
    suite = tmp_path / "tests/gamma/evals/evals.json"
    value = json.loads(suite.read_text())
    value["evals"][0]["files"] = ["data/numbers.txt"]
    suite.write_text(json.dumps(value))
    (tmp_path / "data").mkdir()
    (tmp_path / "data/numbers.txt").write_text("1 2 3\n")
    (tmp_path / ".gitignore").write_text("skilltrial-workspace/\n*.json.script\n")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "base")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    return tmp_path


@pytest.fixture
def changed(skilltrial: Any) -> Callable[..., Any]:
    def run(*options: object) -> Any:
        return skilltrial("run", "skills", "--target", "fake", "--changed-only", "--format", "json", *options)

    return run


def ran(said: Any) -> set[str]:
    return {rate["skill"] for rate in said.summary["rates"]}


@needs_git
def test_nothing_changed_is_no_fault_and_makes_no_experiment(repository: Path, changed: Any) -> None:
    said = changed()
    assert (said.code, said.out) == (0, "")
    assert "none of 3 skills changed since origin/main" in said.err
    assert not (repository / "skilltrial-workspace").exists()


@needs_git
def test_only_skills_changed_on_the_branch_or_not_committed_are_run_and_named(repository: Path, changed: Any) -> None:
    with (repository / "skills/alpha/SKILL.md").open("a") as skill:
        skill.write("More.\n")
    git(repository, "commit", "-am", "alpha")
    said = changed()
    assert said.code == 0 and ran(said) == {"alpha"}
    assert "changed since origin/main: alpha (1 of 3 skills)" in said.err
    (repository / "skills/beta/references").mkdir()
    (repository / "skills/beta/references/new.md").write_text("not even added")
    assert ran(changed()) == {"alpha", "beta"}
    assert ran(changed("--base-ref", "HEAD")) == {"beta"}
    assert ran(changed("--all-suites")) == set(NAMES), "the last of the two holds"


@needs_git
@pytest.mark.parametrize("path", ["tests/gamma/evals/evals.json", "data/numbers.txt"])
def test_a_suite_or_a_fixture_elsewhere_counts_as_its_skills(path: str, repository: Path, changed: Any) -> None:
    with (repository / path).open("a") as file:
        file.write(" \n")
    assert ran(changed()) == {"gamma"}


@needs_git
def test_what_only_the_base_gained_is_no_change(repository: Path, changed: Any) -> None:
    git(repository, "checkout", "-b", "side")
    (repository / "skills/beta/SKILL.md").write_text("---\nname: beta\ndescription: other\n---\n")
    git(repository, "commit", "-am", "beta")
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(repository, "checkout", "-")
    assert changed().code == 0 and changed().out == ""


@needs_git
def test_a_base_that_git_does_not_know_is_an_error_with_gits_words(repository: Path, changed: Any) -> None:
    said = changed("--base-ref", "origin/gone")
    assert said.code == 2 and "origin/gone" in said.err and "--base-ref" in said.err
    assert changed("--base-ref=--all").code == 2


def test_outside_a_repository_nothing_can_be_called_changed(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    new_skill(colours)
    said = skilltrial("run", "colours", "--target", "fake", "--changed-only")
    assert said.code == 2 and "lies in no git repository" in said.err


# ---------------------------------------------------------------- what failed before
@pytest.fixture
def twice(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> Callable[..., Any]:
    """`twice({...rules})`: four cases run by a script, then once more as `--last-failed`."""
    new_skill(colours)

    def run(*rules: dict[str, Any], first: tuple[object, ...] = ()) -> Any:
        before = script(tmp_path / "before.json", *rules)
        skilltrial("run", "colours", "--target", f"fake:{before}", "--retries", 0, *first)
        after = script(tmp_path / "after.json", *HELPFUL)
        return skilltrial("run", "colours", "--target", f"fake:{after}", "--last-failed", "--format", "json")

    return run


def test_only_cases_that_failed_or_were_not_measured_run_again_in_both_arms(twice: Any) -> None:
    wrong = {"when": {"case": "2", "arm": "with_skill"}, "text": "RED"}
    down = {"when": {"case": "3", "arm": "without_skill"}, "outcome": "infrastructure_error", "reason": "down"}
    said = twice(wrong, down, *HELPFUL)
    assert {(row["case"], row["arm"]) for row in said.summary["cases"]} == {
        (case, arm) for case in "23" for arm in ("with_skill", "without_skill")
    }
    assert "failed or not measured in iteration-1: 2 of 4 cases" in said.err
    assert said.code == 0


def test_a_baseline_that_fails_its_checks_is_what_a_baseline_does(twice: Any, tmp_path: Path) -> None:
    said = twice(*HELPFUL)
    assert (said.code, said.out) == (0, "")
    assert "nothing failed in iteration-1" in said.err
    assert not (tmp_path / "skilltrial-workspace/iteration-2").exists()


def test_a_case_expected_to_fail_is_not_run_again_for_it(twice: Any, tmp_path: Path) -> None:
    (tmp_path / "skilltrial.yaml").write_text("xfail: [colours::2]\n")
    said = twice({"when": {"case": "2"}, "text": "RED"}, *HELPFUL)
    assert said.code == 0 and "nothing failed" in said.err


def test_from_names_the_experiment_and_what_is_gone_by_now_is_said(twice: Any, skilltrial: Any, tmp_path: Path) -> None:
    twice({"when": {"case": "2"}, "text": "RED"}, *HELPFUL)
    skilltrial("run", "colours", "--target", "fake", "--eval-id", "1")
    good = f"fake:{tmp_path / 'after.json'}"
    for which in ("1", "iteration-1", tmp_path / "skilltrial-workspace/iteration-1"):
        said = skilltrial("run", "colours", "--target", good, "--from", which, "--dry-run")
        assert said.code == 0 and said.out.startswith("2 cells"), said.err
    gone = skilltrial("run", "colours", "--target", good, "--from", "1", "--eval-id", "4")
    assert gone.code == 2 and "colours::2" in gone.err
    assert skilltrial("run", "colours", "--target", good, "--from", "77").code == 2


def test_another_tools_failures_choose_cases_too(skilltrial: Any, new_skill: Any) -> None:
    tree = Path(__file__).parents[1] / "data/foreign/ase-py/three-agents-single-run/iteration-1"
    new_skill([{"id": case, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]} for case in ("c", "d")], name="real")
    said = skilltrial("run", "real", "--target", "fake", "--from", tree, "--format", "json")
    assert {row["case"] for row in said.summary["cases"]} == {"c"}


def test_suites_side_by_side_share_one_pool_and_that_is_said(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    new_skill(colours)
    said = skilltrial("run", "colours", "--target", "fake", "-c", 2, "--suite-concurrency", 3, "--dry-run")
    assert said.code == 0 and "6 at once" in said.err and ", 6 at once" in said.out
    assert "one pool" in skilltrial("run", "colours", "--target", "fake", "--suite-concurrency", 3, "--dry-run").err


# ---------------------------------------------------------------- one bad skill among many
def test_a_bad_skill_does_not_stop_the_others_and_every_report_says_that_it_was_left_out(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    for name in ("good-a", "good-b"):
        new_skill(colours, name=name)
    (new_skill(colours, name="bad") / "evals/evals.json").write_text("{")
    shutil.rmtree(new_skill(colours, name="bare") / "evals")
    assert skilltrial("run", ".", "--target", "fake").code == 2
    said = skilltrial("run", ".", "--target", "fake", "--skip-invalid", "--format", "json", "-o", "out.xml")
    assert said.code == 1 and {rate["skill"] for rate in said.summary["rates"]} == {"good-a", "good-b"}
    rows = {row["cell"]: row for row in said.summary["skipped"]}
    assert rows["bad"]["state"] == "invalid" and "bad/evals/evals.json" in rows["bad"]["reason"]
    assert rows["bare"]["state"] == "no_suite"
    assert "1 invalid skill left out: bad" in (tmp_path / "skilltrial-workspace/iteration-1/report.md").read_text()
    assert "bad/evals/evals.json" in skilltrial("status").out
    assert skilltrial("grade", "--format", "json").summary["skipped"] == said.summary["skipped"]
    import xml.etree.ElementTree as ET

    (suite,) = (one for one in ET.parse(tmp_path / "out.xml").getroot() if one.get("name") == "skills left out")
    assert (suite.get("tests"), suite.get("skipped")) == ("2", "2")
    assert [case.get("name") for case in suite] == ["bad", "bare"]
