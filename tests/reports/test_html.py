"""The HTML page: self-contained, readable without scripts, deaf to what models write, bounded in size."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from skilltrial.records.summary import LeaderRow
from skilltrial.reports import html
from skilltrial.reports.html import environment, plugin, render
from skilltrial.system.redaction import Redactor

VOID = {"meta", "input", "br", "img", "link", "hr"}
VECTORS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<body onload=alert(1)>",
    "<math><mtext></p><img src=x onerror=alert(1)></math>",
    "<details open ontoggle=alert(1)>",
    "<style>@import 'http://x.test'</style>",
    "<base href=//x.test>",
    "<meta http-equiv=refresh content='0;url=//x.test'>",
    "<form action=//x.test><input autofocus onfocus=alert(1)>",
    "<object data=//x.test></object>",
    "<embed src=//x.test>",
    "<link rel=stylesheet href=//x.test>",
    "<video><source onerror=alert(1)></video>",
    "{{ 7 * 7 }}{% for x in y %}",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "\u202e<script>\u2028alert(1)</script>",
)
BREAKOUTS = ("", '">', "'>", "</pre>", "</title>", "</style>", "-->", "]]>", "</details></section>", "&lt;/script&gt;")


class Page(HTMLParser):
    """Counts what could act."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: dict[str, int] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def shape(page: Page) -> tuple[Any, ...]:
    """Everything about the page but its words."""
    return (
        page.tags,
        [(tag, name) for tag, name, _ in page.attributes],
        [value for _, name, value in page.attributes if name in ("href", "src")],
    )


def test_two_hundred_hostile_payloads_add_no_node_and_no_handler(make_sample: Any, make_words: Any) -> None:
    def page(payload: str) -> Page:
        words = make_words(prompt=payload, text=payload, check=payload, reason=payload, quote=payload)
        sample = make_sample(cases=1, repetitions=1, words=words)
        summary = sample.summary
        failures = tuple(row.model_copy(update={"reason": payload}) for row in summary.failures)
        gate = summary.gate.model_copy(update={"reasons": (payload,)})
        return Page(render(summary.model_copy(update={"warnings": (payload,), "failures": failures, "gate": gate}), sample.view))

    harmless = page("harmless")
    payloads = [start + vector for start, vector in product(BREAKOUTS, VECTORS)]
    assert len(payloads) == 200
    for payload in payloads:
        found = page(payload)
        assert shape(found) == shape(harmless), payload
        assert found.tags["script"] == 1
        assert not [name for _, name, _ in found.attributes if name.startswith("on") or name == "style"]


@pytest.mark.parametrize("name", ["<b>x</b>", '"><script>alert(1)</script>', "javascript:alert(1)", "../../x"])
def test_a_hostile_target_name_stays_a_name(name: str, make_sample: Any, make_words: Any) -> None:
    sample = make_sample(cases=2, words=make_words(target=name))
    page = Page(render(sample.summary, sample.view))
    assert shape(page) == shape(Page(render(*make_sample(cases=2))))
    assert name in page.text


def test_the_policy_allows_our_style_and_script_and_nothing_else(sample: Any) -> None:
    text = render(sample.summary, sample.view)
    policy = next(value for tag, name, value in Page(text).attributes if tag == "meta" and "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert body
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)


def test_the_answer_comes_first_then_how_sure_then_whether_to_trust(sample: Any) -> None:
    text = Page(render(sample.summary, sample.view)).text
    order = (
        "The skill helps on claude-code: 42 % of checks pass without it, 88 % with it.",
        "On these 4 cases the skill helps: +46 points (95 % interval +24 to +68).",
        "On cases like these: not decided, 4 cases, 6 are needed.",
        "Baseline clean on 1 of 1 target",
        "22 of 24 runs graded; 1 timeout without skill (lift +43 to +47 if they had all gone one way)",
        "sandbox bwrap",
        "judge openai:sonnet-4.6, 12 calls",
        "cost 1.94 USD",
        "Gate passed (exit code 0)",
        "Write release notes for the commits in commits.txt.",
    )
    places = [text.index(sentence) for sentence in order]
    assert places == sorted(places)


def test_every_link_inside_the_page_leads_somewhere_and_ids_are_unique(sample: Any) -> None:
    page = Page(render(sample.summary, sample.view))
    assert len(set(page.ids)) == len(page.ids)
    targets = {value[1:] for _, name, value in page.attributes if name == "href"}
    assert len(targets) == 5
    assert targets <= set(page.ids)


def test_squares_and_intervals_are_read_out(sample: Any) -> None:
    labels = [value for _, name, value in Page(render(sample.summary, sample.view)).attributes if name == "aria-label"]
    assert "without skill: not measured, not graded, failed" in labels
    assert any("95 % interval +24 to +68" in label for label in labels)


def test_both_arms_stand_side_by_side_with_reason_quote_and_judge(sample: Any) -> None:
    text = Page(render(sample.summary, sample.view)).text
    assert "with skill · passed · skill activated" in text
    assert "without skill · not measured: timeout" in text
    assert "looked for 'BREAKING', found none" in text
    assert "no answer within 120 s" in text
    assert "judge reply had no verdict" in text
    assert "created NOTES.md" in text
    assert "skilltrial show notes/case-0/claude-code/with_skill/3" in text


@pytest.mark.parametrize(("backend", "said"), [("openai", True), ("anthropic", True), ("local", True), ("claude-code", False)])
def test_tool_calls_of_http_targets_are_requests(backend: str, said: bool, make_sample: Any) -> None:
    sample = make_sample(cases=1, backend=backend)
    assert ("1 tool call, requested, not executed" in render(sample.summary, sample.view)) is said


def test_injected_skills_claim_nothing_about_discovery(make_sample: Any) -> None:
    sample = make_sample(cases=1)
    rates = tuple(rate.model_copy(update={"delivery": "injected"}) for rate in sample.summary.rates)
    text = Page(render(sample.summary.model_copy(update={"rates": rates}), sample.view)).text
    assert "skill injected into the prompt: this says nothing about discovery or scripts" in text


def test_the_redactor_leaves_a_page_without_secrets_alone(sample: Any) -> None:
    text = render(sample.summary, sample.view)
    assert Redactor().text(text) == (text, 0)


def test_a_small_experiment_is_one_file(sample: Any, out: Any) -> None:
    plugin().write(sample.summary, sample.view, out)
    assert [path.name for path in out.folder.rglob("*.html")] == ["index.html"]


def test_long_texts_move_to_pages_of_their_own(
    make_sample: Any, make_words: Any, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "INLINE_BYTES", 60_000)
    sample = make_sample(cases=8, words=make_words(text="word " * 2000))
    plugin().write(sample.summary, sample.view, out)
    index = (out.folder / "report/index.html").read_text(encoding="utf-8")
    links = [value for _, name, value in Page(index).attributes if name == "href" and value.startswith("cases/")]
    assert links
    assert all((out.folder / "report" / link).is_file() for link in links)
    assert 'href="../index.html"' in (out.folder / "report" / links[0]).read_text(encoding="utf-8")


def test_ten_thousand_runs_keep_the_first_page_small_and_every_case_linked_or_named(make_sample: Any, out: Any) -> None:
    sample = make_sample(cases=2_500, repetitions=2)
    plugin().write(sample.summary, sample.view, out)
    index = (out.folder / "report/index.html").read_text(encoding="utf-8")
    assert len(index.encode()) < 2_000_000
    page = Page(index)
    assert "Cases 1,501 to 2,500 of 2,500" in page.text
    links = [value for _, name, value in page.attributes if name == "href" and value.startswith("cases/")]
    assert all((out.folder / "report" / link).is_file() for link in links)
    assert "Runs of 2,200 more cases are not written out here" in page.text
    further = Page((out.folder / "report/cases/list-2.html").read_text(encoding="utf-8"))
    assert further.tags["tr"] == 1_001


def test_cases_with_trouble_are_written_out_before_others(make_sample: Any, out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "INLINE_CELLS", 10)
    monkeypatch.setattr(html, "DETAILED_CELLS", 12)
    sample = make_sample(cases=9)
    plugin().write(sample.summary, sample.view, out)
    written = sorted(path.name for path in (out.folder / "report/cases").iterdir())
    assert [name.removesuffix(".html").split(".")[1] for name in written] == ["case-0", "case-2"]


def test_an_interrupted_experiment_has_a_page(make_sample: Any) -> None:
    sample = make_sample(cases=2, letters=lambda case, arm, number: "." if number > 1 else "P")
    text = Page(render(sample.summary, sample.view)).text
    assert "not run" in text


def test_nothing_measured_is_said_plainly(make_sample: Any) -> None:
    sample = make_sample(cases=1, letters=lambda case, arm, number: "X")
    summary = sample.summary.model_copy(update={"lifts": (), "rates": ()})
    assert "Nothing to compare" in Page(render(summary, sample.view)).text


@pytest.mark.parametrize(("lifts", "told"), [(4, "1 more comparison is below"), (6, "3 more comparisons are below"), (3, None)])
def test_comparisons_beyond_the_first_three_are_counted(make_sample: Any, lifts: int, told: str | None) -> None:
    sample = make_sample(cases=1)
    many = sample.summary.model_copy(update={"lifts": sample.summary.lifts[:1] * lifts})
    text = Page(render(many, sample.view)).text
    assert told in text if told else "more comparison" not in text


def test_the_leaderboard_has_no_empty_column(make_sample: Any) -> None:
    sample = make_sample(cases=1)
    rows = [
        LeaderRow(target=name, arm="with_skill", value=0.5, low=0.4, high=0.6, rank_low=1, rank_high=2, note="") for name in "ab"
    ]
    noted = (rows[0].model_copy(update={"note": "half of the cases"}), rows[1])
    for leaders, column in ((tuple(rows), False), (noted, True)):
        page = render(sample.summary.model_copy(update={"leaderboard": leaders}), sample.view)
        assert ('<th scope="col">note</th>' in page) is column


def test_the_page_can_carry_a_title_of_ones_own(make_sample: Any, out: Any) -> None:
    sample = make_sample(cases=200)
    plugin(title="Nightly <b>").write(sample.summary, sample.view, out)
    case = next((out.folder / "report/cases").glob("0*.html"))
    for path in (out.folder / "report/index.html", case):
        assert "Nightly &lt;b&gt;" in path.read_text(encoding="utf-8")


def test_compiled_templates_are_kept_where_python_keeps_its_own_and_a_damaged_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    values = {"title": "a", "heading": "b", "back": "c", "section": ""}

    def fresh() -> str:
        environment._environment.cache_clear()
        return environment.page("case_page.html", **values)

    first = fresh()
    kept = list(tmp_path.rglob("*.jinja"))
    assert kept
    assert fresh() == first
    for damage in (b"", b"x", kept[0].read_bytes()[:40]):
        for file in kept:
            file.write_bytes(damage)
        assert fresh() == first
    environment._environment.cache_clear()
