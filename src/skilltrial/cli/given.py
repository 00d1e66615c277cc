"""From the options that were given to one Config."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from skilltrial.cli import runtimes
from skilltrial.cli.options import PER_CASE
from skilltrial.errors import UsageError


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
