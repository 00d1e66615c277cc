"""What the user asked for: `skilltrial.yaml`, `[tool.skilltrial]` and the options of `run`, in one shape.

None means not said: a lower layer (file, environment, default) decides.
"""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from skilltrial.records.plan import Budgets, Hooks
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import SideEffectLevel


class TargetConfig(Record):
    """One target. Keys that only one backend knows go into `options`."""

    backend: str
    model: str | None = None
    """The value after the colon: a model, a path to an executable or a weights file."""
    name: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    """Name of the variable that holds the key; never the key."""
    params: JsonObject = {}
    headers: dict[str, str] = {}
    env: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    pricing: dict[str, float] | None = None
    timeout_s: float | None = None
    options: JsonObject = {}


class SuiteConfig(Record):
    """A skill with a suite that lies elsewhere."""

    skill: str
    evals: str


class GateConfig(Record):
    """Conditions of the gate; None: not said."""

    cases: Literal["majority", "every", "none"] | None = None
    checks: Literal["required", "all"] | None = None
    minimum_lift: float | None = None
    minimum_pass_rate: float | None = None
    on: Literal["interval", "point"] | None = None
    scope: Literal["these", "like"] | None = None
    allow_unmeasured: str | int | None = None
    count_as_failed: tuple[Literal["agent_error", "timeout"], ...] | None = None


class ReportConfig(Record):
    """Where reports go besides the experiment's folder."""

    title: str | None = None
    output: tuple[str, ...] = ()
    """Files by suffix: .xml .md .json .html .csv."""
    tree: bool | None = None
    layout: Literal["iteration", "flat"] | None = None


class LoggingConfig(Record):
    """What is said while it runs."""

    format: Literal["pretty", "jsonl", "silent"] | None = None
    file: str | None = None
    verbose: bool | None = None
    color: bool | Literal["auto"] | None = None
    snippet_length: int | None = None


class Config(Record):
    """All settings of one invocation. Paths are relative to the file they stand in, absolute once loaded."""

    paths: tuple[str, ...] = ()
    """Skills, folders of skills, suite files. Key `skills` in the file."""
    suites: tuple[SuiteConfig, ...] = ()
    evals: tuple[str, ...] = ()
    """`--evals`: every given skill with every given suite."""
    skill_names: tuple[str, ...] = ()
    """`--skill NAME`: a filter."""
    eval_ids: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    side_effect_levels: tuple[SideEffectLevel, ...] = ()
    with_tags: tuple[str, ...] = ()
    targets: tuple[TargetConfig, ...] = ()
    judge: TargetConfig | Literal["none"] | None = None
    judge_base_url: str | None = None
    judge_api_key_env: str | None = None
    judge_params: JsonObject = {}
    judge_mode: Literal["single", "pairwise"] | None = None
    baseline: bool | None = None
    repetitions: int | None = None
    concurrency: int | None = None
    timeout_s: float | None = None
    retries: int | None = None
    max_output_bytes: int | None = None
    metric: Literal["checks", "cases", "score"] | None = None
    margin: float | None = None
    prose_checks: Literal["auto", "ase", "off"] | None = None
    stage: Literal["flat", "keep", "inputs"] | None = None
    gate: GateConfig = GateConfig()
    gates: dict[str, GateConfig] = {}
    tags: dict[str, tuple[str, ...]] = {}
    xfail: tuple[str, ...] = ()
    budgets: Budgets = Budgets()
    hooks: Hooks = Hooks()
    sandbox: str | None = None
    env: tuple[str, ...] = ()
    keep_workspaces: Literal["never", "failed", "all"] | None = None
    workspaces_dir: str | None = None
    workspace: str | None = None
    """Folder of experiments; default `skilltrial-workspace`."""
    run_id: str | None = None
    source_repo: str | None = None
    pricing: dict[str, dict[str, float]] = {}
    """Model name -> US dollars per token: prompt, completion, input_cache_read, input_cache_write."""
    report: ReportConfig = ReportConfig()
    logging: LoggingConfig = LoggingConfig()
    strict: bool | None = None
    skip_invalid: bool | None = None
    library: bool | None = None
    grade_later: bool | None = None
    reuse: bool | None = None
    replay: str | None = None
    seed: int | None = None
    shard: str | None = None
    """`i/n`, from 1."""
    yes: bool | None = None
    adapter_rules: bool | None = None
    """Set by `--adapter`: gate every, point, metric cases."""
    options: dict[str, JsonValue] = {}
    """Options given to every target that has them (`--base-url`, `--temperature`, …)."""
