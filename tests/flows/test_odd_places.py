"""Folders named like experiments, our own results seen by other tools' readers, streams that take nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def twice(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    """Two experiments of one skill."""
    new_skill(colours)
    for _ in range(2):
        assert skilltrial("run", "colours", "--target", "fake", "--judge", "none").code in (0, 1, 3)


@pytest.mark.parametrize(
    "words", ["report", "status", "grade", "report 2", "export --format csv", "compare 1 2", "cleanup latest"]
)
def test_a_folder_named_like_an_experiment_hides_none(twice: None, skilltrial: Any, tmp_path: Path, words: str) -> None:
    for name in ("latest", "previous", "1", "2"):
        (tmp_path / name).mkdir()
    found = skilltrial(*words.split())
    assert "result tree" not in found.err and found.code in (0, 1, 3), found.err
    assert "iteration-2" in found.out + found.err


@pytest.mark.parametrize("words", ["report .", "history .", "compare latest .", "export .", "import ."])
def test_our_own_results_are_no_tree_of_another_tool(twice: None, skilltrial: Any, words: str) -> None:
    found = skilltrial(*words.split())
    assert found.code == 2 and "skilltrial-workspace/" in found.err, found.out


def test_shards_can_be_named_as_experiments_of_the_workspace(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    new_skill(colours)
    for shard in ("1/2", "2/2"):
        skilltrial("run", "colours", "--target", "fake", "--judge", "none", "-n", "2", "--shard", shard)
    merged = skilltrial("merge", "1", "2", "--format", "json")
    assert merged.summary["experiment"] == "iteration-3", merged.err


def test_a_merge_without_one_of_the_shards_says_which(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    new_skill(colours)
    for shard in ("1/3", "3/3"):
        skilltrial("run", "colours", "--target", "fake", "--judge", "none", "-n", "2", "--shard", shard)
    merged = skilltrial("merge", "1", "2")
    assert "1 shard of 3 is missing: 2" in merged.out, merged.out


@pytest.mark.parametrize("place", ["colours", "colours/results", "colours/deep/er", "linked/results"])
def test_results_are_not_put_where_they_become_part_of_the_skill(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path, place: str
) -> None:
    new_skill(colours)
    (tmp_path / "linked").symlink_to("colours")
    found = skilltrial("run", "colours", "--target", "fake", "-w", place)
    assert found.code == 2 and "lies in the folder of the skill 'colours'" in found.err
    assert sorted(path.name for path in (tmp_path / "colours").iterdir()) == ["SKILL.md", "evals"]


@pytest.mark.parametrize("place", ["colours/skilltrial-workspace", "colours/evals/results", "colours/../results", "results"])
def test_results_may_lie_where_no_agent_gets_them(skilltrial: Any, new_skill: Any, colours: Any, place: str) -> None:
    new_skill(colours)
    for _ in range(2):
        found = skilltrial("run", "colours", "--target", "fake", "--judge", "none", "-w", place, "--format", "json")
        assert found.code in (0, 1, 3), found.err
    assert '"SKILL.md"' in (Path(place) / "iteration-2" / "experiment.json").read_text()
    assert "iteration-1" not in (Path(place) / "iteration-2" / "experiment.json").read_text()


def _told(tmp_path: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    line = f'exec "{sys.executable}" -m skilltrial report {redirection}'
    return subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.skipif(os.name != "posix", reason="shell redirections")
def test_a_closed_output_stream_swallows_the_report(twice: None, tmp_path: Path) -> None:
    said = _told(tmp_path, ">&-")
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_the_output_is_exit_2_and_one_line(twice: None, tmp_path: Path) -> None:
    said = _told(tmp_path, ">/dev/full")
    assert said.returncode == 2
    assert said.stderr == "error: the output cannot be written: No space left on device\n"
