"""`skilltrial resume`: run only what is missing."""

from __future__ import annotations

from typing import Any

import click

from skilltrial.cli import given, options
from skilltrial.cli.faces import Session, say


@click.command("resume")
@click.argument("experiment", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@options.env_file
@options.cap_options
@options.output_options
def command(experiment: str, workspace: str | None, **values: Any) -> int:
    """Run only what is missing of EXPERIMENT (a folder, N, latest or previous).

    Nothing finished is run or paid for again. Inputs are the copies made when the experiment began; what differs on
    disk by now is said. A cap on cost or calls counts what was spent before; given here it replaces the one that ended
    the experiment.
    """
    from skilltrial import store
    from skilltrial.cli.run import finish
    from skilltrial.flows.drift import drift
    from skilltrial.flows.elsewhere import refuse_to_run
    from skilltrial.flows.targets import probe_plan

    session = Session()
    config = given.from_options(values, session.cwd, say)
    session.logging = config.logging
    session.refuse_mixing(values)
    folder = session.locate(experiment, workspace)
    with store.open_(folder, write=True, redactor=session.redactor) as opened:
        refuse_to_run(opened.plan)
        for line in drift(opened.plan):
            session.say(f"note: {line}")
        if any(need for _, need in opened.remaining()):
            probe_plan(opened.plan, session.machine)
        else:
            session.say("nothing is missing")
        return finish(session, config, values, opened)
