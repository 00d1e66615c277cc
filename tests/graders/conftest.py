"""A run held in memory, and a judge who answers from a list."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skilltrial import graders
from skilltrial.records.evidence import Delta, Event, Evidence, Timing, Usage
from skilltrial.records.grades import Grade
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Check, FileRef, Tree
from skilltrial.seams import EvidenceView, Place, Question, Reply


def ref(path: str, data: bytes = b"x") -> FileRef:
    return FileRef(path=path, size=len(data), digest=f"sha256:{hashlib.sha256(data).hexdigest()}")


@dataclass
class MemoryView:
    """The EvidenceView seam over files in a dict."""

    record: Evidence
    files: Mapping[str, bytes] = field(default_factory=dict)
    fixtures: Mapping[str, bytes] = field(default_factory=dict)
    masks: frozenset[str | None] = frozenset()
    stored: bool = False

    def read(self, path: str, limit: int = 1_000_000) -> bytes | None:
        data = self.files.get(path, self.fixtures.get(path))
        return None if data is None else data[:limit]

    def fixture(self, path: str) -> FileRef | None:
        return ref(path, self.fixtures[path]) if path in self.fixtures else None

    def masked(self, path: str | None) -> bool:
        return path in self.masks

    def unpack(self, into: Path) -> None:
        for name, data in {**self.fixtures, **self.files}.items():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_bytes(data)


@dataclass
class ListedDesk:
    """The Desk seam: replies are taken from a list, every question is kept; the scratch place is handed in."""

    replies: list[str | Reply] = field(default_factory=list)
    judge: str | None = "judge"
    place: Callable[[EvidenceView], AbstractContextManager[Place]] | None = None
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        reply = self.replies[len(self.asked) - 1]
        return reply if isinstance(reply, Reply) else Reply(reply, "ok", None, Usage(), "m", 0.0)

    @contextmanager
    def scratch(self, evidence: EvidenceView) -> Iterator[Place]:
        assert self.place is not None
        with self.place(evidence) as place:
            yield place


@dataclass
class Run:
    """Builders for one run and its grades."""

    def view(
        self,
        text: str = "",
        *,
        events: Sequence[Event] | None = None,
        activation: str = "unknown",
        created: Mapping[str, bytes] | None = None,
        changed: Mapping[str, bytes] | None = None,
        deleted: Sequence[str] = (),
        fixtures: Mapping[str, bytes] | None = None,
        folder: bool = True,
        masks: Sequence[str | None] = (),
        stored: bool = False,
        outcome: str = "ok",
        reason: str | None = None,
        **delta: Any,
    ) -> MemoryView:
        made, altered = dict(created or {}), dict(changed or {})
        left = Delta(
            created=tuple(ref(path, data) for path, data in made.items()),
            changed=tuple(ref(path, data) for path, data in altered.items()),
            deleted=tuple(deleted),
            **delta,
        )
        record = Evidence(
            cell="demo/one/t/with_skill/1",
            inputs="sha256:0",
            attempt=1,
            outcome=outcome,  # type: ignore[arg-type]
            reason=reason,
            text=text,
            events=None if events is None else tuple(events),
            activation=activation,  # type: ignore[arg-type]
            timing=Timing(started_at="2026-01-01T00:00:00Z", duration_s=1.0),
            delta=left if folder else None,
        )
        start = {path: data for path, data in (fixtures or {}).items() if path not in deleted}
        return MemoryView(record, {**start, **made, **altered}, fixtures or {}, frozenset(masks), stored)

    def check(self, type_: str, **options: Any) -> Check:
        name = options.pop("id", type_)
        text = options.pop("text", type_)
        return Check(id=name, type=type_, text=text, options=options)

    def case(self, view: MemoryView | None = None, **fields: Any) -> Case:
        files = tuple(ref(path, data) for path, data in view.fixtures.items()) if view else ()
        start = {
            "id": "one",
            "prompt": "Do it.",
            "fixtures": Tree(digest="sha256:1", files=files),
            "where": Where(file="evals.json"),
        }
        return Case(**{**start, **fields})

    def grades(self, checks: Sequence[Check], view: MemoryView, desk: ListedDesk | None = None, **case: Any) -> tuple[Grade, ...]:
        return graders.grade(self.case(view, **case), checks, view, desk or ListedDesk(judge=None))

    def grade(self, type_: str, text: str | MemoryView = "", **options: Any) -> Grade:
        view = text if isinstance(text, MemoryView) else self.view(text)
        (grade,) = self.grades([self.check(type_, **options)], view)
        return grade

    def desk(self, *replies: str | Reply, **fields: Any) -> ListedDesk:
        return ListedDesk(list(replies), **fields)


@pytest.fixture
def run() -> Run:
    return Run()
