"""`skilltrial compare`: two experiments."""

from __future__ import annotations

import click

from skilltrial.cli.faces import Session
from skilltrial.cli.views import opened_view


@click.command("compare")
@click.argument("one", default="previous")
@click.argument("other", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "table", "json", "markdown"]), default="text")
@click.option("--exit-code", is_flag=True, help="Exit 1 when a case got worse.")
def command(one: str, other: str, workspace: str | None, format_: str, exit_code: bool) -> int:
    """Two experiments side by side (default: the last two). A case has changed only with three repetitions on both sides."""
    from skilltrial import analyze
    from skilltrial.reports import comparison

    session = Session()
    with opened_view(session, one, workspace) as first, opened_view(session, other, workspace) as second:
        found = analyze.compare(first, second)
    render = {"json": comparison.as_json, "markdown": comparison.as_markdown}.get(format_, comparison.as_text)
    click.echo(session.redactor.text(render(found))[0])
    return 1 if exit_code and found.got_worse else 0
