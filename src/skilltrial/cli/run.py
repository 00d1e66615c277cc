"""`skilltrial run`: the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skilltrial.cli import options
from skilltrial.cli.faces import Session, confirm_paid, listeners_for, print_summary
from skilltrial.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skilltrial.flows.packets import Answer
    from skilltrial.flows.prepare import Prepared
    from skilltrial.records.config import Config
    from skilltrial.store import Experiment


@click.command("run")
@options.skill_options
@options.target_options
@options.trial_options
@options.budget_options
@options.gate_options
@options.output_options
@click.option("--dry-run", "--plan-only", "dry_run", is_flag=True, help="Only print the plan.")
def command(dry_run: bool, **values: Any) -> int:
    """Run a trial: the same tasks with and without the skill.

    PATH is a skill, a folder of skills, or a suite file; default: the skill in this folder.

    \b
    skilltrial run my-skill --target local --repetitions 3
    skilltrial run my-skill --target openai:gpt-5-mini --judge openai:gpt-5 -n 5
    skilltrial run --adapter ./agent.py --minimum-lift 0.1

    Exit: 0 the gate holds, 1 it does not, 2 wrong input or nothing measured, 3 undecided, 130 interrupted.
    """
    session = Session()
    config = session.settings(values)
    if dry_run:
        from skilltrial.cli.plan import print_plan

        return print_plan(session, config, values["format_"])
    return run(session, config, values)


def run(session: Session, config: Config, values: dict[str, Any], prepared: Prepared | None = None) -> int:
    """Prepares, runs and reports; the exit code is the gate's."""
    from skilltrial.flows import trial
    from skilltrial.flows.prepare import prepare

    workspace = session.workspace(config)
    prepared = prepared or prepare(config, session.cwd, workspace, session.machine, session.say)
    confirm_paid(prepared.paid_runs, prepared.expected_cost_usd, config)
    experiment = trial.begin(prepared, workspace, session.machine, session.say)
    with experiment:
        return finish(session, config, values, experiment)


def finish(
    session: Session,
    config: Config,
    values: dict[str, Any],
    experiment: Experiment,
    answers: Mapping[str, Answer] | None = None,
) -> int:
    """Carries an opened experiment to its end, or as far as its packets are answered, and prints it."""
    from skilltrial.flows import layout, trial
    from skilltrial.flows.answers import how_to_go_on

    listeners = listeners_for(config, experiment, session.redactor)
    given = config.budgets.model_dump(include={"max_cost_usd", "max_calls", "max_duration_s"}, exclude_none=True)
    caps = experiment.plan.budgets.model_copy(update=given)
    try:
        stops = trial.carry_out(experiment, session.machine, session.stopping, listeners, session.say, answers, caps)
    except Interrupted:
        end_in_peace()
        raise
    if values.get("cleanup"):
        _clean(session, experiment)
    summary = trial.conclude(experiment, session.machine, ran=True)
    trial.write_outputs(config.report.output, summary, experiment, session.redactor)
    layout.write(summary, experiment, session.redactor, session.say)
    reasons = [stop.reason for stop in stops]
    if not summary.coverage.graded and any(stop.rule == "setup" for stop in stops) and values.get("format_", "text") == "text":
        raise UsageError("\n".join(reasons), f"nothing was measured; mend this, then: skilltrial resume {experiment.folder}")
    color, how, format_ = session.color(config), how_to_go_on(experiment), values.get("format_", "text")
    if (how is None or summary.coverage.graded or format_ != "text") and (format_ != "text" or session.prints_text):
        print_summary(summary, experiment, format_, session, color=color, verbose=bool(config.logging.verbose))
    for reason in reasons:
        session.say(f"ended early: {reason}{_raised(reason, experiment)}")
    if how is not None:
        session.say(how)
        return summary.gate.exit_code
    if values.get("format_", "text") == "text" or config.logging.format == "pretty":
        page = Path("report", "index.html") if experiment.plan.options.report_html else Path("report.md")
        session.say(f"report: {experiment.folder / page}")
    return summary.gate.exit_code


def _raised(reason: str, experiment: Experiment) -> str:
    """How an experiment that a cap ended is finished after all."""
    option = {"(max_cost_usd)": "--max-cost USD", "(max_calls)": "--max-calls N"}.get(reason.rpartition(" ")[2])
    return f"; to finish it: skilltrial resume {experiment.folder} {option}" if option else ""


def _clean(session: Session, experiment: Experiment) -> None:
    """`cleanup` of what this experiment left behind."""
    from skilltrial.flows import leftovers

    done = leftovers.clean(experiment.folder, session.environ)
    for name in done.removed:
        session.say(f"removed {name}")
    for name in done.refused:
        session.say(f"left alone: {name}")


def end_in_peace() -> None:
    """Further signals are ignored: the process is about to end, and has a line to print."""
    import signal
    import threading

    from skilltrial.flows import trial

    if threading.current_thread() is threading.main_thread():
        for number in trial.ending_signals():
            signal.signal(number, signal.SIG_IGN)
