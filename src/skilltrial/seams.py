"""Every Protocol that a plug-in can fulfil, and the plain values that travel through them, on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from skilltrial.records.evidence import AgentRun, Event, Evidence, Usage
from skilltrial.records.grades import Comparison, Grade
from skilltrial.records.journal import Result
from skilltrial.records.mocks import MockServer
from skilltrial.records.news import News
from skilltrial.records.plan import Cell, Plan
from skilltrial.records.problems import Problem
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import Case, Check, FileRef, Limits, Skill, Suite, Tree

if TYPE_CHECKING:
    from skilltrial.records.summary import Summary
    from skilltrial.system.redaction import Redactor


# ---------------------------------------------------------------- the machine and its places
class Blobs(Protocol):
    """Files by content, each stored once."""

    def put_new(self, digest: str, data: bytes) -> bool:
        """Stores `data` unless it is there; True when it was new. `digest` is `sha256:` + hex of `data`."""
        ...

    def get(self, digest: str) -> bytes:
        """The bytes. Raises KeyError when absent."""
        ...

    def keys(self, prefix: str = "") -> Iterator[str]: ...


class Stop(NamedTuple):
    """Why a running cell is ended from outside."""

    outcome: str
    """timeout, budget, harness_error or `interrupted`."""
    reason: str


class Watch(Protocol):
    """Told of every event while it streams; answers with a Stop to end the run."""

    deadline: float
    """On `time.monotonic()`."""

    def heard(self, event: Event | None) -> Stop | None:
        """Asked per event, and with None at least every 0.2 s by whoever waits. Time limit, caps, early stop, Ctrl-C."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """A process to start. Never a shell string unless argv says `sh -c`."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    stdin: bytes = b""
    """Written and closed at once; empty means the null device."""
    cwd: Path | None = None
    """None: the place's root."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended. When `Place.start` returns, its whole tree is gone."""

    code: int | None
    """None: killed before it had one."""
    signal: int | None
    stop: Stop | None
    """Why we ended it; None: it ended by itself."""
    stdout_bytes: int
    stderr: bytes
    """Head and tail of standard error."""
    duration_s: float
    leaked: int | None = 0
    """Processes that outlived the main one and had to be killed. None: the walls end them, and nobody counts."""
    overflow: bool = False
    """An output limit was exceeded."""


class Place(Protocol):
    """A folder with a home, and the only way to start a process."""

    root: Path
    home: Path
    level: str

    def start(
        self, command: Command, limits: Limits, on_line: Callable[[bytes], Stop | None], watch: Watch | None = None
    ) -> Exit:
        """Runs to the end; `on_line` gets each line of stdout, newline included, as it comes."""
        ...


@dataclass(frozen=True, slots=True)
class Access:
    """What a sandboxed place may reach."""

    network: str = "on"
    """on, model-only, off."""
    readable: tuple[Path, ...] = ()
    """Files, links and folders that are shown besides the system's own, as where the program is installed; `/` shows all."""
    writable: tuple[Path, ...] = ()
    image: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    keep_home: bool = False
    """Adapters and runners keep the caller's HOME."""
    hosts: tuple[str, ...] = ()
    """`host:port` of the models it calls: all that `model-only` lets through."""
    nested: bool = True
    """Programs may make namespaces of their own, as those do that confine themselves; False for the commands of checks."""


class Probe(NamedTuple):
    """What works here, found out without spending anything."""

    ok: bool
    reason: str
    """One line; for a failure, what to do about it."""
    program: str | None = None
    version: str | None = None
    login: str | None = None


class Sandbox(Protocol):
    """A level of isolation."""

    name: ClassVar[str]

    def probe(self, machine: Machine) -> Probe: ...

    def enter(self, folder: Path, access: Access) -> AbstractContextManager[Place]: ...


class Limiter(Protocol):
    """Slots per endpoint: halves on refusal, climbs back on success."""

    def slot(self, key: str) -> AbstractContextManager[None]: ...

    def refused(self, key: str, retry_after_s: float | None) -> None: ...

    def succeeded(self, key: str) -> None: ...

    def allow(self, key: str, slots: int) -> None:
        """At most `slots` at once for this key."""
        ...


@dataclass(frozen=True, slots=True)
class Machine:
    """What a backend may know of the computer it runs on."""

    environ: Mapping[str, str]
    """The caller's environment. A backend takes from it by name only."""
    redactor: Redactor
    """`redactor.learn(value)` for every secret handed out."""
    limiter: Limiter
    temp: Path
    """Where short-lived files may go."""
    stopping: Callable[[], bool] = lambda: False
    """True once the user asked to stop."""
    retry_budget: Any = None
    """`chat.retry.Budget` shared by all calls of the experiment."""


# ---------------------------------------------------------------- backends
class Capabilities(Record):
    """What a backend has, and its defaults."""

    skills: bool = False
    """Can be given a skill at all."""
    inventory: bool = False
    """Lists the skills it sees."""
    activation: bool = False
    tools: bool = False
    """Has a record of tool calls."""
    tools_executed: bool = True
    """False: tool calls are requests only (HTTP)."""
    files: bool = False
    """Works in a folder."""
    tokens: bool = False
    cost: bool = False
    endpoint: bool = False
    turns: bool = False
    reasoning: bool = False
    mcp: bool = False
    """Can be given MCP servers."""
    judge: bool = False
    """Can be the judge."""
    paid: bool = True
    """Runs may cost money."""
    prices: str | None = None
    """Whose list prices hold at its own endpoint: a market of `prices/`, or `model` where the model's name begins with it; None: nobody's."""
    program: bool = False
    """Starts an agent program."""
    deferred: bool = False
    """Answers come later (manual)."""
    own_environment: bool = True
    """Clean HOME and allow-listed environment; False: keeps the caller's (adapter, runner)."""
    delivery: str = "injected"
    """How the skill reaches it: installed, injected, body_only."""
    stage: str | None = None
    """Fixture placement it insists on (`inputs` for adapters)."""
    memory: bool = True
    """Its workspaces may lie in memory (`/dev/shm`)."""
    timeout_s: float = 120.0
    concurrency: int = 16


@dataclass(frozen=True, slots=True)
class Job:
    """One run to make: everything the backend may see of the cell, and nothing it may not."""

    cell: str
    """Cell id, or `judge:<cell>`; for logs only, never sent."""
    prompt: str
    blobs: Blobs
    seed: int
    limits: Limits
    system: str | None = None
    skills: tuple[Skill, ...] = ()
    """What this arm may see; () in a baseline."""
    fixtures: Tree | None = None
    stage: str = "flat"
    params: JsonObject = field(default_factory=dict)
    tools: tuple[JsonObject, ...] = ()
    tool_choice: Any = None
    mocks: tuple[MockServer, ...] = ()
    """Stand-in MCP servers, for backends that have MCP."""
    json_schema: JsonObject | None = None
    """Ask for JSON of this shape where the target can."""
    forced: bool = False
    place: Place | None = None
    endpoint: str | None = None
    """Base URL to use instead of the target's own (gateway)."""
    judging: bool = False
    """The answer is a judge's: no tools, no skills, no files."""
    own_home: bool = True
    """False: the program runs in the user's real home, where nothing is written and no setting is changed."""
    packet: Path | None = None
    """Where a deferred backend writes what it asks, and nothing else does."""


@dataclass(frozen=True, slots=True)
class Awaiting:
    """The packet is written; the answer comes later."""

    packet: Path


class Runner(Protocol):
    """An opened backend."""

    def run(self, job: Job, watch: Watch) -> AgentRun | Awaiting:
        """Blocks until the run has ended. Never raises for what the run did; CellError for what we broke."""
        ...


class Backend(Protocol):
    """A kind of target. A frozen Record whose fields are its options; `from_target` builds it."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    def probe(self, machine: Machine) -> Probe:
        """Program, version, login, key, address: what can be told without spending. A failure stops the run before the first call."""
        ...

    def open(self, machine: Machine) -> AbstractContextManager[Runner]:
        """Pools, local servers. Once per experiment and worker."""
        ...

    def endpoint_name(self) -> str:
        """Host and path, program or file that is called; what `plan` prints and what limits are kept by."""
        ...


class StreamReader(Protocol):
    """Pure: turns a program's output into events and, at the end, into a run; live and on recordings alike."""

    def feed(self, line: bytes) -> tuple[Event, ...]: ...

    def close(self, exit_: Exit) -> AgentRun: ...


# ---------------------------------------------------------------- grading
class EvidenceView(Protocol):
    """A run as graders see it: live (before redaction) and stored look alike."""

    record: Evidence
    stored: bool
    """True: read back from disk, masked where it held secrets."""

    def read(self, path: str, limit: int = 1_000_000) -> bytes | None:
        """The file as the run left it (fixture or delta); None: not there."""
        ...

    def fixture(self, path: str) -> FileRef | None:
        """The file as delivered, by its landed path."""
        ...

    def masked(self, path: str | None) -> bool:
        """True when the final text (None) or the file was stored masked."""
        ...

    def unpack(self, into: Path) -> None:
        """Fixtures and delta, as the run left them."""
        ...


class Question(NamedTuple):
    """What the judge is asked."""

    system: str
    user: str
    json_schema: JsonObject | None = None
    params: JsonObject | None = None
    token: str | None = None
    """The random word of its fences, which is all that differs when the same is asked again."""


class Reply(NamedTuple):
    """What the judge answered. `outcome` other than ok: there is no answer."""

    text: str
    outcome: str
    reason: str | None
    usage: Usage
    model: str | None
    duration_s: float | None


class Desk(Protocol):
    """What a grader may use."""

    judge: str | None
    """Name of the judge's target; None: there is no judge."""

    def ask(self, question: Question) -> Reply:
        """One call; retries for outages, limiter and redaction are inside; the call is kept for `judge.json`."""
        ...

    def scratch(self, evidence: EvidenceView) -> AbstractContextManager[Place]:
        """A place holding fixtures and delta, for command checks; gone afterwards."""
        ...


class Grader(Protocol):
    """Grades some check types. Never raises for what the evidence holds: it answers `ungraded` with the reason.

    An installed one may have `needs`, a frozenset of `judge`, `tools`, `files` and `place`: where one of them is not to be had,
    its checks are set aside before the first call.
    """

    types: ClassVar[Mapping[str, type[Record]]]

    def grade(self, case: Case, checks: Sequence[Check], evidence: EvidenceView, desk: Desk) -> tuple[Grade, ...]:
        """One grade per check, in their order."""
        ...


class Comparer(Protocol):
    """Chooses between two arms of a block."""

    def compare(self, case: Case, one: EvidenceView, other: EvidenceView, desk: Desk, seed: int) -> Comparison:
        """`one` is the arm under test, `other` its baseline. `seed`: of the block, it draws which is shown first."""
        ...


# ---------------------------------------------------------------- running
class Done(NamedTuple):
    """A cell has ended, one way or another."""

    cell: Cell
    outcome: str
    reason: str | None
    usage: Usage
    judge_usage: Usage | None
    calls: int
    setup: bool = False
    graded: bool = False
    wait_s: float | None = None
    resting: bool = False
    """The cell was not run because of us (interrupted): it stays planned."""
    traceback: str | None = None
    """Of an exception that is a bug of ours, for the log."""


class Queue(Protocol):
    """Order, stop rules, budgets, outages, Ctrl-C: one place for every executor."""

    @property
    def workers(self) -> int:
        """How many cells can run at once."""
        ...

    def take(self) -> Cell | None:
        """The next cell; waits while all limits are reached. None: nothing more will come."""
        ...

    def tell(self, done: Done) -> None:
        """Every cell taken is told of once; its slot is free from then on."""
        ...

    def close(self, reason: str) -> None:
        """Hands out nothing more. Cells that run go on."""
        ...


class Executor(Protocol):
    """Where cells run and how many at once."""

    def run(self, queue: Queue, work: Callable[[Cell], Done]) -> Iterator[Done]: ...


# ---------------------------------------------------------------- input and output families
class Dialect(Protocol):
    """A suite format."""

    name: ClassVar[str]

    def claims(self, path: Path, head: bytes) -> bool: ...

    def read(self, path: Path) -> tuple[Suite | None, tuple[Problem, ...]]: ...


class ExperimentView(Protocol):
    """An experiment to read: ours or a foreign tree."""

    plan: Plan
    folder: Path

    def results(self) -> Iterator[Result]:
        """Every planned cell in plan order, read as it goes."""
        ...

    def evidence(self, result: Result) -> Evidence | None: ...

    def transcript(self, result: Result) -> tuple[dict[str, Any], ...]:
        """The judge's calls about a cell."""
        ...

    def blob(self, digest: str) -> bytes | None: ...


class Out(Protocol):
    """Where a report writes; redaction is inside."""

    def write(self, name: str, text: str | bytes) -> Path:
        """Writes a file below the report's root and says where it is. Bytes are taken from blobs and already masked."""
        ...


class Report(Protocol):
    """Numbers from the Summary, text from the view; computes nothing.

    An installed one may have `suffix`, as ".tex": `-o FILE.tex` is then written by it.
    """

    name: ClassVar[str]

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None: ...


class Listener(Protocol):
    """News while it runs. One that has `pause()` too is told when nothing more is waiting for now."""

    def hear(self, news: News) -> None: ...

    def close(self) -> None: ...
