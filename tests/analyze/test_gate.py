"""Gates and exit codes: conditions per skill and target, and which of them comes first."""

from typing import Any

import pytest
from tests.analyze.build import Letters, case, check, grade, joined, trial

from skilltrial.analyze import summary
from skilltrial.analyze.gate import allowance
from skilltrial.analyze.tallies import case_state
from skilltrial.errors import UsageError
from skilltrial.records.plan import Gate, StopRule
from skilltrial.records.summary import GateResult


def gate(letters: Letters, /, *args: Any, **options: Any) -> GateResult:
    plan = {name: options.pop(name) for name in ("xfail", "targets", "arms", "stop") if name in options}
    return summary(trial(letters, *args, gate=Gate(**options), **plan)).gate


NINE = dict(
    zip("abcdefgh", [("PPP", "PFF"), ("PPF", "PFF"), ("PPP", "FFF"), ("PPP", "PPF"), ("PFF", "PFF"), ("PPF", "FFF"), ("PPP", "PPF"), ("FFF", "FFF")], strict=True)
)  # fmt: skip


# ---------------------------------------------------------------- cases
@pytest.mark.parametrize(
    ("passed", "failed", "planned", "state"),
    [
        (1, 0, 1, "pass"),
        (0, 1, 1, "fail"),
        (2, 1, 3, "pass"),
        (1, 1, 2, "open"),
        (1, 0, 3, "open"),
        (2, 0, 3, "pass"),
        (1, 2, 3, "fail"),
        (2, 0, 4, "open"),
        (0, 0, 3, "open"),
    ],
)
def test_a_case_is_decided_by_more_than_half_of_its_planned_cells(passed: int, failed: int, planned: int, state: str) -> None:
    assert case_state(passed, failed, planned) == state


@pytest.mark.parametrize(
    ("letters", "code", "passed"),
    [
        ({"a": ("P", "F")}, 0, True),
        ({"a": ("F", "F")}, 1, False),
        ({"a": ("PPF", "FFF")}, 0, True),
        ({"a": ("PFF", "FFF")}, 1, False),
        ({"a": ("PF", "FF")}, 3, None),
        ({"a": ("PPT", "FFF")}, 0, True),
        ({"a": ("PTT", "FFF")}, 3, None),
        ({"a": ("P", "F"), "b": ("T", "F")}, 3, None),
        ({"a": ("F", "F"), "b": ("T", "F")}, 1, False),
        ({"a": ("T", "P"), "b": ("I", "P")}, 2, None),
        ({"a": (".", ".")}, 2, None),
    ],
)
def test_majority(letters: Letters, code: int, passed: bool | None) -> None:
    result = gate(letters)
    assert (result.exit_code, result.passed) == (code, passed)
    assert result.reasons


@pytest.mark.parametrize(
    ("letters", "options", "code"),
    [
        ({"a": ("PPP", "FFF")}, {}, 0),
        ({"a": ("PPF", "FFF")}, {}, 1),
        ({"a": ("PPT", "FFF")}, {}, 2),
        ({"a": ("PPP", "FFT")}, {}, 2),
        ({"a": ("PFT", "FFF")}, {}, 1),
        ({"a": ("PPT", "FFF")}, {"allow_unmeasured": "1"}, 0),
        ({"a": ("PTT", "FFF")}, {"allow_unmeasured": "1"}, 2),
        ({"a": ("PPT", "FFF")}, {"allow_unmeasured": "20%"}, 0),
        ({"a": ("PPT", "FFF")}, {"allow_unmeasured": "10%"}, 2),
        ({"a": ("PPU", "FFF")}, {}, 2),
        ({"a": ("PPT", "FFF")}, {"count_as_failed": ("timeout",)}, 1),
    ],
)
def test_every(letters: Letters, options: dict[str, Any], code: int) -> None:
    assert gate(letters, cases="every", **options).exit_code == code


def test_a_stop_rule_leaves_cells_unrun_on_purpose() -> None:
    letters = {"a": ("PP.", "FF.")}
    assert gate(letters, cases="every").exit_code == 2
    assert gate(letters, cases="every", stop=StopRule(kind="until_sure")).exit_code == 0


@pytest.mark.parametrize("letters", [{"a": ("FFF", "PPP")}, {"a": ("P", "T")}])
def test_no_case_rule_passes_whatever_was_measured(letters: Letters) -> None:
    assert gate(letters, cases="none").exit_code == 0


def test_nothing_measured_is_never_green() -> None:
    assert gate({"a": ("T", "P")}, cases="none").exit_code == 2


def test_rubric_sentences_gate_only_when_asked() -> None:
    rubric = check("r", "rubric")
    view = trial({"a": ("P", "F")}, [case("a", check(), rubric)])
    view = view.altered("demo/a/t1/with_skill/1", grades=[grade(check(), "passed"), grade(rubric, "failed")])
    assert summary(view).gate.exit_code == 0
    assert summary(view, gate=Gate(checks="all")).gate.exit_code == 1


def test_a_suite_of_rubrics_has_nothing_that_gates_and_says_so() -> None:
    cases = [case("a", check("r", "rubric"))]
    result = gate({"a": ("F", "F")}, cases)
    assert (result.exit_code, result.reasons) == (
        0,
        ("no case has a check that gates (rubric sentences do with gate checks 'all')",),
    )
    assert gate({"a": ("F", "F")}, cases, checks="all").exit_code == 1


def test_cases_expected_to_fail_do_not_fail_the_gate() -> None:
    letters = {"a": ("P", "F"), "b": ("F", "F")}
    assert gate(letters).exit_code == 1
    for rule in ("majority", "every"):
        assert gate(letters, cases=rule, xfail=["demo::b"]).exit_code == 0


def test_a_case_that_passes_against_expectation_is_a_warning() -> None:
    found = summary(trial({"a": ("P", "F")}, xfail=["demo::a"]))
    assert found.gate.exit_code == 0
    assert "demo::a passed, though it is expected to fail" in found.warnings


# ---------------------------------------------------------------- minimum lift
@pytest.mark.parametrize(("minimum", "code"), [(0.10, 0), (0.20, 3), (0.70, 1)])
def test_the_interval_decides_about_a_minimum_lift(minimum: float, code: int) -> None:
    result = gate(NINE, cases="none", minimum_lift=minimum)
    assert result.exit_code == code
    assert "lift +42 points" in result.reasons[0]
    assert "on these cases" in result.reasons[0]


@pytest.mark.parametrize(("minimum", "code"), [(5 / 12, 0), (0.42, 1), (-1.0, 0)])
def test_a_point_gate_compares_the_estimate_inclusively_and_says_so(minimum: float, code: int) -> None:
    result = gate(NINE, cases="none", minimum_lift=minimum, on="point")
    assert result.exit_code == code
    assert "estimate alone" in result.reasons[0]


@pytest.mark.parametrize(("minimum", "code"), [(0.12, 0), (0.13, 3), (0.71, 1)])
def test_the_wider_scope_can_be_asked_for(minimum: float, code: int) -> None:
    result = gate(NINE, cases="none", minimum_lift=minimum, scope="like")
    assert result.exit_code == code
    assert "on cases like these" in result.reasons[0]


def test_two_cases_leave_the_wider_scope_open() -> None:
    assert gate({"a": ("PPP", "FFF"), "b": ("PPP", "FFF")}, minimum_lift=0.1, scope="like").exit_code == 3


def test_missing_cells_are_filled_before_a_minimum_lift_is_met() -> None:
    letters = dict.fromkeys("abcde", ("PPPTT", "FFFFF"))
    assert gate(letters, cases="none", minimum_lift=0.5).exit_code == 3
    assert gate(letters, cases="none", minimum_lift=0.3).exit_code == 0
    assert gate(letters, cases="none", minimum_lift=0.5, scope="like").exit_code == 3
    assert "filled in both ways" in gate(letters, cases="none", minimum_lift=0.3).reasons[0]


def test_a_lift_without_a_measured_pair_is_open() -> None:
    assert gate({"a": ("P", "T")}, minimum_lift=0.1).exit_code == 3
    assert gate({"a": ("P",)}, arms=("with_skill",), minimum_lift=0.1, on="point").exit_code == 3


# ---------------------------------------------------------------- minimum pass rate
@pytest.mark.parametrize(("minimum", "code"), [(0.8, 0), (0.9, 3)])
def test_the_interval_decides_about_a_minimum_pass_rate(minimum: float, code: int) -> None:
    assert gate(dict.fromkeys("abcdefgh", ("PPP", "FFF")), minimum_pass_rate=minimum).exit_code == code


def test_a_minimum_pass_rate_replaces_the_rule_for_cases() -> None:
    letters = dict.fromkeys("abcdefg", ("PPP", "FFF")) | {"h": ("FFF", "FFF")}
    assert gate(letters).exit_code == 1
    assert gate(letters, minimum_pass_rate=0.5).exit_code == 0
    assert gate(letters, minimum_pass_rate=0.99).exit_code == 1
    assert gate(letters, minimum_pass_rate=0.875, on="point").exit_code == 0
    assert gate(letters, minimum_pass_rate=0.88, on="point").exit_code == 1


def test_a_minimum_pass_rate_fills_missing_cells_in() -> None:
    letters = dict.fromkeys("abcdefgh", ("PPPTT", "FFFFF"))
    assert gate(letters, minimum_pass_rate=0.8).exit_code == 3
    assert gate(letters, minimum_pass_rate=0.8, on="point").exit_code == 0
    assert gate(letters, minimum_pass_rate=0.7, scope="like").exit_code == 3


# ---------------------------------------------------------------- the handbook's rules
HANDBOOK: dict[str, Any] = {"cases": "every", "on": "point", "metric": "cases"}


@pytest.mark.parametrize(
    ("letters", "minimum", "code"),
    [
        ({"a": ("P", "F"), "b": ("P", "P")}, 0.5, 0),
        ({"a": ("P", "F"), "b": ("P", "P")}, 0.51, 1),
        ({"a": ("P", "P")}, None, 0),
        ({"a": ("p", "F")}, 0.0, 1),
        ({"a": ("T", "F")}, None, 2),
        ({"a": ("P", "F"), "b": ("T", "F")}, 0.0, 2),
        ({"a": ("P", "F"), "b": ("P", "T")}, None, 2),
    ],
)
def test_the_handbooks_exit_codes(letters: Letters, minimum: float | None, code: int) -> None:
    assert gate(letters, [case("a", check("c1"), check("c2"))], minimum_lift=minimum, **HANDBOOK).exit_code == code


# ---------------------------------------------------------------- several rows and precedence
@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (["P", "P"], 0),
        (["P", "PF"], 3),
        (["PF", "T"], 2),
        (["T", "F"], 1),
        (["PF", "F"], 1),
        (["P", "T"], 2),
    ],
)
def test_the_first_of_1_2_3_that_any_row_has(rows: list[str], code: int) -> None:
    views = [trial({"a": (row, "P" * len(row))}, skill=f"s{place}") for place, row in enumerate(rows)]
    result = summary(joined(*views)).gate
    assert result.exit_code == code
    assert len(result.by_skill) == 2


def test_reasons_of_several_rows_name_their_row() -> None:
    views = [trial({"a": ("P", "F")}, skill="one"), trial({"a": ("F", "F")}, skill="two")]
    result = summary(joined(*views)).gate
    assert result.reasons == ("two on t1: 1 of 1 case failed by majority: a",)


def test_within_a_row_a_false_condition_comes_first() -> None:
    letters = {"a": ("PPT", "FFF")}
    result = gate(letters, cases="every", minimum_lift=1.0, on="point")
    assert result.exit_code == 2
    result = gate({"a": ("PFT", "FFF")}, cases="every", minimum_lift=1.0)
    assert result.exit_code == 1


def test_among_several_rows_failing_needs_a_shared_level() -> None:
    alone = dict.fromkeys("ab", ("PPP", "FFF")) | dict.fromkeys("cd", ("PFF", "FFP"))
    high = summary(trial(alone)).lifts[0].high
    assert high is not None
    minimum = high + 0.005
    assert gate(alone, cases="none", minimum_lift=minimum).exit_code == 1
    rows = {name: row * 3 for name, row in alone.items()}
    assert gate(rows, cases="none", minimum_lift=minimum, targets=("t1", "t2", "t3")).exit_code == 3


def test_single_skills_can_have_gates_of_their_own() -> None:
    view = joined(trial({"a": ("P", "F")}, skill="one"), trial({"a": ("F", "F")}, skill="two"))
    view = view.planned(gates={"two": Gate(cases="none")})
    assert summary(view).gate.exit_code == 0
    assert summary(view, gate=Gate()).gate.exit_code == 1


# ---------------------------------------------------------------- what may be left unmeasured
@pytest.mark.parametrize(("text", "cells"), [("0", 0), ("3", 3), ("5%", 2), ("100%", 40)])
def test_an_allowance_is_a_number_or_a_share(text: str, cells: int) -> None:
    assert allowance(text, 40) == cells


def test_another_allowance_is_refused() -> None:
    with pytest.raises(UsageError, match="allow_unmeasured"):
        allowance("some", 40)
