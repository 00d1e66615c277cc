"""What commands share: where they are, whom they talk to, how a summary is printed."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skilltrial.errors import UsageError

if TYPE_CHECKING:
    from skilltrial.flows.trial import Stopping
    from skilltrial.records.config import Config, LoggingConfig
    from skilltrial.records.summary import Summary
    from skilltrial.seams import ExperimentView, Listener, Machine
    from skilltrial.store import Experiment
    from skilltrial.system.redaction import Redactor

WORKSPACE = "skilltrial-workspace"
ENV_FILES = "skilltrial.env_files"
"""Where the names of `--env-file` are kept with the call."""


def say(text: str) -> None:
    """One message for people, on stderr, without terminal controls from untrusted text."""
    from skilltrial.wording.untrusted import plain

    put(plain(text), err=True)


def put(text: str, *, err: bool = False, color: bool | None = None) -> None:
    """Prints; when the reader has gone away (`| head`), the rest is dropped and the work goes on."""
    try:
        click.echo(text, err=err, color=color)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2 if err else 1)


def _environment() -> dict[str, str]:
    """The caller's variables, and those of the files named with `--env-file` where the caller has none of that name."""
    context = click.get_current_context(silent=True)
    files: tuple[str, ...] = context.meta.get(ENV_FILES, ()) if context else ()
    if not files:
        return dict(os.environ)
    from skilltrial.system import env_files

    named: dict[str, str] = {}
    for name in reversed(files):
        named |= env_files.read(Path(name))
    return {**named, **os.environ}


@dataclass
class Session:
    """One call of the command line."""

    cwd: Path = field(default_factory=Path.cwd)
    environ: dict[str, str] = field(default_factory=_environment)
    logging: LoggingConfig | None = None
    """How much is said; None until the settings are read."""

    def settings(self, values: dict[str, Any]) -> Config:
        """The options of a command over variables over the settings file; what they lead to is said as they want it said."""
        from skilltrial.cli import given

        notes: list[str] = []
        try:
            config: Config = given.settings(values, self.cwd, self.environ, notes.append)
            self.logging = config.logging
            self.refuse_mixing(values)
            self.refuse_unknown_listeners()
        finally:
            for note in notes:
                self.say(note)
        return config

    def refuse_mixing(self, values: dict[str, Any]) -> None:
        """Two things cannot both have the output stream."""
        if self.news_on_stdout and values.get("format_", "text") != "text":
            raise UsageError(
                f"--log-file - and --format {values['format_']} would both go to the output stream", "give the news a file"
            )

    def refuse_unknown_listeners(self) -> None:
        """Before anything is begun."""
        from skilltrial import registry

        for name in self.logging.listeners if self.logging else ():
            registry.get("listeners", name)

    @property
    def news_on_stdout(self) -> bool:
        return self.logging is not None and self.logging.format == "jsonl" and self.logging.file == "-"

    @property
    def prints_text(self) -> bool:
        """Whether the output stream is for people: not where nothing is to be said, and not where news go to it."""
        return not self.news_on_stdout and (self.logging is None or self.logging.format != "silent")

    def say(self, text: str) -> None:
        """One message for people; nothing where they want silence, a line of JSON where the error stream is one of JSON."""
        style = self.logging.format if self.logging else None
        if style == "silent":
            return
        if style == "jsonl" and self.logging and self.logging.file is None:
            from skilltrial.flows.newsroom import now

            put(json.dumps({"type": "note", "ts": now(), "text": self.redactor.text(text)[0]}, ensure_ascii=False), err=True)
        else:
            say(text)

    @cached_property
    def stopping(self) -> Stopping:
        from skilltrial.flows.trial import Stopping

        return Stopping()

    @cached_property
    def redactor(self) -> Redactor:
        from skilltrial.flows.machine import redactor_for

        return redactor_for(self.environ)

    @cached_property
    def machine(self) -> Machine:
        from skilltrial.flows.machine import machine_for

        return machine_for(self.environ, self.redactor, self.stopping)

    def workspace(self, config: Config | None = None, given: str | None = None) -> Path:
        """The folder of experiments."""
        chosen = given or (config.workspace if config else None) or self.environ.get("SKILLTRIAL_WORKSPACE") or WORKSPACE
        return Path(self.cwd, chosen)

    def results(self, given: str | None = None) -> Path:
        """Where to look for results: the workspace, or agent-skills-eval's where there is none of ours."""
        ours = self.workspace(given=given)
        theirs = self.cwd / "agent-skills-workspace"
        said = given or "SKILLTRIAL_WORKSPACE" in self.environ
        return ours if said or ours.exists() or not theirs.is_dir() else theirs

    def locate(self, which: str, workspace: str | None) -> Path:
        """The folder of an experiment: a path, N, latest or previous."""
        from skilltrial import formats, store

        path, home = Path(self.cwd, which), self.results(workspace)
        if (path / "experiment.json").is_file():
            return path
        if names_ours(home, which):
            return store.locate(home, which)
        if which == "latest" and workspace and (Path(self.cwd, workspace) / "experiment.json").is_file():
            return Path(self.cwd, workspace)  # agent-skill-eval's `grade -w` names the iteration itself
        if path.is_dir() and (tree := formats.find(path)) is not None:
            raise UsageError(
                f"{path} is a result tree of {tree.format.name}, which is only read",
                f"skilltrial import {which} makes it one of ours",
            )
        return store.locate(home, which)

    def color(self, config: Config | None = None, no_color: bool | None = None) -> bool:
        wanted = config.logging.color if config else None
        if no_color or "NO_COLOR" in self.environ or wanted is False:
            return False
        return wanted is True or sys.stdout.isatty()


def names_ours(home: Path, which: str) -> bool:
    """Whether `latest`, `previous`, N or a name is an experiment in this workspace, whatever a folder of that name holds."""
    from skilltrial import store

    if which in ("latest", "previous"):
        return any(True for _ in store.experiments(home))
    return any((home / name / "experiment.json").is_file() for name in (which, f"iteration-{which}"))


def width() -> int:
    """Columns of the terminal, 80 where there is none."""
    import shutil

    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))


def listeners_for(config: Config, experiment: Experiment, redactor: Redactor) -> list[Listener]:
    """`progress.jsonl` always; on stderr what the settings ask for."""
    from skilltrial import registry

    logging = config.logging
    style = logging.format or "pretty"
    chosen: list[Listener] = [registry.get("listeners", "progress")(experiment.folder / "progress.jsonl", redactor)]
    if style == "jsonl" and logging.file == "-":
        chosen.append(registry.get("listeners", "jsonl")(None, redactor, sys.stdout))
    elif style == "jsonl":
        chosen.append(registry.get("listeners", "jsonl")(Path(logging.file) if logging.file else None, redactor))
    elif style == "pretty" and (logging.verbose or logging.snippet_length):
        from skilltrial.flows.texts import Texts

        texts = Texts(experiment, redactor, answers=None if logging.verbose else logging.snippet_length)
        chosen.append(registry.get("listeners", "lines")(texts=texts))
    elif style == "pretty" and sys.stderr.isatty():
        chosen.append(registry.get("listeners", "live")(color=False if logging.color is False else None))
    elif style == "pretty":
        chosen.append(registry.get("listeners", "lines")())
    return [*chosen, *(registry.get("listeners", name)() for name in logging.listeners)]


def print_summary(
    summary: Summary, view: ExperimentView | None, format_: str, session: Session, *, color: bool, **how: Any
) -> None:
    """The Summary on stdout: text for people, or JSON, or Markdown."""
    if format_ == "json":
        put(session.redactor.text(summary.model_dump_json(indent=2))[0])
    elif format_ == "markdown":
        put(session.redactor.text(_module("markdown").render(summary, view))[0])
    else:
        text = _module("terminal").render(summary, view, width=width(), color=color, **how)
        put(session.redactor.text(text)[0], color=color)


def _module(name: str) -> Any:
    from importlib import import_module

    return import_module(f"skilltrial.reports.{name}")


def confirm_paid(runs: int, expected_cost_usd: float | None, config: Config) -> None:
    """Above 50 paid runs, or 5 USD by what earlier ones cost: asks on a terminal, else wants `--yes` or `--max-cost`."""
    dear = expected_cost_usd is not None and expected_cost_usd > 5
    if (runs <= 50 and not dear) or config.yes or config.budgets.max_cost_usd is not None:
        return
    told = f"{runs} runs that may cost money" + (f", about {expected_cost_usd:.2f} USD by earlier ones" if dear else "")
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"{told}. Go on?", abort=True, err=True)
        return
    raise UsageError(told, "say --yes, or cap it with --max-cost USD")
