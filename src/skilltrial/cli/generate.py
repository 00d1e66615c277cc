"""`skilltrial generate`: a suite for a skill that has none."""

from __future__ import annotations

from typing import Any

import click

from skilltrial.cli import given, options
from skilltrial.cli.faces import Session, put, say


@click.command("generate")
@click.argument("skill", default=".")
@click.option("--judge", metavar="BACKEND:VALUE", help="Who drafts the suite: openai:MODEL, anthropic:MODEL, an agent program.")
@click.option("--judge-base-url", metavar="URL", help="Its endpoint.")
@click.option("--judge-api-key-env", metavar="NAME", help="Variable that holds its key.")
@click.option("--judge-param", "judge_params", multiple=True, metavar="K=V", help="Request parameter; repeatable.")
@click.option("--output", "-o", "place", metavar="FILE", help="Where the suite goes (SKILL/evals/evals.json).")
@click.option("--dry-run", is_flag=True, help="Print the suite and write nothing; the judge is asked all the same.")
@options.env_file
@click.option("--config", "config_file", metavar="FILE", help="Settings; default: skilltrial.yaml here or above.")
@click.option("--no-config", is_flag=True, help="Read no settings file.")
def command(skill: str, place: str | None, dry_run: bool, **values: Any) -> int:
    """Draft a suite for SKILL, a folder with a SKILL.md that has none; nothing is overwritten.

    The judge writes 3 to 6 neutral cases with 2 to 5 assertions each, a near miss and a safe stop. They are a draft, marked
    `"reviewed": false`: read them, mend them, then take the mark out. What looks weak is said.
    """
    from skilltrial.flows import generate
    from skilltrial.flows.targets import judge_levelled, probe_all

    session = Session()
    config = given.settings(values, session.cwd, session.environ, say)
    judge = judge_levelled(_judge(config), config, session.machine, say)
    assert judge is not None
    probe_all((), judge, session.machine)
    made = generate.generate(skill, place, judge.target, session.cwd, session.machine)
    for problem in made.problems:
        say(f"{problem.severity}: {problem}")
    if dry_run:
        put(session.redactor.text(made.text)[0].rstrip("\n"))
        for name in made.fixtures:
            say(f"would also be written: {made.folder / name}")
        return 0
    for path in generate.write(made):
        say(f"written: {path}")
    say('a draft: read it, mend it, then take "reviewed": false out')
    say(f"next: skilltrial validate {made.folder}")
    return 0


def _judge(config: Any) -> Any:
    from skilltrial.errors import UsageError
    from skilltrial.flows.targets import judge_for

    judge = judge_for(config, (), say, asked=False)
    if judge is None:
        raise UsageError(
            "no --judge given: who drafts the suite?", "for example --judge openai:gpt-5-mini or --judge claude-code"
        )
    return judge
