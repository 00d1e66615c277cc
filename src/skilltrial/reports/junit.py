"""JUnit XML for build servers: a testsuite per skill and target, a testcase per case."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import ClassVar

from skilltrial.records.record import Record
from skilltrial.records.summary import FailureRow, Rate, Summary
from skilltrial.reports import _reading
from skilltrial.seams import ExperimentView, Out
from skilltrial.wording import untrusted, verdicts, words

MOST_DETAILS = 10


class Junit(Record):
    """failure: the case failed in the arm under test; error: not measured, or open; skipped: nothing was run."""

    name: ClassVar[str] = "junit"

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        out.write("report.xml", render(summary, experiment))


plugin = Junit


def render(summary: Summary, view: ExperimentView | None = None) -> str:
    """The document as text, in UTF-8 when written."""
    root = ET.Element("testsuites", name=untrusted.xml(summary.experiment))
    details = _details(summary)
    suites: dict[tuple[str, str], ET.Element] = {}
    for row in _reading.table(summary):
        key = (row.skill, row.target)
        if key not in suites:
            suites[key] = _suite(root, summary, row)
        _case(suites[key], row, summary, details)
    left_out = _left_out(root, summary)
    for suite in (*suites.values(), *left_out):
        _count(suite)
    _count(root, *suites.values(), *left_out)
    ET.indent(root)
    file = io.BytesIO()
    ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
    return file.getvalue().decode("utf-8") + "\n"


def _left_out(root: ET.Element, summary: Summary) -> list[ET.Element]:
    """A suite of the skills that were left out, each skipped with the reason; none where all took part."""
    rows = [row for row in summary.skipped if row.state in ("invalid", "no_suite")]
    if not rows:
        return []
    suite = ET.SubElement(root, "testsuite", name="skills left out")
    for row in rows:
        case = ET.SubElement(suite, "testcase", classname="skills", name=untrusted.xml(row.cell), time="0")
        ET.SubElement(case, "skipped", message=untrusted.xml(untrusted.line(row.reason, 500)))
    return [suite]


def _details(summary: Summary) -> Mapping[str, list[FailureRow]]:
    """Failures, failed measurements and set-aside checks by skill/case/target/arm."""
    by_group: dict[str, list[FailureRow]] = {}
    for row in (*summary.failures, *summary.errors, *summary.skipped):
        by_group.setdefault(row.cell.rpartition("/")[0], []).append(row)
    return by_group


def _suite(root: ET.Element, summary: Summary, row: _reading.Row) -> ET.Element:
    suite = ET.SubElement(root, "testsuite", name=untrusted.xml(f"{row.skill} on {row.target}"))
    if summary.created_at:
        suite.set("timestamp", summary.created_at.removesuffix("Z")[:19])
    properties = ET.SubElement(suite, "properties")
    for lift in summary.lifts:
        if (lift.skill, lift.target) == (row.skill, row.target):
            for name, value in (
                ("lift", lift.lift), ("low", lift.low), ("high", lift.high), ("verdict", lift.verdict),
                ("these_cases", verdicts.these(lift)), ("cases_like_these", verdicts.like(lift)),
            ):  # fmt: skip
                ET.SubElement(properties, "property", name=name, value=untrusted.xml("" if value is None else str(value)))
    return suite


def _seconds(rate: Rate | None) -> str:
    mean = rate.time_seconds.mean if rate and rate.time_seconds else None
    return "0" if mean is None else f"{mean:.3f}"


def _case(suite: ET.Element, row: _reading.Row, summary: Summary, details: Mapping[str, list[FailureRow]]) -> None:
    arm = row.arm
    name = arm.arm if arm else "with_skill"
    time = _seconds(verdicts.rate_of(summary, row.skill, row.target, name))
    case = ET.SubElement(
        suite, "testcase", classname=untrusted.xml(f"{row.skill}.{row.target}"), name=untrusted.xml(row.case), time=time
    )
    told = details.get(f"{row.skill}/{row.case}/{row.target}/{name}", [])
    squares = arm.squares if arm else ""
    if arm is None or not (arm.measured or squares.strip(".")):
        ET.SubElement(case, "skipped", message="not run")
    elif arm.measured == 0:
        _mark(case, "error", "not measured", "not-measured", told)
    elif arm.state == "fail":
        _mark(case, "failure", f"{arm.passes} of {words.many(arm.planned or arm.measured, 'run')} passed", "failed", told)
    elif arm.state == "open":
        _mark(case, "error", f"open: {arm.passes} passed, {arm.measured} of {arm.planned} measured", "open", told)
    lines = [f"{words.arm(one.arm)}: {one.passes} of {one.measured} measured runs passed" for one in (arm, row.baseline) if one]
    ET.SubElement(case, "system-out").text = untrusted.xml("\n".join(lines))


def _mark(case: ET.Element, tag: str, message: str, kind: str, told: list[FailureRow]) -> None:
    node = ET.SubElement(case, tag, message=message, type=kind)
    lines = []
    for row in told[:MOST_DETAILS]:
        checks = f" [{', '.join(untrusted.line(check, 200) for check in row.checks)}]" if row.checks else ""
        lines.append(
            f"{row.cell}: {words.outcome(row.state)}: {untrusted.line(row.reason, 500)}{checks}\n  skilltrial show {row.cell}"
        )
    node.text = untrusted.xml("\n".join(lines))


def _count(node: ET.Element, *parts: ET.Element) -> None:
    """Totals of the attributes that build servers read."""
    if parts:
        for key in ("tests", "failures", "errors", "skipped"):
            node.set(key, str(sum(int(part.get(key, "0")) for part in parts)))
        return
    node.set("tests", str(len(node.findall("testcase"))))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        node.set(key, str(len(node.findall(f"testcase/{tag}"))))
