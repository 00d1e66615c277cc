"""`skilltrial import`: another tool's results as an experiment of ours."""

from __future__ import annotations

from pathlib import Path

import click

from skilltrial.cli.faces import Session, print_summary, say
from skilltrial.cli.views import must_be_foreign


@click.command("import")
@click.argument("folder")
@click.option("--all", "every", is_flag=True, help="Every iteration below FOLDER, not the last one only.")
@click.option("--workspace", "-w", metavar="DIR", help="Where the experiment goes.")
@click.option("--run-id", metavar="NAME", help="Name of its folder.")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "json", "markdown"]), default="text")
def command(folder: str, every: bool, workspace: str | None, run_id: str | None, format_: str) -> int:
    """Make an experiment from another tool's result tree, with rates, lift and intervals worked out anew.

    Known are agent-skills-eval, agent-skill-eval, skill-ab-eval, the handbook's harness, the standard's and skill-creator's
    workspaces, and `claude plugin eval`. `report`, `compare`, `history` and `export` take these trees as they are, too.
    """
    from skilltrial import formats
    from skilltrial.flows import importing, trial

    session = Session()
    last = must_be_foreign(session, folder)
    trees = list(formats.trees(Path(session.cwd, folder))) if every else [last]
    for tree in trees:
        view = tree.read()
        with importing.imported(view, session.workspace(given=workspace), session.redactor, run_id) as made:
            summary = trial.conclude(made, session.machine)
            say(f"{tree.root} ({view.format}) is {made.folder}")
            if tree is trees[-1]:
                print_summary(summary, made, format_, session, color=session.color())
    return 0
