"""`skilltrial agents` (also `doctor`): what works here."""

from __future__ import annotations

import json
from typing import Any

import click

from skilltrial.cli import options
from skilltrial.cli.faces import Session, say


@click.command("agents")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--install", type=click.Choice(["local"]), help="Install what the embedded model needs.")
@click.option("--probe", "probe_it", is_flag=True, help="Give each that works one tiny real task; may cost a little.")
@options.env_file
@click.option("--format", "-f", "format_", type=click.Choice(["text", "json"]), default="text")
def command(names: tuple[str, ...], install: str | None, probe_it: bool, format_: str) -> int:
    """Which backends work on this machine, with program, version, login and what each can do.

    NAME is a backend, or backend:value as for --target.
    """
    from skilltrial import registry
    from skilltrial.flows import doctor

    session = Session()
    if install:
        return doctor.install_local(say)
    known = [name for name in registry.names("backends") if name != "library"]  # objects of a program, none of a machine
    rows = [doctor.examine(_meant(name), session.machine, probe_it=probe_it) for name in names or known]
    if format_ == "json":
        click.echo(json.dumps([row.model_dump(mode="json") for row in rows], ensure_ascii=False, indent=2))
    else:
        click.echo(doctor.render(rows))
        if not names:
            click.echo(doctor.render_sandboxes(session.machine))
    chosen: list[Any] = [row for row in rows if names and not row.ok]
    return 1 if chosen else 0


def _meant(name: str) -> str:
    """`claude:haiku` is `claude-code:haiku`, as for `--target`."""
    from skilltrial.load.targets import ALIASES

    head, colon, value = name.partition(":")
    return f"{ALIASES.get(head, head)}{colon}{value}"
