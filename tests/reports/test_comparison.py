"""Two experiments side by side."""

from typing import Any

from rich.cells import cell_len

from skilltrial.records.comparison import CaseChange, Compared, LiftChange, LiftSide, RateChange
from skilltrial.records.summary import Interval
from skilltrial.reports import comparison


def change(case: str, word: Any, **facts: Any) -> CaseChange:
    return CaseChange(skill="notes", case=case, target="codex", arm="with_skill", change=word, **facts)


def compared(**facts: Any) -> Compared:
    cases = (
        change("a", "same", rate_a=1.0, rate_b=1.0, cells_a=3, cells_b=3, difference=0.0),
        change("b", "worse", rate_a=1.0, rate_b=0.0, cells_a=5, cells_b=5, difference=-1.0, low=-1.0, high=-0.35),
        change("c", "flipped", rate_a=0.0, rate_b=1.0, cells_a=1, cells_b=1, difference=1.0),
    )
    base: dict[str, Any] = {
        "a": "iteration-1",
        "b": "iteration-2",
        "cases": cases,
        "counts": {"same": 1, "worse": 1, "flipped": 1},
        "lifts": (
            LiftChange(
                skill="notes",
                target="codex",
                arm="with_skill",
                baseline="without_skill",
                a=LiftSide(lift=0.46, low=0.24, high=0.68, verdict="helps", cases=3),
                b=LiftSide(),
            ),
        ),
        "rates": (RateChange(skill="notes", target="codex", arm="with_skill", a=Interval(value=0.88, low=0.7, high=0.97)),),
        "warnings": ("codex: sandbox level was bwrap, now none",),
        "got_worse": True,
    }
    return Compared(**(base | facts))


def test_what_got_worse_comes_first_and_what_stayed_is_counted_only() -> None:
    text = comparison.as_text(compared())
    lines = text.split("\n")
    assert lines[0] == "a iteration-1 → b iteration-2"
    assert lines[1] == "3 rows of cases and arms: 1 worse, 1 flipped, 1 same."
    assert text.index("worse  ") < text.index("flipped  ")
    assert "notes/a" not in text
    assert "notes/a" in comparison.as_text(compared(), verbose=True)


def test_an_unmeasured_side_is_no_number() -> None:
    flat = " ".join(comparison.as_text(compared(), width=200).split())
    assert "+46 (+24 to +68), helps not measured" in flat
    assert "88 % (70 % to 97 %) not measured" in flat


def test_the_rule_for_changed_and_other_differences_are_said() -> None:
    text = comparison.as_text(compared())
    assert "warning: codex: sandbox level was bwrap, now none" in text
    assert "three or more measured repetitions on both sides" in " ".join(text.split())
    assert "\x1b" not in text
    assert all(cell_len(line) <= 80 for line in text.split("\n"))


def test_markdown_is_a_table_where_names_stay_names() -> None:
    text = comparison.as_markdown(compared(warnings=("<script>@me",)))
    assert "| worse | notes/b · codex · with skill | 100 % of 5 | 0 % of 5 | -100 (-100 to -35) |" in text
    assert "<script" not in text.replace("\\<", "")
    assert "@me" not in text


def test_json_is_the_record() -> None:
    assert Compared.from_stored(comparison.as_json(compared())) == compared()


def test_nothing_in_common_is_said() -> None:
    assert "No case is in either experiment." in comparison.as_text(compared(cases=(), counts={}, lifts=(), rates=()))
