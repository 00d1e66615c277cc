"""Answers to packets: found, checked all together, and accepted or refused before anything is carried on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skilltrial.backends.manual import CONTEXT, PROMPT
from skilltrial.errors import UsageError
from skilltrial.flows.newsroom import now
from skilltrial.flows.packets import ANSWER, QUESTIONS, RUNS, Answer, Packets
from skilltrial.records.packets import AnswerLine, PacketLine
from skilltrial.store import Experiment
from skilltrial.system.files import digest, read_capped

LARGEST = 8 * 1024 * 1024
"""Bytes of an answer file."""
TIMING = "timing.json"
"""`total_tokens` and `duration_ms`, where the session tells them; as the standard's workspace has it."""


class Waiting(NamedTuple):
    """Packets that have no accepted answer yet."""

    runs: tuple[Path, ...]
    questions: tuple[Path, ...]


def waiting(experiment: Experiment) -> Waiting:
    """The folders of all packets that an answer is waited for; nothing is written."""
    packets = Packets(experiment.folder)
    taken = {
        name for name in packets.accepted if any((packets.folder / kind / name / ANSWER).is_file() for kind in (RUNS, QUESTIONS))
    }
    left = [line for line in _open(experiment, packets) if line.packet not in taken]
    return Waiting(
        tuple(sorted(packets.place(line) for line in left if line.about == "run")),
        tuple(sorted(packets.place(line) for line in left if line.about == "judge")),
    )


def how_to_go_on(experiment: Experiment) -> str | None:
    """What to do about the packets that wait; None: none does."""
    left = waiting(experiment)
    groups = [("task", left.runs), ("question", left.questions)]
    lines = [f"{_some(len(folders), word)} for an answer in {folders[0].parent}/" for word, folders in groups if folders]
    if not lines:
        return None
    lines.append(f"for each folder: start a fresh agent session, tell it a name of its own and to do what {PROMPT} says")
    lines.append(f"then: skilltrial submit {experiment.folder}    (--list names the folders that wait)")
    return "\n".join(lines)


def _some(number: int, word: str) -> str:
    return f"1 {word} waits" if number == 1 else f"{number} {word}s wait"


def _open(experiment: Experiment, packets: Packets) -> Iterator[PacketLine]:
    """Packets whose answer the experiment still needs."""
    needs = {todo.cell.id: todo for todo in experiment.remaining()} if packets.lines else {}
    for line in packets.lines:
        todo = needs.get(line.cell)
        if todo is None or line.packet in packets.spent:
            continue
        if line.about == "run" and todo.need == "run":
            yield line
        elif line.about == "judge" and todo.need == "grade":
            evidence = experiment.result_of(todo.cell).evidence
            if evidence is not None and evidence.digest == line.evidence:
                yield line


def accept(experiment: Experiment, given: Sequence[tuple[str, Path]]) -> dict[str, Answer]:
    """All answers to carry on with, by packet; those that are new are noted down in the index.

    Args:
        given: packets by name or folder, with the file that answers each; for all others `answer.md` in the folder counts.
    Raises:
        UsageError: some answer cannot be taken. All reasons are in the message, and none of the answers is taken.
    """
    packets = Packets(experiment.folder)
    found = _Finding(experiment, packets, _by_name(given))
    answers = {answer.packet: answer for answer in found.answers()}
    faults = [*found.faults, *_shared(answers.values(), packets)]
    if faults:
        raise UsageError(
            f"{len(faults)} {'fault' if len(faults) == 1 else 'faults'} in the answers, and nothing was submitted:\n"
            + "\n".join(f"  {fault}" for fault in faults),
            "mend the answer files, or move those away that shall wait, then submit again",
        )
    new = [answer for answer in answers.values() if answer.packet not in packets.accepted]
    packets.add([AnswerLine(packet=one.packet, context=one.context, digest=one.digest, at=now()) for one in new])
    return answers


def _by_name(given: Sequence[tuple[str, Path]]) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for packet, file in given:
        files.setdefault(Path(packet).name, []).append(file)
    return files


class _Finding:
    """Reads answer files, and keeps what is wrong with them."""

    def __init__(self, experiment: Experiment, packets: Packets, given: Mapping[str, list[Path]]) -> None:
        self.packets = packets
        self.given = given
        self.faults: list[str] = []
        self.wanted = {line.packet: line for line in _open(experiment, packets)}
        self.known = {line.packet: line for line in packets.lines}

    def answers(self) -> Iterator[Answer]:
        for name in self.given.keys() - self.known.keys():
            self.faults.append(f"{name}: there is no such packet")
        for name, line in self.known.items():
            folder = self.packets.place(line)
            files = self.given.get(name, [])
            inside = folder / ANSWER
            if inside.exists() and not any(file.resolve() == inside.resolve() for file in files):
                files = [*files, inside]
            if len(files) > 1:
                self.faults.append(f"{_label(folder)}: answered {len(files)} times: {', '.join(map(str, files))}")
            elif files and (answer := self._read(name, files[0], folder)):
                yield answer

    def _read(self, name: str, file: Path, folder: Path) -> Answer | None:
        capped = read_capped(file, LARGEST + 1)
        raw = capped.data if capped is not None else b""
        before = self.packets.accepted.get(name)
        label = _label(folder)
        changed = before is not None and before.digest != digest(raw)
        if changed or (name not in self.wanted and name in self.given):
            self.faults.append(f"{label}: it was answered and submitted before; the first answer stands")
        if changed or name not in self.wanted:
            return None
        if capped is None or len(raw) > LARGEST:
            self.faults.append(f"{label}: {file} cannot be read" if capped is None else f"{label}: {file} is larger than 8 MiB")
            return None
        home = file.parent if (file.parent / PROMPT).is_file() else folder  # a packet may have been copied elsewhere
        return self._parsed(name, raw, home, label)

    def _parsed(self, name: str, raw: bytes, folder: Path, label: str) -> Answer | None:
        try:
            text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            self.faults.append(f"{label}: the answer is not UTF-8")
            return None
        first, _, rest = text.lstrip().partition("\n")
        key, _, context = first.partition(":")
        if key.strip().strip("*").casefold() + ":" != CONTEXT or not context.strip(" *`"):
            self.faults.append(f"{label}: the answer's first line is not '{CONTEXT} NAME', which names the session that gave it")
            return None
        answer = rest.strip("\n")
        if not answer.strip():
            self.faults.append(
                f"{label}: the answer is empty, and an empty answer is no measurement; move it away to leave it open"
            )
            return None
        took = self._timing(folder / TIMING, label)
        return Answer(name, context.strip(" *`"), answer, raw, folder, took.total_tokens, took.duration_s) if took else None

    def _timing(self, file: Path, label: str) -> _Took | None:
        capped = read_capped(file, 65_536)
        if capped is None:
            return _Took(None, None)
        try:
            found: Any = json.loads(capped.data)
            tokens, milliseconds = found.get("total_tokens"), found.get("duration_ms")
            return _Took(None if tokens is None else int(tokens), None if milliseconds is None else float(milliseconds) / 1000)
        except (ValueError, TypeError, AttributeError, OverflowError):
            self.faults.append(f'{label}: {TIMING} is not {{"total_tokens": number, "duration_ms": number}}')
            return None


class _Took(NamedTuple):
    total_tokens: int | None
    duration_s: float | None


def _shared(answers: Collection[Answer], packets: Packets) -> Iterator[str]:
    """One sentence for every session that names itself in more than one packet, earlier submissions included."""
    by_context: dict[str, list[str]] = {}
    told = {line.packet: line.context for line in packets.accepted.values()} | {one.packet: one.context for one in answers}
    for packet, context in told.items():
        by_context.setdefault(_identity(context), []).append(packet)
    new = {one.packet for one in answers}
    for names in by_context.values():
        if len(names) > 1 and new & set(names):
            yield f"{', '.join(sorted(names))}: one context, '{told[names[0]]}', gave {len(names)} answers; each packet needs a fresh one"


def _identity(context: str) -> str:
    """Equal for the same session, and for one context file under two spellings."""
    path = Path(context).expanduser()
    try:
        if path.exists():
            return str(path.resolve())
    except (OSError, ValueError):
        pass
    return " ".join(context.casefold().split())


def _label(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"
