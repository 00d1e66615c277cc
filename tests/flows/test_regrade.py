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


def test_each_judge_has_a_row_of_its_own_in_the_report(skilltrial: Any, new_skill: Any, tmp_path: Any) -> None:
    skill = new_skill([{"id": 1, "prompt": "Which colour?", "assertions": ["It names a colour."]}])
    judges = [
        script(tmp_path / f"{name}.json", {"when": {"judge": True}, "passed": passed})
        for name, passed in (("a", True), ("b", False))
    ]
    skilltrial("run", skill, "--target", "fake", "--judge", f"fake:{judges[0]}", "-n", 1)
    for again in (1, 2):
        rows = skilltrial("grade", "--judge", f"fake:{judges[1]}", "--format", "json").summary["judge"]
        assert [(row["model"], row["calls"]) for row in rows] == [(str(judges[0]), 2), (str(judges[1]), 2 * again)]
    same = skilltrial("grade", "--judge", f"fake:{judges[0]}", "--format", "json").summary["judge"]
    assert [row["calls"] for row in same] == [4, 4]
