"""`skilltrial task`: one task typed by hand."""

from __future__ import annotations

from typing import Any

import click

from skilltrial.cli import options
from skilltrial.cli.faces import Session


@click.command("task")
@click.argument("prompt")
@click.option("--skill", metavar="DIR", help="The skill under test; without it only the targets are compared.")
@click.option("--assert", "assertions", multiple=True, metavar="TEXT", help="A sentence the judge decides on; repeatable.")
@click.option("--expected", metavar="TEXT", help="What a good answer is like, for the judge.")
@click.option("--file", "files", multiple=True, metavar="FILE", help="A file to work on; repeatable.")
@options.target_options
@options.trial_options
@options.budget_options
@options.gate_options
@options.output_options
def command(
    prompt: str,
    skill: str | None,
    assertions: tuple[str, ...],
    expected: str | None,
    files: tuple[str, ...],
    **values: Any,
) -> int:
    """One task typed by hand, with and without a skill; three repetitions unless said.

    \b
    skilltrial task "Explain recursion" --skill skills/teacher --assert "It gives an example." --target openai:gpt-5-mini
    """
    from skilltrial.cli.run import run
    from skilltrial.flows import task
    from skilltrial.flows.prepare import plan_trial, refuse_nonsense

    session = Session()
    config = session.settings({**values, "no_config": True})
    repetitions = 3 if config.repetitions is None else config.repetitions
    baseline = True if skill is None else config.baseline
    config = config.model_copy(update={"repetitions": repetitions, "baseline": baseline})
    refuse_nonsense(config)
    material = task.material(prompt, skill, assertions, expected, files, config.stage or "flat", session.cwd)
    prepared = plan_trial(config, session.workspace(config), session.machine, session.say, material, probe=True)
    if skill is None:
        prepared = task.without_a_skill(prepared)
    return run(session, config, values, prepared)
