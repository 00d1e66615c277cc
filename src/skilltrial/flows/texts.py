"""What was said in a run, below its line while the trial goes on: `--verbose` and `logging.snippet_length`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from skilltrial.flows.lookup import Lookup
from skilltrial.records.evidence import Evidence
from skilltrial.store import Experiment
from skilltrial.system.redaction import Redactor
from skilltrial.wording import untrusted

MARGIN = "    "


class Texts:
    """Lines about one cell, read from the store, so masked and without terminal controls."""

    def __init__(self, experiment: Experiment, redactor: Redactor, *, answers: int | None) -> None:
        """`answers`: characters of the answer, and nothing else; None: all that was asked and said, in full."""
        self.experiment, self.redactor, self.answers = experiment, redactor, answers
        self._lookup = Lookup(experiment.plan)

    def __call__(self, cell: str) -> Iterator[str]:
        result = self.experiment.result_of(self._lookup.cell(cell))
        evidence = self.experiment.evidence(result)
        if evidence is None:
            return
        if self.answers is not None:
            yield MARGIN + untrusted.line(evidence.text, self.answers)
            return
        for title, text in (*self._sent(evidence), ("answer", evidence.text or "(empty)")):
            yield from self._block(title, text)
        for call in self.experiment.transcript(result):
            yield from self._block("asked the judge", str(call.get("prompt") or ""))
            yield from self._block("the judge said", str(call.get("reply") or call.get("reason") or "(nothing)"))

    def _sent(self, evidence: Evidence) -> Iterator[tuple[str, str]]:
        data = self.experiment.blob(evidence.sent.digest) if evidence.sent else None
        try:
            sent = json.loads(data) if data else {}
        except ValueError:
            sent = {}
        system, user = (sent.get("system"), sent.get("user")) if isinstance(sent, dict) else (None, None)
        if isinstance(system, str):
            yield "system", system
        case = self._lookup.case(self._lookup.cell(evidence.cell))
        yield "prompt", user if isinstance(user, str) else case.prompt

    def _block(self, title: str, text: str) -> Iterator[str]:
        yield f"{MARGIN}{title}:"
        for line in untrusted.plain(self.redactor.text(text)[0]).split("\n"):
            yield f"{MARGIN}  {line}".rstrip()
