"""`skilltrial report`: the report of an experiment."""

from __future__ import annotations

from typing import Any

import click

from skilltrial.cli.faces import Session, print_summary, say
from skilltrial.cli.views import opened_view, place_for_pages


@click.command("report")
@click.argument("experiment", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "table", "json", "markdown", "html"]), default="text")
@click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help="Write it, by suffix .xml .md .json .html .csv.")
@click.option("--metric", type=click.Choice(["checks", "cases", "score"]), help="Count otherwise than the experiment did.")
@click.option("--scope", type=click.Choice(["these", "like"]), help="Which scope leads.")
@click.option("--failures-only", is_flag=True, help="Only what failed.")
@click.option("--show-evidence", is_flag=True, help="With the evidence of each check.")
@click.option("--no-color", is_flag=True)
@click.option("--exit-code", is_flag=True, help="Exit with the gate's code.")
@click.option("--iteration", "-i", type=int, hidden=True)
def command(
    experiment: str,
    workspace: str | None,
    format_: str,
    outputs: tuple[str, ...],
    metric: Any,
    scope: Any,
    failures_only: bool,
    show_evidence: bool,
    no_color: bool,
    exit_code: bool,
    iteration: int | None,
) -> int:
    """The report of EXPERIMENT (a folder, N, latest or previous, or another tool's result tree). Nothing is run."""
    from pathlib import Path

    from skilltrial import analyze, registry
    from skilltrial.cli.given import check_outputs
    from skilltrial.flows.out import FolderOut
    from skilltrial.flows.trial import write_outputs

    session = Session()
    check_outputs(outputs)
    with opened_view(session, str(iteration) if iteration else experiment, workspace) as opened:
        summary = analyze.summary(opened, metric=metric, scope=scope)
        write_outputs([str(Path(session.cwd, name)) for name in outputs], summary, opened, session.redactor)
        if format_ == "html":
            folder = place_for_pages(session, opened, workspace)
            registry.get("reports", "html")().write(summary, opened, FolderOut(folder, session.redactor))
            click.echo(folder / "report" / "index.html")
        else:
            how = {"failures_only": failures_only, "show_evidence": show_evidence} if format_ in ("text", "table") else {}
            shape = "text" if format_ == "table" else format_
            print_summary(summary, opened, shape, session, color=session.color(no_color=no_color), **how)
        for name in outputs:
            say(f"wrote {name}")
    return summary.gate.exit_code if exit_code else 0
