"""What the Summary says of an experiment, edge by edge."""

import pytest
from tests.analyze.build import TREE, View, case, check, evidence_line, grade, joined, priced, trial

from skilltrial.analyze import summary
from skilltrial.records.evidence import Usage
from skilltrial.records.grades import Grade
from skilltrial.records.journal import StopLine
from skilltrial.records.plan import Arm, Budgets, Contrast, Gate, Judge, SetAside, Target
from skilltrial.records.summary import Lift, Rate, Summary

WON = {"a": ("PPP", "FFF"), "b": ("PPP", "FFP"), "c": ("PPF", "FFF"), "d": ("PPP", "FPF")}


def rate(found: Summary, arm: str = "with_skill") -> Rate:
    return next(row for row in found.rates if row.arm == arm)


def lift(found: Summary) -> Lift:
    (row,) = found.lifts
    return row


# ---------------------------------------------------------------- the plain case
def test_a_won_trial_says_so_in_both_scopes() -> None:
    found = summary(trial(WON))
    row = lift(found)
    assert row.lift == pytest.approx(11 / 12 - 2 / 12)
    assert (row.verdict, row.point_label) == ("helps", "clear positive")
    assert row.low is not None
    assert row.low > 0
    assert (row.cases, row.repetitions, row.cells) == (4, 3, {"with_skill": 12, "without_skill": 12})
    assert row.coverage == {"with_skill": 1.0, "without_skill": 1.0}
    assert (row.better, row.equal, row.worse_cases) == (4, 0, ())
    assert (row.like_these.verdict, row.like_these.units) == ("inconclusive", 4)
    assert row.like_these.reason == "too_few_cases: 4 cases; 6 are needed"
    assert row.p_adjusted == row.p_value
    assert found.coverage.graded == found.coverage.planned == 24
    assert found.gate.exit_code == 0


def test_the_lift_is_the_difference_of_the_rates() -> None:
    found = summary(trial(WON))
    with_, without = rate(found).pass_rate, rate(found, "without_skill").pass_rate
    assert with_ is not None
    assert without is not None
    assert with_ - without == pytest.approx(lift(found).lift)


def test_bounds_are_the_lift_itself_when_nothing_is_missing() -> None:
    row = lift(summary(trial(WON)))
    assert row.worst.lift == row.best.lift == row.lift
    assert (row.worst.low, row.worst.high) == (row.low, row.high)
    assert not row.bounds_rule


def test_rows_of_cases_hold_squares_passes_and_state() -> None:
    rows = {(row.case, row.arm): row for row in summary(trial({"a": ("PF.", "UTC")})).cases}
    with_, without = rows["a", "with_skill"], rows["a", "without_skill"]
    assert (with_.squares, with_.passes, with_.measured, with_.planned, with_.flaky) == ("PF.", 1, 2, 3, True)
    assert (with_.rate, with_.state) == (0.5, "open")
    assert (without.squares, without.measured, without.rate) == ("UXX", 0, None)


def test_rates_carry_repeats() -> None:
    row = rate(summary(trial({"a": ("PPF",), "b": ("FFF",), "c": ("PPP",)}, arms=("with_skill",))))
    assert row.full_pass_rate == pytest.approx(5 / 9)
    assert row.any_of_k == pytest.approx(2 / 3)
    assert row.pass_at_k["1"].value == pytest.approx(5 / 9)
    assert row.pass_at_k["3"].value == pytest.approx(2 / 3)
    assert row.pass_hat_k["3"].value == pytest.approx(1 / 3)
    assert row.pass_at_k["3"].low is not None
    assert set(row.pass_at_k) == {"1", "2", "3"}


def test_pass_at_k_is_unknown_unless_every_case_has_k_runs() -> None:
    row = rate(summary(trial({"a": ("PPF",), "b": ("FFT",)}, arms=("with_skill",))))
    assert row.pass_at_k["3"].value is None
    assert row.pass_at_k["2"].value is not None


# ---------------------------------------------------------------- checks, metrics, weights
TWO = case("a", check("c1"), check("c2", weight=3.0))


@pytest.mark.parametrize(("metric", "expected"), [("checks", 0.25), ("cases", 0.0)])
def test_the_metric_says_what_a_cell_is_worth(metric: str, expected: float) -> None:
    found = summary(trial({"a": ("p", "F")}, [TWO]), metric=metric)  # type: ignore[arg-type]
    assert found.metric == metric
    assert rate(found).pass_rate == expected


def test_the_score_metric_takes_the_judges_quality() -> None:
    quality = check("q", "quality")
    view = trial({"a": ("P", "P")}, [case("a", quality)])
    view = view.altered("demo/a/t1/with_skill/1", grades=[grade(quality, "passed", score=0.8)])
    view = view.altered("demo/a/t1/without_skill/1", grades=[grade(quality, "passed", score=0.5)])
    for metric in ("score", "checks"):
        found = summary(view, metric=metric)  # type: ignore[arg-type]
        assert rate(found).mean_score == 0.8
        assert lift(found).lift == pytest.approx(0.3)
    assert summary(view, metric="cases").rates[0].pass_rate is None


def test_an_ungraded_check_leaves_the_pass_rate_alone() -> None:
    rubric = check("r", "rubric")
    view = trial({"a": ("PP", "FF")}, [case("a", check(), rubric)])
    before = rate(summary(view)).pass_rate
    view = view.altered("demo/a/t1/with_skill/2", grades=[grade(check(), "failed"), grade(rubric, "ungraded")])
    found = summary(view)
    assert rate(found).pass_rate == before == 1.0
    assert rate(found).failures == {"judge_error": 1}
    assert rate(found).graded == 1


def test_a_judge_error_is_listed_with_its_reason_and_no_number() -> None:
    found = summary(trial({"a": ("U", "P")}))
    (row,) = found.errors
    assert (row.cell, row.state, row.reason, row.checks) == (
        "demo/a/t1/with_skill/1",
        "judge_error",
        "c1 ungraded",
        ("text of c1",),
    )
    assert rate(found).pass_rate is None
    assert found.coverage.failed_measurements == {"judge_error": 1}


def test_an_ungraded_diagnostic_check_disturbs_nothing() -> None:
    extra = check("c2", required=False)
    view = trial({"a": ("P", "F")}, [case("a", check(), extra)])
    view = view.altered("demo/a/t1/with_skill/1", grades=[grade(check(), "passed"), grade(extra, "ungraded")])
    assert rate(summary(view)).pass_rate == 1.0


def test_diagnostic_checks_count_nowhere() -> None:
    extra = check("c2", required=False)
    view = trial({"a": ("P", "F")}, [case("a", check(), extra)])
    view = view.altered("demo/a/t1/with_skill/1", grades=[grade(check(), "passed"), grade(extra, "failed")])
    found = summary(view)
    assert (rate(found).pass_rate, found.failures, found.gate.exit_code) == (1.0, (), 0)


def test_a_check_set_aside_counts_nowhere() -> None:
    rubric = check("r", "rubric")
    view = trial(
        {"a": ("P", "F")},
        [case("a", check(), rubric)],
        set_aside=[SetAside(check="r", skill="demo", case="a", reason="no judge")],
    )
    view = view.altered("demo/a/t1/with_skill/1", grades=[grade(check(), "passed"), grade(rubric, "ungraded")])
    found = summary(view)
    assert rate(found).pass_rate == 1.0
    assert found.coverage.set_aside == 1
    assert (found.set_aside[0].cell, found.set_aside[0].reason) == ("demo/a", "no judge")


def test_a_check_that_only_one_arm_was_graded_on_is_not_compared() -> None:
    only = check("w", arms=("with_skill",))
    view = trial({"a": ("P", "P")}, [case("a", check(), only)])
    view = view.altered("demo/a/t1/with_skill/1", grades=[grade(check(), "passed"), grade(only, "failed")])
    found = summary(view)
    assert lift(found).lift == 0.0
    assert found.gate.exit_code == 1


def test_indicators_gate_the_arm_under_test_and_enter_no_rate() -> None:
    loaded = check("l", "loaded_skill", scored=False)
    view = trial({"a": ("P", "P")}, [case("a", check(), loaded)])
    for arm in ("with_skill", "without_skill"):
        view = view.altered(f"demo/a/t1/{arm}/1", grades=[grade(check(), "passed"), grade(loaded, "failed")])
    found = summary(view)
    assert (rate(found).pass_rate, lift(found).lift) == (1.0, 0.0)
    assert found.gate.exit_code == 1
    assert [row.squares for row in found.cases] == ["F", "P"]
    (seen,) = found.activation
    assert (seen.arm, seen.indicators_passed, seen.indicators_failed, seen.activated) == ("with_skill", 0, 1, 1)


def test_weights_of_cases_weigh_rates_and_lifts() -> None:
    found = summary(trial({"a": ("P", "F"), "b": ("F", "F")}, [case("a", weight=3.0), case("b")]))
    assert rate(found).pass_rate == 0.75
    assert lift(found).lift == 0.75


def test_clusters_are_the_units_of_the_wider_scope() -> None:
    names = "abcdefgh"
    found = summary(trial(dict.fromkeys(names, ("P", "F")), [case(name, cluster=name if name > "b" else "ab") for name in names]))
    assert lift(found).like_these.units == 7


def test_unequal_numbers_of_repetitions_are_said() -> None:
    found = summary(trial({"a": ("PPP", "FFF"), "b": ("PTT", "FFF")}))
    assert any("between 1 and 3 repetitions" in text for text in found.warnings)


# ---------------------------------------------------------------- nothing measured
def test_an_empty_plan_measures_nothing_and_is_not_green() -> None:
    found = summary(trial({}))
    assert (found.rates, found.lifts, found.gate.exit_code, found.gate.passed) == ((), (), 2, None)


@pytest.mark.parametrize("letter", "ITAN.")
def test_no_number_comes_from_runs_that_all_failed(letter: str) -> None:
    found = summary(trial({"a": (letter, letter), "b": (letter, letter)}))
    for row in found.rates:
        assert (row.pass_rate, row.low, row.full_pass_rate, row.any_of_k) == (None, None, None, None)
        assert row.pass_at_k == {}
    assert lift(found).verdict == "not measured"
    assert lift(found).reason.startswith("no_pair")
    assert (lift(found).lift, lift(found).low, lift(found).p_value, lift(found).point_label) == (None, None, None, None)
    assert lift(found).like_these.low is None
    assert found.gate.exit_code == 2
    assert found.coverage.graded == 0
    assert found.leaderboard[0].value is None


def test_everything_set_aside_measures_nothing() -> None:
    aside = [SetAside(check="c1", skill="demo", case=name, reason="no judge") for name in "abc"]
    found = summary(trial(dict.fromkeys("abc", ("P", "P")), set_aside=aside))
    assert rate(found).pass_rate is None
    assert found.gate.exit_code == 2


# ---------------------------------------------------------------- missing cells
def test_time_outs_in_one_arm_bring_bounds_that_withdraw_the_verdict() -> None:
    found = summary(trial(dict.fromkeys("abcde", ("PPTT", "FPFP"))))
    row = lift(found)
    assert row.lift == 0.5
    assert row.bounds_rule
    assert row.worst.lift == pytest.approx(0.0)
    assert row.best.lift == pytest.approx(0.5)
    assert (row.verdict, row.reason[:8]) == ("inconclusive", "missing:")
    assert rate(found).failures == {"timeout": 10}
    assert row.like_these.verdict == "inconclusive"


def test_time_outs_can_be_counted_as_failed_cells() -> None:
    view = trial(dict.fromkeys("abcde", ("PPTT", "FPFP")), gate=Gate(count_as_failed=("timeout",)))
    found = summary(view)
    assert (rate(found).pass_rate, lift(found).lift) == (0.5, 0.0)
    assert rate(found).graded == 20
    assert found.coverage.failed_measurements == {}
    assert found.cases[0].squares == "PPFF"


def test_a_dropped_case_takes_part_in_the_bounds() -> None:
    row = lift(summary(trial({"a": ("PP", "FF"), "b": ("II", "FF"), "c": ("PP", "FF")})))
    assert (row.cases, row.cases_dropped, row.lift) == (2, 1, 1.0)
    assert (row.worst.lift, row.best.lift) == (pytest.approx(2 / 3), 1.0)
    assert row.coverage["with_skill"] == pytest.approx(4 / 6)


def test_half_a_design_measured_decides_nothing() -> None:
    row = lift(summary(trial(dict.fromkeys("abcdef", ("PPIII", "FFFFF")))))
    assert row.reason.startswith("missing: only 40 %")


def test_a_contaminated_baseline_is_no_measurement() -> None:
    found = summary(trial({"a": ("P", "C"), "b": ("P", "F")}))
    assert rate(found, "without_skill").failures == {"contaminated": 1}
    assert lift(found).cases == 1
    (row,) = found.isolation
    assert (row.clean, row.reason) == (False, "the skill was seen in 1 of 2 baseline runs")
    assert any("seen in 1 of 2" in text for text in found.warnings)
    assert found.errors[0].reason == "the baseline saw the skill"


def test_an_arm_without_its_skill_is_no_measurement() -> None:
    found = summary(trial({"a": ("C", "F")}))
    assert found.errors[0].reason == "no evidence that the skill was available"
    assert "available in 1 of 1 runs with it" in found.isolation[0].reason


def test_a_backend_that_cannot_tell_counts() -> None:
    view = trial({"a": ("P", "F")}).altered("demo/a/t1/without_skill/1", clean=None)
    found = summary(view)
    assert (found.isolation[0].clean, lift(found).lift) == (None, 1.0)


# ---------------------------------------------------------------- forced cases, arms, targets, skills
def test_forced_cases_have_rows_of_their_own() -> None:
    cases = [case("a"), case("f", forced=True)]
    found = summary(trial({"a": ("F", "F"), "f": ("P", "F")}, cases))
    assert [(row.activation, row.lift) for row in found.lifts] == [("natural", 0.0), ("forced", 1.0)]
    assert [(row.arm, row.activation, row.pass_rate) for row in found.rates] == [
        ("with_skill", "natural", 0.0),
        ("with_skill", "forced", 1.0),
        ("without_skill", "natural", 0.0),
        ("without_skill", "forced", 0.0),
    ]
    assert found.rates[1].delivery == "forced"


def test_a_suite_of_forced_cases_has_no_natural_row() -> None:
    found = summary(trial({"f": ("P", "F")}, [case("f", forced=True)]))
    assert [row.activation for row in found.lifts] == ["forced"]


def test_one_arm_alone_has_rates_and_no_lift() -> None:
    found = summary(trial({"a": ("PP",), "b": ("PF",)}, arms=("with_skill",)))
    assert found.lifts == ()
    assert rate(found).pass_rate == 0.75
    assert "no baseline: there will be pass rates, and no lift" in found.warnings


def test_several_rows_need_holms_correction() -> None:
    barely = dict.fromkeys("abcd", ("P", "F"))  # p 0.0147 alone
    alone = summary(trial(barely))
    assert lift(alone).verdict == "helps"
    found = summary(trial(dict.fromkeys("abcd", ("P", "F") * 4), targets=("t1", "t2", "t3", "t4")))
    assert {row.verdict for row in found.lifts} == {"inconclusive"}
    assert found.lifts[0].reason.startswith("multiplicity")
    assert found.lifts[0].p_adjusted == pytest.approx(4 * 0.01472, rel=1e-3)
    assert found.lifts[0].low == lift(alone).low


def test_other_arms_are_a_family_of_their_own() -> None:
    arms = ("with_skill", "without_skill", "sham")
    view = trial(dict.fromkeys("abcd", ("P", "F", "F")), arms=arms)
    view = view.planned(
        arms=(*view.plan.arms[:2], Arm(name="sham", skill="demo", trees=(TREE,))),
        contrasts=(*view.plan.contrasts, Contrast(skill="demo", arm="sham", primary=False)),
    )
    found = summary(view)
    assert [(row.arm, row.verdict) for row in found.lifts] == [("with_skill", "helps"), ("sham", "inconclusive")]
    assert found.gate.exit_code == 0


def test_targets_whose_intervals_overlap_share_ranks() -> None:
    letters = dict.fromkeys("abcdef", ("PPP", "FFF", "FFF", "FFF", "PPF", "FFF"))
    board = summary(trial(letters, targets=("good", "bad", "fair"))).leaderboard
    assert [(row.target, row.rank_low, row.rank_high) for row in board] == [("good", 1, 2), ("fair", 1, 2), ("bad", 3, 3)]


def test_skills_are_kept_apart() -> None:
    found = summary(joined(trial({"a": ("P", "F")}, skill="one"), trial({"a": ("F", "P")}, skill="two")))
    assert [(row.skill, row.lift) for row in found.lifts] == [("one", 1.0), ("two", -1.0)]
    assert found.gate.exit_code == 1
    assert [(row.skill, row.exit_code) for row in found.gate.by_skill] == [("one", 0), ("two", 1)]


def test_a_zero_or_negative_lift_is_a_warning() -> None:
    assert any("no lift at all" in text for text in summary(trial({"a": ("P", "P")})).warnings)
    assert any("negative" in text for text in summary(trial({"a": ("F", "P")})).warnings)
    hurt = summary(trial(dict.fromkeys("abcd", ("FFF", "PPP"))))
    assert lift(hurt).verdict == "hurts"
    assert any("hurts" in text for text in hurt.warnings)
    assert lift(hurt).worse_cases == ("a", "b", "c", "d")


# ---------------------------------------------------------------- what it took
def test_cost_time_and_tokens_are_compared_over_cells_that_report() -> None:
    view = priced(trial(WON), with_skill=(4.0, 0.03, 300), without_skill=(2.0, 0.01, 100))
    found = summary(view)
    row = lift(found)
    assert (row.time_delta, row.token_delta, row.cost_delta) == (2.0, 400.0, pytest.approx(0.02))
    assert row.cost_ratio.ratio == pytest.approx(3.0)
    assert row.cost_ratio.of_totals == pytest.approx(3.0)
    assert row.lift_per_usd.value == pytest.approx(0.75 / 0.02)
    with_ = rate(found)
    assert with_.cost_usd is not None
    assert (with_.cost_usd.total, with_.cost_usd.cells_with_cost) == (pytest.approx(0.36), 12)
    assert with_.cost_per_success == pytest.approx(0.36 / 11)
    assert with_.time_seconds is not None
    assert (with_.time_seconds.mean, with_.time_seconds.stddev, with_.time_seconds.median) == (4.0, 0.0, 4.0)
    assert with_.tokens is not None
    assert (with_.tokens.input, with_.tokens.cached, with_.tokens.non_cached_input, with_.tokens.total) == (300, 0, 300, 600)


def test_the_cached_share_is_of_the_runs_that_told_what_was_cached() -> None:
    view = priced(trial({"a": ("P", "F")}), with_skill=(1.0, 0.01, 300))
    told = [one for one in view.results() if one.evidence is not None]
    usages = (Usage(input_tokens=300, cached_tokens=100), Usage(input_tokens=600))
    results = [
        one._replace(evidence=one.evidence.model_copy(update={"usage": usage}))
        for one, usage in zip(told, usages, strict=True)
        if one.evidence is not None
    ]
    totals = summary(View(view.plan, results)).totals
    assert (totals.input_tokens, totals.cached_tokens, totals.non_cached_input_tokens) == (900, 100, 200)
    assert totals.cached_pct == pytest.approx(100 / 3)


def test_what_nobody_reported_stays_unknown() -> None:
    found = summary(trial({"a": ("P", "F")}))
    row = rate(found)
    assert (row.tokens, row.cost_usd, row.cost_per_success) == (None, None, None)
    assert (found.totals.cost_usd, found.totals.input_tokens, found.totals.cached_pct) == (None, None, None)
    assert lift(found).cost_ratio.ratio is None
    assert lift(found).lift_per_usd.value is None


def test_totals_hold_superseded_attempts_and_leave_reused_ones_out() -> None:
    view = priced(trial({"a": ("P", "R")}), with_skill=(2.0, 0.5, 10), without_skill=(2.0, 9.0, 10))
    results = list(view.results())
    old = evidence_line(results[0].cell, outcome="infrastructure_error", usage=Usage(cost_usd=0.25), duration_s=1.0)
    view._results[0] = results[0]._replace(superseded=(old,))
    found = summary(view)
    assert (found.totals.cost_usd, found.totals.attempts, found.totals.cells, found.totals.duration_s) == (0.75, 3, 2, 3.0)
    assert found.reused == 1
    assert any("reused" in text for text in found.warnings)


def test_wall_time_leaves_out_the_pause_before_a_resume() -> None:
    view = trial({"a": ("PP", "F.")})
    view = view.altered("demo/a/t1/with_skill/2", started_at="2026-01-01T00:00:01Z")
    view = view.altered("demo/a/t1/without_skill/1", started_at="2026-01-02T00:00:00Z")
    assert summary(view).totals.wall_s == pytest.approx(5.0)


def test_judging_is_counted_apart() -> None:
    view = trial({"a": ("P", "F")}, judge=Judge(target=Target(name="j", backend="openai", value="m", params={"temperature": 0})))
    line = view._results[0].grading
    assert line is not None
    usage = Usage(input_tokens=5, output_tokens=2, cost_usd=0.1)
    view._results[0] = view._results[0]._replace(grading=line.model_copy(update={"judge_usage": usage, "judge_calls": 2}))
    found = summary(view)
    (row,) = found.judge
    assert (row.backend, row.model, row.calls, row.tokens, row.cost_usd, row.temperature) == ("openai", "m", 2, 7, 0.1, 0.0)
    assert (found.totals.judge_cost_usd, found.totals.cost_usd) == (0.1, None)


def test_budgets_say_who_exceeded_them() -> None:
    view = trial({"a": ("PB", "F.")}, budgets=Budgets(max_cost_usd=5, per_case={"duration_s": 1000.0}))
    over = Grade(check="budget:duration_s", state="failed", method="budget", reason="2000 s, 1000 s allowed")
    view = view.altered("demo/a/t1/with_skill/1", grades=[grade(check(), "passed"), over])
    found = summary(view)
    assert found.budget.limits == {"max_cost_usd": 5.0, "duration_s": 1000.0}
    assert found.budget.exceeded == ("demo/a/t1/with_skill/1", "demo/a/t1/with_skill/2")
    assert found.failures[0].checks == ("budget:duration_s",)


def test_a_limit_per_case_lists_every_run_beyond_it_whatever_the_action() -> None:
    view = trial({"a": ("P", "P")}, budgets=Budgets(per_case={"duration_s": 0.001, "reasoning_tokens": 0}, action="warn"))
    assert summary(view).budget.exceeded == ("demo/a/t1/with_skill/1", "demo/a/t1/without_skill/1")
    assert summary(trial({"a": ("P", "P")}, budgets=Budgets(per_case={"reasoning_tokens": 0}))).budget.exceeded == ()


# ---------------------------------------------------------------- lists
def test_failures_are_those_of_the_arm_under_test_with_their_checks() -> None:
    found = summary(trial({"a": ("Pp", "FF")}, [TWO]))
    (row,) = found.failures
    assert (row.cell, row.checks, row.reason) == ("demo/a/t1/with_skill/2", ("text of c2",), "c2 failed")


def test_cells_never_run_are_skipped_and_say_why() -> None:
    stop = StopLine(rule="budget", after_blocks=1, reason="the budget of 5 USD was spent", at="2026-01-01T00:00:00Z")
    found = summary(trial({"a": ("P.", "F.")}, stops=[stop]))
    assert [row.cell for row in found.skipped] == ["demo/a/t1/with_skill/2", "demo/a/t1/without_skill/2"]
    assert found.stopped == "the budget of 5 USD was spent"
    assert summary(trial({"a": ("P", "F")}, stops=[stop])).stopped is None


def test_repetitions_that_disagree_are_listed_with_what_failed() -> None:
    found = summary(trial({"a": ("PPF", "FFF"), "b": ("PPP", "FFF")}))
    (row,) = found.stability
    assert (row.case, row.full_passes, row.failures, row.failed_checks) == ("a", 2, 1, {"text of c1": 1})


def test_the_plan_says_how_the_skill_was_delivered() -> None:
    view = trial({"a": ("P", "F")})
    target = view.plan.targets[0].model_copy(update={"delivery": "injected"})
    view.plan = view.plan.model_copy(update={"targets": (target,)})
    assert [row.delivery for row in summary(view).rates] == ["injected", "none"]


def test_a_shard_counts_its_own_cells_only() -> None:
    view = trial({"a": ("PPPP", "FFFF")})
    view._results = [one for one in view._results if one.cell.repetition in (2, 4)]
    found = summary(view)
    assert found.coverage.planned == 4
    assert found.cases[0].squares == ".P.P"


def test_the_summary_survives_its_own_json() -> None:
    found = summary(trial({"a": ("PPF", "FTU"), "b": ("P..", "CII")}))
    assert Summary.from_stored(found.to_json()) == found
