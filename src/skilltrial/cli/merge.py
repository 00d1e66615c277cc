"""`skilltrial merge`: shards together."""

from __future__ import annotations

from pathlib import Path

import click

from skilltrial.cli.faces import Session, names_ours, print_summary, say


@click.command("merge")
@click.argument("shards", nargs=-1, required=True, metavar="EXPERIMENT...")
@click.option("--workspace", "-w", metavar="DIR", help="Where the merged experiment goes.")
@click.option("--run-id", metavar="NAME", help="Name of its folder.")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "json", "markdown"]), default="text")
def command(shards: tuple[str, ...], workspace: str | None, run_id: str | None, format_: str) -> int:
    """Put the shards of one experiment (`run --shard I/N`) together and report on the whole; exits with the gate's code."""
    from skilltrial.flows import merge, trial

    session = Session()
    home = session.results(workspace)
    folders = [session.locate(shard, workspace) if names_ours(home, shard) else Path(session.cwd, shard) for shard in shards]
    with merge.merge(folders, session.workspace(given=workspace), session.redactor, run_id) as merged:
        summary = trial.conclude(merged, session.machine)
        print_summary(summary, merged, format_, session, color=session.color())
        say(f"report: {merged.folder / 'report' / 'index.html'}")
    return summary.gate.exit_code
