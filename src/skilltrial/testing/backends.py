"""What every backend keeps to."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.flows.machine import machine_for, redactor_for
from skilltrial.flows.watch import CellWatch
from skilltrial.records.evidence import AgentRun, Event
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record, build_all
from skilltrial.records.suite import Limits
from skilltrial.seams import Access, Awaiting, Capabilities, Job, Machine, Probe, Stop
from skilltrial.store import FolderBlobs
from skilltrial.system.files import safe_name
from skilltrial.testing._rules import Rule, docstring_of, holds, printing_nothing, try_all

DELIVERIES = ("installed", "injected", "body_only")
PATIENCE_S = 10.0
"""How long a run that is told to stop may take to end."""


class BackendCase(NamedTuple):
    """A backend, and how to build it."""

    plugin: Any
    target: Target
    environ: Mapping[str, str]

    @property
    def built(self) -> Any:
        return self.plugin.from_target(self.target)


def check_backend(
    plugin: Any,
    *,
    value: str | None = "model",
    options: JsonObject | None = None,
    environ: Mapping[str, str] | None = None,
    run: bool = True,
) -> None:
    """Raises AssertionError unless the backend keeps to its contract.

    Args:
        plugin: the class that the entry point names.
        value: what stands after the colon in `--target NAME:VALUE`.
        options: its options, as under `options` in skilltrial.yaml.
        environ: the caller's variables, as a key that it needs; default none but PATH.
        run: also let it run a task; False where that costs money or needs a network.
    """
    name = str(getattr(plugin, "name", "plugin"))
    target = Target(name=safe_name(name), backend=name, value=value, options=options or {})
    case = BackendCase(plugin, target, {"PATH": os.defpath, **(environ or {})})
    try_all((*RULES, *(RUNS if run else ())), case, f"backend '{name}'")


# ---------------------------------------------------------------- what can be told without a run
def is_a_described_record(case: BackendCase) -> None:
    """It is a frozen Record with a name that fits into file names, and a docstring of its own."""
    plugin = case.plugin
    holds(isinstance(plugin, type) and issubclass(plugin, Record), "the entry point has to name a class derived from Record")
    holds(isinstance(plugin.name, str) and safe_name(plugin.name) == plugin.name, f"its name {plugin.name!r} fits no file name")
    holds(":" not in plugin.name, "its name holds a colon, which ends a name in --target")
    holds(docstring_of(plugin, Record), "it has no docstring of its own")
    try:
        setattr(case.built, next(iter(plugin.model_fields), "name"), "other")
    except Exception:
        return
    raise AssertionError("its fields can be changed")


def survives_the_disk(case: BackendCase) -> None:
    """It is data: written and read back it is equal."""
    holds(type(case.built).from_stored(case.built.to_json()) == case.built, "read back from its JSON it differs")


def has_capabilities_that_agree(case: BackendCase) -> None:
    """Its capabilities do not contradict each other."""
    able = case.built.capabilities
    holds(isinstance(able, Capabilities), "`capabilities` is no Capabilities")
    holds(able.timeout_s > 0, "its time limit is not above 0")
    holds(able.concurrency >= 1, "its concurrency is below 1")
    holds(able.delivery in DELIVERIES, f"its delivery '{able.delivery}' is none of {', '.join(DELIVERIES)}")
    holds(not (able.program and not able.own_environment), "agent programs run in a clean environment")
    if able.files and able.delivery == "installed":
        place = Path(case.built.skill_dir)
        holds(not place.is_absolute() and ".." not in place.parts, f"its skill_dir '{place}' is not below the workspace")


def names_whom_it_calls(case: BackendCase) -> None:
    """It says whom it calls, which `plan` prints and limits go by."""
    holds(str(case.built.endpoint_name()).strip(), "endpoint_name() is empty")


def refuses_unknown_options(case: BackendCase) -> None:
    """An option that it does not have is a UsageError that names it."""
    wrong = case.target.model_copy(update={"options": {**case.target.options, "no_such_option": 1}})
    try:
        case.plugin.from_target(wrong)
    except UsageError as error:
        holds("no_such_option" in str(error), f"the message does not name the option: {error}")
        return
    raise AssertionError("it took an option that it does not have")


def probes_in_one_line(case: BackendCase) -> None:
    """Its probe answers in one line, on a machine that has nothing too, and prints nothing."""
    for environ in ({"PATH": os.defpath}, case.environ):
        with printing_nothing("while it probed"), machine(environ) as able:
            probe = case.built.probe(able)
        holds(isinstance(probe, Probe), f"probe() gave {type(probe).__name__}, no Probe")
        holds(probe.reason.strip() and "Traceback" not in probe.reason, f"its reason is {probe.reason!r}")


RULES: tuple[Rule, ...] = (
    is_a_described_record, survives_the_disk, has_capabilities_that_agree, names_whom_it_calls, refuses_unknown_options,
    probes_in_one_line,
)  # fmt: skip


# ---------------------------------------------------------------- runs
def gives_a_whole_run(case: BackendCase) -> None:
    """A run comes back as an AgentRun with what it consumed, or with the reason why it is no measurement."""
    with printing_nothing("while it ran"):
        run = _run(case, CellWatch(Limits(timeout_s=case.built.capabilities.timeout_s), lambda: False))
    _is_whole(run)


def ends_when_it_is_told(case: BackendCase) -> None:
    """A run that is told to stop ends within ten seconds, as a stopped run or one that was done already."""
    ended: list[AgentRun | Awaiting | Exception] = []
    thread = threading.Thread(target=lambda: ended.append(_caught(case, _Impatient())), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    holds(ended, f"it still ran {PATIENCE_S:g} s after it was told to stop")
    holds(not isinstance(ended[0], Exception), f"it raised {ended[0]!r} when it was told to stop")
    outcome = getattr(ended[0], "outcome", "ok")
    holds(outcome in ("ok", "timeout"), f"its outcome is '{outcome}' where it was stopped for its time limit")


def runs_side_by_side(case: BackendCase) -> None:
    """Two runs at once come back whole, as cells are threads."""
    if case.built.capabilities.concurrency < 2:
        return
    ended: list[AgentRun | Awaiting | Exception] = []
    with _opened(case) as (runner, able):
        watch = CellWatch(Limits(timeout_s=case.built.capabilities.timeout_s), able.stopping)
        threads = [threading.Thread(target=lambda: ended.append(_caught(case, watch, runner)), daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for run in ended:
        if isinstance(run, Exception):
            raise run
        _is_whole(run)


RUNS: tuple[Rule, ...] = (gives_a_whole_run, ends_when_it_is_told, runs_side_by_side)


class _Impatient:
    """The Watch seam of a run whose time is up before it starts."""

    deadline = 0.0

    def heard(self, event: Event | None) -> Stop | None:
        return Stop("timeout", "time limit reached")


@contextmanager
def machine(environ: Mapping[str, str]) -> Iterator[Machine]:
    """A machine of its own with these variables."""
    build_all()
    yield machine_for(environ, redactor_for(environ), lambda: False)


@contextmanager
def _opened(case: BackendCase) -> Iterator[tuple[Any, Machine]]:
    with machine(case.environ) as able, case.built.open(able) as runner:
        yield runner, able


@contextmanager
def _place(case: BackendCase, folder: Path) -> Iterator[Any]:
    able = case.built.capabilities
    if not able.files:
        yield None
        return
    with registry.get("sandboxes", "none")().enter(folder, Access(keep_home=not able.own_environment)) as place:
        yield place


def _job(folder: Path, place: Any) -> Job:
    return Job(
        cell="contract/hello/target/with_skill/1",
        prompt="Say hello.",
        blobs=FolderBlobs(folder / "blobs"),
        seed=1,
        limits=Limits(),
        place=place,
        packet=folder / "packet",
    )


def _run(case: BackendCase, watch: Any, runner: Any = None) -> AgentRun | Awaiting:
    """One run in a place of its own, by `runner` or by one that is opened for it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skilltrial-contract-")))
        runner = runner or stack.enter_context(_opened(case))[0]
        run: AgentRun | Awaiting = runner.run(_job(folder, stack.enter_context(_place(case, folder))), watch)
    return run


def _caught(case: BackendCase, watch: Any, runner: Any = None) -> AgentRun | Awaiting | Exception:
    """What it raises, as a value: threads have nobody to raise to."""
    try:
        return _run(case, watch, runner)
    except Exception as error:
        return error


def _is_whole(run: AgentRun | Awaiting) -> None:
    if isinstance(run, Awaiting):
        return
    holds(isinstance(run, AgentRun), f"run() gave {type(run).__name__}, no AgentRun")
    holds(run.outcome == "ok" or (run.reason or "").strip(), f"its outcome is '{run.outcome}' without a reason")
    holds(run.timing.duration_s is None or run.timing.duration_s >= 0, "its duration is below 0")
    counts = run.usage.model_dump(exclude={"cost_source"}) if run.usage else {}
    below = [name for name, value in counts.items() if value is not None and value < 0]
    holds(not below, f"below 0: {', '.join(below)}; what was not reported is None")
    priced = run.usage is not None and run.usage.cost_usd is not None
    holds(not priced or run.usage.cost_source, "it reports a cost without saying who computed it (cost_source)")
