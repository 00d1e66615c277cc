"""`skilltrial adapter check`: does an executable keep to the adapter protocol?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import click

from skilltrial.cli.faces import Session, put, say
from skilltrial.cli.options import seconds
from skilltrial.errors import UsageError

if TYPE_CHECKING:
    from skilltrial.flows.conformance import Kept


@click.group("adapter")
def command() -> None:
    """Adapters: programs that run a task for skilltrial. `skilltrial adapter check EXE` says whether one keeps to the protocol."""


@command.command("check")
@click.argument("executable", metavar="EXE")
@click.option("--adapter-arg", "args", multiple=True, metavar="ARG", help="One argument for it; repeatable.")
@click.option("--protocol", type=click.Choice(["1", "2"]), default="1", help="Version it is to speak (default 1).")
@click.option(
    "--timeout",
    "--timeout-seconds",
    "timeout_s",
    type=seconds,
    default="60",
    metavar="SECONDS",
    help="Limit on one run (default 60).",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What goes to stdout.")
@click.option("--verbose", is_flag=True, help="Also list what is kept.")
def check(
    executable: str, args: tuple[str, ...], protocol: Literal["1", "2"], timeout_s: float, format_: str, verbose: bool
) -> int:
    """Run EXE through about thirty behaviours and print the rules it breaks.

    It is started about fifteen times, nine of them with a short task: what calls a paid model costs that much.

    Exit: 0 every rule is kept, 1 some are broken, 2 it cannot be started.
    """
    from skilltrial.flows import conformance
    from skilltrial.flows.conformance_runs import Runs

    session = Session()
    runs = Runs(executable, args, 2 if protocol == "2" else 1, timeout_s, session.machine, lambda name: say(f"asking: {name}"))
    probe = runs.adapter.probe(session.machine)
    if not probe.ok:
        raise UsageError(probe.reason)
    first = runs.good("without_skill")
    if first.exit is None:
        raise UsageError(first.trouble)
    checked = conformance.check(runs)
    told = session.redactor.value([row.model_dump() for row in checked.rows])[0]
    if format_ == "json":
        put(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        put(session.redactor.text(_text(checked.rows, verbose))[0])
    return 1 if checked.broken else 0


def _text(rows: tuple[Kept, ...], verbose: bool) -> str:
    from skilltrial.wording.untrusted import line

    words = {"kept": "kept     ", "broken": "BROKEN   ", "not told": "not told "}
    lines = []
    for row in rows:
        if row.state != "kept" or verbose:
            lines.append(f"{words[row.state]}{row.behaviour}: {row.rule}")
            if row.found:
                lines.append(f"         {line(row.found, 400)}")
    counts = {state: sum(row.state == state for row in rows) for state in words}
    lines.append(f"{counts['kept']} of {len(rows)} rules kept, {counts['broken']} broken, {counts['not told']} not told")
    return "\n".join(lines)
