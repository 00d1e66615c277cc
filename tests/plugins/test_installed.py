"""The package of docs/guides/plug-ins.md, installed as it stands there: found by its entry points, and driven through a run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from skilltrial import registry

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "plug-ins.md"
BLOCK = re.compile(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SKILL = "---\nname: greeting\ndescription: Greets people briefly. Use it for greetings.\n---\nHello there, friend.\n"
Called = subprocess.CompletedProcess[str]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages: the guide's files, and the dist-info that an installer would write."""
    place = tmp_path / "site"
    for name, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = place / "acme_trial-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items()) for group, points in groups]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return place


@pytest.fixture
def call(site: Path, tmp_path: Path) -> Callable[..., Called]:
    """`call("run", …)`: python -m skilltrial, with the package on its path and nothing of the caller's settings."""

    def run(*words: object, module: str = "skilltrial") -> Called:
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(site), "NO_COLOR": "1"}
        argv = [sys.executable, "-m", module, *map(str, words)]
        return subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "greeting"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
    write_checks(folder, {"id": "short", "type": "word_count", "most": 3})
    return folder


def write_checks(folder: Path, *checks: dict[str, object]) -> None:
    case = {"id": 1, "prompt": "Greet me.", "checks": list(checks)}
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "greeting", "evals": [case]}), encoding="utf-8")


def test_a_whole_run_goes_through_backend_grader_and_report_of_the_package(
    call: Callable[..., Called], skill: Path, tmp_path: Path
) -> None:
    said = call(
        "run", "greeting", "--target", "acme:v1", "--judge", "none", "-o", "wall.acme", "--listener", "acme", "--format", "json"
    )
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "bell.txt").read_text() == "2\n"
    summary = json.loads(said.stdout)
    assert {row["arm"]: row["pass_rate"] for row in summary["rates"]} == {"with_skill": 1.0, "without_skill": 0.0}
    assert summary["coverage"]["set_aside"] == 0
    assert (tmp_path / "wall.acme").read_text().startswith("greeting on acme-v1: ")
    exported = call("export", "--format", "acme")
    assert Path(exported.stdout.strip(), "wall.acme").is_file(), exported.stderr
    assert "acme" in call("agents", "acme").stdout


def test_options_reach_the_backend_and_wrong_ones_are_refused(call: Callable[..., Called], skill: Path, tmp_path: Path) -> None:
    settings = tmp_path / "skilltrial.yaml"
    settings.write_text("targets: [{backend: acme, model: v1, options: {loud: true}}]\n")
    said = call("run", "greeting", "--judge", "none", "--log-format", "pretty", "--verbose")
    assert said.returncode == 0 and "HELLO THERE, FRIEND." in said.stderr
    settings.write_text("targets: [{backend: acme, options: {quiet: true}}]\n")
    wrong = call("run", "greeting")
    assert wrong.returncode == 2 and "quiet" in wrong.stderr and "Traceback" not in wrong.stderr


def test_its_check_types_are_held_to_their_options(call: Callable[..., Called], skill: Path) -> None:
    assert call("validate", "greeting").returncode == 0
    write_checks(skill, {"type": "word_count", "most": -1}, {"type": "word_cuont", "most": 3}, {"type": "word_count"})
    said = call("validate", "greeting")
    told = said.stdout + said.stderr
    assert said.returncode == 1
    assert "'most': input should be greater than or equal to 0" in told
    assert "did you mean 'word_count'?" in told and "'word_count' needs 'most'" in told


def test_its_own_tests_pass(call: Callable[..., Called], site: Path) -> None:
    said = call("-q", "-p", "no:cacheprovider", "-W", "error", site / "test_acme.py", module="pytest")
    assert said.returncode == 0 and "2 passed" in said.stdout, said.stdout + said.stderr


def test_a_plug_in_that_cannot_be_loaded_is_one_message(call: Callable[..., Called], site: Path, skill: Path) -> None:
    (site / "acme_trial" / "backend.py").write_text("import no_such_module\n")
    said = call("run", "greeting", "--target", "acme:v1")
    assert said.returncode == 2 and "Traceback" not in said.stderr
    assert (
        "the backend 'acme' of acme-trial cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'" in said.stderr
    )


def test_ours_go_first(call: Callable[..., Called], site: Path, skill: Path) -> None:
    points = site / "acme_trial-1.0.dist-info" / "entry_points.txt"
    points.write_text(
        "[skilltrial.backends]\nfake = acme_trial.backend:Acme\n[skilltrial.graders]\ntext = acme_trial.grader:WordCount\n"
    )
    write_checks(skill, {"type": "contains", "value": "Greet me."})
    said = call("run", "greeting", "--target", "fake", "--judge", "none", "--format", "json")
    assert {row["pass_rate"] for row in json.loads(said.stdout)["rates"]} == {1.0}, "the fake backend of ours repeats the prompt"


def test_without_the_package_nothing_of_it_is_known(skill: Path) -> None:
    assert all("acme" not in registry.names(family) for family in registry.FAMILIES)
