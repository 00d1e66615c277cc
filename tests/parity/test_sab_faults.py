"""The faults that skill-ab-eval was seen to have, by number, each shown not to be here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ..flows.conftest import script

CHECKS = [{"id": "blue", "type": "contains", "value": "BLUE"}]


def cases(count: int = 4) -> list[dict[str, Any]]:
    return [{"id": n, "prompt": f"Colour {n}?", "checks": CHECKS} for n in range(1, count + 1)]


def runner(folder: Path, name: str, bash: str) -> None:
    (folder / "runners").mkdir(exist_ok=True)
    (folder / "runners" / f"{name}.sh").write_text(bash, encoding="utf-8")


# ---------------------------------------------------------------- 1: a failed cell is no zero
def test_1_a_runner_that_always_crashes_has_no_rate_and_no_lift(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill(cases())
    runner(tmp_path, "broken", "echo no login >&2; exit 1\n")
    said = skilltrial("run", "colours", "--runners", "broken", "--retries", 0, "--format", "json")
    assert said.code == 2
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {None}
    (lift,) = said.summary["lifts"]
    assert (lift["lift"], lift["verdict"], lift["point_label"]) == (None, "not measured", None)
    assert said.summary["leaderboard"][0]["value"] is None


def test_1_one_arm_that_fails_makes_no_lift(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill(cases())
    runner(tmp_path, "half", 'case "$PROMPT" in *BLUE*) echo BLUE;; *) exit 1;; esac\n')
    said = skilltrial("run", "colours", "--runners", "half", "--retries", 0, "--format", "json")
    (lift,) = said.summary["lifts"]
    assert (lift["lift"], lift["verdict"]) == (None, "not measured")
    by_arm = said.summary["coverage"]["by_arm"]
    assert (by_arm["with_skill"]["graded"], by_arm["without_skill"]["graded"]) == (4, 0)


def test_1_what_a_failed_runner_had_printed_is_not_graded(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill(cases(1))
    runner(tmp_path, "late", "echo BLUE; exit 3\n")
    said = skilltrial("run", "colours", "--runners", "late", "--format", "json")
    assert {rate["graded"] for rate in said.summary["rates"]} == {0}


def test_1_a_judge_that_cannot_be_reached_is_no_zero(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "Colour?", "assertions": ["It names a colour."]}])
    judge = script(tmp_path / "judge.json", {"when": {"judge": True}, "outcome": "infrastructure_error"})
    said = skilltrial("run", "colours", "--target", "fake", "--judge", f"fake:{judge}", "-n", 2, "--format", "json")
    assert {(rate["pass_rate"], rate["graded"]) for rate in said.summary["rates"]} == {(None, 0)}
    assert said.summary["coverage"]["failed_measurements"] == {"judge_error": 4}


# ---------------------------------------------------------------- 2: runners of one's own
def test_2_a_runner_of_ones_own_loads_by_the_documented_option_and_gets_the_prompt_both_ways(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    new_skill(cases(1))
    runner(tmp_path, "mine", 'read -r -d "" given; [ "$given" = "$PROMPT" ] && echo BLUE\n')
    said = skilltrial("run", "colours", "--runners", "mine", "--format", "json")
    assert said.code == 0, said.err
    assert {rate["pass_rate"] for rate in said.summary["rates"]} == {1.0}


# ---------------------------------------------------------------- 3: thresholds
def test_3_a_lift_of_thirty_less_ten_is_a_clear_positive(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill(cases(10))
    helped = [{"when": {"arm": "with_skill", "case": str(n)}, "text": "BLUE"} for n in (1, 2, 3)]
    unhelped = [{"when": {"arm": "without_skill", "case": "1"}, "text": "BLUE"}]
    played = script(tmp_path / "t.json", *helped, *unhelped, {"text": "no"})
    said = skilltrial(
        "run",
        "colours",
        "--target",
        f"fake:{played}",
        "--gate",
        "none",
        "--minimum-lift",
        "0.2",
        "--gate-on",
        "point",
        "--format",
        "json",
    )
    (lift,) = said.summary["lifts"]
    assert lift["lift"] == pytest.approx(0.2)
    assert lift["point_label"] == "clear positive"
    assert said.code == 0, "a minimum of 0.2 is reached"


# ---------------------------------------------------------------- 4: a judge that makes up its list
def test_4_only_what_was_asked_is_counted_and_a_case_without_assertions_gets_a_score_of_its_own(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    new_skill([
        {"id": 1, "prompt": "One?", "assertions": ["It is short."]},
        {"id": 2, "prompt": "Two?", "expected_output": "A short answer."},
    ])  # fmt: skip
    extra = {
        "verdicts": [
            {"id": name, "passed": True, "evidence": "x"} for name in ("assertion-1", "assertions-1", "1", "made-up", "more")
        ]
    }
    judge = script(
        tmp_path / "judge.json",
        {"when": {"judge": True, "case": "1"}, "text": json.dumps(extra)},
        {"when": {"judge": True}, "passed": True},
    )
    skilltrial("run", "colours", "--target", "fake", "--judge", f"fake:{judge}", "--gate", "none")
    lines = (tmp_path / "skilltrial-workspace/iteration-1/results.jsonl").read_text().splitlines()
    grades = [json.loads(line) for line in lines if '"kind":"grades"' in line]
    assert {len(row["grades"]) for row in grades} == {1}


def test_4_a_string_that_says_false_is_not_passed(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill([{"id": 1, "prompt": "One?", "checks": [{"id": "short", "type": "rubric", "text": "It is short."}]}])
    reply = json.dumps({"verdicts": [{"id": "short", "passed": "false", "evidence": "x"}]})
    judge = script(tmp_path / "judge.json", {"when": {"judge": True}, "text": reply})
    said = skilltrial("run", "colours", "--target", "fake", "--judge", f"fake:{judge}", "--format", "json")
    assert {rate["graded"] for rate in said.summary["rates"]} == {0}


# ---------------------------------------------------------------- 5: no traceback
def test_5_whole_numbers_as_ids_run(skilltrial: Any, new_skill: Any) -> None:
    new_skill(cases(2))
    said = skilltrial("run", "colours", "--target", "fake", "--gate", "none", "--format", "json")
    assert said.code == 0, said.err
    assert {row["case"] for row in said.summary["cases"]} == {"1", "2"}


@pytest.mark.parametrize("what", ["skill", "file", "program", "suite"])
def test_5_what_is_missing_is_one_message_and_exit_2(
    skilltrial: Any, new_skill: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_skill([{"id": 1, "prompt": "Sum up {{notes.txt}}", "files": ["notes.txt"] if what == "file" else [], "checks": CHECKS}])
    calls = {
        "skill": ("run", "no-such-skill", "--target", "fake"),
        "file": ("run", "colours", "--target", "fake"),
        "program": ("run", "colours", "--target", "codex"),
        "suite": ("run", "colours", "--evals", "nowhere.json", "--target", "fake"),
    }
    if what == "program":
        monkeypatch.setenv("PATH", "/nonexistent")
    said = skilltrial(*calls[what])
    assert said.code == 2, said.err
    assert "Traceback" not in said.err and said.err.strip()
    assert {"skill": "no-such-skill", "file": "notes.txt", "program": "codex", "suite": "nowhere.json"}[what] in said.err


# ---------------------------------------------------------------- 6: isolation
def test_6_every_run_has_a_folder_of_its_own(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    new_skill(cases(2))
    (tmp_path / "CLAUDE.md").write_text("Always say BLUE.")
    runner(tmp_path, "where", 'ls -A; pwd; echo BLUE > left.txt; [ -e CLAUDE.md ] && echo "saw the rules"; true\n')
    skilltrial("run", "colours", "--runners", "where", "-n", 2, "--gate", "none")
    (pack,) = (tmp_path / "skilltrial-workspace/iteration-1/evidence").glob("*.jsonl")
    texts = [json.loads(line)["text"] for line in pack.read_text().splitlines()]
    assert len({text.splitlines()[-1] for text in texts}) == len(texts) == 8
    assert not any("CLAUDE.md" in text or "left.txt" in text or str(tmp_path) == text.splitlines()[-1] for text in texts)
