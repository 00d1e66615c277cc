"""`skilltrial list`: skills and suites found, and how they pair."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("list")
@click.argument("roots", nargs=-1, metavar="[ROOT]...")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "table", "json"]), default="text")
def command(roots: tuple[str, ...], format_: str) -> int:
    """Skills and suites found below ROOT, how they pair, dialect and number of cases. Nothing is started."""
    from skilltrial.load import listing

    rows = listing.rows(roots, Path.cwd())
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


def _text(value: object) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
