"""Failed measurements that other tools store as numbers, and trees of unusual shape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import analyze, formats
from skilltrial.formats._foreign import ForeignExperiment
from skilltrial.records.summary import Summary

Plant = Callable[[dict[str, Any]], Path]
META = {"name": "notes", "slug": "notes", "relPath": "", "target": "m", "judge": "m", "modes": ["with_skill", "without_skill"]}


def read(root: Path) -> ForeignExperiment:
    found = formats.find(root)
    assert found is not None
    return found.read()


def rates(view: ForeignExperiment) -> dict[str, float | None]:
    return {row.arm: row.pass_rate for row in analyze.summary(view).rates}


def outcomes(view: ForeignExperiment) -> dict[str, str]:
    return {result.cell.id: result.evidence.outcome if result.evidence else "not_run" for result in view.results()}


def npm(passed: bool = True, evidence: str = "quoted") -> dict[str, Any]:
    return {"assertion_results": [{"text": "A", "passed": passed, "evidence": evidence}], "summary": {}}


# ---------------------------------------------------------------- agent-skills-eval
def npm_tree(**with_skill: Any) -> dict[str, Any]:
    files = {"meta.json": META, "benchmark.json": {}, "eval-1/without_skill/grading.json": npm(False)}
    return files | {f"eval-1/with_skill/{name.replace('__', '/')}": value for name, value in with_skill.items()}


def test_an_outage_stored_as_an_answer_is_no_grade(plant: Plant) -> None:
    view = read(
        plant(
            npm_tree(
                **{
                    "grading.json": npm(False),
                    "timing.json": {"total_tokens": 0, "duration_ms": 3},
                    "outputs/response.txt": "ERROR: HTTP 503 overloaded",
                }
            )
        )
    )
    assert rates(view) == {"with_skill": None, "without_skill": 0.0}
    assert outcomes(view)["notes/1/m/with_skill/1"] == "infrastructure_error"
    assert any("is an outage" in text for text in view.unknowns)


def test_an_answer_that_speaks_of_errors_is_an_answer(plant: Plant) -> None:
    files = npm_tree(
        **{
            "grading.json": npm(),
            "timing.json": {"total_tokens": 9},
            "outputs/response.txt": "ERROR: is what the log says",
        }
    )
    assert rates(read(plant(files)))["with_skill"] == 1.0


@pytest.mark.parametrize("evidence", ["judge returned unparseable response: sorry", "judge omitted this assertion result"])
def test_a_judge_that_gave_no_verdict_fails_nobody(plant: Plant, evidence: str) -> None:
    view = read(plant(npm_tree(**{"grading.json": npm(False, evidence)})))
    assert rates(view)["with_skill"] is None
    assert any("no verdict on 'A'" in text for text in view.unknowns)


def test_a_mode_without_a_folder_was_not_measured(plant: Plant) -> None:
    view = read(plant(npm_tree()))
    assert rates(view) == {"with_skill": None, "without_skill": 0.0}
    assert outcomes(view)["notes/1/m/with_skill/1"] == "harness_error"


def test_rubrics_and_code_checks_are_told_apart_by_the_judges_prompt(plant: Plant) -> None:
    rows = [
        {"text": 'says "é"', "passed": True, "evidence": "e"},
        {"text": 'tool "x" was called', "passed": True, "evidence": "e"},
    ]
    files = npm_tree(
        **{"grading.json": {"assertion_results": rows}, "prompts.json": {"user": "Go.", "judgePrompt": '["says \\"é\\""]'}}
    )
    view = read(plant(files))
    (grades,) = (result.grading.grades for result in view.results() if result.cell.arm == "with_skill" and result.grading)
    assert [grade.method for grade in grades] == ["judge", "check"]
    assert view.plan.suites[0].cases[0].prompt == "Go."


# ---------------------------------------------------------------- agent-skill-eval
def py_run(case: str, with_skill: bool, **timing: Any) -> dict[str, Any]:
    row = {"text": "rm was not run", "passed": True, "evidence": "", "method": "structured:command_not_ran", "skipped": False}
    return {
        "run_meta.json": {"eval_id": case, "agent": "codex", "with_skill": with_skill, "run_index": 1, "skill_name": "notes"},
        "timing.json": {"exit_code": 0, "timed_out": False, "duration_ms": 5, **timing},
        "grading.json": {"assertion_results": [row]},
    }


def below(folder: str, files: dict[str, Any]) -> dict[str, Any]:
    return {f"{folder}/{name}": value for name, value in files.items()}


@pytest.mark.parametrize(
    ("timing", "outcome"), [({"timed_out": True, "exit_code": None}, "timeout"), ({"exit_code": 1}, "agent_error")]
)
def test_a_run_that_failed_passes_no_absence_check(plant: Plant, timing: dict[str, Any], outcome: str) -> None:
    files = below("eval-a/codex/with_skill", py_run("a", True, **timing)) | below(
        "eval-a/codex/without_skill", py_run("a", False)
    )
    view = read(plant(files))
    assert rates(view) == {"with_skill": None, "without_skill": 1.0}
    assert outcomes(view)["notes/a/codex/with_skill/1"] == outcome


def test_ids_with_a_slash_nest_and_are_found(plant: Plant) -> None:
    view = read(plant(below("eval-area/one/codex/with_skill", py_run("area/one", True))))
    assert [case.given_id for case in view.plan.suites[0].cases] == ["area/one"]
    assert rates(view) == {"with_skill": 1.0}


def test_an_archive_is_read_like_the_iteration_it_came_from(plant: Plant) -> None:
    files = below("runs/eval-a/codex/with_skill", py_run("a", True)) | {"archive-manifest.json": {}}
    assert rates(read(plant(files))) == {"with_skill": 1.0}


def test_a_run_with_every_check_skipped_is_unknown(plant: Plant) -> None:
    files = below("eval-a/codex/with_skill", py_run("a", True))
    row = {"text": "polite", "passed": False, "evidence": "no key", "method": "llm", "skipped": True}
    files["eval-a/codex/with_skill/grading.json"] = {"assertion_results": [row], "summary": {"pass_rate": 0.0}}
    view = read(plant(files))
    assert rates(view) == {"with_skill": None}
    assert any("every check was skipped" in text for text in view.unknowns)


def test_a_check_skipped_in_one_run_only_is_ungraded_there(plant: Plant) -> None:
    files = below("eval-a/codex/with_skill/run-1", py_run("a", True)) | below("eval-a/codex/with_skill/run-2", py_run("a", True))
    files["eval-a/codex/with_skill/run-2/run_meta.json"] = {
        **files["eval-a/codex/with_skill/run-1/run_meta.json"],
        "run_index": 2,
    }
    for run, skipped in ((1, False), (2, True)):
        row = {"text": "polite", "passed": not skipped, "evidence": "", "method": "llm", "skipped": skipped}
        files[f"eval-a/codex/with_skill/run-{run}/grading.json"] = {"assertion_results": [row]}
    (row_,) = analyze.summary(read(plant(files))).cases
    assert row_.squares == "PU"


# ---------------------------------------------------------------- skill-ab-eval
def sab(**judges: Any) -> dict[str, Any]:
    cells = {"claude|with_skill": 0.5, "claude|without_skill": 0.0}
    results = {"skill_name": "s", "metric": "pass_rate", "trials": 2, "judge": "codex", "runners": ["claude"],
               "evals": [{"id": "a", "cells": cells}]}  # fmt: skip
    return {"results.json": results} | {f"a/claude/{name}": value for name, value in judges.items()}


def test_answered_and_never_judged_is_not_zero(plant: Plant) -> None:
    judged = {"assertions": [True, False], "score": 5, "notes": ""}
    view = read(plant(sab(**{"with_skill/trial-1/judge.json": judged, "with_skill/trial-2/answer.md": "Done."})))
    row = next(row for row in analyze.summary(view).cases if row.arm == "with_skill")
    assert (row.squares, row.rate) == ("FU", 0.5)
    assert rates(view)["without_skill"] is None


def test_a_verdict_written_as_text_is_no_verdict(plant: Plant) -> None:
    view = read(plant(sab(**{"with_skill/trial-1/judge.json": {"assertions": [True, "false"]}})))
    assert rates(view)["with_skill"] is None


def test_a_score_outside_the_scale_is_no_score(plant: Plant) -> None:
    files = sab(**{"with_skill/trial-1/judge.json": {"assertions": [], "score": 90}})
    files["results.json"]["metric"] = "mean_score"
    assert rates(read(plant(files)))["with_skill"] is None


def test_the_agent_native_shape_has_rates_and_no_more(plant: Plant) -> None:
    evals = [{"id": "a", "with_skill_pass_rate": 1.0, "without_skill_pass_rate": 0.75},
             {"id": "b", "with_skill_pass_rate": 0.5, "without_skill_pass_rate": 0.25}]  # fmt: skip
    view = read(plant({"results.json": {"skill_name": "s", "evals": evals}}))
    # with (1 + 0.5) / 2, without (0.75 + 0.25) / 2
    assert rates(view) == {"with_skill": 0.75, "without_skill": 0.5}


# ---------------------------------------------------------------- the handbook
def test_a_run_of_which_only_benchmark_tells_is_read_from_it(plant: Plant) -> None:
    cases = [{"id": 1, "iteration": number, "with_skill_passed": number == 1, "without_skill_passed": False} for number in (1, 2)]
    view = read(plant({"s/benchmark.json": {"protocol_version": 1, "pass_rate_lift": 0.5, "skill_name": "s", "cases": cases}}))
    assert rates(view) == {"with_skill": 0.5, "without_skill": 0.0}


def test_an_aborted_run_without_benchmark_is_still_read(plant: Plant) -> None:
    check = {"identifier": "x", "check_type": "contains", "required": True, "passed": True, "message": ""}
    files = {"s/iteration-1/eval-1/case.json": {"id": 1, "prompt": "p", "checks": []},
             "s/iteration-1/eval-1/without_skill/grading.json": {"passed": True, "checks": [check]}}  # fmt: skip
    view = read(plant(files))
    assert rates(view) == {"without_skill": 1.0, "with_skill": None}
    assert any("aborts a whole run" in text for text in view.unknowns)


# ---------------------------------------------------------------- plugin eval
def suite(*runs: dict[str, Any], **told: Any) -> dict[str, Any]:
    graders = [
        {"name": "rx", "type": "regex", "weight": 3},
        {"name": "j", "type": "llm", "weight": 1, "graderMarkdown": "Is short."},
    ]
    case = {"name": "c", "graders": graders, "runsPerCase": 1, "arms": {"with": list(runs), "without": []}}
    return {"schemaVersion": 1, "suite": {"ablation": "none"}, "cases": [case], **told}


def graded(**verdicts: bool) -> dict[str, Any]:
    return {"error": None, "graders": [{"name": name, "passed": passed} for name, passed in verdicts.items()]}


def test_weights_count(plant: Plant) -> None:
    assert rates(read(plant({"aggregate-result.json": suite(graded(rx=True, j=False))}))) == {"with_skill": 0.75}


def test_a_grader_that_was_skipped_for_its_price_leaves_the_run_ungraded(plant: Plant) -> None:
    full, poor = graded(rx=True, j=True), {**graded(rx=True), "skippedPaidGraders": True}
    row = analyze.summary(read(plant({"aggregate-result.json": suite(full, poor)}))).cases[0]
    assert (row.squares, row.rate) == ("PU", 1.0)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [("timed out after 300s", "timeout"), ("reached max_turns", "agent_error"), ("API Error: 529", "infrastructure_error")],
)
def test_a_run_that_ended_on_an_error_is_no_zero(plant: Plant, error: str, outcome: str) -> None:
    view = read(plant({"aggregate-result.json": suite({"score": 0, "error": error, "graders": []})}))
    assert rates(view) == {"with_skill": None}
    assert set(outcomes(view).values()) == {outcome}


# ---------------------------------------------------------------- the standard's workspace and skill-creator's
def expectations(*passed: bool, key: str = "expectations") -> dict[str, Any]:
    rows = [{"text": f"e{number}", "passed": one, "evidence": "seen"} for number, one in enumerate(passed)]
    return {key: rows, "summary": {"passed": sum(passed), "failed": len(passed) - sum(passed), "total": len(passed)}}


def test_a_workspace_of_skill_creator(plant: Plant) -> None:
    files = {
        "eval-0/eval_metadata.json": {"eval_id": 0, "eval_name": "first", "prompt": "Do it.", "assertions": ["e0", "e1"]},
        "eval-0/with_skill/run-1/grading.json": expectations(True, True),
        "eval-0/with_skill/run-1/timing.json": {"total_tokens": 900, "duration_ms": 2500, "total_duration_seconds": 9.0},
        "eval-0/with_skill/run-1/outputs/report.md": "# Report",
        "eval-0/with_skill/run-2/grading.json": expectations(True, False),
        "eval-0/old_skill/run-1/grading.json": expectations(False, False),
        "eval-0/old_skill/run-2/outputs/report.md": "half",
    }
    view = read(plant(files))
    summary = analyze.summary(view)
    # with (2/2 + 1/2) / 2, old 0/2; the second old run was never graded
    assert view.format == "skill-creator"
    assert rates(view) == {"with_skill": 0.75, "old_skill": 0.0}
    assert [(row.arm, row.baseline, row.lift) for row in summary.lifts] == [("with_skill", "old_skill", 0.75)]
    case = view.plan.suites[0].cases[0]
    assert (case.given_id, case.name, case.prompt) == (0, "first", "Do it.")
    result = next(view.results())
    evidence = view.evidence(result)
    assert evidence is not None and evidence.delta is not None
    assert (evidence.timing.duration_s, evidence.usage.total_tokens) == (2.5, 900)
    (file,) = evidence.delta.created
    assert (file.path, view.blob(file.digest)) == ("report.md", b"# Report")


def test_a_benchmark_of_skill_creator_alone(plant: Plant) -> None:
    def run(arm: str, *passed: bool) -> dict[str, Any]:
        told = expectations(*passed)
        return {
            "eval_id": 3,
            "configuration": arm,
            "run_number": 1,
            "expectations": told["expectations"],
            "result": told["summary"],
        }

    told = {"metadata": {"skill_name": "pdf", "executor_model": "m-1"}, "runs": [run("with_skill", True), run("without_skill", False)],
            "run_summary": {}}  # fmt: skip
    view = read(plant({"benchmark.json": told}))
    assert rates(view) == {"with_skill": 1.0, "without_skill": 0.0}
    assert view.plan.skills[0].name == "pdf"
    assert any("read from benchmark.json" in text for text in view.unknowns)


def test_the_guides_workspace_without_run_folders(plant: Plant) -> None:
    files = {
        "pdf-workspace/iteration-1/eval-a/with_skill/grading.json": expectations(True, key="assertion_results"),
        "pdf-workspace/iteration-1/eval-a/without_skill/grading.json": expectations(False, key="assertion_results"),
        "pdf-workspace/iteration-2/eval-a/with_skill/grading.json": expectations(True, key="assertion_results"),
    }
    root = plant(files)
    first = read(root / "pdf-workspace" / "iteration-1")
    assert (first.format, first.plan.skills[0].name) == ("standard", "pdf")
    assert rates(first) == {"with_skill": 1.0, "without_skill": 0.0}
    assert read(root).plan.experiment == "pdf-workspace/iteration-2"


def test_rows_win_over_a_summary_that_disagrees(plant: Plant) -> None:
    told = expectations(True, False) | {"summary": {"passed": 2, "failed": 0, "total": 2, "pass_rate": 1.0}}
    view = read(plant({"eval-a/with_skill/grading.json": told}))
    assert rates(view) == {"with_skill": 0.5}
    assert any("the rows are read" in text for text in view.unknowns)


def test_two_configurations_of_unknown_name_are_compared_in_order_of_the_benchmark(plant: Plant) -> None:
    files = {
        "eval-a/terse/grading.json": expectations(True),
        "eval-a/classic/grading.json": expectations(False),
        "benchmark.json": {"run_summary": {"terse": {}, "classic": {}}},
    }
    (lift,) = analyze.summary(read(plant(files))).lifts
    assert (lift.arm, lift.baseline, lift.lift) == ("terse", "classic", 1.0)


# ---------------------------------------------------------------- hostile trees
def test_names_are_made_safe_and_links_are_not_followed(plant: Plant, tmp_path: Path) -> None:
    files = {"results.json": {"skill_name": "../up", "metric": "pass_rate", "trials": 1,
                              "evals": [{"id": "../../etc", "cells": {"ru nner|with_skill": 1.0}}]}}  # fmt: skip
    root = plant(files)
    outside = root.parent.parent / "etc" / "ru nner" / "with_skill" / "trial-1"
    outside.mkdir(parents=True)
    (outside / "judge.json").write_text('{"assertions": [true]}')
    view = read(root)
    assert rates(view) == {"with_skill": None}, "a name in the tree must not lead out of it"
    for result in view.results():
        assert ".." not in result.cell.id.split("/")
        assert len(result.cell.id.split("/")) == 5
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "again").symlink_to(tmp_path / "loop")
    assert formats.find(tmp_path / "loop") is None


@pytest.mark.parametrize("text", ["", "[1", "nonsense", '{"evals": [{"cells": 3}]}', '{"evals": {"id": 1}}', "[" * 100_000])
@pytest.mark.parametrize("name", ["results.json", "benchmark.json", "meta.json", "evals_meta.json", "aggregate-result.json"])
def test_a_broken_file_breaks_nothing(plant: Plant, name: str, text: str) -> None:
    found = formats.find(plant({name: text, "eval-a/with_skill/grading.json": text}))
    if found is not None:
        assert isinstance(analyze.summary(found.read()), Summary)
