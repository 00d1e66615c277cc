"""`skilltrial init`: a new skill, or a suite for one, that validates and runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("init")
@click.argument("where", required=False, metavar="[NAME|PATH]")
@click.option("--template", "-t", default="basic", show_default=True, metavar="NAME", help="What the new skill starts from.")
@click.option("--config", is_flag=True, help="Also write skilltrial.yaml, every key with a comment; alone: only that.")
@click.option("--output", "-o", metavar="DIR", help="Where to put it; default: the working folder.")
def command(where: str | None, template: str, config: bool, output: str | None) -> int:
    """A new skill NAME with three cases: one positive, one near miss, one safe stop. In a folder with a SKILL.md only evals/ is added."""
    from skilltrial.cli.scaffold import scaffold
    from skilltrial.system.files import write_atomic

    made = scaffold(where, Path(output) if output else Path(), template=template, config=config)
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
