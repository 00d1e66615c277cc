"""One pass over the journal: fills an Index, and steps over whatever is not a line of ours."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from skilltrial.records.archive import MANIFEST
from skilltrial.records.record import Record
from skilltrial.store.index import GradeHead, Index, Spot, complete

JOURNAL = "results.jsonl"


class _Cost(Record):
    cost_usd: float | None = None


class _Compared(Record):
    calls: int = 0
    usage: _Cost | None = None


class _Head(Record):
    """What the index needs of any line; a fifth of the work of reading it whole."""

    kind: str
    cell: str = ""
    attempt: int = 1
    counted: bool = True
    outcome: str = ""
    digest: str = ""
    evidence: str = ""
    grades: tuple[GradeHead, ...] = ()
    usage: _Cost = _Cost()
    judge_usage: _Cost | None = None
    judge_calls: int = 0
    comparison: _Compared | None = None
    pack: str | None = None
    offset: int | None = None
    size: int | None = None


class Scanned(NamedTuple):
    """What a pass over the journal found besides the index."""

    end: int
    """Where the last whole line ends, in bytes."""
    torn: bytes
    """What a killed writer left behind it."""
    strange: int
    """Lines stepped over: damaged, of unknown kind, of unplanned cells, or without their evidence in the pack."""


def scan(folder: Path, index: Index) -> Scanned:
    """Reads `results.jsonl` once, about 10 us a line. In an archive without evidence the journal alone is believed."""
    journal = folder / JOURNAL
    packs: dict[str, int] | None = None if is_bare(folder) else {}
    at = strange = 0
    if not journal.exists():
        return Scanned(0, b"", 0)
    with journal.open("rb") as file:
        for raw in file:
            if not raw.endswith(b"\n"):
                return Scanned(at, raw, strange)
            strange += not _take(raw, Spot(at, len(raw)), index, folder, packs)
            at += len(raw)
    return Scanned(at, b"", strange)


def _take(raw: bytes, spot: Spot, index: Index, folder: Path, packs: dict[str, int] | None) -> bool:
    try:
        head = _Head.from_stored(raw)
    except ValidationError:
        return False
    if head.kind == "comparison":
        index.comparisons.append(spot)
        if head.comparison:
            index.took(head.comparison.usage.cost_usd if head.comparison.usage else None, head.comparison.calls)
        return True
    if head.kind == "stop":
        index.stops.append(spot)
        return True
    number = index.number(head.cell)
    if number is None or head.kind not in ("evidence", "grades"):
        return False
    if head.kind == "grades":
        index.took(head.judge_usage.cost_usd if head.judge_usage else None, head.judge_calls)
        judged = bool(head.judge_calls or head.judge_usage)
        index.saw_grading(number, spot, head.evidence, complete(head.grades), head.counted, judged)
        return True
    index.took(head.usage.cost_usd, 1)
    if packs is not None and not _in_pack(head, folder, packs):
        return False
    index.saw_evidence(number, spot, head.outcome, head.digest, head.attempt, head.counted)
    return True


def _in_pack(head: _Head, folder: Path, packs: dict[str, int]) -> bool:
    """After a power cut a pack can be shorter than the journal believes; such a cell is simply not there."""
    if head.pack is None or head.offset is None or head.size is None:
        return False
    if head.pack not in packs:
        path = folder / "evidence" / f"{head.pack}.jsonl"
        packs[head.pack] = path.stat().st_size if is_pack(head.pack) and path.is_file() else 0
    return head.offset + head.size <= packs[head.pack]


def is_bare(folder: Path) -> bool:
    """An archive that was made without what runs said and left."""
    return (folder / MANIFEST).is_file() and not (folder / "evidence").is_dir()


def is_pack(name: str) -> bool:
    """False for a name that would lead elsewhere."""
    return bool(name) and "/" not in name and "\\" not in name and name[0] != "."
