"""`skilltrial submit`: answers to packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from skilltrial.cli import given, options
from skilltrial.cli.faces import Session, put, say


@click.command("submit")
@click.argument("experiment", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option(
    "--answer",
    "answers",
    nargs=2,
    multiple=True,
    metavar="PACKET FILE",
    help="FILE answers PACKET; for the others answer.md in the packet's folder counts; repeatable.",
)
@click.option("--list", "list_", is_flag=True, help="Only print the folders of the packets that wait.")
@options.env_file
@options.output_options
def command(experiment: str, workspace: str | None, answers: tuple[tuple[str, str], ...], list_: bool, **values: Any) -> int:
    """Take the answers to the packets of EXPERIMENT (a folder, N, latest or previous), then grade and report.

    Packets are what `--target manual` and `--judge manual` write. An answer begins with the line `context: NAME`, which
    names the session that gave it. No packet is taken twice, and no two from one context; all faults are told at once and
    nothing is submitted then. Questions to the judge become packets of their own, submitted the same way.

    Exit: 3 while packets wait, else the gate's code.
    """
    from skilltrial import store
    from skilltrial.cli.run import finish
    from skilltrial.errors import UsageError
    from skilltrial.flows import answers as flow

    session = Session()
    config = given.from_options(values, session.cwd, say)
    session.logging = config.logging
    session.refuse_mixing(values)
    folder = session.locate(experiment, workspace)
    with store.open_(folder, write=not list_, redactor=session.redactor) as opened:
        if list_:
            left = flow.waiting(opened)
            for path in (*left.runs, *left.questions):
                put(str(path))
            return 0
        found = flow.accept(opened, [(packet, Path(session.cwd, file)) for packet, file in answers])
        how = flow.how_to_go_on(opened)
        if not found and how:
            raise UsageError("there is no answer yet", how)
        if not found:
            session.say("no packet waits for an answer")
        return finish(session, config, values, opened, found)
