"""Every kept tree of every tool, against numbers worked out by hand from its leaves; what was not measured is None."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skilltrial import analyze, formats
from skilltrial.cli import exit_code_of
from skilltrial.records.summary import Summary

DATA = Path(__file__).parent.parent / "data" / "foreign"
WITH, WITHOUT = "with_skill", "without_skill"


class Expected(NamedTuple):
    tree: str
    format: str
    rates: dict[tuple[str, ...], float | None]
    """By skill, target, arm (and `forced`)."""
    lifts: dict[tuple[str, ...], float | None]
    """By skill, target (and `forced`)."""
    told: tuple[str, ...]
    """Words that `unknowns` must hold."""


# alpha, from its leaves. With: basic 2/2, eval 2 1/1, tools 4/6. Without: 0/2, 0/1, 4/6. "nothing" has no assertion and is
# ungraded, which the tool counts as 1 in both arms (0.916667 and 0.416667).
#   with (1 + 1 + 2/3) / 3 = 8/9      without (0 + 0 + 2/3) / 3 = 2/9      lift 6/9
ALPHA_RATES = {("alpha", "t1", WITH): 8 / 9, ("alpha", "t1", WITHOUT): 2 / 9}
# beta: one eval, 1/1 with and 0/1 without.
BOTH_RATES = {**ALPHA_RATES, ("beta", "t1", WITH): 1.0, ("beta", "t1", WITHOUT): 0.0}
BOTH_LIFTS = {("alpha", "t1"): 6 / 9, ("beta", "t1"): 1.0}
NOTHING = ("alpha/nothing: no assertion", "key order", "answers are not in the tree")

SAMPLES = (
    Expected("ase-npm/iteration-single", "ase-npm", ALPHA_RATES, {("alpha", "t1"): 6 / 9}, NOTHING),
    Expected("ase-npm/iteration-multi", "ase-npm", BOTH_RATES, BOTH_LIFTS, NOTHING),
    Expected("ase-npm/flat", "ase-npm", BOTH_RATES, BOTH_LIFTS, NOTHING),
    # Natural cases. fmt: "polite" was skipped in all runs, so it is set aside; with 6/6 twice, without 4/6 twice (both runs
    # miss the phrase and the JSON path). 2: 3/4 in both arms; its second run has no folder.
    #   with (1 + 3/4) / 2 = 7/8      without (2/3 + 3/4) / 2 = 17/24      lift 4/24
    # force (forced on, a row of its own): with 3/4 (git_clean), without 4/4; second runs have no folder.
    Expected(
        "ase-py/repeated-runs/iteration-1",
        "ase-py",
        {
            ("format-json", "fake", WITH): 7 / 8,
            ("format-json", "fake", WITHOUT): 17 / 24,
            ("format-json", "fake", WITH, "forced"): 3 / 4,
            ("format-json", "fake", WITHOUT, "forced"): 1.0,
        },
        {("format-json", "fake"): 4 / 24, ("format-json", "fake", "forced"): -1 / 4},
        ("4 runs that summary.json counts have no folder", "git_clean failed only because", "lay there before the run"),
    ),
    # Only the files at its top are left: nothing can be recomputed, whatever summary.json claims (0.833 and 0.806).
    Expected(
        "ase-py/repeated-runs/iteration-2",
        "ase-py",
        {("format-json", "fake", arm, *forced): None for arm in (WITH, WITHOUT) for forced in ((), ("forced",))},
        {("format-json", "fake"): None, ("format-json", "fake", "forced"): None},
        ("12 runs that summary.json counts have no folder",),
    ),
    # One case, one run each: claude-code 0/5, codex 4/5, opencode 1/5 in both arms.
    Expected(
        "ase-py/three-agents-single-run",
        "ase-py",
        {
            ("real", agent, arm): rate
            for agent, rate in (("claude-code", 0.0), ("codex", 4 / 5), ("opencode", 1 / 5))
            for arm in (WITH, WITHOUT)
        },
        {("real", agent): 0.0 for agent in ("claude-code", "codex", "opencode")},
        (),
    ),
    # One run with the skill, 0/6 (the budget row included); the other three were skipped. The tool shows 0 % for the baseline.
    Expected(
        "ase-py/budget-stop-suite",
        "ase-py",
        {("real", "claude-code", WITH): 0.0, ("real", "claude-code", WITHOUT): None},
        {("real", "claude-code"): None},
        ("3 runs were skipped",),
    ),
    # The program was not installed. The tool shows 0 % against 0 %.
    Expected(
        "ase-py/agent-missing",
        "ase-py",
        {("real", "codex", WITH): None, ("real", "codex", WITHOUT): None},
        {("real", "codex"): None},
        ("2 runs ended in an error",),
    ),
    # Both evals, both trials: with 4/4 (of the two assertions that both sides have: 2/2), without 1/2.
    Expected(
        "sab/run-two-sides",
        "sab",
        {("conventional-commit", "claude", WITH): 1.0, ("conventional-commit", "claude", WITHOUT): 1 / 2},
        {("conventional-commit", "claude"): 1 / 2},
        ("4 assertions in one trial and 2 in another",),
    ),
    # No skill: three targets, baseline only. gemini 1/2; the others left no trial folder and stand there as 0.
    Expected(
        "sab/task-harness-axis-with-errors",
        "sab",
        {
            ("adhoc-task", "codex", WITHOUT): None,
            ("adhoc-task", "gemini", WITHOUT): 1 / 2,
            ("adhoc-task", "nosuch", WITHOUT): None,
        },
        {},
        ("codex/without_skill: 1 of 1 trials left no folder", "nosuch/without_skill: 1 of 1"),
    ),
    # Scores 9 and 4 of 10; codex left nothing, and the tool says 0.0 against 0.0, "no measurable effect".
    Expected(
        "sab/task-no-assertions-mean-score",
        "sab",
        {
            ("conventional-commit", "claude", WITH): 0.9,
            ("conventional-commit", "claude", WITHOUT): 0.4,
            ("conventional-commit", "codex", WITH): None,
            ("conventional-commit", "codex", WITHOUT): None,
        },
        {("conventional-commit", "claude"): 0.5, ("conventional-commit", "codex"): None},
        ("codex/with_skill: 1 of 1 trials left no folder",),
    ),
    # Metric cases: with 1 and 2 pass in both iterations, 4/4; without case 1 fails and case 2 passes, 2/4.
    Expected(
        "handbook/20260101T000000Z",
        "handbook",
        {("sample-skill", "adapter", WITH): 1.0, ("sample-skill", "adapter", WITHOUT): 1 / 2},
        {("sample-skill", "adapter"): 1 / 2},
        (),
    ),
    # count: the one scored grader fails in both arms. notes: weights 2 and 1, both fail; "fired" is an indicator.
    Expected(
        "plugin-eval",
        "plugin-eval",
        {("notes-plugin", "claude-code", WITH): 0.0, ("notes-plugin", "claude-code", WITHOUT): 0.0},
        {("notes-plugin", "claude-code"): 0.0},
        ("whole seconds",),
    ),
    # The login failed: the tool stores score 0 and an overall score of 0.
    Expected(
        "plugin-eval/aggregate-result-auth-failed.json",
        "plugin-eval",
        {("notes-plugin", "claude-code", WITH): None, ("notes-plugin", "claude-code", WITHOUT): None},
        {("notes-plugin", "claude-code"): None},
        ("auth_failed", "counts it as score 0"),
    ),
    # Case 0: with 3/3 and 2/3, without 1/3 (its second run was never graded). Case 1: with 1/1 twice, without 0/1 and 1/1.
    #   with (5/6 + 1) / 2 = 11/12      without (1/3 + 1/2) / 2 = 5/12      lift 6/12
    Expected(
        "skill-creator/iteration-2",
        "skill-creator",
        {("minutes", "model-a", WITH): 11 / 12, ("minutes", "model-a", WITHOUT): 5 / 12},
        {("minutes", "model-a"): 1 / 2},
        ("minutes/0/model-a/without_skill/2: no grading.json",),
    ),
    # new-release: with 2/2, without 1/2. empty-log: with 1/1; the baseline was never graded, so it is in no pair.
    # The workspace's own benchmark.json counts that run as 0 and says 25 % and +75 points.
    Expected(
        "standard/changelog-workspace/iteration-1",
        "standard",
        {("changelog", "agent", WITH): 1.0, ("changelog", "agent", WITHOUT): 1 / 2},
        {("changelog", "agent"): 1 / 2},
        ("changelog/empty-log/agent/without_skill: no grading.json",),
    ),
)


@pytest.fixture(scope="module", params=SAMPLES, ids=lambda sample: sample.tree)
def sample(request: pytest.FixtureRequest) -> Expected:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def tree(sample: Expected) -> formats.Tree:
    found = formats.find(DATA / sample.tree)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def summary(tree: formats.Tree) -> Summary:
    return analyze.summary(tree.read())


def test_the_tool_is_known_by_its_files(sample: Expected, tree: formats.Tree) -> None:
    assert tree.format.name == sample.format


def test_rates_are_those_worked_out_by_hand(sample: Expected, summary: Summary) -> None:
    rates = {
        (row.skill, row.target, row.arm, *(("forced",) if row.activation == "forced" else ())): row.pass_rate
        for row in summary.rates
    }
    assert rates == pytest.approx(sample.rates)


def test_lifts_are_those_worked_out_by_hand(sample: Expected, summary: Summary) -> None:
    lifts = {(row.skill, row.target, *(("forced",) if row.activation == "forced" else ())): row.lift for row in summary.lifts}
    assert lifts == pytest.approx(sample.lifts)


def test_every_kept_tree_has_its_numbers_here() -> None:
    kept = {tree.root for tool in DATA.iterdir() for place in (tool, *tool.glob("*/")) for tree in formats.trees(place)}
    shown = {tree.root for sample in SAMPLES if (tree := formats.find(DATA / sample.tree)) is not None}
    assert kept - shown == {DATA / "ase-npm"}  # several flat workspaces side by side look like one with several skills


def test_the_command_prints_these_numbers_and_null_for_the_rest(sample: Expected, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["report", str(DATA / sample.tree), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    named: dict[str, dict[tuple[str, ...], Any]] = {}
    for kind, key in (("rates", "pass_rate"), ("lifts", "lift")):
        for row in told[kind]:
            names = (row["skill"], row["target"], *((row["arm"],) if kind == "rates" else ()))
            named.setdefault(kind, {})[(*names, *(("forced",) if row["activation"] == "forced" else ()))] = row[key]
    assert named.get("rates", {}) == pytest.approx(sample.rates)
    assert named.get("lifts", {}) == pytest.approx(sample.lifts)
    for row in (*told["rates"], *told["lifts"]):
        value = row["pass_rate"] if "pass_rate" in row else row["lift"]
        assert (value is None) == (row["low"] is None) == (row["high"] is None)
    for row in told["lifts"]:
        if row["lift"] is None:
            assert (row["verdict"], row["p_value"], row["like_these"]["low"]) == ("not measured", None, None)


def test_what_cannot_be_known_is_said(sample: Expected, tree: formats.Tree, summary: Summary) -> None:
    view = tree.read()
    for words in sample.told:
        assert any(words in text for text in view.unknowns), words
    assert set(view.unknowns) <= set(summary.warnings)


def test_every_cell_is_marked_as_imported_and_can_be_looked_up(tree: formats.Tree) -> None:
    view = tree.read()
    for result in view.results():
        if result.evidence is not None:
            evidence = view.evidence(result)
            assert evidence is not None
            assert (evidence.source, result.evidence.source, result.evidence.clean) == ("imported", "imported", None)
            assert evidence.cell == result.cell.id


def test_a_run_with_no_grade_and_a_run_with_no_folder_are_told_apart() -> None:
    found = formats.find(DATA / "ase-npm" / "iteration-single")
    assert found is not None
    letters = {row.case: row.squares for row in analyze.summary(found.read()).cases if row.arm == WITH}
    assert letters == {"2": "P", "basic-behavior": "P", "nothing": "U", "tools": "F"}
    found = formats.find(DATA / "ase-py" / "repeated-runs" / "iteration-1")
    assert found is not None
    letters = {row.case: row.squares for row in analyze.summary(found.read()).cases if row.arm == WITHOUT}
    assert letters == {"2": "FX", "fmt": "FF", "force": "PX"}


def test_a_workspace_means_its_last_iteration() -> None:
    found = formats.find(DATA / "ase-py" / "repeated-runs")
    assert found is not None and found.root.name == "iteration-2"
    assert [tree.root.name for tree in formats.trees(DATA / "ase-py" / "repeated-runs")] == ["iteration-1", "iteration-2"]


def test_a_folder_above_workspaces_of_several_tools_is_none_of_them() -> None:
    tools = {tree.format.name for tree in formats.trees(DATA)}
    assert tools == {"ase-npm", "ase-py", "sab", "handbook", "plugin-eval", "skill-creator", "standard"}


def test_a_folder_of_no_tool_is_none(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")
    assert formats.find(tmp_path) is None
    assert formats.find(tmp_path / "absent") is None
