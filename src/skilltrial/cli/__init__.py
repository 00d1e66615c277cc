"""The command line: one file per command, imported when it is called."""

from __future__ import annotations

import errno
import gc
import os
import sys
from importlib import import_module
from typing import Any

import click

from skilltrial.errors import Interrupted, NothingToDo, UsageError
from skilltrial.version import VERSION

FIRST = {
    "init": "A new skill with a suite that validates and runs.",
    "validate": "Every problem of every skill and suite, with line and column.",
    "run": "Run a trial: the same tasks with and without the skill.",
    "report": "The report of an experiment.",
    "compare": "Two experiments side by side.",
    "agents": "Which backends work on this machine, and why not.",
}
MORE = {
    "adapter": "Does a program keep to the adapter protocol?",
    "list": "Skills and suites found, and how they pair.",
    "plan": "What `run` would do: cells, calls, cost; runs nothing.",
    "task": "One task typed by hand, with and without a skill.",
    "resume": "Run only what is missing of an experiment.",
    "submit": "Answers to packets: grade them and go on.",
    "grade": "Grade stored evidence again; nothing is run.",
    "status": "What happened in an experiment.",
    "show": "One cell: prompt, final text, checks with evidence.",
    "generate": "A suite for a skill that has none, drafted by a judge.",
    "export": "Write an experiment in another form.",
    "convert": "A suite of another form as evals.json.",
    "cleanup": "Remove what `cleanup.json` recorded.",
    "history": "Rates and lift of one experiment after the other.",
    "import": "Another tool's results as an experiment.",
    "merge": "Put the shards of one experiment together.",
    "schema": "JSON Schemas of all files.",
}
ALIASES = {"doctor": "agents"}
OF_THE_MACHINE = frozenset(
    (
        errno.EIO,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.ENAMETOOLONG,
        errno.ELOOP,
        errno.EMFILE,
        errno.ENFILE,
    )
)
"""What the system refuses and the user can mend: no room, no permission, a name that is too long."""
THEIRS = {
    "run-all": "run FOLDER", "validate-all": "validate FOLDER", "report-all": "report", "portfolio": "list --portfolio",
    "archive-run": "export --format archive", "rerun-failed": "run --last-failed", "runners": "agents",
}  # fmt: skip
"""Commands of agent-skill-eval and skill-ab-eval, and what does the same here."""
MODULES = {"list": "list_", "import": "import_"}


class Commands(click.Group):
    """Loads a command when it is called; the help needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*FIRST, *MORE]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        name = ALIASES.get(name, name)
        if name not in FIRST and name not in MORE:
            return None
        command = import_module(f"skilltrial.cli.{MODULES.get(name, name)}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if args[0] in THEIRS:
                raise click.UsageError(f"{error.message} It is `skilltrial {THEIRS[args[0]]}` here.", ctx) from None
            close = get_close_matches(args[0], [*FIRST, *MORE, *ALIASES], 1)
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{close[0]}'?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Start here"):
            formatter.write_dl(list(FIRST.items()))
        with formatter.section("More"):
            formatter.write_dl(list(MORE.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, "-V", "-v", "--version", message="skilltrial %(version)s")
@click.option("--repo-root", metavar="DIR", hidden=True)
@click.pass_context
def skilltrial(context: click.Context, repo_root: str | None) -> None:
    """Controlled trials of Agent Skills: how much a skill helps, and how sure that is."""
    context.obj = repo_root


def run_command_line(args: list[str] | None = None) -> None:
    """Runs one command and exits: 0, 1, 2, 3 by the contract, 130 when interrupted. Mendable faults show no traceback."""
    _open_closed_streams()
    code = exit_code_of(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # what was left went to a reader that had gone; the result of the command stands
        _closed_pipe()
    gc.freeze()  # else the interpreter looks for garbage once more at its end, for 40 ms
    sys.exit(code)


def exit_code_of(args: list[str] | None = None) -> int:
    """What `run_command_line` exits with."""
    try:
        result: Any = skilltrial.main(args=args, standalone_mode=False)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        error.show(sys.stderr)
        return 2
    except UsageError as error:
        click.echo(f"error: {error}" if not str(error).startswith("error") else str(error), err=True)
        return 2
    except NothingToDo as error:
        click.echo(str(error), err=True)
        return 0
    except (KeyboardInterrupt, click.Abort, Interrupted) as error:
        if str(error):
            click.echo(str(error), err=True)
        return 130
    except BrokenPipeError:
        return _closed_pipe()
    except OSError as error:
        if error.errno not in OF_THE_MACHINE:
            raise
        click.echo(_machine_says(error), err=True)
        if not error.filename:
            _closed_pipe()
        return 2
    return result if isinstance(result, int) else 0


def _machine_says(error: OSError) -> str:
    """What the system refused, without a traceback: nothing in our code mends a full disk or a name that is too long."""
    name = error.filename.decode("utf-8", "replace") if isinstance(error.filename, bytes) else str(error.filename or "")
    where = f"{name[:200]}{'…' if len(name) > 200 else ''}" if name else "the output cannot be written"
    return f"error: {where}: {error.strerror or error}"


def _open_closed_streams() -> None:
    """A stream closed by the caller (`>&-`) swallows what goes to it; else the next file opened would take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - open until the process ends


def _closed_pipe() -> int:
    """The reader of our output has gone away; nothing more can be said on it."""
    os.dup2(os.open(os.devnull, os.O_RDWR), sys.stdout.fileno())
    return 0
