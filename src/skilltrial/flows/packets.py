"""Runs, and questions to the judge, that are answered later: each is a packet, a folder under a name that tells nothing.

`run` and `resume` write packets; `submit` takes answers and carries the experiment on with them.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import TypeAdapter, ValidationError

from skilltrial.errors import CellError, UsageError
from skilltrial.flows.newsroom import now
from skilltrial.flows.watch import CellWatch
from skilltrial.graders import NO_REPOSITORY, contract
from skilltrial.records.evidence import AgentRun, Timing, Usage
from skilltrial.records.grades import Grade
from skilltrial.records.packets import AnswerLine, PacketLine, PacketsLine, SpentLine
from skilltrial.records.plan import Cell, Judge, SetAside, Target
from skilltrial.records.suite import Limits, Stage, Suite, landed
from skilltrial.seams import Awaiting, Command, Exit, Job, Question, Stop, Watch
from skilltrial.system.files import Appender, Entry, Manifest, digest
from skilltrial.workspaces import Workspace

if TYPE_CHECKING:
    from skilltrial.flows.bench import Bench

RUNS, QUESTIONS, INDEX = "packets", "judge-packets", "packets.jsonl"
"""Below an experiment's folder."""
FILES, ANSWER = "files", "answer.md"
"""Within a packet's folder."""
WAITING = "waiting"
_LINES: TypeAdapter[PacketsLine] = TypeAdapter(PacketsLine)
_UNKNOWN = Entry(-1, -1, -1, -1, False)


class Answer(NamedTuple):
    """What came back for a packet."""

    packet: str
    context: str
    """The session that gave it."""
    text: str
    raw: bytes
    """The answer file."""
    folder: Path
    """Where its `files/` lie."""
    total_tokens: int | None = None
    duration_s: float | None = None

    @property
    def digest(self) -> str:
        return digest(self.raw)


class Packets:
    """The index of an experiment's packets; `answers` are those to carry on with, by packet. Thread-safe."""

    def __init__(self, folder: Path, answers: Mapping[str, Answer] | None = None) -> None:
        self.folder = folder
        self.answers = dict(answers or {})
        self.lines: list[PacketLine] = []
        self.accepted: dict[str, AnswerLine] = {}
        self.spent: set[str] = set()
        self._lock = threading.Lock()
        self._open: dict[tuple[str | None, ...], PacketLine] = {}
        for line in self._stored():
            self._take(line)

    def _stored(self) -> Iterator[PacketsLine]:
        with suppress(FileNotFoundError):
            for line in (self.folder / INDEX).read_bytes().splitlines():
                with suppress(ValidationError):  # a torn last line
                    yield _LINES.validate_json(line)

    def _take(self, line: PacketsLine) -> None:
        if isinstance(line, AnswerLine):
            self.accepted[line.packet] = line
        elif isinstance(line, SpentLine):
            self.spent.add(line.packet)
            self._open = {key: open_ for key, open_ in self._open.items() if open_.packet != line.packet}
        else:
            self.lines.append(line)
            self._open[_key(line)] = line

    def add(self, lines: Sequence[PacketsLine]) -> None:
        """Notes lines down, on disk at once."""
        with self._lock:
            self._add(lines)

    def _add(self, lines: Sequence[PacketsLine]) -> None:
        with Appender(self.folder / INDEX, None) as index:
            for line in lines:
                index.append(line.to_json())
            index.sync()
        for line in lines:
            self._take(line)

    def allot(self, wanted: PacketLine) -> PacketLine:
        """The packet about the same thing, else `wanted` under a name of its own."""
        with self._lock:
            found = self._open.get(_key(wanted))
            if found is None:
                taken = {line.packet for line in self.lines}
                name = next(name for _ in range(1000) if (name := secrets.token_hex(4)) not in taken)
                found = wanted.model_copy(update={"packet": name})
                self._add([found])
            return found

    def spend(self, packets: Sequence[str]) -> None:
        """These replies could not be used: the next question gets a packet of its own."""
        if packets:
            self.add([SpentLine(packet=name, at=now()) for name in packets])

    def place(self, line: PacketLine) -> Path:
        """The packet's folder."""
        return self.folder / (RUNS if line.about == "run" else QUESTIONS) / line.packet


def _key(line: PacketLine) -> tuple[str | None, ...]:
    return line.about, line.cell, line.question, line.evidence


# ---------------------------------------------------------------- a run
def _of_run(cell: Cell, bench: Bench) -> PacketLine:
    return bench.packets.allot(PacketLine(packet="", about="run", cell=cell.id, at=now()))


def run(cell: Cell, job: Job, watch: Watch, bench: Bench) -> AgentRun | Awaiting:
    """The answer to the cell's packet; while there is none, the packet is written."""
    line = _of_run(cell, bench)
    answer = bench.packets.answers.get(line.packet)
    if answer is None:
        return bench.runners[cell.target].run(replace(job, packet=bench.packets.place(line)), watch)
    return AgentRun(
        outcome="ok",
        text=answer.text,
        activation="none_expected" if not job.skills else "forced" if job.forced else "unknown",
        usage=Usage(total_tokens=answer.total_tokens),
        timing=Timing(started_at=now(), duration_s=answer.duration_s),
        sent={"prompt": job.prompt, "skills": [skill.name for skill in job.skills]},
        logs={ANSWER: answer.raw},
    )


@contextmanager
def workspace(cell: Cell, stage: str, bench: Bench) -> Iterator[Workspace | None]:
    """The folder that the answer's files lie in, compared with the fixtures as they were delivered; None without an answer."""
    answer = bench.packets.answers.get(_of_run(cell, bench).packet)
    if answer is None:
        yield None
        return
    root = answer.folder / FILES
    root.mkdir(parents=True, exist_ok=True)
    spots = landed(bench.lookup.case(cell).fixtures, cast(Stage, stage))
    before = Manifest(dict.fromkeys(spots, _UNKNOWN))  # whatever lies there is read and compared by content
    place = _Folder(root, root)
    yield Workspace(place, root, root, before, spots)


@dataclass(slots=True)
class _Folder:
    """The Place seam over a folder in which nothing is started."""

    root: Path
    home: Path
    level: str = "none"

    def start(
        self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: Watch | None = None
    ) -> Exit:
        raise CellError("backend", "nothing is started in a packet")


# ---------------------------------------------------------------- a question to the judge
class Heard(NamedTuple):
    """A reply, and the question as its packet puts it."""

    answer: Answer
    asked: str


def ask(cell: Cell, question: Question, job: Job, bench: Bench) -> Heard | None:
    """The reply to this question about this evidence; None, and its packet is written, while there is none."""
    evidence = bench.experiment.result_of(cell).evidence
    text = f"{question.system}\n\n{question.user}"
    plain = bench.machine.redactor.text(text.replace(question.token, "") if question.token else text)[0]
    wanted = PacketLine(
        packet="",
        about="judge",
        cell=cell.id,
        question=digest(plain.encode("utf-8", "surrogatepass")),
        evidence=evidence.digest if evidence else None,
        token=question.token,
        at=now(),
    )
    line = bench.packets.allot(wanted)
    if question.token and line.token:  # the fences that the packet has, or had before it was lost
        text = text.replace(question.token, line.token)
        job = replace(job, prompt=job.prompt.replace(question.token, line.token))
    answer = bench.packets.answers.get(line.packet)
    if answer is not None:
        return Heard(answer, text)
    assert bench.judge is not None
    bench.judge.run(replace(job, packet=bench.packets.place(line)), CellWatch(job.limits, bench.machine.stopping))
    return None


def undecided(grades: Sequence[Grade]) -> tuple[Grade, ...]:
    """Grades while a reply is waited for: what the judge said so far is heard again together with the rest."""
    said = {"state": "ungraded", "reason": "waits for the judge's reply", "quote": None, "score": None}
    return tuple(grade.model_copy(update=said) if grade.method == "judge" else grade for grade in grades)


# ---------------------------------------------------------------- what cannot be graded from a packet
def refuse(targets: Sequence[Target], judge: Judge | None, source_repo: str | None) -> None:
    """Raises UsageError for what packets cannot do: two answers compared by one reply, a repository to work in."""
    if judge is not None and judge.target.deferred and judge.mode == "pairwise":
        raise UsageError(
            "--judge-mode pairwise needs a judge that answers at once", "name one, for example --judge openai:gpt-5-mini"
        )
    if source_repo is not None and any(target.deferred for target in targets):
        raise UsageError(
            "--source-repo: packets hold the files of a case and no repository", "list the files it needs as fixtures"
        )


def set_aside(suites: Sequence[Suite], targets: Sequence[Target]) -> tuple[SetAside, ...]:
    """Contract rows about the repository, on targets that answer later."""
    return tuple(
        SetAside(check=contract.check_id(key), skill=suite.skill, case=case.id, target=target.name, reason=NO_REPOSITORY)
        for target in targets
        if target.deferred
        for suite in suites
        for case in suite.cases
        for key in contract.forbidden(case)
    )
