"""Exports in the form of other tools: read back they have the same rates and lift, and what was not measured stays unknown."""

from __future__ import annotations

import csv
import json
import statistics
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import analyze, formats, registry
from skilltrial.errors import UsageError
from skilltrial.flows.out import FolderOut
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView
from skilltrial.system.redaction import Redactor

DATA = Path(__file__).parent.parent / "data" / "foreign"
TREES = (
    "ase-npm/iteration-single",
    "ase-npm/iteration-multi",
    "ase-npm/flat",
    "ase-py/repeated-runs/iteration-1",
    "ase-py/three-agents-single-run",
    "ase-py/budget-stop-suite",
    "ase-py/agent-missing",
    "sab/run-two-sides",
    "sab/task-harness-axis-with-errors",
    "handbook",
    "plugin-eval",
    "plugin-eval/aggregate-result-auth-failed.json",
    "skill-creator/iteration-2",
    "standard/changelog-workspace/iteration-1",
)
SCORES = "sab/task-no-assertions-mean-score"
EVERYTHING = (*TREES, "ase-py/repeated-runs/iteration-2", SCORES)
FORMATS = ("standard", "skill-creator", "ase-npm", "ase-py", "sab", "handbook")
Numbers = tuple[dict[tuple[str, ...], float | None], dict[tuple[str, ...], float | None]]


def numbers(*summaries: Summary) -> Numbers:
    rates = {(row.skill, row.target, row.arm, row.activation): row.pass_rate for one in summaries for row in one.rates}
    lifts = {(row.skill, row.target, row.activation): row.lift for one in summaries for row in one.lifts}
    return rates, lifts


def view_of(tree: str) -> ExperimentView:
    found = formats.find(DATA / tree)
    assert found is not None
    return found.read()


def write(view: ExperimentView, format_: str, folder: Path) -> Summary:
    summary = analyze.summary(view)
    registry.get("formats", format_)().write(summary, view, FolderOut(folder, Redactor()))
    return summary


def read_back(folder: Path, format_: str, metric: Any) -> Numbers:
    found = list(formats.trees(folder))
    assert {tree.format.name for tree in found} == {format_}
    return numbers(*(analyze.summary(tree.read(), metric=metric) for tree in found))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("tree", TREES)
def test_what_is_written_reads_back_as_it_was(tree: str, format_: str, tmp_path: Path) -> None:
    view = view_of(tree)
    metric = "cases" if format_ == "handbook" else write(view, format_, tmp_path / "unused").metric
    write(view, format_, tmp_path / "out")
    rates, lifts = numbers(analyze.summary(view, metric=metric))  # type: ignore[arg-type]
    again = read_back(tmp_path / "out", format_, metric)
    assert again[0] == pytest.approx(rates)
    assert again[1] == pytest.approx(lifts)


@pytest.mark.parametrize("format_", ["standard", "skill-creator", "sab"])
def test_quality_scores_survive_where_there_is_a_place_for_them(format_: str, tmp_path: Path) -> None:
    view = view_of("sab/task-no-assertions-mean-score")
    summary = write(view, format_, tmp_path)
    assert read_back(tmp_path, format_, "score") == numbers(summary)


@pytest.mark.parametrize("format_", ["ase-npm", "ase-py", "handbook"])
def test_quality_scores_are_never_written_as_passed(format_: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no place for quality scores"):
        write(view_of("sab/task-no-assertions-mean-score"), format_, tmp_path)


def plugin_suite(folder: Path) -> ExperimentView:
    """One grader of weight 3 that passes and one of weight 1 that fails, with the plugin only; and a run that ended in an error."""
    graders = [{"name": "rx", "type": "regex", "weight": 3}, {"name": "j", "type": "llm", "weight": 1}]
    good = {"error": None, "graders": [{"name": "rx", "passed": True}, {"name": "j", "passed": False}]}
    bad = {"error": None, "graders": [{"name": "rx", "passed": False}, {"name": "j", "passed": False}]}
    arms = {"with": [good, {"error": "API Error: 529", "graders": []}], "without": [bad, bad]}
    told = {"schemaVersion": 1, "suite": {"ablation": "with-without"}, "cases": [{"name": "c", "graders": graders, "arms": arms}]}
    folder.mkdir()
    (folder / "aggregate-result.json").write_text(json.dumps(told))
    found = formats.find(folder)
    assert found is not None
    return found.read()


@pytest.mark.parametrize("format_", ["standard", "skill-creator", "ase-npm", "ase-py", "sab"])
def test_weights_survive(format_: str, tmp_path: Path) -> None:
    summary = write(plugin_suite(tmp_path / "in"), format_, tmp_path / "out")
    assert numbers(summary)[0][("plugin", "claude-code", "with_skill", "natural")] == 0.75
    assert read_back(tmp_path / "out", format_, "checks") == numbers(summary)


def test_arms_of_other_names_are_refused_by_tools_that_know_two(tmp_path: Path) -> None:
    for arm in ("with_skill", "old_skill"):
        leaf = tmp_path / "in" / "eval-a" / arm
        leaf.mkdir(parents=True)
        (leaf / "grading.json").write_text(json.dumps({"expectations": [{"text": "t", "passed": True}]}))
    found = formats.find(tmp_path / "in")
    assert found is not None
    for format_ in ("ase-npm", "ase-py", "sab", "handbook"):
        with pytest.raises(UsageError, match="old_skill"):
            write(found.read(), format_, tmp_path / format_)
    summary = write(found.read(), "skill-creator", tmp_path / "out")
    assert read_back(tmp_path / "out", "skill-creator", None) == numbers(summary)


# ---------------------------------------------------------------- what their own programs look for
def spread(values: list[float]) -> dict[str, float]:
    """Mean, sample deviation (0 for one value), least and most, in four digits."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    told = {"mean": statistics.fmean(values), "stddev": deviation, "min": min(values), "max": max(values)}
    return {name: round(value, 4) for name, value in told.items()}


def aggregated(folder: Path) -> dict[str, Any]:
    """The rules of skill-creator's aggregator: every eval-*/<configuration>/run-N/grading.json is one value.

    Rate and counts from `summary`. Seconds from `timing.total_duration_seconds`; only where that is 0 or missing, seconds
    and tokens from timing.json. Without tokens, `execution_metrics.output_chars` stands for them. The delta is that of the
    two configurations that come first by name.
    """
    values: dict[str, dict[str, list[float]]] = {}
    for grading in sorted(folder.glob("eval-*/*/run-*/grading.json")):
        assert grading.parent.name.removeprefix("run-").isdigit()
        told = json.loads(grading.read_text())
        assert all({"text", "passed", "evidence"} <= row.keys() for row in told["expectations"])
        timing = json.loads((grading.parent / "timing.json").read_text())
        assert all(value is not None for value in timing.values())
        metrics, seconds, tokens = told.get("execution_metrics", {}), told["timing"].get("total_duration_seconds", 0.0), 0
        if seconds == 0.0:
            seconds, tokens = timing.get("total_duration_seconds", 0.0), timing.get("total_tokens", 0)
        side = values.setdefault(grading.parent.parent.name, {"pass_rate": [], "time_seconds": [], "tokens": []})
        side["pass_rate"].append(told["summary"]["pass_rate"])
        side["time_seconds"].append(seconds)
        side["tokens"].append(tokens or metrics.get("output_chars", 0))
    summary: dict[str, Any] = {name: {key: spread(some) for key, some in side.items()} for name, side in values.items()}
    first, second = (summary[name] for name in sorted(summary)[:2])
    gaps = {key: first[key]["mean"] - second[key]["mean"] for key in first}
    delta = {
        "pass_rate": f"{gaps['pass_rate']:+.2f}",
        "time_seconds": f"{gaps['time_seconds']:+.1f}",
        "tokens": f"{gaps['tokens']:+.0f}",
    }
    return {**summary, "delta": delta}


@pytest.mark.parametrize("tree", ["ase-py/repeated-runs/iteration-1", "skill-creator/iteration-2", "plugin-eval"])
def test_a_tree_for_skill_creator_aggregates_to_its_own_benchmark(tree: str, tmp_path: Path) -> None:
    view = view_of(tree)
    write(view, "skill-creator", tmp_path)
    told = json.loads((tmp_path / "benchmark.json").read_text())
    again = aggregated(tmp_path)
    if tree == "plugin-eval":  # no tokens in the tree: unknown in ours, and never a count of characters in theirs
        assert {again[arm].pop("tokens")["max"] for arm in ("with_skill", "without_skill")} == {0}
        assert {told["run_summary"][arm].pop("tokens")["mean"] for arm in ("with_skill", "without_skill")} == {None}
        assert (again["delta"].pop("tokens"), told["run_summary"]["delta"].pop("tokens")) == ("+0", "unknown")
    assert again == told["run_summary"]
    assert {"skill_name", "executor_model", "evals_run", "runs_per_configuration", "timestamp"} <= told["metadata"].keys()
    for run in told["runs"]:
        assert run["configuration"] in again and run["result"]["total"] == len(run["expectations"])
    assert not (tmp_path / "feedback.json").exists()


def test_runs_that_were_not_measured_are_in_no_mean_of_skill_creator(tmp_path: Path) -> None:
    write(view_of("ase-py/repeated-runs/iteration-1"), "skill-creator", tmp_path)
    told = json.loads((tmp_path / "benchmark.json").read_text())
    assert len(list(tmp_path.glob("eval-*/*/run-*/grading.json"))) == len(told["runs"]) == 8
    assert any("were not measured" in note for note in told["notes"])


def test_the_viewer_of_skill_creator_finds_every_run_with_prompt_and_outputs(tmp_path: Path) -> None:
    write(view_of("handbook"), "skill-creator", tmp_path)
    runs = sorted(path.parent for path in tmp_path.rglob("outputs") if path.is_dir())
    assert len(runs) == 8
    ids = {json.loads(told.read_text())["eval_id"] for told in tmp_path.rglob("eval_metadata.json")}
    assert len({type(one) for one in ids}) == 1  # it sorts by them
    for run in runs:
        assert json.loads((run.parent.parent / "eval_metadata.json").read_text())["prompt"]
        assert (run / "outputs" / "output.txt").is_file() and (run / "grading.json").is_file()


def test_benchmarks_hold_null_for_what_was_not_measured(tmp_path: Path) -> None:
    view = view_of("ase-py/budget-stop-suite")
    for format_ in ("ase-npm", "ase-py", "sab", "handbook", "standard"):
        write(view, format_, tmp_path / format_)
    told = {path: json.loads((tmp_path / path).read_text()) for path in
            ("ase-npm/benchmark.json", "ase-py/benchmark.json", "sab/results.json", "handbook/real/benchmark.json",
             "standard/benchmark.json")}  # fmt: skip
    assert told["ase-npm/benchmark.json"]["run_summary"]["without_skill"]["pass_rate"]["mean"] is None
    assert told["ase-npm/benchmark.json"]["run_summary"]["delta"]["pass_rate"] is None
    assert told["ase-py/benchmark.json"]["run_summary"]["claude-code_without_skill"]["pass_rate"]["mean"] is None
    assert told["sab/results.json"]["evals"][0]["cells"]["claude-code|without_skill"] is None
    assert told["sab/results.json"]["skill_lift"][0]["lift"] is None
    assert told["handbook/real/benchmark.json"]["without_skill"]["pass_rate"] is None
    assert told["handbook/real/benchmark.json"]["cases"][0]["without_skill_passed"] is None
    assert told["standard/benchmark.json"]["run_summary"]["without_skill"]["pass_rate"]["mean"] is None


# ---------------------------------------------------------------- forms that carry numbers and no tree
@pytest.mark.parametrize("tree", EVERYTHING)
def test_the_rows_of_a_csv_come_to_the_rates(tree: str, tmp_path: Path) -> None:
    view = view_of(tree)
    summary = analyze.summary(view)
    registry.get("reports", "csv")().write(summary, view, FolderOut(tmp_path, Redactor()))
    with (tmp_path / "report.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == summary.coverage.planned
    measured = [row for row in rows if row["state"] in ("passed", "failed")]
    assert all(row["checks_passed"] == "" or row["ungraded_checks"] for row in rows if row not in measured)
    if summary.metric != "checks":
        return
    forced = {case.id for suite in view.plan.suites for case in suite.cases if case.forced}
    for rate in summary.rates:
        by_case: dict[str, list[float]] = {}
        for row in measured:
            named = (row["skill"], row["target"], row["arm"]) == (rate.skill, rate.target, rate.arm)
            if named and (row["case"] in forced) == (rate.activation == "forced"):
                by_case.setdefault(row["case"], []).append(int(row["checks_passed"]) / int(row["checks_total"]))
        means = [statistics.fmean(shares) for shares in by_case.values()]
        assert rate.pass_rate == (pytest.approx(statistics.fmean(means)) if means else None)


@pytest.mark.parametrize("tree", EVERYTHING)
def test_junit_has_a_testcase_per_case_and_an_error_where_nothing_was_measured(tree: str, tmp_path: Path) -> None:
    view = view_of(tree)
    summary = analyze.summary(view)
    registry.get("reports", "junit")().write(summary, view, FolderOut(tmp_path, Redactor()))
    root = ET.parse(tmp_path / "report.xml").getroot()
    arms = {(lift.skill, lift.target): lift.arm for lift in summary.lifts}
    told = {(case.get("classname"), case.get("name")): {child.tag for child in case} for case in root.iter("testcase")}
    groups = {(group.skill, group.target, group.case) for group in view.plan.groups}
    assert told.keys() == {(f"{skill}.{target}", case) for skill, target, case in groups}
    for row in summary.cases:
        if row.arm == arms.get((row.skill, row.target)):
            tags = told[f"{row.skill}.{row.target}", row.case]
            assert (row.measured == 0) <= bool(tags & {"error", "skipped"})
            assert (row.rate == 1.0 and row.measured == row.planned) <= (not tags & {"error", "failure", "skipped"})
    lifts = {node.get("name"): node.get("value") for node in root.iter("property")}
    assert (lifts.get("lift") or None) == next((str(lift.lift) for lift in summary.lifts[-1:] if lift.lift is not None), None)


@pytest.mark.parametrize("tree", EVERYTHING)
def test_eval_logs_carry_the_rate_of_every_arm(tree: str, tmp_path: Path) -> None:
    view = view_of(tree)
    summary = write(view, "inspect", tmp_path)
    logs = [json.loads(path.read_text()) for path in tmp_path.rglob("*.json")]
    told = {}
    for log in logs:
        metrics = log["results"]["scores"][0]["metrics"]
        args = log["eval"]["task_args"]
        told[log["eval"]["dataset"]["name"], args["target"], args["arm"]] = metrics["mean"]["value"] if metrics else None
        assert log["results"]["completed_samples"] == sum(bool(sample["scores"]) for sample in log["samples"])
        assert log["results"]["scores"][0]["name"] == summary.metric
    natural = {(row.skill, row.target, row.arm): row.pass_rate for row in summary.rates if row.activation == "natural"}
    assert told == pytest.approx(natural)


def test_eval_logs_have_a_sample_per_run_and_no_score_for_a_failure(tmp_path: Path) -> None:
    write(view_of("ase-py/repeated-runs/iteration-1"), "inspect", tmp_path)
    log = json.loads((tmp_path / "format-json_fake_with_skill.json").read_text())
    assert {"version", "status", "eval", "plan", "results", "stats", "samples"} <= log.keys()
    samples = {(sample["id"], sample["epoch"]): sample for sample in log["samples"]}
    assert samples["fmt", 2]["scores"]["checks"]["value"] == 1.0
    assert samples["2", 2]["scores"] == {} and "folder is not in the tree" in samples["2", 2]["error"]["message"]
    # natural cases only: (1 + 3/4) / 2
    assert log["results"]["scores"][0]["metrics"]["mean"]["value"] == pytest.approx(7 / 8)


# ---------------------------------------------------------------- an experiment of ours, by the command
@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Two cases, two repetitions, on the fake agent; then `ours("export", …)` and so on."""
    from skilltrial.cli import exit_code_of

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    skill = tmp_path / "colours"
    (skill / "evals").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: colours\ndescription: Names colours. Use it for colours.\n---\nSay BLUE.\n")
    evals = [
        {"id": 1, "prompt": "Which colour has the sky?", "expected_output": "blue",
         "checks": [{"id": "blue", "type": "contains", "value": "BLUE"}, {"id": "short", "type": "not_contains", "value": "zzz"}]},
        {"id": 2, "prompt": "Which colour has grass?", "expected_output": "green",
         "checks": [{"id": "green", "type": "contains", "value": "green"}]},
    ]  # fmt: skip
    (skill / "evals" / "evals.json").write_text(json.dumps({"skill_name": "colours", "evals": evals}))

    def call(*args: object) -> str:
        capsys.readouterr()
        code = exit_code_of([str(arg) for arg in args])
        said = capsys.readouterr()
        assert code == 0 or args[0] == "run", said.err
        return said.out

    call("run", "colours", "--target", "fake", "--judge", "none", "-n", "2", "--format", "json")
    return call


@pytest.mark.parametrize("format_", FORMATS)
def test_an_experiment_of_ours_is_exported_and_reported_from_there(ours: Callable[..., Any], format_: str) -> None:
    metric = ("--metric", "cases") if format_ == "handbook" else ()
    here = json.loads(ours("report", "latest", "--format", "json", *metric))
    folder = ours("export", "latest", "--format", format_).strip()
    there = json.loads(ours("report", folder, "--format", "json", *metric))
    assert [(row["arm"], row["pass_rate"], row["cells"]) for row in there["rates"]] == [
        (row["arm"], row["pass_rate"], row["cells"]) for row in here["rates"]
    ]
    assert [row["lift"] for row in there["lifts"]] == [row["lift"] for row in here["lifts"]]
    assert here["coverage"]["graded"] == there["coverage"]["graded"] == 8


def test_an_export_never_mixes_with_what_is_there(ours: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(AssertionError, match="not empty"):
        ours("export", "--format", "sab", "--output", "full")


def test_a_foreign_tree_is_exported_in_another_tools_form(ours: Callable[..., Any]) -> None:
    ours("export", DATA / "ase-npm" / "iteration-single", "--format", "skill-creator", "--output", "out")
    there = json.loads(ours("report", "out", "--format", "json"))
    assert there["lifts"][0]["lift"] == pytest.approx(6 / 9)


def test_a_standard_benchmark_has_means_with_deviations_and_leaves_forced_cases_out(tmp_path: Path) -> None:
    """handbook sample: rates of its two cases without the skill 0 and 1; tokens equal in all runs of an arm."""
    write(view_of("handbook"), "standard", tmp_path / "handbook")
    side = json.loads((tmp_path / "handbook" / "benchmark.json").read_text())["run_summary"]["without_skill"]
    assert side["pass_rate"]["stddev"] == pytest.approx(0.5**0.5)
    assert side["tokens"] == {"mean": 1550.0, "stddev": 0.0}
    write(view_of("ase-py/repeated-runs/iteration-1"), "standard", tmp_path / "forced")
    told = json.loads((tmp_path / "forced" / "benchmark.json").read_text())["run_summary"]
    assert (told["with_skill"]["pass_rate"]["mean"], told["delta"]["pass_rate"]) == pytest.approx((7 / 8, 4 / 24))


# ---------------------------------------------------------------- archives, and the flat layout
@pytest.mark.parametrize("more", [(), ("--include-output",)], ids=["small", "with outputs"])
def test_an_archive_reports_the_numbers_of_its_experiment(ours: Callable[..., Any], more: tuple[str, ...]) -> None:
    here = json.loads(ours("report", "latest", "--format", "json"))
    ours("export", "latest", "--format", "archive", "--output", "kept", *more)
    there = json.loads(ours("report", "kept", "--format", "json"))
    for key in ("rates", "lifts", "cases", "coverage"):
        assert there[key] == here[key], key


@pytest.mark.parametrize("tree", ["skill-creator/iteration-2", "ase-py/repeated-runs/iteration-1", SCORES])
def test_an_archive_of_an_imported_tree_reports_the_numbers_of_the_tree(ours: Callable[..., Any], tree: str) -> None:
    there = json.loads(ours("report", DATA / tree, "--format", "json"))
    ours("import", DATA / tree, "-w", "imported")
    ours("export", "latest", "-w", "imported", "--format", "archive", "--output", "kept")
    kept = json.loads(ours("report", "kept", "--format", "json"))
    assert [(row["arm"], row["pass_rate"], row["mean_score"]) for row in kept["rates"]] == [
        (row["arm"], row["pass_rate"], row["mean_score"]) for row in there["rates"]
    ]
    assert [row["lift"] for row in kept["lifts"]] == [row["lift"] for row in there["lifts"]]


@pytest.mark.parametrize("tree", ["ase-npm/flat", "ase-npm/iteration-single", "standard/changelog-workspace/iteration-1"])
def test_the_flat_layout_reads_back_as_it_was(ours: Callable[..., Any], tree: str) -> None:
    there = json.loads(ours("report", DATA / tree, "--format", "json"))
    ours("export", DATA / tree, "--format", "ase-npm", "--layout", "flat", "--output", "out")
    again = json.loads(ours("report", "out", "--format", "json"))
    assert [(row["skill"], row["arm"], row["pass_rate"]) for row in again["rates"]] == [
        (row["skill"], row["arm"], row["pass_rate"]) for row in there["rates"]
    ]
    assert [row["lift"] for row in again["lifts"]] == [row["lift"] for row in there["lifts"]]
