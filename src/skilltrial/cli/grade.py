"""`skilltrial grade`: grade stored evidence again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from skilltrial.cli import given, options
from skilltrial.cli.faces import Session, listeners_for, print_summary, say
from skilltrial.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from skilltrial.records.config import Config
    from skilltrial.records.plan import Judge, Plan
    from skilltrial.records.suite import Case
    from skilltrial.store import Experiment


@click.command("grade")
@click.argument("experiment", default="latest")
@click.option("--workspace", "-w", metavar="DIR", help="Where experiments are.")
@click.option("--judge", metavar="BACKEND:VALUE", help="Ask this judge about every rubric; without it their verdicts stay.")
@click.option("--grader-model", hidden=True)
@click.option("--grader-key-file", hidden=True)
@click.option("--grader-openwebui", is_flag=True, default=None, hidden=True)
@click.option("--recompute-benchmark", is_flag=True, expose_value=False, hidden=True)
@options.env_file
@click.option("--judge-base-url", "--grader-base-url", metavar="URL", help="The judge's endpoint.")
@click.option("--judge-api-key-env", metavar="NAME", help="Variable that holds the judge's key.")
@click.option("--judge-param", "judge_params", multiple=True, metavar="K=V", help="Request parameter of the judge; repeatable.")
@click.option("--stored-checks", is_flag=True, help="Use the checks as they were, not today's.")
@click.option("--list", "list_", is_flag=True, help="Only list the gradings there are.")
@options.output_options
def command(experiment: str, workspace: str | None, stored_checks: bool, list_: bool, **values: Any) -> int:
    """Grade the stored evidence of EXPERIMENT again; nothing is run, no row is dropped.

    Today's checks are taken where what the run received is unchanged. A verdict about text that is masked on disk stays.
    """
    from skilltrial import store
    from skilltrial.cli.run import end_in_peace
    from skilltrial.flows import layout, regrade, trial

    session = Session()
    config = given.from_options(values, session.cwd, say)
    session.logging = config.logging
    session.refuse_mixing(values)
    folder = session.locate(experiment, workspace)
    with store.open_(folder, write=not list_, redactor=session.redactor) as opened:
        if list_:
            return _list(opened)
        judge = _judge(config, opened.plan, session)
        cases = None if stored_checks else _todays(opened.plan, session)
        listeners = listeners_for(config, opened, session.redactor)
        try:
            done = regrade.regrade(opened, session.machine, session.stopping, listeners, judge, cases)
        except (Interrupted, KeyboardInterrupt):
            end_in_peace()
            raise Interrupted(f"interrupted; every grade given is kept. Start again with: skilltrial grade {folder}") from None
        if not done.cells:
            session.say("nothing to grade: no run ended ok")
        session.say(f"graded {done.cells} cells again, {done.changed} changed, {done.kept_masked} verdicts on masked text kept")
        summary = trial.conclude(opened, session.machine)
        trial.write_outputs(config.report.output, summary, opened, session.redactor)
        layout.write(summary, opened, session.redactor, session.say)
        if values["format_"] != "text" or session.prints_text:
            print_summary(summary, opened, values["format_"], session, color=session.color(config))
    return summary.gate.exit_code


def _judge(config: Config, plan: Plan, session: Session) -> Judge | None:
    from skilltrial.flows.bench import backend_of
    from skilltrial.flows.targets import Planned, judge_for, probe_all

    targets = [Planned(target, backend_of(target)) for target in plan.targets]
    judge = judge_for(config, targets, say, asked=False)
    if judge is not None and judge.target.deferred:
        raise UsageError("grade cannot wait for replies to packets", "name a --judge that answers at once")
    if judge is not None:
        probe_all((), judge, session.machine)
    return judge


def _todays(plan: Plan, session: Session) -> dict[tuple[str, str], Case]:
    """Today's cases by (skill, case) in safe names, where what the run received is unchanged."""
    from skilltrial.flows.drift import suites_on_disk
    from skilltrial.flows.elsewhere import ran_elsewhere
    from skilltrial.flows.regrade import todays_cases
    from skilltrial.system.files import safe_name

    found: dict[tuple[str, str], Case] = {}
    if ran_elsewhere(plan):
        return found
    for suite, today in suites_on_disk(plan):
        if today is None:
            session.say(f"note: {suite.where.file} cannot be read by now: its stored checks are used")
            continue
        usable, notes = todays_cases(suite.cases, today.cases)
        for note in notes:
            session.say(f"note: {note}")
        found |= {(safe_name(suite.skill), safe_name(name)): case for name, case in usable.items()}
    return found


def _list(opened: Experiment) -> int:
    counts = Counter(line.number for result in opened.results() for line in opened.gradings(result))
    for number, count in sorted(counts.items()):
        click.echo(f"grading {number}: {count} cell{'' if count == 1 else 's'}")
    return 0
