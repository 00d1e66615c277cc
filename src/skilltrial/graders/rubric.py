"""Sentences for a judge, and its quality score. The judge is blind to arm and target; what it cannot decide stays ungraded."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from skilltrial.graders._prompt import question
from skilltrial.graders._reply import Said, Scored, Unreadable, parsed, quality, verdicts
from skilltrial.graders._verdict import Verdict, grade_of
from skilltrial.records.checks import CHECKS
from skilltrial.records.grades import Grade
from skilltrial.records.record import Record
from skilltrial.records.suite import Case, Check
from skilltrial.seams import Desk, EvidenceView
from skilltrial.wording import words

QUOTE = 2_000
"""Longest quote kept of a judge's evidence, in characters."""


class Rubrics:
    """One call for all sentences of a cell; what the reply leaves open is asked once more, then it is ungraded."""

    types: ClassVar[Mapping[str, type[Record]]] = {name: CHECKS[name] for name in ("rubric", "quality")}

    def __init__(self, token: Callable[[], str] = lambda: secrets.token_hex(8)) -> None:
        self.token = token

    def grade(self, case: Case, checks: Sequence[Check], evidence: EvidenceView, desk: Desk) -> tuple[Grade, ...]:
        masked = _masked(evidence)
        if desk.judge is None:
            return tuple(grade_of(check, Verdict.ungraded("no judge", masked=masked), "judge") for check in checks)
        hearing = _Hearing(case, checks, evidence, desk, self.token)
        hearing.hold()
        return tuple(hearing.grade(check, masked) for check in checks)


plugin = Rubrics()


class _Hearing:
    """What the judge has said about one cell so far."""

    def __init__(self, case: Case, checks: Sequence[Check], view: EvidenceView, desk: Desk, token: Callable[[], str]) -> None:
        self.case, self.checks, self.view, self.desk, self.token = case, checks, view, desk, token
        self.said: dict[str, Said] = {}
        self.scored: Scored | None = None
        self.trouble: str | None = None
        """Why something is still open."""

    def hold(self) -> None:
        """Asks, and asks again once for what is still open. An outage ends it: retries for those are behind the desk."""
        for _ in range(2):
            rubrics = [check for check in self.checks if check.type == "rubric" and check.id not in self.said]
            wants_score = self.scored is None and any(check.type == "quality" for check in self.checks)
            if not rubrics and not wants_score:
                return
            reply = self.desk.ask(question(self.case, self.view, rubrics, wants_score, self.token(), self.trouble))
            if reply.outcome != "ok":
                self.trouble = f"the judge could not be reached: {words.outcome(reply.outcome)}" + (
                    f", {reply.reason}" if reply.reason else ""
                )
                return
            self._take(reply.text, frozenset(check.id for check in rubrics), wants_score)

    def _take(self, text: str, wanted: frozenset[str], wants_score: bool) -> None:
        try:
            found = parsed(text)
            self.said |= verdicts(found, wanted)
            if lost := sorted(wanted - self.said.keys()):
                self.trouble = f"it gives no verdict for {', '.join(map(repr, lost))}"
            if wants_score:
                self.scored = quality(found)
        except Unreadable as error:
            self.trouble = str(error)

    def grade(self, check: Check, masked: bool) -> Grade:
        said: Any = self.scored if check.type == "quality" else self.said.get(check.id)
        if said is None:
            trouble = self.trouble or "it gives no verdict"
            why = trouble if trouble.startswith("the judge") else f"the judge's reply could not be used, asked twice: {trouble}"
            return grade_of(check, Verdict.ungraded(why, masked=masked), "judge")
        note = "" if said.evidence else "the judge quoted no evidence"
        quote = said.evidence[:QUOTE] or None
        if isinstance(said, Scored):
            reason = f"quality {said.score:g} of 10" + (f"; {note}" if note else "")
            return grade_of(check, Verdict.passed(reason, quote, masked=masked), "judge", score=said.score / 10)
        return grade_of(check, Verdict("passed" if said.passed else "failed", note, quote, masked), "judge")


def _masked(view: EvidenceView) -> bool:
    delta = view.record.delta
    files = (*delta.created, *delta.changed) if delta else ()
    return view.masked(None) or any(view.masked(file.path) for file in files)
