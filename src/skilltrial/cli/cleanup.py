"""`skilltrial cleanup`: remove what `cleanup.json` recorded."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from skilltrial.cli.faces import Session, say
from skilltrial.errors import UsageError


class Days(click.ParamType[float]):
    """Days as a number, or with a unit: 30, 30d, 12h, 4w."""

    name = "days"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        unit = {"h": 1 / 24, "d": 1.0, "w": 7.0}.get(str(value)[-1:])
        try:
            days = float(str(value)[:-1]) * unit if unit else float(value)
        except ValueError:
            days = -1.0
        if not 0 <= days < 1e6:
            self.fail(f"'{value}' is no age; write 30, 30d, 12h or 4w", param, ctx)
        return days


@click.command("cleanup")
@click.argument("experiment", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--older-than", metavar="DAYS", type=Days(), help="Instead: whole experiments older than this: 30, 30d, 12h or 4w.")
@click.option("--keep", metavar="N", type=click.IntRange(min=0), help="With --older-than: but never the newest N.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--iteration", "-i", hidden=True)
def command(
    experiment: str, workspace: str | None, older_than: float | None, keep: int | None, yes: bool, iteration: str | None
) -> int:
    """Remove what EXPERIMENT left behind, as its `cleanup.json` says, and nothing else.

    That is kept workspaces, and branches that runs pushed to a real remote, where they still stand as the run left them.
    Pull and merge requests are only told.
    """
    session = Session()
    if keep is not None and older_than is None:
        raise UsageError("--keep goes with --older-than", "say how old: --older-than 30d --keep 5; --older-than 0 means any age")
    if older_than is not None:
        return _old(session, session.workspace(given=workspace), older_than, keep or 0, yes)
    from skilltrial.flows import leftovers

    folder = session.locate(iteration or experiment, workspace)
    found = leftovers.read(folder)
    for request in found.review_requests:
        say(f"close it yourself: {request}")
    listed = [*found.workspaces, *map(str, found.remote_branches)]
    if not listed:
        say(f"{folder.name} left nothing {'else ' if found.review_requests else ''}behind")
        return 0
    _sure(listed, yes)
    done = leftovers.clean(folder, session.environ)
    for name in done.removed:
        click.echo(f"removed {name}")
    for name in done.refused:
        say(f"left alone: {name}")
    return 0


def _old(session: Session, workspace: Path, days: float, keep: int, yes: bool) -> int:
    from skilltrial import store
    from skilltrial.system.files import remove_tree

    limit = datetime.now(UTC) - timedelta(days=days)
    folders = list(store.experiments(workspace))
    spared = set(folders[len(folders) - keep :]) if keep else set()
    old = [folder for folder in folders if folder not in spared and _made(folder) < limit]
    if not old:
        say(f"no experiment in {workspace} is older than {days:g} day{'' if days == 1 else 's'}")
        return 0
    _sure([str(folder) for folder in old], yes)
    for folder in old:
        if why := _needed(folder):
            say(f"left alone: {why}")
        elif remove_tree(folder):
            click.echo(f"removed {folder}")
        else:
            say(f"not removed whole: {folder}; something in it may not be deleted")
    return 0


def _needed(folder: Path) -> str | None:
    """Why an old experiment has to stay for now."""
    from skilltrial.flows import leftovers
    from skilltrial.store.lock import WriterLock

    found = leftovers.read(folder)
    if found.workspaces or found.remote_branches:
        return f"{folder} knows what it left behind; first: skilltrial cleanup {folder}"
    try:
        WriterLock(folder).release()
    except UsageError as error:
        return error.message
    return None


def _made(folder: Path) -> datetime:
    return datetime.fromtimestamp((folder / "experiment.json").stat().st_mtime, UTC)


def _sure(what: list[str], yes: bool) -> None:
    if yes:
        return
    for line in what:
        say(f"to remove: {line}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nothing was removed", "say --yes to remove it")
    click.confirm("Remove it?", abort=True, err=True)
