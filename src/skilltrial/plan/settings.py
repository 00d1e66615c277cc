"""From what the user said to what holds: options, gates, metric, shard. Nonsense is refused here, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from skilltrial.errors import UsageError
from skilltrial.plan.names import resolve
from skilltrial.records.checks import JUDGED
from skilltrial.records.config import Config, GateConfig
from skilltrial.records.plan import Gate, Options, Shard
from skilltrial.records.suite import Limits, Skill, Suite


def options_of(config: Config, xfail: Sequence[str], skipped_skills: Sequence[str], invalid_skills: Mapping[str, str]) -> Options:
    """The options with their defaults.

    Raises:
        UsageError: a number makes no sense; all such are named.
    """
    _refuse_nonsense(config)
    said = {
        "repetitions": config.repetitions,
        "concurrency": config.concurrency,
        "retries": config.retries,
        "sandbox": config.sandbox,
        "network": config.network,
        "image": config.image,
        "keep_workspaces": config.keep_workspaces,
        "workspaces_dir": config.workspaces_dir,
        "grade_later": config.grade_later,
        "tree": config.report.tree,
        "layout": config.report.layout,
        "report_title": config.report.title,
        "report_html": config.report.html,
        "reuse": config.reuse,
        "certify": config.certify,
        "max_output_bytes": config.max_output_bytes,
        "adapter_rules": config.adapter_rules,
        "source_repo": config.source_repo,
        "source_commit": config.source_commit,
    }
    return Options(
        **{name: value for name, value in said.items() if value is not None},
        limits=Limits(timeout_s=config.timeout_s),
        env=config.env,
        tags=config.tags,
        xfail=tuple(xfail),
        skipped_skills=tuple(skipped_skills),
        invalid_skills=dict(invalid_skills),
    )


def _refuse_nonsense(config: Config) -> None:
    least = {"repetitions": 1, "concurrency": 1, "retries": 0, "max_output_bytes": 1}
    wrong = [
        f"{name} is {value}; it must be at least {low}"
        for name, low in least.items()
        if (value := getattr(config, name)) is not None and value < low
    ]
    positive = {"timeout_s": config.timeout_s, **{target.name or target.backend: target.timeout_s for target in config.targets}}
    wrong += [
        f"{name}: a time limit of {value} s; it must be above 0"
        for name, value in positive.items()
        if value is not None and value <= 0
    ]
    budgets = {f"budgets.{name}": getattr(config.budgets, name) for name in ("max_cost_usd", "max_calls", "max_duration_s")}
    wrong += [f"{name} is {value}; it must not be negative" for name, value in budgets.items() if value is not None and value < 0]
    if config.margin is not None and not 0 < config.margin < 1:
        wrong.append(f"margin is {config.margin}; it must lie between 0 and 1")
    if wrong:
        raise UsageError("\n".join(wrong))


def metric_of(config: Config, suites: Sequence[Suite]) -> str:
    """`score` where nothing but a quality score is asked, `cases` by the adapter's rules, else `checks`."""
    if config.metric:
        return config.metric
    types = {check.type for suite in suites for case in suite.cases for check in case.checks}
    if types and types <= JUDGED - {"rubric"}:
        return "score"
    return "cases" if config.adapter_rules else "checks"


def gate_of(config: Config, suites: Sequence[Suite]) -> Gate:
    """The experiment's gate: what was said, over the adapter's rules, over the defaults."""
    rules = {"cases": "every", "on": "point"} if config.adapter_rules else {}
    return _over(Gate(metric=metric_of(config, suites), **rules), config.gate)


def gates_of(config: Config, gate: Gate, skills: Mapping[str, str]) -> dict[str, Gate]:
    """Gates of single skills, over the experiment's. `skills`: name or id -> safe id. Unknown names are refused."""
    meant = resolve(config.gates, skills, "gates")
    return {meant[name]: _over(gate, said) for name, said in config.gates.items()}


def skill_names(skills: Sequence[Skill], safe: Sequence[Skill]) -> dict[str, str]:
    """Names and ids of the skills that are run, each with its safe id."""
    ids = {skill.where: skill.id for skill in safe}
    return {name: ids[skill.where] for skill in skills if skill.where in ids for name in (skill.name, skill.id, ids[skill.where])}


def shard_of(text: str | None) -> Shard | None:
    """`i/n`, both from 1. Raises UsageError for anything else."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    index, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= index <= count:
        raise UsageError(f"shard '{text}' is not i/n", "write the part and how many there are, from 1: --shard 2/4")
    return Shard(index=index, count=count)


def _over(gate: Gate, said: GateConfig) -> Gate:
    changes = {name: value for name, value in said if value is not None}
    if "allow_unmeasured" in changes:
        changes["allow_unmeasured"] = _allowance(str(changes["allow_unmeasured"]))
    for name, (low, high) in {"minimum_lift": (-1.0, 1.0), "minimum_pass_rate": (0.0, 1.0)}.items():
        value = changes.get(name)
        if value is not None and not low <= value <= high:
            raise UsageError(f"gate: {name} is {value}; it must lie from {low:g} to {high:g}")
    return gate.model_copy(update=changes)


def _allowance(text: str) -> str:
    text = text.strip()
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%|[0-9]+", text)
    if not match or (match[1] and float(match[1]) > 100):
        raise UsageError(f"gate: allow_unmeasured is '{text}'", "write a number of cells, as 2, or a share, as 5%")
    return text
