"""`skilltrial export`: an experiment in another form."""

from __future__ import annotations

from pathlib import Path

import click

from skilltrial.cli.faces import Session

FORMATS = ("native", "markdown", "json", "csv", "junit", "html")


@click.command("export")
@click.argument("experiment", default="latest")
@click.option("--format", "-f", "format_", type=click.Choice(FORMATS), default="native", help="native: a folder per cell.")
@click.option("--output", "-o", metavar="DIR", help="Where to (default: the experiment's own folder).")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
def command(experiment: str, format_: str, output: str | None, workspace: str | None) -> int:
    """Write EXPERIMENT in another form; the experiment itself stays as it is."""
    from skilltrial import analyze, registry, store
    from skilltrial.flows.out import FolderOut

    session = Session()
    folder = session.locate(experiment, workspace)
    goal = Path(session.cwd, output) if output else folder
    with store.open_(folder, write=False, redactor=session.redactor) as opened:
        family = "formats" if format_ in registry.names("formats") else "reports"
        registry.get(family, format_)().write(analyze.summary(opened), opened, FolderOut(goal, session.redactor))
    click.echo(goal)
    return 0
