"""`skilltrial show`: one cell."""

from __future__ import annotations

import click

from skilltrial.cli.faces import Session, width
from skilltrial.cli.views import opened_view


@click.command("show")
@click.argument("cell")
@click.argument("experiment", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("--verbose", is_flag=True, help="Cut nothing.")
@click.option("--no-color", is_flag=True, help="No colour (also NO_COLOR).")
def command(cell: str, experiment: str, workspace: str | None, format_: str, verbose: bool, no_color: bool) -> int:
    """One cell of EXPERIMENT: prompt, final text, checks with evidence, files, judge, log tail, a line to run it again.

    CELL is skill/case/target/arm/repetition, or as much of it as is clear.
    """
    from skilltrial.flows.lookup import Lookup
    from skilltrial.reports import cell as page

    session = Session()
    with opened_view(session, experiment, workspace) as opened:
        result = opened.result_of(Lookup(opened.plan).cell(cell))
        if format_ == "json":
            text = page.as_json(result, opened)
        else:
            text = page.render(result, opened, width=width(), color=session.color(no_color=no_color), verbose=verbose)
    click.echo(session.redactor.text(text)[0])
    return 0
