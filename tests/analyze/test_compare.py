"""Two experiments: what changed, and what is no evidence."""

import pytest
from tests.analyze.build import Letters, View, trial

from skilltrial.analyze import compare
from skilltrial.records.comparison import CaseChange, Compared
from skilltrial.records.plan import Gate, Judge, Target


def changes(a: Letters, b: Letters) -> Compared:
    return compare(trial(a, arms=("with_skill",)), trial(b, arms=("with_skill",)))


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("FFFFF", "PPPPP", "better"),
        ("PPPPP", "FFFFF", "worse"),
        ("PPP", "FFF", "flipped"),  # three cells on each side cannot exclude 0
        ("F", "P", "flipped"),
        ("FF", "PP", "flipped"),
        ("PPPPF", "PPPPP", "flipped"),
        ("PPF", "FPP", "same"),
        ("PPP", "TTT", "not measured"),
    ],
)
def test_a_case_changed_only_with_repetitions_and_an_interval_that_excludes_zero(before: str, after: str, change: str) -> None:
    (row,) = changes({"a": (before,)}, {"a": (after,)}).cases
    assert row.change == change


def test_two_repetitions_are_never_evidence_whatever_the_other_side_has() -> None:
    (row,) = changes({"a": ("F" * 40,)}, {"a": ("PP",)}).cases
    assert (row.change, row.cells_a, row.cells_b) == ("flipped", 40, 2)
    assert row.low is not None
    assert row.low > 0


def test_the_interval_of_a_changed_case_is_shown() -> None:
    (row,) = changes({"a": ("FFFFF",)}, {"a": ("PPPPP",)}).cases
    assert (row.rate_a, row.rate_b, row.difference) == (0.0, 1.0, 1.0)
    assert row.low == pytest.approx(0.2620, abs=6e-5)


def test_cases_of_one_experiment_alone_are_named() -> None:
    found = changes({"a": ("P",), "b": ("P",)}, {"b": ("P",), "c": ("P",)})
    assert {row.case: row.change for row in found.cases} == {"a": "only in a", "b": "same", "c": "only in b"}
    assert found.counts == {"same": 1, "only in b": 1, "only in a": 1}


def test_only_the_arm_under_test_makes_it_worse() -> None:
    good, bad = trial({"a": ("PPPPP", "PPPPP")}), trial({"a": ("PPPPP", "FFFFF")})
    assert not compare(good, bad).got_worse
    assert compare(trial({"a": ("PPPPP", "F")}), trial({"a": ("FFFFF", "F")})).got_worse


def test_rates_and_lifts_stand_side_by_side() -> None:
    found = compare(trial({"a": ("PPPP", "FFFF")}), trial({"a": ("PPPP", "PPPP")}))
    (row,) = found.lifts
    assert (row.a.lift, row.b.lift, row.a.verdict, row.b.verdict) == (1.0, 0.0, "helps", "inconclusive")
    assert [(rate.arm, rate.a.value, rate.b.value) for rate in found.rates] == [
        ("with_skill", 1.0, 1.0),
        ("without_skill", 0.0, 1.0),
    ]


def test_both_are_read_under_the_metric_of_the_second() -> None:
    found = compare(trial({"a": ("P", "F")}), trial({"a": ("P", "F")}, gate=Gate(metric="cases")))
    assert found.metric == "cases"


def test_a_single_target_is_compared_whatever_its_name() -> None:
    found = compare(trial({"a": ("P", "F")}, targets=("old",)), trial({"a": ("P", "F")}, targets=("new",)))
    assert {row.change for row in found.cases} == {"same"}
    assert "target old of a is compared with target new of b" in found.warnings


def test_several_targets_are_matched_by_name() -> None:
    found = compare(trial({"a": ("PP", "F") * 2}, targets=("x", "y")), trial({"a": ("P", "F") * 2}, targets=("y", "z")))
    by_target: dict[str, set[str]] = {}
    for row in found.cases:
        by_target.setdefault(row.target, set()).add(row.change)
    assert by_target == {"x": {"only in a"}, "y": {"same"}, "z": {"only in b"}}


def altered(view: View, what: str) -> View:
    plan = view.plan
    (skill,), (suite,), (target,) = plan.skills, plan.suites, plan.targets
    if what == "skill":
        tree = skill.tree.model_copy(update={"digest": "sha256:" + "9" * 64})
        return view.planned(skills=(skill.model_copy(update={"tree": tree}),))
    if what == "checks":
        return view.planned(groups=tuple(group.model_copy(update={"checks": "other"}) for group in plan.groups))
    if what == "prompts":
        cases = tuple(case.model_copy(update={"prompt": "other"}) for case in suite.cases)
        return view.planned(suites=(suite.model_copy(update={"cases": cases}),))
    if what == "judge":
        return view.planned(judge=Judge(target=Target(name="j", backend="openai"), digest="d"))
    if what == "version":
        return view.planned(targets=(target.model_copy(update={"program_version": "2"}),))
    return view.altered("demo/a/t1/with_skill/1", model="m2")


@pytest.mark.parametrize(
    ("what", "warning"),
    [
        ("skill", "demo: the skill's files differ"),
        ("checks", "checks differ in demo::a"),
        ("prompts", "prompts or files differ in demo::a"),
        ("judge", "judge was none, now j"),
        ("version", "t1: program version was 1, now 2"),
        ("model", "t1: model was m1, now m2"),
    ],
)
def test_what_else_differs_is_a_warning(what: str, warning: str) -> None:
    view = trial({"a": ("P", "F")}).altered("demo/a/t1/with_skill/1", model="m1")
    view = view.planned(targets=(view.plan.targets[0].model_copy(update={"program_version": "1"}),))
    assert compare(view, view).warnings == ()
    assert compare(view, altered(view, what)).warnings == (warning,)


def test_another_sandbox_level_is_a_warning() -> None:
    one, other = trial({"a": ("P", "F")}), trial({"a": ("P", "F")})
    read = other.evidence
    other.evidence = lambda result: (found := read(result)) and found.model_copy(update={"sandbox": "bwrap"})  # type: ignore[method-assign]
    assert "t1: sandbox level was none, now bwrap" in compare(one, other).warnings


def test_the_comparison_survives_its_own_json() -> None:
    found = changes({"a": ("PPT",)}, {"a": ("PPP",)})
    assert Compared.from_stored(found.to_json()) == found
    assert isinstance(found.cases[0], CaseChange)
