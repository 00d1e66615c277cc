"""Verdicts as sentences, each with its scope."""

import re
from typing import Any, get_args

import pytest

from skilltrial.records.summary import (
    Bound,
    Coverage,
    GateResult,
    IsolationRow,
    Lift,
    LikeThese,
    Rate,
    Summary,
    Verdict,
)
from skilltrial.wording import verdicts


def lift(**facts: Any) -> Lift:
    base: dict[str, Any] = {
        "skill": "notes", "target": "codex", "arm": "with_skill", "baseline": "without_skill", "cases": 4, "repetitions": 1,
        "lift": 1.0, "low": 0.15, "high": 1.0, "verdict": "helps", "reason": "excludes_zero",
    }  # fmt: skip
    return Lift(**(base | facts))


def summary(*lifts: Lift, rates: tuple[Rate, ...] = ()) -> Summary:
    cover = Coverage(planned=8, finished=8, graded=8, set_aside=0, failed_measurements={}, by_arm={})
    return Summary(experiment="iteration-1", coverage=cover, lifts=lifts, rates=rates, gate=GateResult(exit_code=0, passed=True))


def test_the_worked_sentence() -> None:
    one = lift(like_these=LikeThese(units=4, verdict="inconclusive", reason="too_few_cases: 4 cases; 6 are needed"))
    assert verdicts.these(one) == "On these 4 cases the skill helps: +100 points (95 % interval +15 to +100)."
    assert verdicts.like(one) == "On cases like these: not decided, 4 cases, 6 are needed."


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (
            {"verdict": "hurts", "lift": -0.3, "low": -0.5, "high": -0.1, "cases": 12},
            "On these 12 cases the skill hurts: -30 points (95 % interval -50 to -10).",
        ),
        (
            {"verdict": "no meaningful effect", "lift": 0.01, "low": -0.03, "high": 0.05, "cases": 45},
            "On these 45 cases the skill has no meaningful effect: +1 point (95 % interval -3 to +5), margin ±10.",
        ),
        (
            {"verdict": "inconclusive", "lift": 0.2, "low": -0.1, "high": 0.5, "reason": "includes_zero", "cases": 1},
            "On this case it is not decided whether the skill helps: +20 points (95 % interval -10 to +50); the interval includes zero.",
        ),
        (
            {"verdict": "not measured", "lift": None, "low": None, "high": None, "cases": 0, "reason": "no_pair"},
            "The skill was not measured: no case has a graded run in both arms.",
        ),
        ({"low": 0.0016}, "On these 4 cases the skill helps: +100 points (95 % interval +0.2 to +100)."),
        ({"activation": "forced"}, "On these 4 cases the skill, forced on, helps: +100 points (95 % interval +15 to +100)."),
    ],
)
def test_every_verdict_has_its_sentence(facts: dict[str, Any], sentence: str) -> None:
    one = lift(**facts)
    assert verdicts.these(one, verdicts.subject(one)) == sentence


@pytest.mark.parametrize("verdict", get_args(Verdict))
@pytest.mark.parametrize("reason", [*verdicts.REASONS, "missing: could be worse", ""])
def test_no_sentence_claims_more_than_it_can(verdict: Any, reason: str) -> None:
    one = lift(verdict=verdict, reason=reason, like_these=LikeThese(units=8, verdict=verdict, reason=reason))
    told = " ".join((verdicts.these(one), verdicts.like(one), str(verdicts.headline(summary(one))))).lower()
    assert not re.search(r"significan|\bno effect|prove", told)
    assert "on these 4 cases" in told or "not measured" in told
    assert "on cases like these" in told


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("too_few_cases: 4 cases; 6 are needed.", "4 cases; 6 are needed"),
        ("missing", "failed measurements could turn the answer"),
        ("missing The interval survives", "The interval survives"),
        ("a sentence of its own", "a sentence of its own"),
    ],
)
def test_a_reason_is_its_sentence_without_its_code(reason: str, told: str) -> None:
    assert verdicts.why(reason) == told


def test_one_comparison_is_answered_with_its_rates() -> None:
    rates = tuple(
        Rate(skill="notes", target="codex", arm=arm, cases=4, cells=4, graded=4, ungraded=0, pass_rate=rate)
        for arm, rate in (("with_skill", 0.88), ("without_skill", 0.42))
    )
    told = verdicts.headline(summary(lift(), rates=rates))
    assert str(told) == "The skill helps on codex: 42 % of checks pass without it, 88 % with it."
    assert (told.word, told.tone) == ("helps", "good")


@pytest.mark.parametrize(
    ("lifts", "told"),
    [
        (
            (lift(), lift(target="pi"), lift(target="agy", verdict="inconclusive")),
            "The skill helps on 2 of 3 targets; not decided: 1.",
        ),
        ((lift(verdict="hurts"), lift(skill="b", verdict="hurts")), "2 of 2 skills: hurt."),
        (
            (lift(verdict="inconclusive"), lift(target="pi", verdict="not measured")),
            "1 of 2 targets: not decided; not measured: 1.",
        ),
    ],
)
def test_several_comparisons_are_counted(lifts: tuple[Lift, ...], told: str) -> None:
    assert str(verdicts.headline(summary(*lifts))) == told


def test_bounds_are_named_only_when_something_is_missing() -> None:
    assert verdicts.bounds(lift()) is None
    told = verdicts.bounds(lift(worst=Bound(lift=0.43), best=Bound(lift=0.47)))
    assert told == "lift +43 to +47 if they had all gone one way"


@pytest.mark.parametrize(
    ("states", "tone", "text"),
    [
        ((True, True), "good", "clean on 2 of 2 targets"),
        ((True, None), "quiet", "cannot be told on 1 of 2 targets (no list)"),
        ((False, True), "bad", "not clean on 1 of 2 targets (t0: no list)"),
        ((), "quiet", "not recorded"),
    ],
)
def test_an_unknown_baseline_is_neither_clean_nor_dirty(states: tuple[bool | None, ...], tone: str, text: str) -> None:
    rows = tuple(
        IsolationRow(target=f"t{place}", level="none", clean=clean, reason="no list") for place, clean in enumerate(states)
    )
    assert verdicts.isolation(summary().model_copy(update={"isolation": rows})) == (tone, text)


def test_the_scope_that_leads_is_told_in_full_and_first() -> None:
    one = lift(
        like_these=LikeThese(units=8, low=0.05, high=0.9, verdict="inconclusive", reason="exact_test: the exact test says p 0.06")
    )
    both = summary(one).model_copy(update={"scope": "like"})
    assert verdicts.sentences(both, one) == (
        "On cases like these it is not decided whether the skill helps: +100 points (95 % interval +5 to +90); the exact test says p 0.06.",
        "On these 4 cases: helps, 95 % interval +15 to +100.",
    )
    assert verdicts.headline(both).word == "not decided"


def test_the_name_of_a_skill_keeps_its_letters_at_the_start_of_a_sentence() -> None:
    row = lift(verdict="not measured", lift=None, low=None, high=None, reason="no_pair")
    assert verdicts.these(row, "notes-2").startswith("notes-2 was not measured")
    assert verdicts.these(row).startswith("The skill was not measured")
