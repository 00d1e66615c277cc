"""What every sandbox keeps to, whatever its walls: places in which programs run as told and leave nothing running."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from skilltrial.records.evidence import Event
from skilltrial.records.record import Record
from skilltrial.records.suite import Limits
from skilltrial.seams import Access, Command, Exit, Place, Probe, Stop
from skilltrial.testing._rules import Rule, docstring_of, holds, printing_nothing, try_all
from skilltrial.testing.backends import machine

LIMIT_S = 30.0
SECRET = "SKILLTRIAL_CONTRACT_CALLERS_OWN"


class SandboxCase(NamedTuple):
    """A sandbox with its options."""

    plugin: Any

    @property
    def built(self) -> Any:
        return self.plugin() if isinstance(self.plugin, type) else self.plugin


def check_sandbox(plugin: Any) -> None:
    """Raises AssertionError unless the sandbox keeps to its contract.

    Args:
        plugin: the class that the entry point names, or one of it with its options. Where its probe says that it cannot work
            here, only what needs no place is looked at.
    """
    case = SandboxCase(plugin)
    with machine(dict(os.environ)) as able:
        works = case.built.probe(able).ok
    try_all((*RULES, *(PLACES if works else ())), case, f"sandbox '{case.built.name}'")


def is_a_described_record(case: SandboxCase) -> None:
    """It is a Record with a name and a docstring of its own."""
    kind = type(case.built)
    holds(issubclass(kind, Record), "the entry point has to name a class derived from Record")
    holds(isinstance(kind.name, str) and kind.name.strip(), "it has no name")
    holds(docstring_of(kind, Record), "it has no docstring of its own")


def probes_in_one_line(case: SandboxCase) -> None:
    """Its probe says in one line whether it works here, and prints nothing."""
    with printing_nothing("while it probed"), machine(dict(os.environ)) as able:
        probe = case.built.probe(able)
    holds(isinstance(probe, Probe) and probe.reason.strip() and "\n" not in probe.reason, f"its probe says {probe!r}")


RULES: tuple[Rule, ...] = (is_a_described_record, probes_in_one_line)


def runs_a_program_as_told(case: SandboxCase) -> None:
    """A program gets its input, its variables and its folder; each line it prints is heard, and its status told."""
    with _place(case) as place:
        ended, lines = _run(place, 'cat; echo "$MINE"; pwd; echo x > made.txt; echo bad >&2; exit 3', stdin=b"in\n", MINE="own")
        holds(ended.code == 3 and ended.stop is None, f"it ended with {ended.code} and {ended.stop}, not with 3")
        holds(lines[:2] == ["in", "own"] and len(lines) == 3, f"the lines heard are {lines}")
        holds(b"bad" in ended.stderr, "what it said on standard error is lost")
        holds((place.root / "made.txt").read_text() == "x\n", "a file it made is not in the place's root")
        holds(place.level == type(case.built).name, f"the place is of level '{place.level}'")


def keeps_the_callers_variables_out(case: SandboxCase) -> None:
    """What the caller's environment holds is not seen, and HOME is the place's own."""
    os.environ[SECRET] = "seen"
    try:
        with _place(case) as place:
            _, lines = _run(place, f'echo "[${SECRET}]"; echo x > "$HOME/mark"')
            holds(lines == ["[]"], "a variable of the caller is seen")
            holds((place.home / "mark").is_file(), "HOME is not the place's own")
    finally:
        del os.environ[SECRET]


def leaves_nothing_running(case: SandboxCase) -> None:
    """On return the whole tree is gone, after an end of its own and after a time limit."""
    for script, limit in (
        ("(while :; do echo . >> alive; sleep 0.05; done) & exit 0", LIMIT_S),
        ("(while :; do echo . >> alive; sleep 0.05; done) & wait", 0.5),
    ):
        with _place(case) as place:
            ended, _ = _run(place, script, limit_s=limit)
            holds(
                limit == LIMIT_S or (ended.stop and ended.stop.outcome == "timeout"), f"a time limit ended it with {ended.stop}"
            )
            before = _size(place.root / "alive")
            time.sleep(0.2)
            holds(_size(place.root / "alive") == before, "a process of it still runs after the return")


def is_stopped_by_whoever_hears(case: SandboxCase) -> None:
    """A Stop from whoever hears a line ends the program, and is told."""
    with _place(case) as place:
        stop = Stop("budget", "enough")
        ended = place.start(_command("echo one; sleep 60"), Limits(timeout_s=LIMIT_S), lambda _line: stop, _Patient())
        holds(ended.stop == stop, f"it was ended with {ended.stop}")


PLACES: tuple[Rule, ...] = (
    runs_a_program_as_told, keeps_the_callers_variables_out, leaves_nothing_running, is_stopped_by_whoever_hears,
)  # fmt: skip


class _Patient:
    """The Watch seam without an end."""

    deadline = float("inf")

    def heard(self, event: Event | None) -> Stop | None:
        return None


@contextmanager
def _place(case: SandboxCase) -> Iterator[Place]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="skilltrial-contract-", ignore_cleanup_errors=True))
        yield stack.enter_context(case.built.enter(Path(folder), Access()))


def _command(script: str, stdin: bytes = b"", **env: str) -> Command:
    return Command(("sh", "-c", script), env, stdin)


def _run(place: Place, script: str, *, stdin: bytes = b"", limit_s: float = LIMIT_S, **env: str) -> tuple[Exit, list[str]]:
    lines: list[bytes] = []
    ended = place.start(_command(script, stdin, **env), Limits(timeout_s=limit_s), lambda line: lines.append(line), None)
    return ended, [line.decode().rstrip("\n") for line in lines]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
