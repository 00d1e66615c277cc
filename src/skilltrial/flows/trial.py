"""An experiment from start to end: a suite becomes cells, cells leave evidence, evidence earns grades.

`run` is prepare, begin, carry_out, conclude; `resume` is carry_out and conclude on an opened experiment.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from skilltrial import plan as planning
from skilltrial import registry, store
from skilltrial.errors import Interrupted, UsageError
from skilltrial.flows import budgets
from skilltrial.flows import cell as cells
from skilltrial.flows.bench import Bench, opened
from skilltrial.flows.certify import certify
from skilltrial.flows.drift import unmasked
from skilltrial.flows.hooks import Hooks
from skilltrial.flows.newsroom import Newsroom, now
from skilltrial.flows.out import Bundle, FolderOut
from skilltrial.flows.packets import Answer
from skilltrial.flows.pairs import Pairs
from skilltrial.flows.prepare import Prepared
from skilltrial.flows.reuse import reuse_baselines
from skilltrial.formats import native
from skilltrial.formats._export import parts_of
from skilltrial.records import plan as plans
from skilltrial.records.evidence import Usage
from skilltrial.records.journal import Pair, Result, StopLine
from skilltrial.records.plan import Budgets, Cell, Plan
from skilltrial.records.record import build_all
from skilltrial.seams import Done, ExperimentView, Listener, Machine
from skilltrial.store import Experiment
from skilltrial.system import trees
from skilltrial.system.files import Appender
from skilltrial.system.redaction import Redactor

if TYPE_CHECKING:  # records that nothing needs before the first call
    from skilltrial.records.summary import Summary

_RUN = 1
"""In `Experiment.needs`."""


class Stopping:
    """Set once the user asks to stop; handed to everything that waits."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __call__(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()


def begin(prepared: Prepared, workspace: Path, machine: Machine, say: Callable[[str], None]) -> Experiment:
    """Allocates the experiment's folder, writes the plan and copies of all inputs, and takes what may be reused."""
    run_id = prepared.config.run_id
    experiment = store.create(workspace, prepared.named, prepared.sources, machine.redactor, run_id=run_id)
    if prepared.plan.options.reuse:
        reuse_baselines(experiment, workspace, say)
    return experiment


def carry_out(
    experiment: Experiment,
    machine: Machine,
    stopping: Stopping,
    listeners: Sequence[Listener],
    say: Callable[[str], None],
    answers: Mapping[str, Answer] | None = None,
    caps: Budgets | None = None,
) -> tuple[StopLine, ...]:
    """Runs and grades what is missing, `answers` to packets included. Returns what ended it early; () when nothing did.

    `caps` on the whole experiment stand in for those of its plan; what was spent before counts.

    Raises:
        Interrupted: the user asked to stop; every finished step is on disk.
    """
    needs = experiment.needs()
    left = len(needs) - needs.count(0)
    newsroom = Newsroom(experiment.plan.experiment, experiment.planned, experiment.planned - left, listeners)
    targets = _to_be_run(experiment.plan, needs)
    cases = unmasked(experiment.plan, machine.redactor) if left else None
    stops: tuple[StopLine, ...] = ()
    with interruptible(stopping, experiment):
        newsroom.tell("experiment_started")
        try:
            if left:
                Hooks(experiment, machine, newsroom).before()
            with opened(experiment, machine, newsroom, targets, cases=cases, answers=answers) as bench:
                _end_abandoned(bench, say)
                if experiment.plan.options.certify and targets:
                    certify(bench, targets, say)
                stops = _drain(_queue_for(bench, needs, caps or bench.plan.budgets), bench, 0 in needs)
        finally:
            newsroom.tell("experiment_finished", reason="; ".join(stop.reason for stop in stops) or None)
            newsroom.close()
    return stops


def _to_be_run(plan: Plan, needs: bytes) -> set[str]:
    """Targets that have something to run, and not only to grade."""
    found, start = set(), 0
    for group in plan.groups:
        end = start + group.repetitions
        if _RUN in needs[start:end]:
            found.add(group.target)
        start = end
    return found


def _end_abandoned(bench: Bench, say: Callable[[str], None]) -> None:
    """What a killed process of ours left running is ended before more is started: it goes on calling models, and takes the ports."""
    if any(bench.backends[name].capabilities.files for name in bench.runners) and (ended := trees.end_abandoned()):
        say(f"warning: ended {ended} processes that an earlier skilltrial left running when it was killed")


def _queue_for(bench: Bench, needs: bytes, caps: Budgets) -> planning.CellQueue:
    able = {name: backend.capabilities for name, backend in bench.backends.items()}
    return planning.CellQueue(
        bench.plan.model_copy(update={"budgets": caps}),
        needs,
        concurrency=planning.concurrency_of(bench.plan, able),
        shared=planning.shared_of(bench.plan, able),
        pilots=[name for name, has in able.items() if has.program],
        spent=(bench.experiment.spent.cost_usd or 0.0, bench.experiment.spent.calls),
    )


def _drain(queue: planning.CellQueue, bench: Bench, resumed: bool) -> tuple[StopLine, ...]:
    tree, suites = _TreeWriter(bench), budgets.Suites(bench)
    pairs = Pairs(bench, told=tree.pair)

    def work(cell: Cell) -> Done:
        if reason := suites.rests(cell):
            return Done(cell, "harness_error", reason, Usage(), None, 0, resting=True)
        tree.begin(cell)
        done = cells.run_cell(cell, bench)
        if not done.resting:
            suites.look(cell)
            tree.write(cell)
            done = pairs.after(cell, done)
        return done

    for number, done in enumerate(registry.get("executors", "threads")().run(queue, work)):
        if number == 0:
            _load_reports(bench.plan)
        if done.traceback:
            bench.faults.append(done.traceback)
    stops = (*queue.stops(now()), *_unable(queue), *suites.stops(), *_faults(bench))
    for stop in stops:
        bench.experiment.append_stop(stop)
    if not stops:
        pairs.rest()
    if resumed:
        tree.mend()
    return stops


def _load_reports(plan: Plan) -> None:
    """Imports what `conclude` needs while runs wait for their models; before the first call it would put that off."""
    import_module("skilltrial.analyze")
    for name in (*_reports(plan), "terminal"):
        registry.get("reports", name)
    build_all()


def _unable(queue: planning.CellQueue) -> tuple[StopLine, ...]:
    """Targets that could not work at all and had so few cells that none is left to be stopped."""
    told = {stop.reason for stop in queue.stops(now())}
    lines = [
        StopLine(rule=why.rule, after_blocks=0, reason=f"{name}: {why.reason}", at=now())
        for name, why in queue.stopped.items()
        if why.rule == "setup"
    ]
    return tuple(line for line in lines if line.reason not in told)


def _faults(bench: Bench) -> Iterator[StopLine]:
    """Says that runs were lost by a fault of our own, which `resume` runs again, and keeps every traceback."""
    if not bench.faults:
        return
    log = Appender(bench.experiment.folder / "faults.log", bench.machine.redactor)
    for traceback in bench.faults:
        log.append(traceback)
    log.close()
    last = bench.faults[0].strip().splitlines()[-1]
    reason = f"{len(bench.faults)} runs met a fault of skilltrial's own ({last}); please report it with faults.log"
    yield StopLine(rule="fault", after_blocks=0, reason=reason, at=now())


class _TreeWriter:
    """Writes the folder view of each finished cell while the experiment runs, where it is wanted."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.parts = parts_of(bench.plan)

    def begin(self, cell: Cell) -> None:
        """What there is of an earlier attempt is not whole any more."""
        if self._wanted(cell):
            self._mark(cell).unlink(missing_ok=True)

    def write(self, cell: Cell) -> None:
        if self._wanted(cell) and not self.bench.machine.stopping():
            self._write(self.bench.experiment.result_of(cell))

    def pair(self, pair: Pair) -> None:
        if self._wanted_on(pair.comparison.block.split("/")[2]):
            with self._out() as out:
                native.write_pair(pair, out)

    def mend(self) -> None:
        """Writes the folders that a killed or interrupted process did not get to."""
        for cell in plans.cells(self.bench.plan) if self._wanted_at_all() else ():
            if not self._wanted(cell) or (mark := self._mark(cell)).exists():
                continue
            result = self.bench.experiment.result_of(cell)
            if result.evidence is not None:
                for half in mark.parent.rglob(".*.tmp"):  # files that were being written when it was killed
                    half.unlink()
                self._write(result)

    def _write(self, result: Result) -> None:
        with self._out() as out:
            native.write_cell(result, self.bench.experiment, out, self.parts)

    def _out(self) -> Bundle:
        return Bundle(self.bench.experiment.folder, self.bench.machine.redactor)

    def _wanted_at_all(self) -> bool:
        return any(self._wanted_on(target.name) for target in self.bench.plan.targets)

    def _wanted(self, cell: Cell) -> bool:
        return self._wanted_on(cell.target)

    def _wanted_on(self, target: str) -> bool:
        wanted = self.bench.plan.options.tree
        if wanted is None:
            wanted = self.bench.backends[target].capabilities.files
        return wanted or bool(self.bench.plan.hooks.post_grade)  # hooks are told where the folder is

    def _mark(self, cell: Cell) -> Path:
        return self.bench.experiment.folder / native.cell_folder(Result(cell, None, None)) / native.MARK


def ending_signals() -> list[signal.Signals]:
    """Ctrl-C, SIGTERM, and the hang-up of a closed terminal unless `nohup` has it ignored."""
    hang_up = getattr(signal, "SIGHUP", None)
    heard = hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([hang_up] if hang_up is not None and heard else [])]


@contextmanager
def interruptible(stopping: Stopping, experiment: Experiment) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal set `stopping` at once, so that everything that waits ends, and become Interrupted.

    Only in the main thread, where signals arrive. Further signals do not cut the cleaning up short, which is bounded. Late
    threads can write nothing more.
    """

    def stop(_signal: int, _frame: object) -> None:
        if not stopping():
            stopping.set()
            raise KeyboardInterrupt

    mine = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, stop) for number in ending_signals()} if mine else {}
    try:
        yield
        if stopping():  # the exception was lost in a place where Python drops it, such as a callback
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        stopping.set()
        experiment.seal()
        raise Interrupted(
            f"interrupted; everything finished is kept. Go on with: skilltrial resume {experiment.folder}"
        ) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def conclude(experiment: Experiment, machine: Machine, *, ran: bool = False) -> Summary:
    """Computes the Summary and writes it with `report.md`, the HTML page and the benchmark files.

    From here on the experiment shows its plan as it is stored, secrets masked: nothing is run any more, all of it is printed.

    `ran`: something was run, so that post-run hooks come after the summary is written; it then tells of them too.
    """
    from skilltrial import analyze  # see _load_reports

    summary = analyze.summary(experiment)
    experiment.write_summary(summary)
    if ran and Hooks(experiment, machine).after():
        summary = analyze.summary(experiment)
        experiment.write_summary(summary)
    if not experiment.plan.redactions:
        experiment.plan = store.plan_of(experiment.folder)  # a secret quoted by HTML or CSV would look like none
        experiment.plan = store.in_force(experiment)
    out = FolderOut(experiment.folder, machine.redactor)
    native.write_benchmarks(summary, out)
    for name in _reports(experiment.plan):
        registry.get("reports", name)().write(summary, experiment, out)
    return summary


def _reports(plan: Plan) -> tuple[str, ...]:
    return ("markdown", "html") if plan.options.report_html else ("markdown",)


REPORT_SUFFIXES = {".xml": "junit", ".md": "markdown", ".json": "json", ".html": "html", ".csv": "csv"}


def report_for(suffix: str) -> str:
    """The report that writes files of this suffix: one of ours, or an installed one that says so.

    Raises:
        UsageError: there is none.
    """
    if suffix in REPORT_SUFFIXES:
        return REPORT_SUFFIXES[suffix]
    theirs = {registry.get("reports", name).suffix: name for name in registry.installed("reports") if _has_suffix(name)}
    if suffix in theirs:
        return theirs[suffix]
    raise UsageError(
        f"no report is written as '{suffix or 'a file without a suffix'}'", f"one of {' '.join([*REPORT_SUFFIXES, *theirs])}"
    )


def _has_suffix(name: str) -> bool:
    return isinstance(getattr(registry.get("reports", name), "suffix", None), str)


def write_outputs(paths: Sequence[str], summary: Summary, experiment: ExperimentView, redactor: Redactor) -> None:
    """The files of `-o`, by suffix."""
    for text in paths:
        path = Path(text)
        report = registry.get("reports", report_for(path.suffix))()
        path.parent.mkdir(parents=True, exist_ok=True)
        report.write(summary, experiment, NamedOut(path, redactor))


class NamedOut(FolderOut):
    """Writes the one file of a report under the name the user chose, and what hangs on it beside it."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        super().__init__(path.parent, redactor)
        self.path = path
        self.first = True

    def write(self, name: str, text: str | bytes) -> Path:
        if self.first:
            self.first = False
            name = self.path.name
        else:
            name = Path(name).name if "/" not in name else "/".join(name.split("/")[1:])
        return super().write(name, text)
