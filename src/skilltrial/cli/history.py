"""`skilltrial history`: a series of experiments."""

from __future__ import annotations

from pathlib import Path

import click

from skilltrial.cli.faces import Session, width
from skilltrial.cli.views import must_be_foreign


@click.command("history")
@click.argument("places", nargs=-1, metavar="[PATH]...")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--skill", metavar="NAME", help="This skill only.")
@click.option("--target", metavar="NAME", help="This target only.")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "table", "json"]), default="text")
@click.option("--verbose", is_flag=True, help="Cut nothing.")
@click.option("--no-color", is_flag=True, help="No colour (also NO_COLOR).")
def command(
    places: tuple[str, ...],
    workspace: str | None,
    skill: str | None,
    target: str | None,
    format_: str,
    verbose: bool,
    no_color: bool,
) -> int:
    """Rates and lift of one experiment after the other, per skill and target.

    PATH is a workspace, an experiment, or another tool's tree or workspace; default: the experiments of the workspace.
    """
    from skilltrial.errors import UsageError
    from skilltrial.flows.history import history
    from skilltrial.reports import trend

    session = Session()
    given = [Path(session.cwd, place) for place in places] or [session.results(workspace)]
    found = history(given, session.redactor, skill, target)
    if not found.entries:
        if not (skill or target):
            must_be_foreign(session, str(given[0]))
        raise UsageError(f"no experiment below {', '.join(map(str, given))}" + _filters(skill, target))
    if format_ == "json":
        text = trend.as_json(found)
    else:
        text = trend.as_text(found, width=width(), color=session.color(no_color=no_color), verbose=verbose)
    click.echo(session.redactor.text(text)[0], nl=False)
    return 0


def _filters(skill: str | None, target: str | None) -> str:
    told = [f"{name} '{value}'" for name, value in (("skill", skill), ("target", target)) if value]
    return f" has {' and '.join(told)}" if told else ""
