"""One page to read in a browser: the answer, how sure, whether to trust it, and every run behind it.

Small experiments are one file. Larger ones get a page per case beside it, written as the cells are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from markupsafe import Markup

from skilltrial.records.journal import Result
from skilltrial.records.record import Record
from skilltrial.records.summary import Summary
from skilltrial.reports import _reading
from skilltrial.reports.html import environment, page
from skilltrial.reports.html.sections import Cut, Writer
from skilltrial.seams import ExperimentView, Out
from skilltrial.system.files import safe_name
from skilltrial.wording import untrusted, words

INDEX = "report/index.html"
INLINE_CELLS = 300
INLINE_BYTES = 1_500_000
ROWS_A_PAGE = 1_500
DETAILED_CELLS = 2_000
"""Of a large experiment: runs whose texts are written out, cases with trouble first."""
CASE_PAGES = 300
"""Of a large experiment: pages at most; a page costs about 1 ms, most of it the redactor's."""
SMALL_CUT = Cut(text=4_000, log=800, file=800, files=4, events=20)

CaseKey = tuple[str, str]
"""Skill and case, as cells name them."""


class Html(Record):
    """`report/index.html`, self-contained, and case pages where it would grow beyond 2 MB."""

    name: ClassVar[str] = "html"
    title: str | None = None
    """Heading of the page; None: as the experiment has it, else the skills and its name."""

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        heading = self.title or experiment.plan.options.report_title or page.heading(summary)
        if _planned(experiment) <= INLINE_CELLS:
            _write_small(summary, experiment, out, heading)
        else:
            _write_large(summary, experiment, out, heading)


plugin = Html


def render(summary: Summary, view: ExperimentView, *, title: str | None = None) -> str:
    """The first page with every section in it, however large."""
    rows = _reading.table(summary)
    sections = list(_sections(summary, view, Cut()))
    hrefs = {key: f"#c/{key[0]}/{key[1]}" for key, _ in sections}
    return _index(summary, title or page.heading(summary), rows, hrefs, [text for _, text in sections], ())


def _planned(view: ExperimentView) -> int:
    return sum(group.repetitions for group in view.plan.groups)


class _Page(NamedTuple):
    name: str
    title: str
    section: Markup


def _write_small(summary: Summary, view: ExperimentView, out: Out, heading: str) -> None:
    rows = _reading.table(summary)
    hrefs: dict[CaseKey, str] = {}
    inline: list[Markup] = []
    apart: list[_Page] = []
    used = 0
    for key, section in _sections(summary, view, Cut()):
        used += len(section)
        if used <= INLINE_BYTES:
            inline.append(section)
            hrefs[key] = f"#c/{key[0]}/{key[1]}"
        else:
            apart.append(_Page(_file(key, len(hrefs)), f"{key[0]}/{key[1]}", section))
            hrefs[key] = apart[-1].name
    index = out.write(INDEX, _index(summary, heading, rows, hrefs, inline, ()))
    for one in apart:
        _write_case(out, one, index.name, heading)


def _write_large(summary: Summary, view: ExperimentView, out: Out, heading: str) -> None:
    rows = _reading.table(summary)
    chosen = _choose(rows, view)
    hrefs = {key: _file(key, number) for number, key in enumerate(chosen)}
    lists = [rows[start : start + ROWS_A_PAGE] for start in range(ROWS_A_PAGE, len(rows), ROWS_A_PAGE)]
    names = [(f"cases/list-{number}.html", part) for number, part in enumerate(lists, 2)]
    further = [{"href": name, "text": _range(rows, part)} for name, part in names]
    missing = len({(row.skill, row.case) for row in rows}) - len(chosen)
    note = (
        f"Runs of {words.many(missing, 'more case')} are not written out here; skilltrial show CELL has each." if missing else ""
    )
    index = out.write(INDEX, _index(summary, heading, rows[:ROWS_A_PAGE], hrefs, [], further, note))
    for name, part in names:
        beside = {key: href.removeprefix("cases/") for key, href in hrefs.items()}
        text = environment.page("list.html", **_list_context(summary, heading, rows, part, beside, index.name))
        out.write(f"report/{name}", text)
    for key, section in _sections(summary, view, SMALL_CUT, chosen):
        _write_case(out, _Page(hrefs[key], f"{key[0]}/{key[1]}", section), index.name, heading)


def _file(key: CaseKey, number: int) -> str:
    return f"cases/{number:05d}-{safe_name(f'{key[0]}.{key[1]}')[:80]}.html"


def _write_case(out: Out, one: _Page, index_name: str, heading: str) -> None:
    values = {
        "title": untrusted.line(one.title),
        "heading": untrusted.line(heading),
        "back": f"../{index_name}",
        "section": one.section,
    }
    out.write(f"report/{one.name}", environment.page("case_page.html", **values))


def _index(
    summary: Summary,
    heading: str,
    rows: list[_reading.Row],
    hrefs: Mapping[CaseKey, str],
    sections: list[Markup],
    further: object,
    note: str = "",
) -> str:
    return environment.page(
        "index.html",
        **page.context(summary, heading),
        rows=page.table_rows(rows, hrefs) if rows else (),
        wide=len({row.target for row in rows}) > 1,
        linked=bool(hrefs),
        sections=sections,
        repetitions=max((len(row.squares) for row in summary.cases), default=1),
        further=further,
        not_written=note,
    )


def _list_context(
    summary: Summary,
    heading: str,
    rows: list[_reading.Row],
    part: list[_reading.Row],
    hrefs: Mapping[CaseKey, str],
    index_name: str,
) -> dict[str, object]:
    values = page.context(summary, heading)
    return {
        "title": f"{values['heading']}: cases",
        "heading": values["heading"],
        "back": f"../{index_name}",
        "range_text": _range(rows, part),
        "rows": page.table_rows(part, hrefs),
        "wide": len({row.target for row in rows}) > 1,
        "arm_name": values["arm_name"],
        "baseline_name": values["baseline_name"],
    }


def _range(rows: list[_reading.Row], part: list[_reading.Row]) -> str:
    start = rows.index(part[0]) + 1
    return f"Cases {start:,} to {start + len(part) - 1:,} of {len(rows):,}"


def _choose(rows: list[_reading.Row], view: ExperimentView) -> dict[CaseKey, int]:
    """Cases to write out, with their number of runs: those with trouble first, up to the limit."""
    sizes: dict[CaseKey, int] = {}
    for group in view.plan.groups:
        sizes[group.skill, group.case] = sizes.get((group.skill, group.case), 0) + group.repetitions
    trouble: dict[CaseKey, bool] = dict.fromkeys(sizes, False)
    for row in rows:
        letters = row.arm.squares if row.arm else ""
        trouble[row.skill, row.case] = trouble.get((row.skill, row.case), False) or bool(letters.strip("P")) or "X" in row.squares
    chosen: dict[CaseKey, int] = {}
    spent = 0
    for key in sorted(sizes, key=lambda key: not trouble[key]):
        if spent + sizes[key] <= DETAILED_CELLS and len(chosen) < CASE_PAGES:
            chosen[key] = sizes[key]
            spent += sizes[key]
    return chosen


def _sections(
    summary: Summary, view: ExperimentView, cut: Cut, chosen: Mapping[CaseKey, int] | None = None
) -> Iterator[tuple[CaseKey, Markup]]:
    """Sections in the order in which their cases are complete; only unfinished cases are held in memory."""
    writer = Writer(view, _reading.Letters(summary), cut)
    differ = {(row.skill, row.case) for row in _reading.table(summary) if row.points}
    waiting: dict[CaseKey, list[Result]] = {}
    left = dict(chosen) if chosen is not None else _sizes(view)
    for result in view.results():
        key = (result.cell.skill, result.cell.case)
        if key not in left:
            continue
        waiting.setdefault(key, []).append(result)
        if len(waiting[key]) == left[key]:
            yield key, writer.section(waiting.pop(key), key in differ)
            del left[key]
            if not left:
                return
    for key, results in waiting.items():
        yield key, writer.section(results, key in differ, left[key] - len(results))


def _sizes(view: ExperimentView) -> dict[CaseKey, int]:
    sizes: dict[CaseKey, int] = {}
    for group in view.plan.groups:
        sizes[group.skill, group.case] = sizes.get((group.skill, group.case), 0) + group.repetitions
    return sizes
