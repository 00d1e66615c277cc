"""`skilltrial convert`: a suite of another form as evals.json."""

from __future__ import annotations

from pathlib import Path

import click

from skilltrial.cli.faces import say
from skilltrial.errors import UsageError


@click.command("convert")
@click.argument("path")
@click.option("--output", "-o", metavar="FILE", help="Where to (default: evals.json beside the suite; - is stdout).")
@click.option("--to", "form", type=click.Choice(["standard"]), default="standard", help="The form to write.")
def command(path: str, output: str | None, form: str) -> int:
    """Write the suite at PATH, or the suites of the skill there, as evals.json, and say what has no counterpart.

    \b
    Read are the standard's own form and these:
      claude plugin eval   folders with case.yaml or prompt.md, and graders/
      scenarios            scenarios: [{prompt, setup, assertions, rubric}]
      acceptance           cases: [{prompt, acceptance: [{type, value}]}]
      one case per file    {query, expected_behavior, success_criteria} in evaluations/
      question lists       [{question, ground_truth, expected_behavior}]
      lists of cases       [{prompt, …}], also with expect and fail
      test_cases           {test_cases: [{prompt, evaluation_criteria}]}
      samples              [{sample_id, prompt, rubric, assertions}]
      command-graded       {task_id, initial_prompt, success_criteria}
      task files           eval.yaml with tasks: [tasks/*.yaml]
      judge-weighted       {prompt, judge: [{check, weight}]}
      trigger lists        [{query, should_trigger}]

    An existing file is never overwritten; the suites read stay as they are. Exit: 0 written, 2 nothing written.
    """
    from skilltrial.load.convert import convert
    from skilltrial.system.files import refuse_unwritable, write_new

    cwd = Path.cwd()
    goal = Path(cwd, output) if output and output != "-" else None
    if goal is not None:
        refuse_unwritable(goal)
    made = convert(path, cwd, goal)
    for problem in made.problems:
        if problem.severity == "warning" or problem.rule in ("not-of-a-suite", "focus"):
            say(f"{problem.severity}: {problem}")
    for what in made.lost:
        say(f"warning: not written: {what}")
    if output == "-":
        click.echo(made.text, nl=False)
        return 0
    if not write_new(made.path, made.text.encode("utf-8"), None):
        raise UsageError(f"{made.path} is there already and is left as it is", "say -o FILE, or move it away")
    click.echo(made.path)
    _tell(made.cases, made.path, made.sources)
    return 0


def _tell(cases: int, path: Path, sources: tuple[Path, ...]) -> None:
    others = ", ".join(str(source) for source in sources[:3]) + (", …" if len(sources) > 3 else "")
    say(f"{cases} case{'' if cases == 1 else 's'} from {others}")
    if any(source.parent == path.parent and source.is_file() for source in sources):
        say("both lie in one folder and would both be read: move the old one away when you are content with the new one")
