"""What a run left is told exactly, read without harm, masked before it is stored, and seen alike live and stored."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skilltrial import collect
from skilltrial.collect import LiveView, StoredView, deltas
from skilltrial.records.evidence import AgentRun, Delta, Event, Evidence, Timing
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, FileRef, Tree
from skilltrial.system.files import UNREAD, digest, manifest
from skilltrial.system.redaction import Redactor

SECRET = "hunter2-secret-value"
FIXTURES = {"evals/files/a.txt": b"alpha\n", "evals/files/sub/b.txt": b"beta\n", "evals/files/c.bin": b"\0\1\2"}
TIMING = Timing(started_at="2026-01-01T00:00:00Z", duration_s=1.0)


class Memory:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}

    def put_new(self, key: str, data: bytes) -> bool:
        assert key == digest(data)
        new = key not in self.stored
        self.stored[key] = data
        return new

    def get(self, key: str) -> bytes:
        return self.stored[key]

    def keys(self, prefix: str = "") -> Iterator[str]:
        return iter(self.stored)


class Cell:
    """A workspace with fixtures, without flows around it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = Memory()
        self.redactor = Redactor()
        self.redactor.learn(SECRET)
        refs = []
        for path, data in FIXTURES.items():
            self.blobs.put_new(digest(data), data)
            refs.append(FileRef(path=path, size=len(data), digest=digest(data)))
            self.write(path.removeprefix("evals/files/"), data)
        self.case = Case(id="c", prompt="p", fixtures=Tree(digest="sha256:0", files=tuple(refs)), where=Where(file="x"))
        self.landed = {ref.path.removeprefix("evals/files/"): ref for ref in refs}
        self.write(".claude/skills/demo/SKILL.md", b"staged")
        self.before = manifest(root, (".claude/skills/demo",))

    def write(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)

    def collect(self, run: AgentRun | None = None) -> tuple[Evidence, LiveView, StoredView]:
        run = run or AgentRun(outcome="ok", text="done", timing=TIMING)
        delta, read = collect.delta(self)
        evidence = store(run, self, delta, read)
        live = LiveView(evidence, run=run, read=read, case=self.case, stage="flat", blobs=self.blobs)
        stored = Evidence.from_stored(evidence.to_json())
        assert stored == evidence
        return stored, live, StoredView(stored, case=self.case, stage="flat", blobs=self.blobs)


def store(run: AgentRun, cell: Cell, delta: Delta | None = None, read: Any = None) -> Evidence:
    return collect.evidence(
        cell="s/c/t/with_skill/1", inputs="sha256:1", attempt=1, run=run, delta=delta, read=read, sandbox="none",
        redactor=cell.redactor, blobs=cell.blobs, source="ran",
    )  # fmt: skip


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path / "work")


def paths(refs: tuple[FileRef, ...]) -> list[str]:
    return [ref.path for ref in refs]


def test_created_changed_and_deleted_files_are_told_apart(cell: Cell) -> None:
    cell.write("new/file.txt", b"new")
    cell.write("a.txt", b"changed")
    (cell.root / "sub/b.txt").unlink()
    cell.write(".git/config", b"[core]")
    cell.write(".claude/skills/demo/SKILL.md", b"rewritten")
    cell.write(".claude/skills/other/SKILL.md", b"made by the run")
    delta, _ = collect.delta(cell)
    assert paths(delta.created) == [".claude/skills/other/SKILL.md", "new/file.txt"]
    assert delta.changed == (FileRef(path="a.txt", size=7, digest=digest(b"changed")),)
    assert delta.deleted == ("sub/b.txt",)
    assert not delta.truncated


def test_a_file_touched_or_written_back_is_no_change(cell: Cell) -> None:
    os.utime(cell.root / "a.txt", (1, 1))
    cell.write("c.bin", b"x")
    cell.write("c.bin", FIXTURES["evals/files/c.bin"])
    assert collect.delta(cell)[0] == Delta()


def test_becoming_executable_is_a_change(cell: Cell) -> None:
    (cell.root / "a.txt").chmod(0o755)
    assert paths(collect.delta(cell)[0].changed) == ["a.txt"]


def test_links_pipes_and_unreadable_things_do_no_harm(cell: Cell) -> None:
    os.mkfifo(cell.root / "pipe")
    (cell.root / "passwd").symlink_to("/etc/passwd")
    (cell.root / "loop").symlink_to("loop")
    (cell.root / "up").symlink_to("..")
    (cell.root / "a.txt").unlink()
    (cell.root / "a.txt").symlink_to("sub/b.txt")
    cell.write("locked/in.txt", b"inside")
    (cell.root / "locked/in.txt").chmod(0)
    (cell.root / "locked").chmod(0)
    delta, read = collect.delta(cell)
    assert delta.special == ("a.txt", "loop", "passwd", "pipe", "up")
    assert delta.deleted == ("a.txt",)
    assert paths(delta.created) == ["locked/in.txt"]
    assert read("locked/in.txt") == b"inside"
    assert [read(path) for path in ("passwd", "pipe", "up/x", "../x", "/etc/passwd", "a.txt")] == [None] * 6


def test_a_huge_sparse_file_is_listed_and_not_read(cell: Cell) -> None:
    with (cell.root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    evidence, _, stored = cell.collect()
    assert evidence.delta is not None
    assert evidence.delta.created == (FileRef(path="huge", size=1 << 40, digest=UNREAD),)
    assert evidence.delta.truncated
    assert stored.read("huge") is None


def test_a_budget_makes_the_delta_truncated_and_not_wrong(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "LARGEST_DELTA", 10)
    for number in range(5):
        cell.write(f"f{number}", b"12345")
    delta, _ = collect.delta(cell)
    assert paths(delta.created) == ["f0", "f1", "f2", "f3", "f4"]
    assert [ref.digest == UNREAD for ref in delta.created] == [False, False, True, True, True]
    assert delta.truncated


def test_a_listing_cut_short_calls_nothing_deleted_that_is_there(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "manifest", lambda root, skip: manifest(root, skip, max_files=0))
    (cell.root / "a.txt").unlink()
    delta, _ = collect.delta(cell)
    assert delta.truncated
    assert delta.deleted == ("a.txt",)


def test_both_views_read_the_run_as_it_was_left(cell: Cell) -> None:
    cell.write("new.txt", b"new")
    cell.write("a.txt", b"changed")
    (cell.root / "sub/b.txt").unlink()
    evidence, live, stored = cell.collect()
    for view in (live, stored):
        assert view.read("new.txt") == b"new"
        assert view.read("./a.txt") == b"changed"
        assert view.read("a.txt", 3) == b"cha"
        assert view.read("c.bin") == b"\0\1\2"
        assert [view.read(path) for path in ("sub/b.txt", "absent", "../x", "/etc/passwd", "")] == [None] * 5
        fixture = view.fixture("a.txt")
        assert fixture is not None and fixture.digest == digest(b"alpha\n")
        assert view.fixture("new.txt") is None
        assert not view.masked(None) and not view.masked("a.txt")
        assert view.record.text == "done"
    assert (live.stored, stored.stored) == (False, True)
    assert evidence.redactions == 0


def test_fixtures_and_delta_are_unpacked_as_the_run_left_them(cell: Cell, tmp_path: Path) -> None:
    cell.write("run.sh", b"#!/bin/sh\n")
    (cell.root / "run.sh").chmod(0o755)
    (cell.root / "a.txt").unlink()
    _, live, stored = cell.collect()
    for name, view in (("one", live), ("two", stored)):
        (tmp_path / name).mkdir()
        view.unpack(tmp_path / name)
        found = {path.relative_to(tmp_path / name).as_posix() for path in (tmp_path / name).rglob("*") if path.is_file()}
        assert found == {"sub/b.txt", "c.bin", "run.sh"}
        assert os.access(tmp_path / name / "run.sh", os.X_OK)


def test_secrets_are_masked_in_everything_stored_and_seen_in_everything_graded(cell: Cell) -> None:
    cell.write("leak.txt", f"the key is {SECRET}\n".encode())
    cell.write("leak.bin", b"\0\1" + SECRET.encode() + b"\2")
    cell.write("clean.txt", b"nothing")
    events = (
        Event(kind="text", text=f"it is {SECRET[:8]}"),
        Event(kind="text", text=SECRET[8:]),
        Event(kind="tool_call", name="Bash", arguments={"command": f"echo {SECRET}", "api_key": "abcdef"}),
        Event(kind="tool_result", text="password: hunter2"),
    )
    run = AgentRun(
        outcome="ok", text=f"password: {SECRET}", events=events, timing=TIMING, warnings=(f"saw {SECRET}",), reason=f"r {SECRET}",
        sent={"system": f"use {SECRET}", "user": "hi"}, logs={"stdout.log": SECRET.encode(), "stderr.log": b"quiet"},
    )  # fmt: skip
    evidence, live, stored = cell.collect(run)
    written = evidence.to_json().encode() + b"".join(cell.blobs.stored.values())
    for gone in (SECRET.encode(), SECRET[8:].encode(), b"abcdef", b"password: hunter2"):
        assert gone not in written
    assert evidence.text == "password: [redacted]"
    assert evidence.masked_paths == ("leak.bin", "leak.txt")
    assert evidence.redactions >= 10
    assert live.record.text == f"password: {SECRET}" and live.record.events == events
    assert live.read("leak.txt") == f"the key is {SECRET}\n".encode()
    assert stored.read("leak.txt") == b"the key is [redacted]\n"
    for view in (live, stored):
        assert view.masked(None) and view.masked("leak.txt") and view.masked("./leak.bin") and not view.masked("clean.txt")
    assert evidence.sent is not None
    assert json.loads(cell.blobs.get(evidence.sent.digest)) == {"system": "use [redacted]", "user": "hi"}


def test_a_secret_split_over_streamed_texts_alone_is_masked(cell: Cell) -> None:
    events = (Event(kind="text", text="x hunter2-"), Event(kind="text", text="secret-value y"))
    evidence = store(AgentRun(outcome="ok", text="fine", events=events, timing=TIMING), cell)
    assert [event.text for event in evidence.events or ()] == ["x [redacted]", " y"]
    assert not evidence.masked_text


def test_a_target_without_a_workspace_has_no_delta(cell: Cell) -> None:
    run = AgentRun(outcome="timeout", reason="too slow", timing=TIMING, sent={"user": "hi"})
    evidence = store(run, cell)
    assert evidence.delta is None
    assert (evidence.outcome, evidence.reason, evidence.events) == ("timeout", "too slow", None)
    view = LiveView(evidence, run=run, read=None, case=cell.case, stage="flat", blobs=cell.blobs)
    assert view.record is evidence
    assert view.read("a.txt") == b"alpha\n"


def test_equal_requests_are_stored_once(cell: Cell) -> None:
    before = len(cell.blobs.stored)
    for _ in range(3):
        store(AgentRun(outcome="ok", text="x", timing=TIMING, sent={"user": "hi"}), cell)
    assert len(cell.blobs.stored) == before + 1


def test_half_a_surrogate_pair_in_a_models_answer_can_be_stored(cell: Cell) -> None:
    events = (
        Event(kind="text", text="a\ud800"),
        Event(kind="tool_call", name="x\udfff", arguments={"\ud800": ["\ud801", 1]}, text="b\ud802"),
    )
    run = AgentRun(outcome="ok", text="\ud800 fine ü", events=events, timing=TIMING, reason="\udc80", warnings=("\ud803",))
    evidence = store(run, cell)
    assert Evidence.from_stored(evidence.to_json()) == evidence
    assert evidence.text == "\\ud800 fine ü"
    assert (evidence.redactions, evidence.masked_text) == (0, False)


def test_text_that_no_encoding_takes_is_stored_all_the_same(cell: Cell) -> None:
    cell.write("latin.txt", b"caf\xe9")
    evidence, _, stored = cell.collect()
    assert stored.read("latin.txt") == b"caf\xe9"
    assert store(AgentRun(outcome="ok", text="x", timing=TIMING, sent={"user": "\ud800"}), cell).sent is not None
    assert evidence.redactions == 0
