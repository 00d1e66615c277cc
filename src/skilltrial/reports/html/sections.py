"""One case in full: its prompt, then every repetition with both arms side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from skilltrial.records.evidence import Event, Evidence
from skilltrial.records.grades import Grade
from skilltrial.records.journal import Result
from skilltrial.records.suite import Check, FileRef
from skilltrial.reports import _reading
from skilltrial.reports.html import environment
from skilltrial.seams import ExperimentView
from skilltrial.wording import untrusted, words

MARKS = {"P": "p", "F": "f", "X": "x", "U": "u", ".": "n"}
TONES = {"passed": "good", "failed": "bad", "ungraded": "warn"}
STATES = {"passed": "passed", "failed": "failed", "ungraded": "not graded"}


class Cut(NamedTuple):
    """How much of each text is shown, in characters, and how many things of a kind."""

    text: int = 12_000
    log: int = 1_500
    file: int = 2_000
    files: int = 12
    events: int = 60


class Part(NamedTuple):
    head: str
    body: str


class Fold(NamedTuple):
    """Something long, folded away."""

    title: str
    parts: tuple[Part, ...]


class Panel(NamedTuple):
    """One cell."""

    arm: str
    mark: str
    ending: str
    short: str
    activation: str
    usage: str
    reason: str
    ran: bool
    text: str
    folds: tuple[Fold, ...]
    show: str


class CheckCell(NamedTuple):
    arm: str
    tone: str
    state: str
    reason: str
    quote: str


class CheckRow(NamedTuple):
    title: str
    kind: str
    cells: tuple[CheckCell, ...]


class Block(NamedTuple):
    """One repetition on one target."""

    id: str
    target: str
    repetition: int
    of: int
    open: bool
    panels: tuple[Panel, ...]
    checks: tuple[CheckRow, ...]


class Section(NamedTuple):
    """One case."""

    id: str
    title: str
    skill: str
    name: str
    states: str
    differ: int
    prompt: str
    blocks: tuple[Block, ...]
    cut: str


class Writer:
    """Makes sections from results; reads evidence one case at a time."""

    def __init__(self, view: ExperimentView, letters: _reading.Letters, cut: Cut | None = None) -> None:
        self.view = view
        self.book = _reading.Book(view.plan)
        self.letters = letters
        self.cut = cut or Cut()

    def section(self, results: Sequence[Result], differ: bool, left_out: int = 0) -> Markup:
        """The case that these results belong to, as markup; `left_out` of its runs are not among them."""
        cell = results[0].cell
        case = self.book.case(cell)
        letters = {self.letters.of(result) for result in results}
        section = Section(
            id=f"c/{cell.skill}/{cell.case}",
            title=untrusted.line(case.name or case.id if case else cell.case, 200),
            skill=untrusted.line(cell.skill, 200),
            name=untrusted.line(f"{cell.skill} {cell.case} {case.name or '' if case else ''}", 400),
            states="".join(sorted(letters)),
            differ=int(differ),
            prompt=untrusted.clip(case.prompt if case else "", self.cut.text) or "(no prompt stored)",
            blocks=tuple(self._blocks(results)),
            cut=f"{words.many(left_out, 'run')} of this case are not written here; skilltrial show CELL has them."
            if left_out
            else "",
        )
        return environment.part("section.html", section=section)

    def _blocks(self, results: Sequence[Result]) -> Iterator[Block]:
        groups: dict[tuple[str, int], list[Result]] = {}
        last: dict[str, int] = {}
        for result in results:
            cell = result.cell
            groups.setdefault((cell.target, cell.repetition), []).append(result)
            last[cell.target] = max(last.get(cell.target, 0), cell.repetition)
        chosen = self._worth_opening(groups)
        for key in sorted(groups):
            target, repetition = key
            found = groups[key]
            cell = found[0].cell
            yield Block(
                id=f"c/{cell.skill}/{cell.case}/{target}/{repetition}",
                target=untrusted.line(target, 100),
                repetition=repetition,
                of=last[target],
                open=key == chosen,
                panels=tuple(self._panel(result) for result in found),
                checks=tuple(self._checks(found)),
            )

    def _worth_opening(self, groups: dict[tuple[str, int], list[Result]]) -> tuple[str, int]:
        """The first repetition whose arms ended differently, else the first that did not simply pass, else the first."""
        ends = {key: [self.letters.of(result) for result in groups[key]] for key in sorted(groups)}
        unlike = [key for key, found in ends.items() if len(set(found)) > 1]
        troubled = [key for key, found in ends.items() if set(found) != {"P"}]
        return next(iter((*unlike, *troubled)), min(groups))

    def _panel(self, result: Result) -> Panel:
        letter = self.letters.of(result)
        line = result.evidence
        evidence = self.view.evidence(result)
        aside = self.book.set_aside(result.cell)
        passed, total = _reading.score(result.grading.grades, aside) if result.grading else (0, 0)
        trouble = letter in "FXU"
        return Panel(
            arm=words.arm(result.cell.arm),
            mark=MARKS.get(letter, "n"),
            ending=_reading.ending(result, letter),
            short=f"{passed}/{total}" if total else _reading.ending(result, letter),
            activation=_activation(result),
            usage=_usage(result),
            reason=untrusted.line(line.reason or "", 600) if line and letter != "P" else "",
            ran=line is not None and line.outcome == "ok",
            text=untrusted.clip(evidence.text, self.cut.text) if evidence else "",
            folds=tuple(self._folds(result, evidence)) if evidence else (),
            show=untrusted.line(f"skilltrial show {result.cell.id}") if trouble else "",
        )

    def _checks(self, results: Sequence[Result]) -> Iterator[CheckRow]:
        checks = self.book.checks(results[0].cell)
        grades = [{g.check: g for g in result.grading.grades} if result.grading else {} for result in results]
        aside = self.book.set_aside(results[0].cell)
        names = dict.fromkeys([*checks, *(name for found in grades for name in found)])
        for name in names:
            check = checks.get(name)
            cells = [self._cell(result, found.get(name), aside.get(name)) for result, found in zip(results, grades, strict=True)]
            first = next((found[name] for found in grades if name in found), None)
            yield CheckRow(untrusted.line(check.text if check else name, 600), _kind(check, first), tuple(cells))

    def _cell(self, result: Result, grade: Grade | None, aside: str | None) -> CheckCell:
        arm = words.arm(result.cell.arm)
        if grade is None:
            return CheckCell(arm, "quiet", "set aside" if aside else "not asked", untrusted.line(aside or "", 300), "")
        reason, quote = untrusted.line(grade.reason or "", 600), untrusted.line(grade.quote or "", 600)
        score = f" ({grade.score:.2f})" if grade.score is not None and 0 < grade.score < 1 else ""
        return CheckCell(arm, TONES[grade.state], STATES[grade.state] + score, reason, quote)

    def _folds(self, result: Result, evidence: Evidence) -> Iterator[Fold]:
        yield from self._event_fold(result, evidence)
        yield from self._file_fold(evidence)
        calls = self.view.transcript(result)
        parts = [Part(_call_head(call), untrusted.clip(str(call.get("reply") or ""), self.cut.text)) for call in calls]
        if parts:
            yield Fold(f"judge, {words.many(len(parts), 'reply', 'replies')}", tuple(parts))
        if evidence.outcome != "ok":
            logs = [Part(untrusted.line(log.path), self._file(log, self.cut.log, tail=True)) for log in evidence.logs]
            if logs:
                yield Fold("log tail", tuple(logs))
        if evidence.warnings:
            yield Fold("warnings", tuple(Part(untrusted.line(text, 400), "") for text in evidence.warnings[:20]))

    def _event_fold(self, result: Result, evidence: Evidence) -> Iterator[Fold]:
        told = [event for event in evidence.events or () if event.kind in ("tool_call", "tool_result", "skill", "error")]
        if not told:
            return
        calls = sum(event.kind == "tool_call" for event in told)
        executed = "" if self.book.executes_tools(result.cell.target) else ", requested, not executed"
        lines = [_event(event) for event in told[: self.cut.events]]
        if len(told) > len(lines):
            lines.append(f"… {len(told) - len(lines)} more")
        yield Fold(f"{words.many(calls, 'tool call')}{executed}", (Part("", "\n".join(lines)),))

    def _file_fold(self, evidence: Evidence) -> Iterator[Fold]:
        delta = evidence.delta
        if delta is None or not (delta.created or delta.changed or delta.deleted):
            return
        files = [("created", file) for file in delta.created] + [("changed", file) for file in delta.changed]
        parts = [
            Part(f"{word} {untrusted.line(file.path, 300)}, {words.size(file.size)}", self._file(file, self.cut.file))
            for word, file in files[: self.cut.files]
        ]
        if len(files) > self.cut.files:
            parts.append(Part(f"{len(files) - self.cut.files} more files", ""))
        parts += [Part(f"deleted {untrusted.line(path, 300)}", "") for path in delta.deleted[: self.cut.files]]
        if delta.truncated:
            parts.append(Part("A cap was hit: this list is not complete.", ""))
        total = len(files) + len(delta.deleted)
        yield Fold(f"{words.many(total, 'file')} created, changed or deleted", tuple(parts))

    def _file(self, file: FileRef, limit: int, *, tail: bool = False) -> str:
        data = self.view.blob(file.digest)
        if data is None:
            return "(not stored)"
        if b"\0" in data[:4096]:
            return "(binary)"
        kept = data[-4 * limit :] if tail else data[: 64 * limit]
        text = kept.decode("utf-8", errors="replace")
        return untrusted.plain(text[-limit:]) if tail else untrusted.clip(text, limit)


def _activation(result: Result) -> str:
    line = result.evidence
    told = {
        "activated": "skill activated",
        "read": "skill read",
        "forced": "skill in the prompt",
        "not_seen": "skill not used",
    }
    return told.get(line.activation, "") if line else ""


def _usage(result: Result) -> str:
    line = result.evidence
    if line is None:
        return ""
    usage = line.usage
    parts = [words.duration(line.duration_s)]
    known = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    if known:
        parts.append(words.many(sum(known), "token"))
    if usage.cost_usd is not None:
        parts.append(words.usd(usage.cost_usd))
    return " · ".join(parts)


def _kind(check: Check | None, grade: Grade | None) -> str:
    parts = []
    if grade is not None:
        parts.append("judge" if grade.method == "judge" else check.type.replace("_", " ") if check else grade.method)
    elif check is not None:
        parts.append(check.type.replace("_", " "))
    if check is not None and not check.required:
        parts.append("diagnostic, counted nowhere")
    elif check is not None and not check.scored:
        parts.append("indicator, outside the rate")
    return ", ".join(parts)


def _event(event: Event) -> str:
    name = untrusted.line(event.name or "", 80)
    if event.kind == "tool_call":
        return f"{name} {untrusted.line(_arguments(event), 400)}".rstrip()
    if event.kind == "tool_result":
        return f"  → {'failed ' if event.ok is False else ''}{untrusted.line(event.text or '', 300)}"
    return f"{event.kind} {name} {untrusted.line(event.text or '', 300)}".rstrip()


def _arguments(event: Event) -> str:
    if event.arguments is None:
        return ""
    return event.arguments if isinstance(event.arguments, str) else json.dumps(event.arguments, ensure_ascii=False)


def _call_head(call: dict[str, object]) -> str:
    model = untrusted.line(str(call.get("model") or "judge"), 100)
    outcome = str(call.get("outcome") or "ok")
    reason = untrusted.line(str(call.get("reason") or ""), 300)
    return model if outcome == "ok" else f"{model}: {words.outcome(outcome)} {reason}".rstrip()
