"""`skilltrial init`: a new skill, or a suite for one, that validates and runs."""

from __future__ import annotations

from pathlib import Path

import click

TEMPLATES = ("basic", "review-diff", "commit-pr", "config-validator")
"""Skills that `--template` knows; the first is what a new skill starts from when none is named."""


@click.command("init")
@click.argument("where", required=False, metavar="[NAME|PATH]")
@click.option("--template", "-t", metavar="NAME", help=f"What the new skill starts from: {', '.join(TEMPLATES)} (default basic).")
@click.option("--layout", type=click.Choice(["standalone", "plugin"]), help="A skill by itself (default), or one in a plugin.")
@click.option("--plugin", metavar="NAME", help="Put it into this plugin, as NAME/skills/…; implies --layout plugin.")
@click.option("--config", is_flag=True, help="Also write skilltrial.yaml, every key with a comment; alone: only that.")
@click.option("--output", "-o", metavar="DIR", help="Where to put it; default: the working folder.")
def command(
    where: str | None, template: str | None, layout: str | None, plugin: str | None, config: bool, output: str | None
) -> int:
    """A new skill NAME with three cases: one positive, one near miss, one safe stop. In a folder with a SKILL.md only evals/ is added.

    Templates: basic (notes into a summary), review-diff (read-only review), commit-pr (branch, commit, request),
    config-validator (a bundled script).
    """
    from skilltrial.cli.scaffold import scaffold
    from skilltrial.errors import UsageError
    from skilltrial.system.files import write_atomic

    if plugin is not None and layout == "standalone":
        raise UsageError("--layout standalone and --plugin contradict each other", "leave one of them out")
    plugin = plugin or (where if layout == "plugin" else None)
    made = scaffold(where, Path(output) if output else Path(), template=template, config=config, plugin=plugin)
    for file in made:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file.path, file.text, None)
        click.echo(f"written: {file.path}", err=True)
    suite = next((file.path for file in made if file.path.name == "evals.json"), None)
    if suite is not None:
        skill = suite.parent.parent
        click.echo(
            f"next: skilltrial validate {skill}\n      skilltrial run {skill} --target fake    (no model: tries the suite, its verdict means nothing)",
            err=True,
        )
    return 0
