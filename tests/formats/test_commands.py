"""The commands that take another tool's tree: as it lies, or as an experiment of ours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.cli import exit_code_of

DATA = Path(__file__).parent.parent / "data" / "foreign"


class Said:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def skilltrial(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("SKILLTRIAL_WORKSPACE", raising=False)

    def call(*args: object) -> Said:
        capsys.readouterr()
        code = exit_code_of([str(arg) for arg in args])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


def numbers(summary: Any) -> Any:
    rates = [(row["skill"], row["target"], row["arm"], row["activation"], row["pass_rate"]) for row in summary["rates"]]
    lifts = [(row["skill"], row["target"], row["activation"], row["lift"], row["verdict"]) for row in summary["lifts"]]
    return rates, lifts, summary["coverage"]


def files_of(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("format_", ["text", "markdown", "json", "html"])
def test_a_tree_is_reported_where_it_lies_and_nothing_is_written_into_it(
    skilltrial: Callable[..., Said], tmp_path: Path, format_: str
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(DATA / "ase-npm" / "iteration-multi", tree)
    before = files_of(tree)
    said = skilltrial("report", tree, "--format", format_)
    assert said.code == 0, said.err
    assert files_of(tree) == before
    if format_ == "html":
        assert Path(said.out.strip()).read_text(encoding="utf-8").startswith("<!")


@pytest.mark.parametrize(
    "tree",
    [
        "ase-npm/flat",
        "ase-py/repeated-runs/iteration-1",
        "ase-py/budget-stop-suite",
        "sab/task-harness-axis-with-errors",
        "sab/task-no-assertions-mean-score",
        "handbook",
        "plugin-eval",
    ],
)
def test_an_imported_tree_has_the_numbers_of_the_tree(skilltrial: Callable[..., Said], tree: str) -> None:
    there = skilltrial("report", DATA / tree, "--format", "json").json
    said = skilltrial("import", DATA / tree, "--format", "json")
    assert said.code == 0, said.err
    assert numbers(said.json) == numbers(there)
    assert numbers(skilltrial("report", "latest", "--format", "json").json) == numbers(there)
    assert set(there["warnings"]) <= set(said.json["warnings"])


def test_secrets_of_a_tree_are_masked_when_it_is_imported(skilltrial: Callable[..., Said], tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(DATA / "handbook", tree)
    secret = "sk-" + "a1B2c3D4e5F6g7H8" * 3
    leaf = tree / "20260101T000000Z/sample-skill/iteration-1/eval-1/with_skill/response.json"
    leaf.write_text(json.dumps({"output": f"key {secret}", "events": []}), encoding="utf-8")
    assert skilltrial("import", tree).code == 0
    assert secret not in skilltrial("show", "sample-skill/1/adapter/with_skill/1").out
    stored = [path.read_text(errors="replace") for path in (tmp_path / "skilltrial-workspace").rglob("*") if path.is_file()]
    assert not any(secret in text for text in stored)


def test_nothing_can_be_run_in_what_was_imported(skilltrial: Callable[..., Said]) -> None:
    skilltrial("import", DATA / "ase-py" / "budget-stop-suite")
    said = skilltrial("resume")
    assert (said.code, "imported" in said.err) == (2, True)


def test_every_iteration_of_a_workspace_can_be_imported_and_looked_back_on(skilltrial: Callable[..., Said]) -> None:
    said = skilltrial("import", DATA / "ase-py" / "repeated-runs", "--all")
    assert said.code == 0
    assert [path.name for path in sorted(Path("skilltrial-workspace").glob("iteration-*"))] == ["iteration-1", "iteration-2"]


def test_iterations_of_another_tool_are_named_by_number_in_its_workspace(skilltrial: Callable[..., Said]) -> None:
    workspace = DATA / "ase-py" / "repeated-runs"
    assert skilltrial("report", "1", "-w", workspace, "--format", "json").json["coverage"]["graded"] == 8
    assert skilltrial("report", "-w", workspace, "-i", "2", "--format", "json").json["coverage"]["graded"] == 0
    assert skilltrial("status", "-w", workspace, "--format", "json").json["experiment"] == "repeated-runs/iteration-2"
    assert skilltrial("compare", "-w", workspace, "--format", "json").json["a"] == "repeated-runs/iteration-1"


def test_a_tree_is_compared_with_an_experiment_of_ours(skilltrial: Callable[..., Said]) -> None:
    tree = DATA / "ase-npm" / "iteration-single"
    skilltrial("import", tree)
    compared = skilltrial("compare", tree, "latest", "--format", "json").json
    assert compared["counts"] == {"same": 6, "not measured": 2}


def test_a_cell_of_a_tree_is_shown(skilltrial: Callable[..., Said]) -> None:
    said = skilltrial("show", "alpha/tools/t1/with_skill/1", DATA / "ase-npm" / "iteration-single")
    assert said.code == 0
    assert "Use tool." in said.out and "bash" in said.out


@pytest.mark.parametrize("command", ["report", "import", "status", "history"])
def test_a_folder_of_no_tool_is_refused_with_what_is_there(skilltrial: Callable[..., Said], tmp_path: Path, command: str) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("x")
    said = skilltrial(command, "notes")
    assert said.code == 2
    assert "todo.txt" in said.err and "ase-npm" in said.err and "Traceback" not in said.err


# ---------------------------------------------------------------- history
def test_history_tells_one_line_per_experiment_oldest_first(skilltrial: Callable[..., Said]) -> None:
    skilltrial("import", DATA / "ase-py" / "repeated-runs", "--all")
    entries = skilltrial("history", "--format", "json").json["entries"]
    natural = [entry for entry in entries if entry["activation"] == "natural"]
    assert [(entry["experiment"], entry["graded"], entry["planned"]) for entry in natural] == [
        ("iteration-1", 3, 4),
        ("iteration-2", 0, 4),
    ]
    assert natural[0]["lift"] == pytest.approx(1 / 6)
    assert natural[1]["lift"] is None and natural[1]["pass_rate"] is None
    assert natural[0]["created_at"] < natural[1]["created_at"]


def test_history_takes_other_tools_workspaces_as_they_are(skilltrial: Callable[..., Said]) -> None:
    text = skilltrial("history", DATA / "ase-py" / "repeated-runs").out
    assert "format-json · fake, with skill against without skill, forced on" in text
    assert "2026-11-29 iteration-1" in text and "+17 (-54 to +76)" in text and "not measured" in text
    entries = skilltrial("history", DATA / "sab", "--target", "gemini", "--format", "json").json["entries"]
    assert [(entry["baseline"], entry["pass_rate"], entry["format"]) for entry in entries] == [(None, 0.5, "sab")]


def test_history_of_a_filter_that_fits_nothing_says_so(skilltrial: Callable[..., Said]) -> None:
    said = skilltrial("history", DATA / "sab", "--skill", "pdf")
    assert (said.code, "skill 'pdf'" in said.err) == (2, True)


def test_what_the_runs_of_a_tree_cost_is_totalled_where_it_lies_and_once_imported(skilltrial: Callable[..., Said]) -> None:
    """Eight runs of 1200 tokens in, 350 out and a cent each."""
    keys = ("attempts", "input_tokens", "output_tokens", "cost_usd", "cells_with_cost")
    skilltrial("import", DATA / "handbook")
    for said in (skilltrial("report", DATA / "handbook", "--format", "json"), skilltrial("report", "--format", "json")):
        assert [said.json["totals"][key] for key in keys] == pytest.approx([8, 9600, 2800, 0.08, 8])


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_failures_of_a_baseline_alone_are_not_said_to_be_with_the_skill(skilltrial: Callable[..., Said], format_: str) -> None:
    said = skilltrial("report", DATA / "sab" / "task-harness-axis-with-errors", "--format", format_)
    assert "1 run failed without a skill" in said.out
