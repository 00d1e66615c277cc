"""The library: everything the command line does, without printing or exiting."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from skilltrial.errors import UsageError
from skilltrial.records.config import Config, GateConfig, TargetConfig
from skilltrial.records.news import News
from skilltrial.records.summary import Summary
from skilltrial.seams import Listener

Target = str | Callable[[str], Any] | Any
"""A name as on the command line, a function `prompt -> str`, or an object with `complete(prompt)`."""


def evaluate(
    paths: str | Path | Sequence[str | Path],
    targets: Sequence[Target] | Target = (),
    judge: Target | None = None,
    *,
    arms: Sequence[str] = ("with_skill", "without_skill"),
    repetitions: int | None = None,
    on_event: Callable[[News], None] | Listener | None = None,
    workspace: str | Path | None = None,
    config: Config | None = None,
    environ: Mapping[str, str] | None = None,
    on_note: Callable[[str], None] | None = None,
    **options: Any,
) -> Summary:
    """Runs a trial and returns its Summary; the experiment's folder is left in the workspace.

    Args:
        paths: skills, folders of skills or suite files.
        targets: what runs the tasks; several give one lift each.
        judge: who grades rubrics; None: the first target's own model where it can judge; "none": nobody.
        arms: both, or only one of `with_skill` and `without_skill`.
        repetitions: runs of each case in each arm.
        on_event: called with every News while it runs.
        workspace: folder of experiments; default `skilltrial-workspace` in the working folder.
        config: settings to start from, as `load_config` reads them; the arguments here win.
        on_note: told in words what was decided silently, and of warnings.
        options: further fields of `Config`; those of its gate (`minimum_lift=0.1`) may be given directly.
    Returns:
        The Summary. `summary.gate.exit_code` is what the command line would exit with.
    Raises:
        UsageError: wrong input; the message names every problem.
    """
    from skilltrial.flows import layout, trial
    from skilltrial.flows.machine import machine_for, redactor_for
    from skilltrial.flows.prepare import prepare
    from skilltrial.load import config as files

    say = on_note or (lambda _text: None)
    wanted = _config(paths, targets, judge, arms, repetitions, options)
    settings = files.merge(config, wanted) if config else wanted
    variables = dict(os.environ if environ is None else environ)
    stopping = trial.Stopping()
    machine = machine_for(variables, redactor_for(variables), stopping)
    cwd = Path.cwd()
    folder = Path(cwd, workspace or settings.workspace or "skilltrial-workspace")
    prepared = prepare(settings, cwd, folder, machine, say)
    with trial.begin(prepared, folder, machine, say) as experiment:
        trial.carry_out(experiment, machine, stopping, _listeners(on_event), say)
        summary = trial.conclude(experiment, machine, ran=True)
        trial.write_outputs(settings.report.output, summary, experiment, machine.redactor)
        layout.write(summary, experiment, machine.redactor, say)
    return summary


def _config(
    paths: Any, targets: Any, judge: Any, arms: Sequence[str], repetitions: int | None, options: dict[str, Any]
) -> Config:
    wrong = set(arms) - {"with_skill", "without_skill"}
    if wrong or "with_skill" not in arms:
        raise UsageError(f"arms: {', '.join(sorted(wrong)) or 'with_skill is missing'}", "with_skill, or both arms")
    gate = {key: options.pop(key) for key in list(options) if key in GateConfig.model_fields and key not in Config.model_fields}
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    fields: dict[str, Any] = {
        "paths": tuple(str(Path(path).absolute()) for path in listed),
        "targets": tuple(_target(item) for item in _as_list(targets)),
        "judge": judge if judge in (None, "none") else _target(judge),
        "baseline": "without_skill" in arms,
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
    if on_event is None:
        return []
    return [on_event] if hasattr(on_event, "hear") else [_Calls(on_event)]


class _Calls:
    """A function as a Listener."""

    def __init__(self, function: Callable[[News], None]) -> None:
        self.function = function

    def hear(self, news: News) -> None:
        self.function(news)

    def close(self) -> None:
        """Nothing is held."""


def load_config(path: str | Path) -> Config:
    """Reads `skilltrial.yaml`, a `pyproject.toml` with [tool.skilltrial], or `agent-skills-eval.yaml`.

    Raises:
        UsageError: every problem of the file, with line and column.
    """
    from skilltrial.load import config as files

    return files.read(Path(path))


def console_reporter() -> Listener:
    """One line per finished cell on stderr; give it as `on_event`."""
    from skilltrial.listeners.lines import Lines

    return Lines()


def jsonl_reporter(path: str | Path) -> Listener:
    """Appends one JSON line per piece of news to a file; give it as `on_event`."""
    from skilltrial.listeners.jsonl import JsonLines
    from skilltrial.system.redaction import Redactor

    return JsonLines(Path(path), Redactor())
