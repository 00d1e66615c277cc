"""The options that several commands share, and how they become a Config."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from skilltrial.cli import runtimes
from skilltrial.cli.faces import ENV_FILES
from skilltrial.errors import UsageError

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


# ---------------------------------------------------------------- options -> Config
def settings(values: dict[str, Any], cwd: Path, environ: dict[str, str], say: Callable[[str], None]) -> Any:
    """Option over environment over file over default, as one Config; what was decided silently goes to `say`."""
    from skilltrial.load import config as files

    merged, notes = files.from_environment(environ)
    for note in notes:
        say(note)
    path = _config_file(values, cwd, say)
    if path is not None:
        found = files.read_with_warnings(path, cwd)
        for warning in found.warnings:
            say(f"warning: {warning}")
        merged = files.merge(found.config, merged)
        if found.foreign and tuple(values.get("paths", ())) == (".",):
            values = {**values, "paths": ()}  # agent-skills-eval takes `.` for no root given
    return files.merge(merged, from_options(values, cwd, say))


def _config_file(values: dict[str, Any], cwd: Path, say: Callable[[str], None]) -> Path | None:
    from skilltrial.load import config as files

    if values.get("config_file"):
        path = Path(cwd, values["config_file"])
        if not path.is_file():
            raise UsageError(f"--config: there is no file {path}")
        return path
    if values.get("no_config"):
        return None
    found = files.look(cwd)
    for note in found.notes:
        say(note)
    return found.path


def check_outputs(names: Sequence[str]) -> None:
    """Refuses a report file whose suffix says nothing, or that cannot be written."""
    from skilltrial.system.files import refuse_unwritable

    for name in names:
        refuse_unwritable(Path(name))
        if Path(name).suffix not in (".xml", ".md", ".json", ".html", ".csv"):
            from skilltrial.flows.trial import report_for

            try:
                report_for(Path(name).suffix)
            except UsageError as error:
                raise UsageError(f"-o {name}: the suffix says what to write", error.hint) from None


def from_options(values: dict[str, Any], cwd: Path, say: Callable[[str], None]) -> Any:
    """The Config that the given options make, and nothing else."""
    from skilltrial.records.config import Config

    given = runtimes.in_our_words({key: value for key, value in values.items() if value not in (None, (), [])}, say)
    if "iteration" in given:
        raise UsageError(
            "--iteration: an experiment is never overwritten", "leave it out; the next free number is taken, or use --run-id"
        )
    folders, names = _skills(given.get("skills", ()), cwd)
    fields: dict[str, Any] = {name: given[name] for name in _SAME if name in given}
    fields["paths"] = tuple(str(Path(cwd, path)) for path in (*given.get("paths", ()), *given.get("roots", ()))) + folders
    fields["skill_names"] = names
    fields["evals"] = tuple(str(Path(cwd, path)) for path in given.get("evals", ()))
    if not fields["paths"] and not fields["evals"]:
        fields["paths"] = handbook_skills(cwd, always="adapter" in given)
    fields["targets"] = _targets(given, say)
    fields |= _judge(given, say)
    fields["options"] = _common(given)
    fields["gate"] = _gate(given)
    fields["budgets"] = _budgets(given)
    fields["hooks"] = _hooks(given)
    fields["report"] = _report(given, cwd)
    fields["logging"] = _logging(given, cwd)
    if "last_failed" in given or "failed_in" in given:
        fields["last_failed"] = _experiment(given.get("failed_in", "latest"), cwd)
    if "suite_concurrency" in given:
        fields |= _at_once(given, say)
    for name in ("workspace", "workspaces_dir"):
        if name in given:
            fields[name] = str(Path(cwd, given[name]))
    if "source_repo" in given and Path(cwd, given["source_repo"]).exists():
        fields["source_repo"] = str(Path(cwd, given["source_repo"]).resolve())
    if "pricing_config" in given:
        fields["pricing"] = _pricing(Path(cwd, given["pricing_config"]))
    if "adapter" in given:
        fields["adapter_rules"] = True
    return _checked(Config, fields)


def handbook_skills(cwd: Path, *, always: bool = False) -> tuple[str, ...]:
    """`skills/` of the repository that the handbook's `--repo-root` names; with `always` also of the working folder."""
    context = click.get_current_context(silent=True)
    root = context.find_root().obj if context else None
    if root is not None:
        return (str(Path(cwd, root, "skills")),)
    if always and not (cwd / "SKILL.md").is_file() and (cwd / "skills").is_dir():
        return (str(cwd / "skills"),)
    return ()


_SAME = (
    "eval_ids", "changed_only", "base_ref", "include", "exclude", "with_tags", "side_effect_levels", "library", "strict", "skip_invalid", "prose_checks",
    "stage", "judge_base_url", "judge_api_key_env", "judge_mode", "env", "sandbox", "network", "image", "repetitions", "baseline", "concurrency", "timeout_s",
    "retries", "max_output_bytes", "metric", "grade_later", "reuse", "certify", "user_home", "seed", "shard", "run_id", "keep_workspaces", "yes",
    "source_repo",
)  # fmt: skip


def _checked(record: type[Any], fields: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    try:
        return record(**fields)
    except ValidationError as error:
        lines = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
        raise UsageError("\n".join(lines)) from None


def _skills(values: Sequence[str], cwd: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A value with a separator, or a folder that has a SKILL.md, is a folder; else a name."""
    folders, names = [], []
    for value in values:
        path = Path(cwd, value)
        if "/" in value or "\\" in value or (path / "SKILL.md").is_file():
            folders.append(str(path))
        else:
            names.append(value)
    return tuple(folders), tuple(names)


def _experiment(which: str, cwd: Path) -> str:
    """A path from the working folder; `latest`, `previous`, a number or a name stay as they are."""
    return str(Path(cwd, which)) if "/" in which or Path(cwd, which).exists() else which


def _at_once(given: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """agent-skill-eval's suites at once, each with so many runs at once: here the runs of all suites share one pool."""
    if "concurrency" not in given:
        say("--suite-concurrency: the runs of all suites share one pool already; --concurrency says how many go at once")
        return {}
    together = given["concurrency"] * given["suite_concurrency"]
    say(f"--suite-concurrency: the runs of all suites share one pool, {together} at once")
    return {"concurrency": together}


def _targets(given: dict[str, Any], say: Callable[[str], None]) -> tuple[Any, ...]:
    from skilltrial.load.targets import parse_target
    from skilltrial.records.config import TargetConfig

    texts = [*given.get("targets", ()), *given.get("targets_agent", ())]
    targets = _runners(given.get("runners", ""))
    for text in texts:
        target, note = parse_target(text)
        if note:
            say(note)
        targets.append(target)
    if "adapter" in given:
        targets.append(TargetConfig(backend="adapter", model=given["adapter"], args=tuple(given.get("adapter_args", ()))))
    elif "adapter_args" in given and not any(target.backend == "adapter" for target in targets):
        raise UsageError("--adapter-arg needs --adapter EXE")
    elif "adapter_args" in given:
        targets = [
            target.model_copy(update={"args": tuple(given["adapter_args"])}) if target.backend == "adapter" else target
            for target in targets
        ]
    if "executable" in given:
        targets = [target.model_copy(update={"options": {**target.options, "path": given["executable"]}}) for target in targets]
    if "adapter_protocol" in given:
        targets = _speaking(targets, int(given["adapter_protocol"]))
    return tuple(_with_models(targets, given))


def _runners(text: str) -> list[Any]:
    """skill-ab-eval's comma list: a backend's name, or that of a script `runners/NAME.sh`."""
    from skilltrial.load.targets import ALIASES, is_backend, parse_target
    from skilltrial.records.config import TargetConfig

    names = [part.strip() for part in text.split(",") if part.strip()]
    known = {name: name.partition(":")[0] for name in names}
    return [
        parse_target(name).target if is_backend(head) or head in ALIASES else TargetConfig(backend="runner", model=name)
        for name, head in known.items()
    ]


def _speaking(targets: list[Any], version: int) -> list[Any]:
    """The targets, adapters among them spoken to in this version."""
    if not any(target.backend == "adapter" for target in targets):
        raise UsageError("--adapter-protocol needs --adapter EXE")
    return [
        target.model_copy(update={"options": {**target.options, "protocol": version}}) if target.backend == "adapter" else target
        for target in targets
    ]


def _with_models(targets: list[Any], given: dict[str, Any]) -> list[Any]:
    """`--model MODEL` for all that have none, `--model TARGET=MODEL` for one."""
    models = [*given.get("models", ()), *given.get("models_agent", ())]
    named = dict(model.split("=", 1) for model in models if "=" in model)
    bare = [model for model in models if "=" not in model]
    if (model := _openai_model(given)) and ("openai_model" in given or not bare):
        named.setdefault("openai", model)
    changed = []
    for target in targets:
        model = named.pop(target.name or "", None) or named.get(target.backend) or (bare[-1] if bare else None)
        if model and target.model is None and target.backend not in ("adapter", "runner", "local", "fake", "manual"):
            target = target.model_copy(update={"model": model})
        changed.append(target)
    return changed


def _openai_model(given: dict[str, Any]) -> str | None:
    """The model of `openai` where none is named, as skill-ab-eval takes it; None: its options are not used."""
    return given.get("openai_model") or ("gpt-4o-mini" if "runners" in given else None)


def _judge(given: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    from skilltrial.load.targets import parse_target

    found: dict[str, Any] = {}
    _refuse_grader(given)
    text = given.get("judge", given.get("grader_model"))
    if text in ("none", ""):
        found["judge"] = "none"
    elif text is not None:
        found["judge"], note = parse_target(text)
        if note:
            say(note)
        if found["judge"].backend == "openai" and found["judge"].model is None and (model := _openai_model(given)):
            found["judge"] = found["judge"].model_copy(update={"model": model})
    if "judge_params" in given:
        found["judge_params"] = _pairs(given["judge_params"], "--judge-param")
    return found


def _refuse_grader(given: dict[str, Any]) -> None:
    """agent-skill-eval's ways to a judge that have another form here."""
    if "grader_key_file" in given:
        raise UsageError(
            "--grader-key-file: keys are taken from variables, whose names are stored and whose values never are",
            f"JUDGE_KEY=$(cat {given['grader_key_file']}) skilltrial … --judge-api-key-env JUDGE_KEY, or --env-file FILE",
        )
    if given.get("grader_openwebui"):
        raise UsageError(
            "--grader-openwebui: name the endpoint and the model",
            "--judge openai:MODEL --judge-base-url http://localhost:8080/api --judge-api-key-env NAME",
        )


def _common(given: dict[str, Any]) -> dict[str, Any]:
    """Options for every target that has them."""
    common: dict[str, Any] = {name: given[name] for name in ("base_url", "api_key_env", "reasoning_effort") if name in given}
    if "harness_base_url" in given:
        common.setdefault("base_url", given["harness_base_url"])
    params = _pairs(given.get("target_params", ()), "--target-param")
    if "temperature" in given:
        params.setdefault("temperature", given["temperature"])
    if params:
        common["params"] = params
    return common


def _pairs(values: Sequence[str], option: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {value}: write it as NAME=VALUE")
        if key in ("model", "messages"):
            raise UsageError(f"{option} {value}: '{key}' is never overwritten", "name the model in --target")
        try:
            pairs[key] = json.loads(text)
        except ValueError:
            pairs[key] = text
    return pairs


def _gate(given: dict[str, Any]) -> Any:
    from skilltrial.records.config import GateConfig

    fields = {
        "cases": given.get("gate"),
        "checks": given.get("gate_checks"),
        "minimum_lift": given.get("minimum_lift"),
        "minimum_pass_rate": given.get("minimum_pass_rate"),
        "on": given.get("gate_on"),
        "scope": given.get("scope"),
        "allow_unmeasured": given.get("allow_unmeasured"),
    }
    if given.get("fail_on_assertions") is False and fields["cases"] is None:
        fields["cases"] = "none"
    if "count_as_failed" in given:
        fields["count_as_failed"] = tuple(part.strip() for part in given["count_as_failed"].split(",") if part.strip())
    return _checked(GateConfig, {key: value for key, value in fields.items() if value is not None})


def _budgets(given: dict[str, Any]) -> Any:
    from skilltrial.records.plan import Budgets

    fields: dict[str, Any] = {name: given[name] for name in ("max_cost_usd", "max_calls", "max_duration_s") if name in given}
    per_case = {key: given[f"per_case_{key}"] for key in PER_CASE.values() if f"per_case_{key}" in given}
    if per_case:
        fields["per_case"] = per_case
    if "budget_action" in given:
        fields["action"] = given["budget_action"]
    return _checked(Budgets, fields)


def _hooks(given: dict[str, Any]) -> Any:
    from skilltrial.records.plan import Hooks

    names = ("pre_run", "post_grade", "post_run")
    return _checked(Hooks, {name: given[f"hooks_{name}"] for name in names if f"hooks_{name}" in given})


def _report(given: dict[str, Any], cwd: Path) -> Any:
    from skilltrial.records.config import ReportConfig

    outputs = [*given.get("outputs", ())]
    if "junit_xml" in given:
        outputs.append(given["junit_xml"])
    if "report_output" in given:
        outputs.append(str(Path(given["report_output"], "index.html")))
    check_outputs(outputs)
    fields: dict[str, Any] = {"output": tuple(str(Path(cwd, name)) for name in outputs)}
    names = (("report_title", "title"), ("tree", "tree"), ("layout", "layout"), ("write_report", "html"))
    fields |= {key: given[name] for name, key in names if name in given}
    return _checked(ReportConfig, fields)


def _logging(given: dict[str, Any], cwd: Path) -> Any:
    from skilltrial.records.config import LoggingConfig

    fields: dict[str, Any] = {}
    if "log_format" in given:
        fields["format"] = given["log_format"]
    if "log_file" in given:
        fields["file"] = given["log_file"] if given["log_file"] == "-" else str(Path(cwd, given["log_file"]))
    if "listeners" in given:
        fields["listeners"] = tuple(given["listeners"])
    if "verbose" in given:
        fields["verbose"] = True
    if "no_color" in given:
        fields["color"] = False
    return _checked(LoggingConfig, fields)


def _pricing(path: Path) -> dict[str, dict[str, float]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {str(model): {str(key): float(value) for key, value in rates.items()} for model, rates in data.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(
            f"--pricing-config {path}: {error}", 'write {"model": {"prompt": USD per token, "completion": …}}'
        ) from None
