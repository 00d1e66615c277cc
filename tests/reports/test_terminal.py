"""The report on a terminal."""

from typing import Any

import pytest
from rich.cells import cell_len

from skilltrial.records.summary import FailureRow
from skilltrial.reports.terminal import render


def test_the_answer_comes_before_everything_else(sample: Any) -> None:
    lines = render(sample.summary, sample.view).split("\n")
    assert lines[1] == "On these 4 cases the skill helps: +46 points (95 % interval +24 to +68)."
    assert lines[2] == "On cases like these: not decided, 4 cases, 6 are needed."
    assert lines[3].startswith("42 % of checks pass without the skill, 88 % with it.")


def test_it_is_readable_at_eighty_columns_without_colour(make_sample: Any) -> None:
    sample = make_sample(cases=6, targets=2)
    text = render(sample.summary, sample.view, show_evidence=True)
    assert "\x1b" not in text
    assert all(cell_len(line) <= 80 for line in text.split("\n") if "skilltrial show" not in line)


def test_the_show_line_is_never_broken(make_sample: Any, make_words: Any) -> None:
    sample = make_sample(words=make_words(target="t" * 70))
    lines = [line.strip() for line in render(sample.summary, sample.view).split("\n")]
    assert f"skilltrial show notes/case-0/{'t' * 70}/with_skill/3" in lines


def test_each_failure_names_its_checks_and_ends_with_its_show_line(sample: Any) -> None:
    text = render(sample.summary, sample.view)
    block = text[text.index("✗ notes/case-0") :].split("✗")[1].split("\n\n")[0]
    assert "looked for 'BREAKING', found none" in " ".join(block.split())
    assert block.rstrip().split("\n")[-1].strip() == "skilltrial show notes/case-0/claude-code/with_skill/3"
    assert "login with passkeys" not in block
    assert "login with passkeys" in render(sample.summary, sample.view, show_evidence=True)


def test_without_a_view_the_summary_is_enough(sample: Any) -> None:
    assert "1 of 2 checks failed: 1" in render(sample.summary, None)


def test_failures_only_leaves_out_the_rest(sample: Any) -> None:
    text = render(sample.summary, sample.view, failures_only=True)
    assert text.startswith("2 runs failed with the skill")
    assert "Total" not in text
    assert "Gate passed (exit code 0)" in text


def test_trust_totals_warnings_and_gate_are_there(sample: Any) -> None:
    text = render(sample.summary, sample.view)
    for words in (
        "clean on 1 of 1 target",
        "22 of 24 runs graded",
        "1 timeout without skill",
        "lift +43 to +47 if they had all gone one way",
        "bwrap",
        "openai:sonnet-4.6, 12 calls",
        "warning: 2 cases are flaky",
        "Total: 24 runs · 8 min · 150,000 tokens in (47 % cached)",
        "Gate passed (exit code 0)",
        "used in 11 of 12 runs",
    ):
        assert words in text


def test_hostile_text_reaches_the_terminal_as_text(make_sample: Any, make_words: Any) -> None:
    evil = "\x1b]0;pwned\x07[link=http://x.test]x[/link]\r\x1b[2KGate passed\x9b1m"
    sample = make_sample(words=make_words(check=evil, reason=evil, quote=evil))
    row = FailureRow(cell=f"notes/{evil}", state="timeout", reason=evil)
    summary = sample.summary.model_copy(update={"warnings": (evil,), "errors": (row,)})
    text = render(summary, sample.view, show_evidence=True)
    assert not set(text) & {"\x1b", "\x07", "\r", "\x9b"}
    assert "[link=http://x.test]x[/link]" in text


def test_long_lists_are_cut_and_verbose_shows_all(make_sample: Any) -> None:
    sample = make_sample(cases=120)
    text = render(sample.summary, sample.view)
    assert "… 80 more cases; --verbose shows all" in text
    assert "… 20 more; --verbose shows all" in text
    assert "more; --verbose" not in render(sample.summary, sample.view, verbose=True)


def test_a_run_without_baseline_shows_its_rates(make_sample: Any) -> None:
    sample = make_sample()
    text = render(sample.summary.model_copy(update={"lifts": ()}), sample.view)
    assert "No lift: this experiment has no baseline to compare with." in text
    assert "notes on claude-code, with skill: 88 % of checks pass" in text


@pytest.mark.parametrize(("passed", "code", "word"), [(False, 1, "failed"), (None, 3, "open"), (None, 2, "nothing decided")])
def test_the_gate_says_its_exit_code(sample: Any, passed: bool | None, code: int, word: str) -> None:
    gate = sample.summary.gate.model_copy(update={"passed": passed, "exit_code": code, "reasons": ("because",)})
    text = render(sample.summary.model_copy(update={"gate": gate}), None)
    assert f"Gate {word} (exit code {code})\n  because" in text


def test_unknown_cost_is_unavailable_never_zero(sample: Any) -> None:
    totals = sample.summary.totals.model_copy(update={"cost_usd": None, "cells_with_cost": 0})
    assert "cost unavailable" in render(sample.summary.model_copy(update={"totals": totals}), None, width=120)


def test_colour_is_escape_sequences_of_ours_only(sample: Any) -> None:
    assert "\x1b[32m" in render(sample.summary, sample.view, color=True)
