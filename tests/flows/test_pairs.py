"""`--judge-mode pairwise`: pairs are judged, none alone, and the report counts what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RUBRIC = ["The answer names the colour."]


def suite(cases: int = 4, **more: Any) -> list[dict[str, Any]]:
    return [{"id": n, "prompt": f"What is the colour of sky {n}?", "assertions": RUBRIC, **more} for n in range(1, cases + 1)]


def fake(path: Path, *rules: dict[str, Any]) -> str:
    path.write_text(json.dumps({"rules": list(rules)}), encoding="utf-8")
    return f"fake:{path}"


WITH = {"when": {"arm": "with_skill", "judge": False}, "text": "BLUE"}
WITHOUT = {"when": {"arm": "without_skill", "judge": False}, "text": "I do not know"}
LIKES_BLUE = {"when": {"judge": True}, "prefers": "BLUE"}


@pytest.fixture
def run(skilltrial: Any, new_skill: Any, tmp_path: Path) -> Any:
    def call(
        evals: list[dict[str, Any]], *more: object, rules: tuple[dict[str, Any], ...] = (WITH, WITHOUT), judge: Any = LIKES_BLUE
    ) -> Any:
        new_skill(evals)
        target, asked = fake(tmp_path / "target.json", *rules), fake(tmp_path / "judge.json", judge)
        return skilltrial(
            "run", "colours", "--target", target, "--judge", asked, "--judge-mode", "pairwise", "--format", "json", *more
        )  # fmt: skip

    return call


def journal(tmp_path: Path) -> list[dict[str, Any]]:
    text = (tmp_path / "skilltrial-workspace/iteration-1/results.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_better_arm_wins_every_pair_and_no_arm_is_graded_alone(run: Any, tmp_path: Path) -> None:
    said = run(suite(), "-n", 2)
    assert said.code == 0, said.err
    (row,) = said.summary["pairwise"]
    assert (row["wins"], row["losses"], row["ties"], row["not_judged"]) == (8, 0, 0, 0)
    assert (row["arm"], row["baseline"], row["win_rate"]) == ("with_skill", "without_skill", 1.0)
    assert row["low"] == pytest.approx(0.025 ** (1 / 8)) and row["high"] == 1.0
    assert row["p_value"] == pytest.approx(2 / 2**8)
    lines = journal(tmp_path)
    assert sum(line["kind"] == "comparison" for line in lines) == 8
    assert all(not line["grades"] for line in lines if line["kind"] == "grades")
    assert said.summary["judge"][0]["calls"] == 8
    assert said.summary["errors"] == [] and said.summary["lifts"][0]["lift"] is None


def test_which_answer_is_shown_first_is_drawn(run: Any, tmp_path: Path) -> None:
    run(suite(6), "-n", 3)
    orders = {line["comparison"]["order"] for line in journal(tmp_path) if line["kind"] == "comparison"}
    assert orders == {"ab", "ba"}


def test_a_judge_that_goes_by_place_ties_every_pair(run: Any) -> None:
    text = json.dumps({"winner": "first", "score_first": 6, "score_second": 6, "evidence": "x"})
    said = run(suite(), judge={"when": {"judge": True}, "text": text})
    (row,) = said.summary["pairwise"]
    assert (row["wins"], row["losses"], row["ties"], row["win_rate"], row["p_value"]) == (0, 0, 4, 0.5, None)
    assert said.summary["judge"][0]["calls"] == 8


def test_a_pair_that_lost_an_arm_is_not_judged(run: Any, tmp_path: Path) -> None:
    crash = {"when": {"arm": "without_skill", "case": "2", "judge": False}, "outcome": "timeout"}
    said = run(suite(), rules=(crash, WITH, WITHOUT))
    (row,) = said.summary["pairwise"]
    assert (row["wins"], row["not_judged"]) == (3, 1)
    assert not any("/2/" in line["block"] for line in journal(tmp_path) if line["kind"] == "comparison")


def test_deterministic_checks_are_graded_as_ever(run: Any) -> None:
    said = run(suite(checks=[{"id": "blue", "type": "contains", "value": "BLUE"}]))
    assert said.code == 0, said.err
    assert said.summary["lifts"][0]["lift"] == 1.0
    assert said.summary["pairwise"][0]["wins"] == 4
    assert {row["reason"] for row in said.summary["set_aside"]} == {"the judge compares the two answers and grades none alone"}


def test_an_unreachable_judge_decides_nothing_and_resume_asks_it_again(run: Any, skilltrial: Any, tmp_path: Path) -> None:
    said = run(suite(), judge={"when": {"judge": True}, "outcome": "infrastructure_error"})
    assert said.code == 2 and said.summary["gate"]["reasons"] == ["no pair was judged"]
    fake(tmp_path / "judge.json", LIKES_BLUE)
    again = skilltrial("resume", "--format", "json")
    assert again.code == 0, again.err
    assert (again.summary["pairwise"][0]["wins"], again.summary["pairwise"][0]["not_judged"]) == (4, 0)
    calls = len(journal(tmp_path))
    assert skilltrial("resume", "--format", "json").code == 0
    assert len(journal(tmp_path)) == calls


def test_grade_with_another_judge_compares_the_pairs_again(run: Any, skilltrial: Any, tmp_path: Path) -> None:
    run(suite())
    other = fake(tmp_path / "other.json", {"when": {"judge": True}, "prefers": "I do not know"})
    said = skilltrial("grade", "--judge", other, "--format", "json")
    assert said.code == 0, said.err
    assert (said.summary["pairwise"][0]["wins"], said.summary["pairwise"][0]["losses"]) == (0, 4)


def test_pairs_stand_in_every_report(run: Any, skilltrial: Any, tmp_path: Path) -> None:
    run(suite())
    told = "4 won, 0 lost, 0 tied"
    assert told in " ".join(skilltrial("report").out.split())
    assert told in skilltrial("report", "--format", "markdown").out
    assert told in (tmp_path / "skilltrial-workspace/iteration-1/report/index.html").read_text()


def test_pairs_need_a_baseline(run: Any) -> None:
    said = run(suite(), "--no-baseline")
    assert said.code == 2 and "compares two arms" in said.err


def test_what_the_judge_was_asked_and_said_about_a_pair_is_kept_and_shown(run: Any, skilltrial: Any, tmp_path: Path) -> None:
    text = json.dumps({"winner": "first", "score_first": 6, "score_second": 6, "evidence": "token sk-" + "a1B2c3D4e5F6" * 4})
    run(suite(1), judge={"when": {"judge": True}, "text": text})
    folder = tmp_path / "skilltrial-workspace/iteration-1"
    line = next(line for line in journal(tmp_path) if line["kind"] == "comparison")
    packed = (folder / "evidence" / f"{line['pack']}.jsonl").read_bytes()[line["offset"] : line["offset"] + line["size"]]
    asked, again = json.loads(packed)
    assert "I do not know" in asked["prompt"] and "BLUE" in asked["prompt"] and "sky 1" in asked["prompt"]
    assert asked["prompt"].index("BLUE") < asked["prompt"].index("I do not know") or (
        again["prompt"].index("BLUE") < again["prompt"].index("I do not know")
    )
    assert "sk-a1B2" not in asked["reply"] and '"winner": "first"' in asked["reply"]
    cell = "colours/1/{}/1"
    for arm in ("with_skill", "without_skill"):
        told = json.loads(skilltrial("show", cell.format(arm), "--format", "json").out)
        assert [(pair["winner"], len(pair["calls"])) for pair in told["pairs"]] == [("tie", 2)]
        text = skilltrial("show", cell.format(arm)).out
        assert "judge, with skill against without skill" in text and "tie; the first question showed" in text
        assert '"winner": "first"' in text and "You compare two answers" not in text
        assert "You compare two answers" in skilltrial("show", cell.format(arm), "--verbose").out
    (path,) = folder.glob("colours/eval-1/*/with_skill/run-1/pair-without_skill.json")
    kept = json.loads(path.read_text())
    assert (kept["winner"], len(kept["calls"])) == ("tie", 2)
    skilltrial("export", "latest", "--format", "native", "--output", "again")
    assert json.loads(("again" / path.relative_to(folder)).read_text()) == kept


def test_shards_that_are_merged_keep_the_choices_of_their_pairs(run: Any, skilltrial: Any, tmp_path: Path) -> None:
    for shard in ("1/2", "2/2"):
        run(suite(4), "--shard", shard) if shard == "1/2" else skilltrial(
            "run", "colours", "--target", f"fake:{tmp_path / 'target.json'}", "--judge", f"fake:{tmp_path / 'judge.json'}",
            "--judge-mode", "pairwise", "--format", "json", "--shard", shard,
        )  # fmt: skip
    said = skilltrial("merge", *sorted(Path("skilltrial-workspace").glob("iteration-*")), "--format", "json")
    assert said.code == 0, said.err
    (row,) = said.summary["pairwise"]
    assert (row["wins"], row["not_judged"]) == (4, 0)
    shown = json.loads(skilltrial("show", "colours/1/with_skill", "--format", "json").out)
    assert [len(pair["calls"]) for pair in shown["pairs"]] == [1]
