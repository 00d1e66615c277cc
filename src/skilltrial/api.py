"""The library: everything the command line does, without printing or exiting."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pydantic import ValidationError

from skilltrial.errors import UsageError
from skilltrial.listeners.lines import Lines
from skilltrial.records.config import Config, GateConfig, TargetConfig
from skilltrial.records.grades import Grade
from skilltrial.records.news import News
from skilltrial.records.summary import Summary
from skilltrial.seams import Listener
from skilltrial.system.redaction import Redactor

if TYPE_CHECKING:
    from skilltrial.load import Loaded
    from skilltrial.store import Experiment

Hearer = Callable[[News], None] | Listener
"""Who is told of events: a function, a reporter of ours, or any Listener."""
Target = str | Callable[[str], Any] | Any
"""A name as on the command line, a function `prompt -> str`, or an object with `complete(prompt)`."""


def evaluate(
    paths: str | Path | Sequence[str | Path] = (),
    targets: Sequence[Target] | Target = (),
    judge: Target | None = None,
    *,
    arms: Sequence[str] | None = None,
    repetitions: int | None = None,
    on_event: Hearer | Sequence[Hearer] | None = None,
    workspace: str | Path | None = None,
    config: Config | None = None,
    environ: Mapping[str, str] | None = None,
    on_note: Callable[[str], None] | None = None,
    **options: Any,
) -> Summary:
    """Runs a trial and returns its Summary; the experiment's folder is left in the workspace.

    Args:
        paths: skills, folders of skills or suite files; () as the settings say.
        targets: what runs the tasks; several give one lift each.
        judge: who grades rubrics; None: the first target's own model where it can judge; "none": nobody.
        arms: `with_skill` and `without_skill`, or the first alone; None: as the settings say, else both.
        repetitions: runs of each case in each arm.
        on_event: called with every News while it runs; several are called in turn.
        workspace: folder of experiments; default `skilltrial-workspace` in the working folder.
        config: settings to start from, as `load_config` reads them; the arguments here win.
        on_note: told in words what was decided silently, and of warnings.
        options: further fields of `Config`; those of its gate (`minimum_lift=0.1`) may be given directly.
    Returns:
        The Summary. `summary.gate.exit_code` is what the command line would exit with.
    Raises:
        UsageError: wrong input; the message names every problem.
        NothingToDo: `changed_only` or `last_failed` was asked for, and nothing changed or failed.
    """
    from skilltrial.load import config as files

    say = on_note or (lambda _text: None)
    wanted = _config(paths, targets, judge, arms, repetitions, options)
    with _offered(wanted):
        return _evaluated(files.merge(config, wanted) if config else wanted, on_event, workspace, environ, say)


def _evaluated(
    settings: Config,
    on_event: Any,
    workspace: str | Path | None,
    environ: Mapping[str, str] | None,
    say: Callable[[str], None],
) -> Summary:
    from skilltrial.flows import layout, trial
    from skilltrial.flows.machine import machine_for, redactor_for
    from skilltrial.flows.prepare import prepare

    variables = dict(os.environ if environ is None else environ)
    stopping = trial.Stopping()
    machine = machine_for(variables, redactor_for(variables), stopping)
    cwd = Path.cwd()
    folder = Path(cwd, workspace or settings.workspace or "skilltrial-workspace")
    prepared = prepare(settings, cwd, folder, machine, say)
    with trial.begin(prepared, folder, machine, say) as experiment:
        listeners = _listeners(on_event)
        for listener in listeners:
            if isinstance(listener, _Console):
                listener.meet(experiment, machine.redactor)
        trial.carry_out(experiment, machine, stopping, listeners, say)
        summary = trial.conclude(experiment, machine, ran=True)
        trial.write_outputs(settings.report.output, summary, experiment, machine.redactor)
        layout.write(summary, experiment, machine.redactor, say)
    return summary


@contextmanager
def _offered(config: Config) -> Iterator[None]:
    """Objects among targets and judge are let go of at the end."""
    from skilltrial.backends import library

    asked = [*config.targets, *([config.judge] if isinstance(config.judge, TargetConfig) else [])]
    try:
        yield
    finally:
        for target in asked:
            if target.backend == library.Library.name:
                library.withdraw(target.model or "")


def _config(
    paths: Any, targets: Any, judge: Any, arms: Sequence[str] | None, repetitions: int | None, options: dict[str, Any]
) -> Config:
    wrong = set(arms or ()) - {"with_skill", "without_skill"}
    if wrong or (arms is not None and "with_skill" not in arms):
        raise UsageError(f"arms: {', '.join(sorted(wrong)) or 'with_skill is missing'}", "with_skill, or both arms")
    gate = {key: options.pop(key) for key in list(options) if key in GateConfig.model_fields and key not in Config.model_fields}
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    fields: dict[str, Any] = {
        "paths": tuple(str(Path(path).absolute()) for path in listed),
        "targets": tuple(_target(item) for item in _as_list(targets)),
        "judge": judge if judge in (None, "none") else _target(judge),
        "baseline": None if arms is None else "without_skill" in arms,
        "repetitions": repetitions,
        **options,
    }
    if gate:
        fields["gate"] = gate
    try:
        return Config(**fields)
    except ValidationError as error:
        lines = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
        raise UsageError("\n".join(lines)) from None


def _as_list(targets: Any) -> list[Any]:
    return list(targets) if isinstance(targets, list | tuple) else [targets]


def _target(item: Target) -> TargetConfig:
    if isinstance(item, TargetConfig):
        return item
    if isinstance(item, str):
        from skilltrial.load.targets import parse_target

        return parse_target(item)[0]
    from skilltrial.backends.library import offer

    name = offer(item)
    return TargetConfig(backend="library", model=name, name=name)


def _listeners(on_event: Any) -> list[Listener]:
    given = on_event if isinstance(on_event, list | tuple) else [] if on_event is None else [on_event]
    return [one if hasattr(one, "hear") else _Calls(one) for one in given]


class _Calls:
    """A function as a Listener."""

    def __init__(self, function: Callable[[News], None]) -> None:
        self.function = function

    def hear(self, news: News) -> None:
        self.function(news)

    def close(self) -> None:
        """Nothing is held."""


class _Console(Lines):
    """The command line's lines, with what was said in a run below each where that is wanted."""

    def __init__(self, out: TextIO | None, verbose: bool, snippet_length: int | None) -> None:
        super().__init__(out)
        self.verbose, self.snippet_length = verbose, snippet_length

    def meet(self, experiment: Experiment, redactor: Redactor) -> None:
        """From now on it can read what the lines are about."""
        from skilltrial.flows.texts import Texts

        if self.verbose or self.snippet_length:
            self._texts = Texts(experiment, redactor, answers=None if self.verbose else self.snippet_length)


def load_config(path: str | Path) -> Config:
    """Reads `skilltrial.yaml`, a `pyproject.toml` with [tool.skilltrial], or `agent-skills-eval.yaml`.

    Raises:
        UsageError: every problem of the file, with line and column.
    """
    from skilltrial.load import config as files

    return files.read(Path(path))


def console_reporter(*, out: TextIO | None = None, verbose: bool = False, snippet_length: int | None = None) -> Listener:
    """One line per finished cell on stderr; give it as `on_event`.

    Args:
        out: another stream.
        verbose: prompts, answers and what the judge was asked and said, in full.
        snippet_length: so many characters of each answer.
    """
    return _Console(out, verbose, snippet_length)


def jsonl_reporter(path: str | Path | None = None, *, out: TextIO | None = None) -> Listener:
    """Appends one JSON line per piece of news to a file, or writes it to a stream; give it as `on_event`."""
    from skilltrial.listeners.jsonl import JsonLines

    return JsonLines(Path(path) if path is not None else None, Redactor(), out)


def read(paths: str | Path | Sequence[str | Path]) -> Loaded:
    """The skills and suites at these paths, with every problem of their files; nothing is run.

    Skills without a suite are among them. Problems raise nothing: `Loaded.errors` would stop a run.

    Raises:
        UsageError: a path leads nowhere.
    """
    from skilltrial.load import project

    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    return project(Config(paths=tuple(str(Path(path).absolute()) for path in listed)), Path.cwd(), suites_needed=False)


def grade(
    checks: Sequence[str | Mapping[str, Any]],
    text: str,
    *,
    prompt: str = "",
    expected_output: str | None = None,
    tool_calls: Sequence[tuple[str, Any] | Mapping[str, Any]] | None = None,
    files: Mapping[str, str | bytes] | None = None,
    judge: Target | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[Grade, ...]:
    """Grades an answer that you have, outside any experiment; nothing is stored.

    Args:
        checks: sentences for the judge, and objects as in a suite's `checks` or `tool_assertions`.
        tool_calls: (name, arguments) of each call, or as chat completions have them; None: there is no record of calls.
        files: what the run left, by relative path.
        judge: who decides on sentences; without one they are ungraded.
    Returns:
        One grade per check, in their order: `passed`, `failed` or `ungraded`, with the reason.
    Raises:
        UsageError: a check cannot be read; the message names every such check.
    """
    from skilltrial.flows import one_answer
    from skilltrial.flows.machine import machine_for, redactor_for
    from skilltrial.flows.targets import judge_of

    variables = dict(os.environ if environ is None else environ)
    machine = machine_for(variables, redactor_for(variables), lambda: False)
    asked = None if judge in (None, "none") else _target(judge)
    left = {path: data.encode() if isinstance(data, str) else data for path, data in (files or {}).items()}
    with _offered(Config(judge=asked)):
        return one_answer.grade(
            checks,
            text,
            machine,
            prompt=prompt or "(the task is not known)",
            expected_output=expected_output,
            tool_calls=tool_calls,
            files=left,
            judge=judge_of(asked) if asked else None,
        )


def report(experiment: str | Path, *files: str | Path) -> Summary:
    """The Summary of an experiment, or of another tool's result tree, computed anew; with reports to files, by suffix.

    Raises:
        UsageError: nothing that we know lies there, or a suffix says nothing.
    """
    from skilltrial import analyze, formats, store
    from skilltrial.flows import trial
    from skilltrial.flows.machine import redactor_for

    folder, redactor = Path(experiment), redactor_for(os.environ)
    with ExitStack() as stack:
        foreign = None if (folder / "experiment.json").is_file() else formats.find(folder)
        view = foreign.read() if foreign else stack.enter_context(store.open_(folder, write=False, redactor=redactor))
        summary = analyze.summary(view)
        trial.write_outputs([str(file) for file in files], summary, view, redactor)
    return summary
