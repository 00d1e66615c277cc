"""Where experiments lie, and how they are found."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.store.conftest import make_plan

from skilltrial.errors import UsageError
from skilltrial.store import create, experiments, locate, open_
from skilltrial.store.folders import allocate
from skilltrial.system.files import digest


def new(workspace: Path, run_id: str | None = None, at: str = "") -> Path:
    with create(workspace, lambda name: make_plan(name, at=at), {}, None, run_id=run_id) as experiment:
        return experiment.folder


def test_numbers_go_up_and_are_never_used_again(tmp_path: Path) -> None:
    assert new(tmp_path / "w").name == "iteration-1"
    (tmp_path / "w" / "iteration-7").mkdir()
    (tmp_path / "w" / "iteration-x").mkdir()
    assert new(tmp_path / "w").name == "iteration-8"
    assert (tmp_path / "w" / ".gitignore").read_text() == "*\n"
    assert list((tmp_path / "w" / "iteration-7").iterdir()) == []


def test_processes_that_start_together_get_folders_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: allocate(tmp_path), range(40)))
    assert len(set(folders)) == 40


def test_the_plan_knows_its_folder(tmp_path: Path) -> None:
    assert open_(new(tmp_path)).plan.experiment == "iteration-1"
    assert open_(new(tmp_path, "20260101T000000Z")).plan.experiment == "20260101T000000Z"


@pytest.mark.parametrize("run_id", ["../x", "a/b", "", ".hidden", "-x", "ü", "x" * 101])
def test_a_run_id_must_be_a_safe_name(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(UsageError, match="cannot name a folder"):
        new(tmp_path, run_id)


@pytest.mark.parametrize("run_id", ["latest", "previous"])
def test_a_run_id_hides_no_word(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(UsageError, match="would hide"):
        new(tmp_path, run_id)


def test_a_run_id_may_be_a_number_and_iterations_come_first(tmp_path: Path) -> None:
    named = new(tmp_path, "7")
    assert locate(tmp_path, "7") == named
    numbered = [new(tmp_path) for _ in range(7)]
    assert locate(tmp_path, "7") == numbered[6]


def test_a_run_id_that_is_taken_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = new(tmp_path, "mine")
    with pytest.raises(UsageError, match="exists already"):
        new(tmp_path, "mine")
    assert (folder / "experiment.json").is_file()


def test_inputs_are_copied_by_content(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_bytes(b"1,2\n")
    key = digest(b"1,2\n")
    with create(tmp_path / "w", make_plan, {key: source}, None) as experiment:
        source.unlink()
        assert experiment.blob(key) == b"1,2\n"
        assert experiment.blob(digest(b"other")) is None


def test_inputs_that_changed_are_all_named_and_nothing_is_left(tmp_path: Path) -> None:
    changed = tmp_path / "a.csv"
    changed.write_bytes(b"new")
    with pytest.raises(UsageError) as refused:
        create(tmp_path / "w", make_plan, {digest(b"old"): changed, digest(b"x"): tmp_path / "gone.csv"}, None)
    assert "a.csv: changed while it was read" in str(refused.value)
    assert "gone.csv: No such file" in str(refused.value)
    assert [path.name for path in (tmp_path / "w").iterdir()] == [".gitignore"]


def test_a_workspace_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "w").write_text("")
    with pytest.raises(UsageError, match="cannot make the experiment's folder"):
        new(tmp_path / "w")


# ---------------------------------------------------------------- locate
def test_experiments_are_found_by_number_name_time_and_path(tmp_path: Path) -> None:
    first, second = new(tmp_path, at="2026-01-01T00:00:00Z"), new(tmp_path, at="2026-01-03T00:00:00Z")
    named = new(tmp_path, "named", at="2026-01-02T00:00:00Z")
    (tmp_path / "iteration-9").mkdir()  # died before it had a plan
    assert list(experiments(tmp_path)) == [first, named, second]
    assert locate(tmp_path) == locate(tmp_path, "latest") == second
    assert locate(tmp_path, "previous") == named
    assert locate(tmp_path, "1") == locate(tmp_path, 1) == first
    assert locate(tmp_path, "named") == named
    assert locate(tmp_path, str(first)) == first
    assert locate(tmp_path / "elsewhere", str(tmp_path)) == second  # a workspace stands for its latest


@pytest.mark.parametrize("which", ["3", "nope", "iteration-4"])
def test_an_unknown_experiment_lists_those_there_are(tmp_path: Path, which: str) -> None:
    new(tmp_path)
    with pytest.raises(UsageError) as refused:
        locate(tmp_path, which)
    assert "iteration-1" in str(refused.value)


def test_an_empty_workspace_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="skilltrial run"):
        locate(tmp_path / "none")
    new(tmp_path)
    with pytest.raises(UsageError, match="no previous experiment"):
        locate(tmp_path, "previous")


def test_a_foreign_tree_is_handed_on(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "benchmark.json").write_text("{}")
    assert locate(tmp_path, str(tmp_path / "tree")) == tmp_path / "tree"
