"""Commands run on what a run left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skilltrial import registry
from skilltrial.errors import CellError
from skilltrial.records.grades import Grade
from skilltrial.records.suite import Limits
from skilltrial.seams import Access, Command, EvidenceView, Exit, Place, Stop


@dataclass
class StubPlace:
    """A place whose processes end as told."""

    root: Path
    home: Path
    code: int | None = 0
    output: bytes = b""
    stderr: bytes = b""
    signal: int | None = None
    stop: Stop | None = None
    level: str = "none"
    fault: Exception | None = None
    started: list[tuple[Command, Limits]] = field(default_factory=list)

    def start(self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: object = None) -> Exit:
        self.started.append((command, limits))
        if self.fault:
            raise self.fault
        for line in self.output.splitlines(keepends=True):
            on_line(line)
        return Exit(self.code, self.signal, self.stop, len(self.output), self.stderr, 0.1)


def graded(
    run: Any, tmp_path: Path, view: Any = None, options: dict[str, Any] | None = None, **ending: Any
) -> tuple[Grade, StubPlace]:
    place = StubPlace(tmp_path, tmp_path / "home", **ending)

    @contextmanager
    def scratch(evidence: EvidenceView) -> Iterator[Place]:
        evidence.unpack(place.root)
        yield place

    check = run.check("command", **(options or {"shell": "make check"}))
    (grade,) = run.grades([check], view or run.view(), run.desk(place=scratch))
    return grade, place


def test_the_exit_status_decides(run: Any, tmp_path: Path) -> None:
    assert graded(run, tmp_path)[0].state == "passed"
    grade, _ = graded(run, tmp_path, code=2, stderr=b"two tests broke\n")
    assert (grade.state, grade.quote) == ("failed", "two tests broke")
    assert "status 2, expected 0" in grade.reason
    assert graded(run, tmp_path, options={"shell": "x", "exit_code": 3}, code=3)[0].state == "passed"


def test_it_runs_on_what_the_run_left_within_its_time_limit(run: Any, tmp_path: Path) -> None:
    view = run.view(created={"out/a.txt": b"made"}, fixtures={"in.txt": b"given"})
    _, place = graded(run, tmp_path, view, {"argv": ["grep", "made", "out/a.txt"], "timeout_s": 7})
    command, limits = place.started[0]
    assert command.argv == ("grep", "made", "out/a.txt")
    assert limits.timeout_s == 7
    assert (tmp_path / "out/a.txt").read_bytes() == b"made"
    assert (tmp_path / "in.txt").read_bytes() == b"given"


def test_the_output_may_be_asked_for(run: Any, tmp_path: Path) -> None:
    options = {"shell": "x", "stdout_contains": "3 passed"}
    assert graded(run, tmp_path, options=options, output=b"well\n3 passed\n")[0].state == "passed"
    assert graded(run, tmp_path, options=options, output=b"2 passed\n")[0].state == "failed"


def test_a_command_out_of_time_gives_no_verdict(run: Any, tmp_path: Path) -> None:
    grade, _ = graded(run, tmp_path, code=None, stop=Stop("timeout", "time limit of 60 s reached"))
    assert grade.state == "ungraded"
    assert "60 s" in grade.reason


def test_a_program_that_is_not_there_gives_no_verdict(run: Any, tmp_path: Path) -> None:
    assert graded(run, tmp_path, code=127, stderr=b"sh: mypy: not found")[0].state == "ungraded"
    assert graded(run, tmp_path, fault=FileNotFoundError(2, "No such file"))[0].state == "ungraded"
    assert graded(run, tmp_path, fault=CellError("workspace", "disk full"))[0].state == "ungraded"


def test_a_killed_command_fails(run: Any, tmp_path: Path) -> None:
    grade, _ = graded(run, tmp_path, code=None, signal=11)
    assert grade.state == "failed"
    assert "signal 11" in grade.reason


def test_it_is_run_for_real_in_a_clean_environment(run: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret-value")

    @contextmanager
    def scratch(evidence: EvidenceView) -> Iterator[Place]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with registry.get("sandboxes", "none")().enter(folder, Access()) as place:
            evidence.unpack(place.root)
            yield place

    def state(**options: Any) -> str:
        view = run.view(created={"out/a.txt": b"made"})
        return str(run.grades([run.check("command", **options)], view, run.desk(place=scratch))[0].state)

    assert state(argv=["grep", "-q", "made", "out/a.txt"]) == "passed"
    assert state(argv=["grep", "-q", "other", "out/a.txt"]) == "failed"
    assert state(shell='test -z "$MY_API_KEY" && echo free', stdout_contains="free") == "passed"
    assert state(argv=["no-such-program-at-all"]) == "ungraded"
    assert state(shell="no-such-program-at-all") == "ungraded"
    assert state(shell="sleep 600", timeout_s=0.05) == "ungraded"
