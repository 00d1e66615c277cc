"""`skilltrial plan`: what `run` would do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from skilltrial.cli import given, options
from skilltrial.cli.faces import Session, say
from skilltrial.wording.words import many, percent

if TYPE_CHECKING:
    from skilltrial.plan import Forecast
    from skilltrial.records.config import Config


@click.command("plan")
@options.skill_options
@options.target_options
@options.trial_options
@options.budget_options
@options.gate_options
@options.output_options
def command(**values: Any) -> int:
    """What `run` would do: cells, calls, endpoints, where fixtures land, checks set aside, the smallest lift it can see.

    Runs nothing and calls nobody.
    """
    session = Session()
    return print_plan(session, given.settings(values, session.cwd, session.environ, say), values["format_"])


def print_plan(session: Session, config: Config, format_: str) -> int:
    """The forecast on stdout."""
    from skilltrial import plan as planning
    from skilltrial.flows.prepare import prepare
    from skilltrial.flows.targets import endpoints_of

    prepared = prepare(config, session.cwd, session.workspace(config), session.machine, say, probe=False)
    able = prepared.capabilities
    found = planning.forecast(
        prepared.plan,
        able,
        planning.concurrency_of(prepared.plan, able),
        endpoints_of(prepared.targets, prepared.plan.judge),
        prepared.history,
    )
    if format_ == "json":
        click.echo(json.dumps(found.model_dump(mode="json"), ensure_ascii=False, indent=2))
    else:
        click.echo(render(found))
    return 0


def render(found: Forecast) -> str:
    """The forecast for people."""
    lines = [
        f"{found.cells} cells ({', '.join(f'{count} {arm}' for arm, count in found.by_arm.items())}), nothing is run by this command"
    ]
    lines += [
        f"  {target.name}: {target.cells} runs, {target.concurrency} at once, limit {target.timeout_s:g} s"
        f"{', may cost money' if target.paid else ''} -> {target.endpoint}"
        for target in found.targets
    ]
    if found.together:
        lines.append(f"  agent programs share this machine: {found.together} runs at once over all of them")
    if found.judge:
        lines.append(f"  judge {found.judge}: at most {found.judge_calls} calls -> {found.judge_endpoint}")
    else:
        lines.append("  no judge")
    seconds = "unknown (no earlier run tells)" if found.expected_s is None else f"about {found.expected_s:.0f} s"
    dollars = "unknown" if found.expected_cost_usd is None else f"about {found.expected_cost_usd:.2f} USD"
    lines.append(f"expected time {seconds}, expected cost {dollars}")
    lines += _fixtures(found) + _aside(found) + _sights(found)
    return "\n".join(lines)


def _fixtures(found: Forecast) -> list[str]:
    if not found.fixtures:
        return []
    rows = dict.fromkeys(
        f"  {row.skill}::{row.case} on {row.target}: {row.listed} -> {row.lands or 'inlined into the prompt'}"
        for row in found.fixtures
    )
    return ["fixtures land at", *rows]


def _aside(found: Forecast) -> list[str]:
    if not found.set_aside:
        return []
    rows = [
        f"  {row.skill}::{row.case} '{row.check}'{f' on {row.target}' if row.target else ''}: {row.reason}"
        for row in found.set_aside
    ]
    return ["set aside, counted in nothing", *rows]


def _sights(found: Forecast) -> list[str]:
    lines = []
    for row in found.sights:
        these = "none" if row.on_these_cases is None else f"+{100 * row.on_these_cases:.0f} points"
        scope = "this case" if row.cases == 1 else f"these {row.cases} cases"
        like = "not decidable" if row.on_cases_like_these is None else f"+{100 * row.on_cases_like_these:.0f} points"
        lines.append(
            f"smallest lift seen 4 times in 5, {row.skill} on {row.target}: {these} on {scope} "
            f"({many(row.cells_per_arm, 'run')} per arm, if {percent(row.base_rate)} pass without the skill), {like} on cases like these"
        )
    return lines
