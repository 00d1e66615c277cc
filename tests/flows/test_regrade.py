"""`grade` on stored runs, and the list of what it did before."""

from __future__ import annotations

from typing import Any

from .conftest import HELPFUL, script


def test_gradings_are_listed_by_their_number(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Any) -> None:
    skilltrial("run", new_skill(colours), "--target", f"fake:{script(tmp_path / 's.json', *HELPFUL)}", "-n", 1)
    cells = skilltrial("grade", "--list").out.split()[2]
    again = skilltrial("grade")
    assert f"graded {cells} cells again, 0 changed" in again.err
    assert skilltrial("grade", "--list").out.splitlines() == [f"grading 1: {cells} cells", f"grading 2: {cells} cells"]
