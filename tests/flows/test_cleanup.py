"""`cleanup --older-than` removes whole experiments, and none that is running, new, or knows what it left behind."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from skilltrial.store.lock import WriterLock

DAY = 86_400


@pytest.fixture
def four(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> Path:
    """Experiments that are 40, 30, 20 and 0 days old."""
    new_skill(colours)
    for _ in range(4):
        skilltrial("run", "colours", "--target", "fake", "--eval-id", 1)
    workspace = tmp_path / "skilltrial-workspace"
    for number, days in enumerate((40, 30, 20, 0), 1):
        when = time.time() - days * DAY
        os.utime(workspace / f"iteration-{number}/experiment.json", (when, when))
    return workspace


def left(workspace: Path) -> list[int]:
    return sorted(int(path.name.rpartition("-")[2]) for path in workspace.glob("iteration-*"))


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (("25",), [3, 4]),
        (("25d",), [3, 4]),
        (("3w",), [3, 4]),
        (("240h",), [4]),
        (("25", "--keep", "3"), [2, 3, 4]),
        (("0", "--keep", "1"), [4]),
        (("100",), [1, 2, 3, 4]),
    ],
)
def test_old_ones_go_and_the_newest_stay(words: tuple[str, ...], numbers: list[int], four: Path, skilltrial: Any) -> None:
    said = skilltrial("cleanup", "--yes", "--older-than", *words)
    assert said.code == 0 and left(four) == numbers
    assert len(said.out.splitlines()) == 4 - len(numbers)


def test_without_a_yes_nothing_goes_and_what_would_is_listed(four: Path, skilltrial: Any) -> None:
    said = skilltrial("cleanup", "--older-than", "25d")
    assert said.code == 2 and left(four) == [1, 2, 3, 4]
    assert said.err.count("to remove: ") == 2


def test_what_is_running_or_knows_of_leftovers_stays(four: Path, skilltrial: Any) -> None:
    (four / "iteration-2/cleanup.json").write_text(json.dumps({"workspaces": ["/nowhere/skilltrial-x"]}))
    lock = WriterLock(four / "iteration-1")
    said = skilltrial("cleanup", "--yes", "--older-than", "10d")
    lock.release()
    assert left(four) == [1, 2, 4]
    assert "iteration-1 is being written by process" in said.err and "skilltrial cleanup" in said.err


@pytest.mark.parametrize("words", [("--older-than", "soon"), ("--older-than", "-3"), ("--keep", "2")])
def test_an_age_that_is_none_is_refused(words: tuple[str, ...], four: Path, skilltrial: Any) -> None:
    assert skilltrial("cleanup", "--yes", *words).code == 2
    assert left(four) == [1, 2, 3, 4]
