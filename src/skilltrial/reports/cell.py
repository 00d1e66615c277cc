"""The text of `show`: one cell whole: prompt, final text, checks with evidence, files, logs, judge, usage, how to run it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from rich.text import Text

from skilltrial.records.evidence import Event, Evidence
from skilltrial.records.journal import Pair, Result
from skilltrial.records.suite import FileRef
from skilltrial.reports import _reading
from skilltrial.reports._paper import STYLES, Paper, copyable, safe
from skilltrial.seams import ExperimentView
from skilltrial.wording import untrusted, words

TEXT_LIMIT = 20_000
LOG_TAIL = 2_000
FILE_LIMIT = 2_000
EVENTS = 50
_TONES = {"P": STYLES["good"], "F": STYLES["bad"], "X": STYLES["warn"], "U": STYLES["warn"]}


def render(result: Result, view: ExperimentView, *, width: int = 80, color: bool = False, verbose: bool = False) -> str:
    """The cell as text without control characters; long lines are left whole, so that they can be copied.

    Args:
        verbose: texts are cut at 1 MB instead of 20,000 characters.
    """
    book = _reading.Book(view.plan)
    evidence = view.evidence(result)
    limit = 1_000_000 if verbose else TEXT_LIMIT
    paper = Paper(width, color)
    letter = _reading.letter_of(result, book.set_aside(result.cell))
    paper.put(
        copyable(result.cell.id, "bold"),
        safe(_ended(result, letter, book), _TONES.get(letter, "")),
        *map(safe, _facts(result)),
        wrap=False,
    )
    for title, body in _sections(view, result, evidence, book, limit):
        lines = [Text(f"  {line}".rstrip()) for line in untrusted.plain(body).split("\n")]
        paper.put(safe(title, "bold"), *lines, wrap=False)
    paper.put(Text("run it again", style="bold"), Text(f"  {rerun(book, result)}"), wrap=False)
    return paper.text()


def as_json(result: Result, view: ExperimentView) -> str:
    """The cell with its evidence, grades and judge's calls, as stored."""
    cell = result.cell
    case = _reading.Book(view.plan).case(cell)
    evidence = view.evidence(result)
    document = {
        "cell": cell.id,
        **cell._asdict(),
        "block": cell.block,
        "prompt": case.prompt if case else None,
        "evidence": evidence.model_dump(mode="json") if evidence else None,
        "grades": [grade.model_dump(mode="json") for grade in result.grading.grades] if result.grading else None,
        "judge": list(view.transcript(result)),
        "pairs": [{**pair.comparison.model_dump(mode="json"), "calls": list(pair.calls)} for pair in _pairs(view, result)],
        "superseded": [line.model_dump(mode="json") for line in result.superseded],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _ended(result: Result, letter: str, book: _reading.Book) -> str:
    aside = book.set_aside(result.cell)
    passed, total = _reading.score(result.grading.grades, aside) if result.grading else (0, 0)
    tail = f", {passed} of {words.many(total, 'required check')} passed" if total else ""
    return _reading.ending(result, letter) + tail


def _facts(result: Result) -> Iterator[str]:
    line = result.evidence
    if line is None:
        return
    if line.reason:
        yield untrusted.line(line.reason)
    usage = line.usage
    yield (
        f"{words.duration(line.duration_s)}, tokens {words.count(usage.input_tokens)} in"
        f" ({words.count(usage.cached_tokens)} cached), {words.count(usage.output_tokens)} out, cost {words.usd(usage.cost_usd)}"
    )
    told = [
        f"attempt {line.attempt}",
        f"skill {line.activation.replace('_', ' ')}",
        f"model {line.model or 'unknown'}",
        line.source,
    ]
    if line.redactions:
        told.append(f"{words.many(line.redactions, 'place')} masked")
    yield untrusted.line(", ".join(told))
    for earlier in result.superseded:
        yield untrusted.line(f"superseded attempt {earlier.attempt}: {words.outcome(earlier.outcome)} {earlier.reason or ''}")


def _pairs(view: ExperimentView, result: Result) -> Iterator[Pair]:
    """The judge's choices between this run and another arm's of the same block."""
    found, cell = getattr(view, "pairs", None), result.cell
    for pair in found() if found else ():
        if pair.comparison.block == cell.block and cell.arm in (pair.comparison.arm, pair.comparison.baseline):
            yield pair


def _judged(view: ExperimentView, result: Result, limit: int) -> Iterator[tuple[str, str]]:
    """What the judge said about the run, alone and against others; the questions too where nothing is cut."""
    for call in view.transcript(result):
        yield from _call("judge", call, limit)
    for pair in _pairs(view, result):
        told = pair.comparison
        names = {"arm": f"{words.arm(told.arm)} is better", "baseline": f"{words.arm(told.baseline)} is better"}
        choice = names.get(told.winner, told.winner)
        title = f"judge, {words.arm(told.arm)} against {words.arm(told.baseline)}"
        first = words.arm(told.arm if told.order == "ab" else told.baseline)
        yield title, f"{choice}; the first question showed {first} first" + (f"\n{told.reason}" if told.reason else "")
        for call in pair.calls:
            yield from _call(title, call, limit)


def _call(title: str, call: dict[str, Any], limit: int) -> Iterator[tuple[str, str]]:
    if limit > TEXT_LIMIT and call.get("prompt"):
        yield f"{title}, asked", untrusted.clip(str(call["prompt"]), limit)
    yield title, f"{untrusted.clip(str(call.get('reply', '')), limit) or call.get('reason') or '(no reply)'}"


def _sections(
    view: ExperimentView, result: Result, evidence: Evidence | None, book: _reading.Book, limit: int
) -> Iterator[tuple[str, str]]:
    case = book.case(result.cell)
    yield "prompt", untrusted.clip(case.prompt, limit) if case else "not in this experiment's plan"
    if evidence is None:
        return
    yield "final text", untrusted.clip(evidence.text, limit) or "(empty)"
    yield "checks", "\n".join(_checks(result, book)) or "not graded"
    if evidence.events is not None:
        title = "events" if book.executes_tools(result.cell.target) else "tool calls, requested, not executed"
        yield title, "\n".join(map(_event, evidence.events[:EVENTS])) or "none recorded"
    if evidence.delta is not None:
        yield "files", "\n".join(_files(view, evidence, limit > TEXT_LIMIT)) or "nothing created, changed or deleted"
    yield from _judged(view, result, limit)
    for log in evidence.logs:
        yield f"{log.path}, tail", _text(view, log, LOG_TAIL, tail=True)
    if evidence.warnings:
        yield "warnings", "\n".join(evidence.warnings)


def _checks(result: Result, book: _reading.Book) -> Iterator[str]:
    checks = book.checks(result.cell)
    for grade in result.grading.grades if result.grading else ():
        title = checks[grade.check].text if grade.check in checks else grade.check
        notes = "" if grade.required else " (diagnostic)"
        yield f"{grade.state:<8}  {untrusted.line(title)}{notes}  [{grade.method}]"
        if grade.reason:
            yield f"          {untrusted.line(grade.reason, 1000)}"
        if grade.quote:
            yield f"          “{untrusted.line(grade.quote, 1000)}”"
    told = {grade.check for grade in result.grading.grades} if result.grading else set()
    aside = book.set_aside(result.cell)
    for name, check in checks.items():
        if name not in told and name in aside:
            yield f"set aside {untrusted.line(check.text)}: {untrusted.line(aside[name])}"


def _event(event: Event) -> str:
    arguments = "" if event.arguments is None else f" {untrusted.line(str(event.arguments), 300)}"
    text = "" if event.text is None else f" {untrusted.line(event.text, 300)}"
    failed = " (failed)" if event.ok is False else ""
    return f"{event.kind.replace('_', ' ')} {event.name or ''}{failed}{arguments}{text}".replace("  ", " ")


def _files(view: ExperimentView, evidence: Evidence, verbose: bool) -> Iterator[str]:
    delta = evidence.delta
    if delta is None:
        return
    for word, files in (("created", delta.created), ("changed", delta.changed)):
        for file in files:
            yield f"{word} {untrusted.line(file.path)}, {words.size(file.size)}"
            if verbose or file.size <= FILE_LIMIT:
                yield from (f"    {line}" for line in _text(view, file, 1_000_000 if verbose else FILE_LIMIT).split("\n"))
    yield from (f"deleted {untrusted.line(path)}" for path in delta.deleted)
    if delta.git:
        yield from (f"commit {untrusted.line(commit)}" for commit in delta.git.commits)
    if delta.truncated:
        yield "a cap was hit: this list is not complete"


def _text(view: ExperimentView, file: FileRef, limit: int, *, tail: bool = False) -> str:
    data = view.blob(file.digest)
    if data is None:
        return "(not stored)"
    if b"\0" in data[:4096]:
        return f"(binary, {words.size(file.size)})"
    text = data.decode("utf-8", errors="replace")
    return untrusted.plain(text[-limit:]) if tail else untrusted.clip(text, limit)


def rerun(book: _reading.Book, result: Result) -> str:
    """The command that runs this cell's case again on its target."""
    cell = result.cell
    skill, case, target = book.skills.get(cell.skill), book.case(cell), book.targets.get(cell.target)
    words_ = ["skilltrial", "run"]
    if skill:
        words_.append(str(PurePosixPath(skill.where.file).parent))
    words_ += ["--eval-id", case.id if case else cell.case]
    if target:
        words_ += ["--target", f"{target.backend}:{target.value}" if target.value else target.backend]
    return untrusted.line(shlex.join(words_))
