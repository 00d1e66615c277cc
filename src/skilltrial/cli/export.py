"""`skilltrial export`: an experiment in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from skilltrial.cli.faces import Session
from skilltrial.cli.views import opened_view, place_for_pages
from skilltrial.errors import UsageError

FORMATS = (
    "native", "standard", "skill-creator", "ase-npm", "ase-py", "sab", "handbook", "inspect",
    "markdown", "json", "csv", "junit", "html", "archive",
)  # fmt: skip
OTHERS = frozenset({"standard", "skill-creator", "ase-npm", "ase-py", "sab", "handbook", "inspect"})
"""Trees of other tools: each goes into a folder of its own."""


class Forms(click.Choice[str]):
    """Our forms, and those that installed packages bring; the latter are looked for only when one is named."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from skilltrial import registry

        if value not in FORMATS and value in (*registry.installed("reports"), *registry.installed("formats")):
            return str(value)
        return super().convert(value, param, ctx)


@click.command("export")
@click.argument("experiment", default="latest")
@click.option(
    "--format",
    "-f",
    "format_",
    type=Forms(FORMATS),
    default="native",
    help="native: a folder per cell; archive: a small copy to keep; the others: as that tool has it.",
)
@click.option(
    "--output",
    "-o",
    metavar="DIR",
    help="Where to (default: the experiment's own folder; for archives and other tools' trees, export/FORMAT in it).",
)
@click.option("--include-output", is_flag=True, help="archive: with what runs said and left, so that they can be graded again.")
@click.option("--force", is_flag=True, help="archive: replace the archive that lies there.")
@click.option("--layout", type=click.Choice(["iteration", "flat"]), help="ase-npm: flat gives a single skill a folder too.")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--iteration", "-i", type=int, hidden=True)
def command(
    experiment: str,
    format_: str,
    output: str | None,
    include_output: bool,
    force: bool,
    layout: str | None,
    workspace: str | None,
    iteration: int | None,
) -> int:
    """Write EXPERIMENT (ours, or another tool's result tree) in another form; it stays as it is.

    What was not measured is null or left out, never 0. An archive holds the plan, the journal, the report and a few small
    files per run, with a list of all; `report`, `compare` and `history` read it like the experiment itself.
    """
    from skilltrial import analyze, registry
    from skilltrial.flows.out import FolderOut

    if (include_output or force) and format_ != "archive":
        raise UsageError(f"--{'include-output' if include_output else 'force'} is for --format archive")
    if layout and format_ != "ase-npm":
        raise UsageError("--layout is for --format ase-npm")
    how = {"flat": True} if layout == "flat" else {}
    session = Session()
    with opened_view(session, str(iteration) if iteration else experiment, workspace) as opened:
        place = place_for_pages(session, opened, workspace)
        if format_ == "archive":
            from skilltrial.flows.archiving import archive

            goal = Path(session.cwd, output) if output else place / "export" / format_
            archive(opened, goal, session.redactor, include_output=include_output, force=force)
            click.echo(goal)
            return 0
        apart = format_ in OTHERS or format_ in registry.installed("formats")
        own = place / "export" / format_ if apart else place
        goal = Path(session.cwd, output) if output else own
        if apart and goal.is_dir() and any(goal.iterdir()):
            raise UsageError(
                f"{goal} is not empty: what is there would be read as part of the tree", "name another with --output"
            )
        family = "formats" if format_ in registry.names("formats") else "reports"
        registry.get(family, format_)().write(analyze.summary(opened), opened, FolderOut(goal, session.redactor), **how)
    click.echo(goal)
    return 0
