"""An experiment that ran in another tool: nothing can be run in it, its answers can be judged anew."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import formats

FOREIGN = Path(__file__).parent.parent / "data" / "foreign"
TREES = sorted(
    {
        str(tree.root.relative_to(FOREIGN))
        for tool in FOREIGN.glob("*/")
        for place in tool.glob("*/")
        for tree in formats.trees(place)
    }
)


@pytest.fixture(autouse=True)
def key(skilltrial: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123")


def verdicts(passes: Callable[[str], bool]) -> Callable[[dict[str, Any]], str]:
    """A judge that decides by the text of its question, for every statement it is asked about."""

    def reply(request: dict[str, Any]) -> str:
        asked = request["messages"][-1]["content"]
        found = [json.loads(line)["id"] for line in re.findall(r'^\{"id".*\}$', asked, re.MULTILINE)]
        return json.dumps({"verdicts": [{"id": name, "passed": passes(asked), "evidence": "seen"} for name in found]})

    return reply


def rates(summary: Any) -> dict[str, float | None]:
    return {row["arm"]: row["pass_rate"] for row in summary["rates"] if row["activation"] == "natural"}


def judged(skilltrial: Any, judge: Any, *more: object) -> Any:
    return skilltrial("grade", "--judge", "openai:j", "--judge-base-url", judge.url, "--format", "json", *more)


def test_answers_and_files_of_a_tree_are_judged_anew(skilltrial: Any, serve: Callable[..., Any]) -> None:
    skilltrial("import", FOREIGN / "skill-creator" / "iteration-2")
    judge = serve("")
    judge.reply = verdicts(lambda asked: "five lines" in asked)
    said = judged(skilltrial, judge)
    # Case 1 passes in both arms by now; case 0 fails in both, and its run that the tool never graded is graded too.
    assert rates(said.summary) == {"with_skill": 0.5, "without_skill": 0.5}
    assert said.summary["coverage"]["graded"] == said.summary["coverage"]["planned"] == 8
    shown = skilltrial("show", "minutes/0/model-a/without_skill/2")
    assert "# Minutes" in shown.out and "nothing" not in shown.err
    assert "graded 8 cells again" in said.err and "cannot be read" not in said.err
    (row,) = said.summary["judge"]
    assert (row["backend"], row["model"], row["calls"]) == ("openai", "j", 8)
    assert json.loads(skilltrial("report", "--format", "json").out)["judge"] == [row]


def test_sentences_that_the_tool_asked_no_judge_about_count_once_they_are_judged(
    skilltrial: Any, serve: Callable[..., Any]
) -> None:
    skilltrial("import", FOREIGN / "handbook")
    before = json.loads(skilltrial("report", "--format", "json", "--metric", "checks").out)
    assert before["coverage"]["set_aside"] == 1
    judge = serve("")
    judge.reply = verdicts(lambda asked: False)
    after = judged(skilltrial, judge).summary
    assert after["coverage"]["set_aside"] == 0
    # Case 1 has such a sentence and fails in both arms now; case 2 has none and passes as before.
    assert rates(before) == {"with_skill": 1.0, "without_skill": pytest.approx(5 / 7)}
    assert rates(after) == {"with_skill": 0.5, "without_skill": 0.5}
    again = json.loads(skilltrial("report", "latest", "--format", "json").out)
    assert rates(again) == rates(after) and again["coverage"] == after["coverage"]
    shown = skilltrial("show", "sample-skill/1/adapter/with_skill/1").out
    assert "passed" in shown, "verdicts of code on what is not in the tree stay"


def test_verdicts_of_code_are_given_anew_where_text_and_options_are_there_and_stay_elsewhere(
    skilltrial: Any, tmp_path: Path
) -> None:
    leaf = tmp_path / "hb" / "s" / "iteration-1" / "eval-1"
    checks = [
        {"id": "word", "type": "contains", "value": "alpha"},
        {"id": "made", "type": "file_exists", "path": "out.txt"},
    ]
    (leaf / "with_skill").mkdir(parents=True)
    (leaf / "case.json").write_text(
        json.dumps({"id": 1, "prompt": "p", "expected_output": "e", "assertions": [], "checks": checks})
    )
    rows = [
        {"identifier": "word", "check_type": "contains", "required": True, "passed": False, "message": "missing"},
        {"identifier": "made", "check_type": "file_exists", "required": True, "passed": True, "message": "there"},
    ]
    (leaf / "with_skill" / "grading.json").write_text(json.dumps({"passed": False, "checks": rows}))
    (leaf / "with_skill" / "response.json").write_text(json.dumps({"output": "alpha and beta", "events": [], "usage": {}}))
    benchmark = {"protocol_version": 1, "pass_rate_lift": 0.0, "skill_name": "s", "cases": []}
    (tmp_path / "hb" / "s" / "benchmark.json").write_text(json.dumps(benchmark))
    skilltrial("import", "hb")
    said = skilltrial("grade")
    assert "graded 1 cells again, 1 changed" in said.err
    shown = skilltrial("show", "s/1/adapter/with_skill/1").out
    assert "2 of 2 required checks passed" in shown


def test_a_run_whose_answer_is_not_in_the_tree_is_left_out_with_the_reason(
    skilltrial: Any, serve: Callable[..., Any], tmp_path: Path
) -> None:
    for arm, text in (("with_skill", "an answer"), ("without_skill", None)):
        leaf = tmp_path / "w" / "iteration-1" / "eval-a" / arm
        leaf.mkdir(parents=True)
        row = {"text": "It is polite", "passed": True, "evidence": ""}
        (leaf / "grading.json").write_text(json.dumps({"assertion_results": [row]}))
        if text:
            (leaf / "outputs").mkdir()
            (leaf / "outputs" / "output.txt").write_text(text)
    skilltrial("import", "w")
    assert rates(json.loads(skilltrial("report", "--format", "json").out)) == {"with_skill": 1.0, "without_skill": 1.0}
    judge = serve("")
    judge.reply = verdicts(lambda asked: True)
    said = judged(skilltrial, judge)
    assert rates(said.summary) == {"with_skill": 1.0, "without_skill": None}
    assert "holds no answer of this run" in skilltrial("show", "w/a/agent/without_skill/1").out


def test_a_tree_without_answers_is_not_judged_at_all(skilltrial: Any, serve: Callable[..., Any]) -> None:
    skilltrial("import", FOREIGN / "plugin-eval")
    said = judged(skilltrial, serve("{}"))
    assert said.code == 2 and "holds no answers" in said.err and "Traceback" not in said.err
    assert rates(json.loads(skilltrial("report", "--format", "json").out)) == {"with_skill": 0.0, "without_skill": 0.0}


@pytest.mark.parametrize("tree", ["handbook", "skill-creator/iteration-2", "ase-py/budget-stop-suite", "ase-py/agent-missing"])
def test_resume_says_that_nothing_can_be_run(skilltrial: Any, tree: str) -> None:
    skilltrial("import", FOREIGN / tree)
    said = skilltrial("resume")
    assert (said.code, said.out) == (2, "")
    assert "was imported from a tree of" in said.err and "nothing can be run in it" in said.err and "grade --judge" in said.err


def test_a_tree_that_was_not_imported_is_told_how(skilltrial: Any) -> None:
    for command in ("grade", "resume"):
        said = skilltrial(command, FOREIGN / "handbook")
        assert said.code == 2 and "skilltrial import" in said.err


@pytest.mark.parametrize("tree", TREES)
def test_grading_without_a_judge_changes_no_number_of_a_tree(skilltrial: Any, tree: str) -> None:
    skilltrial("import", FOREIGN / tree)
    before = json.loads(skilltrial("report", "--format", "json").out)
    after = json.loads(skilltrial("grade", "--format", "json").out)
    assert (after["rates"], after["lifts"]) == (before["rates"], before["lifts"])
