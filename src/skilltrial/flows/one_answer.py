"""One answer graded outside any experiment: nothing is run but the judge, and nothing is stored."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from skilltrial import graders, registry
from skilltrial.errors import BadInput
from skilltrial.flows.asking import Asker
from skilltrial.load.checks import from_object, sentence, tool_assertion
from skilltrial.load.document import Notes
from skilltrial.records.evidence import Delta, Event, Evidence, Timing
from skilltrial.records.grades import Grade
from skilltrial.records.plan import Target
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Check, FileRef
from skilltrial.seams import Access, EvidenceView, Machine, Place, Question, Reply
from skilltrial.system.files import digest, write_atomic

Calls = Sequence[tuple[str, Any] | Mapping[str, Any]]
"""Tool calls: (name, arguments), or as chat completions have them."""


def grade(
    checks: Sequence[str | Mapping[str, Any]],
    text: str,
    machine: Machine,
    *,
    prompt: str,
    expected_output: str | None,
    tool_calls: Calls | None,
    files: Mapping[str, bytes],
    judge: Target | None,
) -> tuple[Grade, ...]:
    """One grade per check, in their order.

    Raises:
        BadInput: checks that cannot be read, all of them at once.
    """
    read = checks_of(checks)
    case = Case(id="1", prompt=prompt, expected_output=expected_output, checks=read, where=Where(file="(given)"))
    view = LooseView(run_of(text, tool_calls, files), files)
    with ExitStack() as stack:
        desk = LooseDesk(machine, stack.enter_context(Asker(judge, machine)) if judge else None)
        unable = {check.id for check in read if judge is None and graders.needs_judge(check)}
        graded = iter(graders.grade(case, [check for check in read if check.id not in unable], view, desk))
        return tuple(
            Grade.about(check, "ungraded", "there is no judge", method="judge") if check.id in unable else next(graded)
            for check in read
        )


def checks_of(given: Sequence[str | Mapping[str, Any]]) -> tuple[Check, ...]:
    """Checks from sentences for the judge, objects as in `checks`, and agent-skills-eval's tool assertions."""
    notes = Notes("(given)")
    read = [_check(item, number, notes) for number, item in enumerate(given, 1)]
    errors = tuple(problem for problem in notes.problems if problem.severity == "error")
    if errors:
        raise BadInput(errors)
    return tuple(check for check in read if check is not None)


def _check(item: str | Mapping[str, Any], number: int, notes: Notes) -> Check | None:
    name, at = f"check-{number}", ("checks", number - 1)
    if isinstance(item, str):
        return sentence(item, at, notes, name)
    raw = dict(item)
    dashed = str(raw.get("type", "")).startswith("tool-")
    return tool_assertion(raw, at, notes, name) if dashed else from_object(raw, at, notes, name)


def run_of(text: str, tool_calls: Calls | None, files: Mapping[str, bytes]) -> Evidence:
    """The record of a run that answered this, made these calls and left these files."""
    left = tuple(FileRef(path=path, size=len(data), digest=digest(data), executable=False) for path, data in files.items())
    return Evidence(
        cell="s/1/t/with_skill/1",
        inputs="",
        attempt=1,
        outcome="ok",
        text=text,
        events=None if tool_calls is None else tuple(map(_event, tool_calls)),
        delta=Delta(created=left),
        timing=Timing(started_at="1970-01-01T00:00:00Z"),
    )


def _event(call: tuple[str, Any] | Mapping[str, Any]) -> Event:
    if not isinstance(call, Mapping):
        return Event(kind="tool_call", name=call[0], arguments=call[1])
    function = call.get("function", call)
    arguments = function.get("arguments")
    with suppress(ValueError):  # then the raw text is what there is
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    return Event(kind="tool_call", name=function.get("name"), call=call.get("id"), arguments=arguments)


class LooseView:
    """The EvidenceView of a run that is in no experiment."""

    stored = False

    def __init__(self, record: Evidence, files: Mapping[str, bytes] | None = None) -> None:
        self.record, self.files = record, files or {}

    def read(self, path: str, limit: int = 1_000_000) -> bytes | None:
        data = self.files.get(path)
        return None if data is None else data[:limit]

    def fixture(self, path: str) -> FileRef | None:
        return None

    def masked(self, path: str | None) -> bool:
        return False

    def unpack(self, into: Path) -> None:
        for path, data in self.files.items():
            write_atomic(into / path, data, None)


class LooseDesk:
    """The Desk outside experiments: calls to the judge are not kept."""

    def __init__(self, machine: Machine, asker: Asker | None) -> None:
        self.machine, self.asker = machine, asker
        self.judge = asker.target.name if asker else None

    def ask(self, question: Question) -> Reply:
        assert self.asker is not None, "graders ask only when there is a judge"
        run = self.asker.run("(given)", question)
        return Reply(run.text, run.outcome, run.reason, run.usage, run.model, run.timing.duration_s)

    @contextmanager
    def scratch(self, evidence: EvidenceView) -> Iterator[Place]:
        """A folder with the files, gone afterwards."""
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="skilltrial-check-", dir=self.machine.temp))
            sandbox = registry.get("sandboxes", "none")()
            place: Place = stack.enter_context(sandbox.enter(Path(folder), Access(nested=False)))
            evidence.unpack(place.root)
            yield place
