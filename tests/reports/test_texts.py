"""Markdown, JUnit, CSV, JSON, status and show."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.records.plan import SetAside
from skilltrial.records.summary import BudgetRow, FailureRow, HookRow, Summary
from skilltrial.reports import cell, junit, markdown, status
from skilltrial.reports import csv as csv_report
from skilltrial.reports import json as json_report

EVIL = "\x1b[31m</details><script>x</script> @octocat ![t](http://x.test/a.png) ```\n::add-mask::x | =1+1"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("terminal", "report.txt"),
        ("markdown", "report.md"),
        ("json", "report.json"),
        ("junit", "report.xml"),
        ("csv", "report.csv"),
        ("html", "report/index.html"),
    ],
)
def test_every_report_writes_its_file_first(name: str, file: str, sample: Any, out: Any) -> None:
    report = registry.get("reports", name)
    assert report.name == name
    report().write(sample.summary, sample.view, out)
    assert (out.folder / file).is_file()


def test_markdown_answers_first_and_folds_the_failures(sample: Any) -> None:
    text = markdown.render(sample.summary, sample.view)
    assert text.startswith(
        "## notes: does it help?\n\n**On these 4 cases the skill helps: +46 points (95 % interval +24 to +68).**"
    )
    assert "<details><summary>2 runs failed with the skill</summary>" in text
    assert "`skilltrial show notes/case-0/claude-code/with_skill/3`" in text
    assert "| case-0 | ■■□ | □■□ | +33 |" in text
    assert text.count("<details>") == text.count("</details>") == 3
    assert len(text) < 4000


def test_nothing_hostile_comes_alive_in_markdown(make_sample: Any, make_words: Any) -> None:
    sample = make_sample(words=make_words(check=EVIL, reason=EVIL, quote=EVIL))
    row = FailureRow(cell="notes/x", state="timeout", reason=EVIL)
    text = markdown.render(sample.summary.model_copy(update={"warnings": (EVIL,), "errors": (row,)}), sample.view)
    bare = re.sub(r"(?ms)^ *(`{4,})text$.*?^ *\1$", "", text)
    assert not re.search(r"(?<!\\)<script", bare)
    assert not re.search(r"@octocat|::add-mask|(?<!\\)!\\?\[|https?://", bare)
    assert "\x1b" not in text
    assert text.count("<details>") == len(re.findall(r"(?m)^</details>", text))


def test_junit_fails_what_failed_in_the_arm_under_test_only(make_sample: Any) -> None:
    def letters(case: str, arm: str, number: int) -> str:
        return {"case-0": "P", "case-1": "F", "case-2": "X", "case-3": "."}[case] if arm == "with_skill" else "F"

    sample = make_sample(letters=letters)
    suite = ET.fromstring(junit.render(sample.summary, sample.view)).find("testsuite")
    assert suite is not None
    cases = {one.get("name"): [part.tag for part in one if part.tag != "system-out"] for one in suite.findall("testcase")}
    assert cases == {"case-0": [], "case-1": ["failure"], "case-2": ["error"], "case-3": ["skipped"]}
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "skilltrial show notes/case-1/claude-code/with_skill/1" in (failure.text or "")


def test_junit_is_xml_whatever_the_text(sample: Any) -> None:
    row = FailureRow(cell="notes/case-0/claude-code/with_skill/3", state="failed", reason=EVIL + "\x00\ufffe", checks=(EVIL,))
    rows = tuple(one.model_copy(update={"state": "fail"}) for one in sample.summary.cases)
    summary = sample.summary.model_copy(update={"failures": (row,), "cases": rows})
    root = ET.fromstring(junit.render(summary).encode())
    assert "</details><script>x</script>" in (root.find(".//failure").text or "")  # type: ignore[union-attr]


def test_an_even_split_is_an_error_not_a_pass(make_sample: Any) -> None:
    sample = make_sample(cases=1, repetitions=2, letters=lambda case, arm, number: "PF"[number - 1])
    assert '<error message="open: 1 passed, 2 of 2 measured"' in junit.render(sample.summary)


def test_csv_has_a_row_per_cell_and_empty_for_unknown(sample: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_report.render(sample.summary, sample.view))))
    assert len(rows) == 24
    assert {row["state"] for row in rows} == {"passed", "failed", "not measured", "not graded"}
    lost = next(row for row in rows if row["outcome"] == "timeout")
    assert lost["checks_passed"] == lost["reasoning_tokens"] == ""
    assert lost["reason"] == "no answer within 120 s"


def test_csv_holds_no_formula(make_sample: Any, make_words: Any) -> None:
    sample = make_sample(words=make_words(check="=HYPERLINK(1)", target="@x"))
    for row in csv.reader(io.StringIO(csv_report.render(sample.summary, sample.view))):
        assert not [value for value in row if value.startswith(("=", "+", "-", "@"))]


def test_json_is_the_summary(sample: Any) -> None:
    assert Summary.from_stored(json_report.render(sample.summary)) == sample.summary


def test_status_tells_failed_skipped_lost_tokens_cost_hooks_and_cleanup(sample: Any) -> None:
    summary = sample.summary.model_copy(
        update={
            "skipped": (FailureRow(cell="notes/z/t/with_skill/1", state="not_run", reason="budget"),),
            "hooks": (HookRow(stage="pre_run", command="make x", exit_code=2),),
            "cleanup": {"remote_branches": 2},
            "budget": BudgetRow(limits={"cost_usd": 0.5}, action="warn", exceeded=("notes/a/t/with_skill/1",)),
        }
    )
    text = status.render(summary)
    for words in (
        "24 of 24 runs finished, 22 graded",
        "failed: 2",
        "not measured: 1",
        "skipped: 1\n  notes/z/t/with_skill/1: budget",
        "tokens: 150,000 in (70,000 cached, 47 %), 34,000 out",
        "cost: 1.94 USD over 24 of 24 runs",
        "budget: cost usd 0.5 (warn), exceeded by 1 run",
        "hooks: 1 ran, 1 failed\n  pre_run: make x: exit 2",
        "cleanup: 2 remote branches",
        "Gate passed (exit code 0)",
    ):
        assert words in text


def test_status_says_unavailable_where_nothing_was_reported(sample: Any) -> None:
    totals = sample.summary.totals.model_copy(update={"cost_usd": None, "input_tokens": None, "output_tokens": None})
    text = status.render(sample.summary.model_copy(update={"totals": totals}))
    assert "tokens: unavailable\ncost: unavailable\n" in text


def test_show_has_the_whole_cell_and_how_to_run_it_again(sample: Any) -> None:
    result = next(iter(sample.view.results()))
    text = cell.render(result, sample.view)
    for words in (
        "notes/case-0/claude-code/with_skill/1\npassed, 2 of 2 required checks passed\n41 s, tokens 1,500 in (700 cached), 340 out",
        "prompt\n  Write release notes",
        "final text\n  # 2.0.0\n  - login",
        "passed    The breaking change is mentioned prominently  [check]",
        "created NOTES.md, 12 B\n      # 2.0.0",
        "deleted old.md",
        'judge\n  {"verdict"',
        "stderr.log, tail\n  warning: slow\n  last line",
        "run it again\n  skilltrial run skills/notes --eval-id case-0 --target claude-code:haiku-4.5",
    ):
        assert words in text


def test_show_names_checks_that_were_set_aside(make_sample: Any) -> None:
    sample = make_sample(letters=lambda case, arm, number: "X")
    aside = SetAside(check="2", skill="notes", case="case-0", reason="no judge")
    sample.view.plan = sample.view.plan.model_copy(update={"set_aside": (aside,)})
    text = cell.render(next(iter(sample.view.results())), sample.view)
    assert "not measured: timeout" in text
    assert "set aside No change is invented: no judge" in text


def test_show_never_passes_on_a_control_character(make_sample: Any, make_words: Any) -> None:
    sample = make_sample(words=make_words(prompt=EVIL, text=EVIL, check=EVIL, reason=EVIL, quote=EVIL))
    assert "\x1b" not in cell.render(next(iter(sample.view.results())), sample.view)


def test_show_quotes_what_a_shell_would_read(make_sample: Any) -> None:
    sample = make_sample(backend="adapter")
    target = sample.view.plan.targets[0].model_copy(update={"value": "./my agent; rm"})
    sample.view.plan = sample.view.plan.model_copy(update={"targets": (target,)})
    assert "--target 'adapter:./my agent; rm'" in cell.render(next(iter(sample.view.results())), sample.view)


def test_a_cell_that_was_not_run_can_be_shown(make_sample: Any) -> None:
    sample = make_sample(letters=lambda case, arm, number: ".")
    result = next(iter(sample.view.results()))
    assert "\nnot run\n" in cell.render(result, sample.view)
    assert json.loads(cell.as_json(result, sample.view))["evidence"] is None


def test_show_as_json_holds_evidence_grades_and_the_judges_calls(sample: Any) -> None:
    document = json.loads(cell.as_json(next(iter(sample.view.results())), sample.view))
    assert document["cell"] == "notes/case-0/claude-code/with_skill/1"
    assert document["evidence"]["outcome"] == "ok"
    assert [grade["check"] for grade in document["grades"]] == ["1", "2"]
    assert document["judge"][0]["model"] == "sonnet"
