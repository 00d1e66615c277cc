"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from skilltrial.cli import runtimes
from skilltrial.cli.faces import ENV_FILES

F = TypeVar("F", bound=Callable[..., Any])
PER_CASE = {
    "input-tokens": "input_tokens",
    "non-cached-input-tokens": "non_cached_input_tokens",
    "output-tokens": "output_tokens",
    "reasoning-tokens": "reasoning_tokens",
    "total-tokens": "total_tokens",
    "cost": "cost_usd",
    "duration": "duration_s",
    "tool-calls": "tool_calls",
}


def seconds(text: str) -> float:
    """Seconds, or with a unit: 90, 90s, 5m, 2h."""
    text = text.strip().lower()
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:])
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        raise click.BadParameter(f"'{text}' is no time; write 90, 90s, 5m or 2h") from None
    if not 0 < value < 1e9:
        raise click.BadParameter(f"'{text}' must be more than 0 and less than 1,000,000,000 seconds")
    return value


COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(-1, 1)


def env_file(function: F) -> F:
    """`--env-file FILE`: variables for this call, where the environment has none of that name."""

    def keep(context: click.Context, _param: click.Parameter, files: tuple[str, ...]) -> None:
        context.meta[ENV_FILES] = files

    about = "Variables such as keys from a file of NAME=value lines; repeatable. A .env is read only when named."
    return click.option("--env-file", multiple=True, metavar="FILE", expose_value=False, callback=keep, help=about)(function)


def skill_options(function: F) -> F:
    """What to take: skills, suites, cases."""
    return _stack(
        function,
        click.argument("paths", nargs=-1, metavar="[PATH]..."),
        click.option("--skill", "-s", "skills", multiple=True, metavar="DIR|NAME", help="A skill folder, or a filter by name; repeatable."),
        click.option("--evals", "-e", "evals", multiple=True, metavar="FILE", help="Pair these suites with the given skills; repeatable."),
        click.option("--eval-id", "eval_ids", multiple=True, metavar="ID", help="Only these cases; repeatable."),
        click.option("--include", multiple=True, metavar="GLOB", help="Only skills whose path fits; repeatable."),
        click.option("--exclude", multiple=True, metavar="GLOB", help="No skills whose path fits; repeatable."),
        click.option("--tag", "with_tags", multiple=True, help="Only skills or cases with this tag; repeatable."),
        click.option("--side-effect-level", "side_effect_levels", multiple=True, metavar="LEVEL", help="Only cases of this level: static, local-only, live-safe or live-external; repeatable."),
        click.option("--changed-only/--all-suites", default=None, help="Only skills that changed since --base-ref, or have changes not committed."),
        click.option("--base-ref", metavar="REF", help="Commit or branch to compare with (default origin/main)."),
        click.option("--last-failed", is_flag=True, default=None, help="Only cases that failed or were not measured in the last experiment."),
        click.option("--from", "failed_in", metavar="EXPERIMENT", help="The same, in this experiment: a folder, N, previous, another tool's tree."),
        click.option("--library", is_flag=True, default=None, help="Take every child folder as a skill."),
        click.option("--config", "config_file", metavar="FILE", help="Settings; default: skilltrial.yaml here or above."),
        click.option("--no-config", is_flag=True, help="Read no settings file."),
        click.option("--strict", is_flag=True, default=None, help="Refuse skills that break the standard's rules."),
        click.option("--root", "-r", "roots", multiple=True, hidden=True, metavar="DIR"),
        click.option("--skip-invalid", is_flag=True, default=None, help="Leave invalid skills out instead of stopping."),
        click.option("--prose-checks", type=click.Choice(["auto", "ase", "off"]), help="Turn known sentences into checks."),
        click.option("--stage", type=click.Choice(["flat", "keep", "inputs"]), help="Where fixtures land."),
    )  # fmt: skip


def target_options(function: F) -> F:
    """What runs the tasks, and who judges."""
    return _stack(
        env_file(runtimes.options(function)),
        click.option("--target", "-t", "targets", multiple=True, metavar="BACKEND[:VALUE]", help="What runs the tasks: openai:gpt-5-mini, local, adapter:./x.py, …; repeatable."),
        click.option("--agent", "-a", "targets_agent", multiple=True, hidden=True),
        click.option("--runners", hidden=True),
        click.option("--model", "-m", "models", multiple=True, metavar="[TARGET=]MODEL", help="The model of a target."),
        click.option("--agent-model", "models_agent", multiple=True, hidden=True),
        click.option("--openai-model", hidden=True),
        click.option("--adapter", metavar="EXE", help="An executable that speaks the handbook's protocol; implies its rules."),
        click.option("--adapter-arg", "adapter_args", multiple=True, metavar="ARG", help="One argument for it; repeatable."),
        click.option("--adapter-protocol", type=click.Choice(["1", "2"]), help="Version of the protocol spoken with adapters (default 1)."),
        click.option("--base-url", metavar="URL", help="Endpoint of HTTP targets."),
        click.option("--api-key-env", metavar="NAME", help="Variable that holds their key."),
        click.option("--harness-base-url", metavar="URL", help="Endpoint of agent programs."),
        click.option("--reasoning-effort", metavar="LEVEL", help="For targets that have such a setting: low, medium, high, …"),
        click.option("--target-param", "target_params", multiple=True, metavar="K=V", help="Request parameter, V as JSON or text; repeatable."),
        click.option("--temperature", type=float, hidden=True),
        click.option("--judge", metavar="BACKEND:VALUE|none", help="Who grades rubrics; default: the first target's own model."),
        click.option("--grader-model", hidden=True),
        click.option("--grader-key-file", hidden=True, metavar="FILE"),
        click.option("--grader-openwebui", is_flag=True, default=None, hidden=True),
        click.option("--judge-base-url", "--grader-base-url", metavar="URL", help="The judge's endpoint."),
        click.option("--judge-api-key-env", metavar="NAME", help="Variable that holds the judge's key."),
        click.option("--judge-param", "judge_params", multiple=True, metavar="K=V", help="Request parameter of the judge; repeatable."),
        click.option("--judge-mode", type=click.Choice(["single", "pairwise"]), help="Grade each answer (default), or choose blindly between the two arms."),
        click.option("--pricing-config", metavar="FILE", help="Prices per token and model, for costs a target does not tell."),
        click.option("--env", "env", multiple=True, metavar="NAME", help="Let a variable through to agent programs; repeatable."),
        click.option("--sandbox", help="none, bwrap, docker, podman or auto."),
        click.option("--network", type=click.Choice(["on", "model-only", "off"]), help="What runs behind walls may reach (default on)."),
        click.option("--image", metavar="NAME", help="Image for docker and podman."),
    )  # fmt: skip


def trial_options(function: F) -> F:
    """How the trial is made."""
    return _stack(
        function,
        click.option("--repetitions", "-n", "--runs", "--trials", "--iterations", "repetitions", type=int, metavar="N", help="How often each task is run in each arm."),
        click.option("--baseline/--no-baseline", default=None, help="Run without the skill too (default)."),
        click.option("--concurrency", "-c", type=COUNT, metavar="N", help="Cells at once per target; agent programs share one limit."),
        click.option("--suite-concurrency", type=COUNT, hidden=True),
        click.option("--timeout", "--timeout-seconds", "timeout_s", type=seconds, metavar="SECONDS", help="Limit on one run."),
        click.option("--retries", type=click.IntRange(min=0), metavar="N", help="Retries after an outage (default 1)."),
        click.option("--max-output-bytes", type=COUNT, hidden=True),
        click.option("--metric", type=click.Choice(["checks", "cases", "score"]), help="What a cell's rate is."),
        click.option("--grade-later", is_flag=True, default=None, help="Run although nothing can grade some cases yet."),
        click.option("--reuse", is_flag=True, default=None, help="Take finished baseline cells with equal inputs, up to 7 days old."),
        click.option("--user-home", is_flag=True, default=None, help="Run agent programs in your own home; every report says so."),
        click.option("--certify/--no-certify", default=None, help="Prove on a canary that a program's baseline sees no skill (default)."),
        click.option("--source-repo", metavar="URL|PATH", help="Repository that every case starts from, cloned once."),
        click.option("--seed", type=int, hidden=True),
        click.option("--shard", metavar="I/N", help="Only part I of N, from 1, by block."),
        click.option("--run-id", metavar="NAME", help="Name of the experiment's folder."),
        click.option("--workspace", "-w", "--output-root", "workspace", metavar="DIR", help="Where experiments go (skilltrial-workspace)."),
        click.option("--cleanup", is_flag=True, default=None, help="Remove what runs left behind right after."),
        click.option("--keep-workspaces", type=click.Choice(["never", "failed", "all"]), help="Keep what runs left behind."),
        click.option("--workspaces-dir", metavar="DIR", help="Where runs take place."),
        click.option("--tree/--no-tree", default=None, help="Write a folder per cell."),
        click.option("--layout", type=click.Choice(["iteration", "flat"]), hidden=True),
        click.option("--yes", "-y", is_flag=True, default=None, help="Do not ask before paid runs."),
        click.option("--iteration", "-i", hidden=True, type=int),
    )  # fmt: skip


def _per_case(name: str) -> str:
    """Help of one limit per case."""
    unit = {"cost": " in USD", "duration": " in seconds"}.get(name, "")
    return f"Limit on the {name.replace('-', ' ')} of one run{unit}."


def cap_options(function: F) -> F:
    """What ends a whole experiment early; `resume` takes them anew."""
    return _stack(
        function,
        click.option("--max-cost", "max_cost_usd", type=click.FloatRange(min=0), metavar="USD", help="End the experiment at this cost."),
        click.option("--max-calls", type=COUNT, metavar="N", help="End it after so many model calls."),
        click.option("--max-duration", "max_duration_s", type=seconds, metavar="SECONDS", help="End it after this time."),
    )  # fmt: skip


def budget_options(function: F) -> F:
    """Caps, limits per case and hooks."""
    per_case = [
        click.option(f"--max-{name}-per-case", f"per_case_{key}", type=click.FloatRange(min=0), metavar="X", help=_per_case(name))
        for name, key in PER_CASE.items()
    ]
    return _stack(
        function,
        cap_options,
        *per_case,
        click.option("--budget-action", type=click.Choice(["warn", "fail", "stop-suite"]), help="What a run beyond a limit per case leads to (default fail)."),
        click.option("--pre-run-command", "hooks_pre_run", multiple=True, metavar="CMD", help="Shell command before the first run; a failure stops everything; repeatable."),
        click.option("--post-grade-command", "hooks_post_grade", multiple=True, metavar="CMD", help="After each graded cell; a JSON list of {text, passed} it prints becomes grades; repeatable."),
        click.option("--post-run-command", "hooks_post_run", multiple=True, metavar="CMD", help="At the end; repeatable."),
    )  # fmt: skip


def gate_options(function: F) -> F:
    """When the exit code is 0."""
    return _stack(
        function,
        click.option("--gate", type=click.Choice(["majority", "every", "none"]), help="When cases pass the gate (default majority)."),
        click.option("--gate-checks", type=click.Choice(["required", "all"]), help="all: rubric sentences count too."),
        click.option("--minimum-lift", type=SHARE, metavar="X", help="Lift that must be reached, -1 to 1."),
        click.option("--minimum-pass-rate", "--min-pass-rate", type=click.FloatRange(0, 1), metavar="X", help="Pass rate that must be reached, 0 to 1."),
        click.option("--gate-on", type=click.Choice(["interval", "point"]), help="What is compared: the interval (default) or the estimate."),
        click.option("--scope", type=click.Choice(["these", "like"]), help="On these cases (default), or on cases like these."),
        click.option("--allow-unmeasured", metavar="N|P%", help="Cells that may stay unmeasured under --gate every."),
        click.option("--count-as-failed", metavar="OUTCOMES", help="agent_error,timeout: count such runs as failed."),
        click.option("--fail-on-assertions/--no-fail-on-assertions", default=None, hidden=True),
    )  # fmt: skip


def output_options(function: F) -> F:
    """What is said and written."""
    return _stack(
        function,
        click.option("--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", help="What goes to stdout at the end."),
        click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help="Also write a report, by suffix .xml .md .json .html .csv; repeatable."),
        click.option("--junit-xml", hidden=True, metavar="FILE"),
        click.option("--report/--no-report", "write_report", default=None, hidden=True),
        click.option("--report-title", hidden=True),
        click.option("--report-output", hidden=True, metavar="DIR"),
        click.option("--log-format", type=click.Choice(["pretty", "jsonl", "silent"]), help="What is said while it runs; silent: nothing, at the end neither."),
        click.option("--log-file", metavar="FILE", help="Where jsonl news go; - is stdout."),
        click.option("--listener", "listeners", multiple=True, metavar="NAME", help="An installed listener that hears all news too; repeatable."),
        click.option("--verbose", is_flag=True, default=None, help="Say more."),
        click.option("--no-color", is_flag=True, default=None, help="No colour (also NO_COLOR)."),
    )  # fmt: skip


def _stack(function: F, *decorators: Callable[[F], F]) -> F:
    for decorator in reversed(decorators):
        function = decorator(function)
    return function
