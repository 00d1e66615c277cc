"""`skilltrial list`: skills and suites found, how they pair, and what they last came to."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("list")
@click.argument("roots", nargs=-1, metavar="[ROOT]...")
@click.option("--portfolio", "with_results", is_flag=True, help="With the newest results of each skill in the workspace.")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are (skilltrial-workspace).")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "table", "json"]), default="text")
@click.option("--root", "-r", "more_roots", multiple=True, hidden=True)
def command(roots: tuple[str, ...], with_results: bool, workspace: str | None, format_: str, more_roots: tuple[str, ...]) -> int:
    """Skills and suites found below ROOT, how they pair, dialect and number of cases. Nothing is started.

    With --portfolio: of each skill the pass rate, the lift with its interval, the verdict and the gate of its newest run on
    each target, and how old it is. Experiments of other tools in the workspace count too.
    """
    from skilltrial.load import listing

    if with_results:
        return _portfolio((*roots, *more_roots), workspace, format_)
    rows = listing.rows((*roots, *more_roots), Path.cwd())
    if format_ == "json":
        click.echo(json.dumps([row._asdict() for row in rows], ensure_ascii=False, indent=2, default=str))
        return 0
    if not rows:
        click.echo("no skill found", err=True)
        return 0
    columns = ("skill", "status", "cases", "dialect", "suite")
    table = [columns, *(tuple(_text(getattr(row, name, None)) for name in columns) for row in rows)]
    widths = [max(len(row[n]) for row in table) for n in range(len(columns))]
    for line in table:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _portfolio(roots: tuple[str, ...], workspace: str | None, format_: str) -> int:
    from skilltrial.cli.faces import Session, width
    from skilltrial.flows.portfolio import portfolio
    from skilltrial.reports import portfolio as report

    session = Session()
    found = portfolio(roots, session.cwd, session.workspace(given=workspace), session.redactor)
    text = report.as_json(found) if format_ == "json" else report.as_text(found, width=width(), color=session.color())
    click.echo(session.redactor.text(text)[0], nl=False)
    return 0


def _text(value: object) -> str:
    from skilltrial.wording import untrusted

    if value is None:
        return "-"
    return untrusted.line(", ".join(map(str, value)) if isinstance(value, tuple) else str(value))
