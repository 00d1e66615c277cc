"""`skilltrial plan`: the plan on the output stream, what has to be known beside it once on the error stream."""

from __future__ import annotations

from typing import Any


def test_notes_and_warnings_are_told_once_and_beside_the_plan(skilltrial: Any) -> None:
    skilltrial("init", "notes")
    said = skilltrial("plan", "notes", "--target", "gpt-5-mini")
    assert said.code == 0 and said.out.startswith("6 cells (3 with_skill, 3 without_skill)") and "warning" not in said.out
    assert "'gpt-5-mini' is no backend, so 'gpt-5-mini' is taken as openai:gpt-5-mini" in said.err
    assert said.err.count("warning: one repetition") == 1


def test_one_case_is_spoken_of_as_one(skilltrial: Any) -> None:
    skilltrial("init", "notes")
    out = skilltrial("plan", "notes", "--target", "fake", "--eval-id", "summary").out
    assert "on this case (1 run per arm, if 50 % pass without the skill)" in out
