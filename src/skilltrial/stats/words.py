"""Verdicts and their reasons. Never `significant`, `no effect` or `proves`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from skilltrial.stats.lift import Estimate
from skilltrial.stats.like import Wider
from skilltrial.stats.limits import TIE
from skilltrial.stats.missing import LEAST_COVERAGE, Attempted
from skilltrial.stats.power import CELLS_FOR_A_WORD, UNITS_FOR_A_WORD, UNITS_FOR_NO_EFFECT

Verdict = Literal["helps", "hurts", "no meaningful effect", "inconclusive", "not measured"]
DECIDED = frozenset({"helps", "hurts", "no meaningful effect"})
PointLabel = Literal["clear positive", "marginal", "no measurable effect", "negative"]


class Bounds(NamedTuple):
    """The lift when every missing cell goes one way, with its 95 % and 90 % ends."""

    lift: float
    low: float
    high: float
    low90: float
    high90: float


class Word(NamedTuple):
    """A verdict and why: the reason starts with one code, then says it in a sentence."""

    verdict: Verdict
    reason: str

    @property
    def code(self) -> str:
        """The code alone, as `too_few_cases`."""
        return self.reason.partition(":")[0]


def count(number: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def points(share: float, signed: bool = True) -> str:
    """A share as percentage points: no decimals, one below 1 point, so that a low of 0.0016 prints +0.2 and not 0."""
    value = share * 100.0
    if abs(value) < 1e-7:
        return "0"
    digits = 1 if abs(value) < 1 else 0
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def of_these(estimate: Estimate | None, cells_with: int, cells_without: int, margin: float) -> Word:
    """The word on these cases; None: no case has a measured cell in both arms."""
    if estimate is None:
        return Word("not measured", "no_pair: no case has a measured cell in both arms")
    fewest = min(cells_with, cells_without)
    if fewest < CELLS_FOR_A_WORD:
        return Word("inconclusive", f"too_few_cells: {count(fewest, 'cell')} in an arm; {CELLS_FOR_A_WORD} are needed")
    helps, hurts = estimate.low > TIE, estimate.high < -TIE
    if -margin < estimate.low90 and estimate.high90 < margin:
        limit = points(margin, signed=False)
        if helps or hurts:
            return Word("no meaningful effect", f"below_margin: real but smaller than the margin of {limit} points")
        return Word("no meaningful effect", f"inside_margin: the 90 % interval lies inside {limit} points either way")
    if helps or hurts:
        return Word("helps" if helps else "hurts", "excludes_zero: the 95 % interval lies on one side of 0")
    return Word("inconclusive", "includes_zero: the 95 % interval includes 0 and reaches beyond the margin")


def after_missing(
    word: Word, with_skill: Attempted, without_skill: Attempted, must: bool, worst: Bounds, best: Bounds, margin: float
) -> Word:
    """The word once missing cells are reckoned with.

    `must`: it has to hold however they would have ended.
    """
    if word.verdict == "not measured":
        return word
    coverage = min(with_skill.coverage, without_skill.coverage)
    if coverage < LEAST_COVERAGE - 1e-12:
        return Word("inconclusive", f"missing: only {100 * coverage:.0f} % of the cells of an arm are measured")
    survived = {
        "helps": worst.low > TIE,
        "hurts": best.high < -TIE,
        "no meaningful effect": worst.low90 > -margin and best.high90 < margin,
    }
    if not must or survived.get(word.verdict, True):
        return word
    lost = with_skill.planned - with_skill.graded, without_skill.planned - without_skill.graded
    low_end = word.verdict == "helps" or (word.verdict != "hurts" and worst.low90 <= -margin)
    against = worst if low_end else best
    return Word(
        "inconclusive",
        f"missing: '{word.verdict}' would not survive {count(sum(lost), 'cell')} without a measurement ({lost[0]} with, {lost[1]} "
        f"without the skill): had all gone against it, the interval would be {points(against.low)} to {points(against.high)}",
    )


def after_several(word: Word, adjusted: float, rows: int) -> Word:
    """The word once it is read among `rows` rows; `adjusted` is Holm's p of this claim."""
    if word.verdict not in DECIDED or adjusted <= 0.05:
        return word
    return Word(
        "inconclusive", f"multiplicity: '{word.verdict}' alone, but not among {count(rows, 'row')} (adjusted p {adjusted:.2g})"
    )


def of_like(wider: Wider, these: Word, margin: float, unit: str = "case") -> Word:
    """The word on cases like these: only the word that these cases have, else inconclusive. `unit`: case or cluster."""
    if wider.units == 0:
        return Word("not measured", "no_pair: no case has a measured cell in both arms")
    if wider.low is None or wider.high is None:
        code = "one_case" if wider.units == 1 else "two_cases"
        return Word("inconclusive", f"{code}: {count(wider.units, unit)}; {UNITS_FOR_A_WORD} are needed")
    if wider.units < UNITS_FOR_A_WORD:
        return Word("inconclusive", f"too_few_cases: {count(wider.units, unit)}; {UNITS_FOR_A_WORD} are needed")
    own = _own_word(wider, wider.low, wider.high, margin)
    if own.verdict in ("inconclusive", these.verdict):
        return own
    return Word(
        "inconclusive", f"narrower_scope: '{own.verdict}' here needs the same word on these cases, which is '{these.verdict}'"
    )


def _own_word(wider: Wider, low: float, high: float, margin: float) -> Word:
    if wider.units >= UNITS_FOR_NO_EFFECT and -margin < low and high < margin:
        return Word(
            "no meaningful effect",
            f"inside_margin: the 95 % interval lies inside {points(margin, signed=False)} points either way",
        )
    if low > TIE or high < -TIE:
        return Word("helps" if low > TIE else "hurts", "excludes_zero: the 95 % interval lies on one side of 0")
    if wider.held_back:
        return Word("inconclusive", f"exact_test: the exact sign-flip test (p {wider.p_value:.2g}) leaves it open")
    return Word("inconclusive", "includes_zero: the 95 % interval includes 0")


def point_label(lift: float) -> PointLabel:
    """skill-ab-eval's label of the estimate alone, whatever its interval."""
    if lift >= 0.20 - TIE:
        return "clear positive"
    if lift >= 0.05 - TIE:
        return "marginal"
    return "no measurable effect" if lift > -0.05 + TIE else "negative"
