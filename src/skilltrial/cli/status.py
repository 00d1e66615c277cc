"""`skilltrial status`: what happened."""

from __future__ import annotations

import click

from skilltrial.cli.faces import Session
from skilltrial.cli.views import opened_view


@click.command("status")
@click.argument("experiment", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("--exit-code", is_flag=True, help="Exit with the gate's code.")
@click.option("--iteration", "-i", type=int, hidden=True)
def command(experiment: str, workspace: str | None, format_: str, exit_code: bool, iteration: int | None) -> int:
    """What happened in EXPERIMENT (a folder, N, latest or previous): done, failed, not measured, spent."""
    from skilltrial import analyze
    from skilltrial.reports import status

    session = Session()
    with opened_view(session, str(iteration) if iteration else experiment, workspace) as opened:
        summary = analyze.summary(opened)
    text = summary.model_dump_json(indent=2) if format_ == "json" else status.render(summary)
    click.echo(session.redactor.text(text)[0])
    return summary.gate.exit_code if exit_code else 0
