"""`skilltrial schema`: JSON Schemas of all files."""

from __future__ import annotations

import click


@click.command("schema")
@click.argument("name", required=False)
def command(name: str | None) -> int:
    """The JSON Schema called NAME, or the names there are."""
    from skilltrial.records import schema

    click.echo(schema.emit(name))
    return 0
