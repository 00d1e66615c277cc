"""What the user asked for: `skilltrial.yaml`, `[tool.skilltrial]` and the options of `run`, in one shape.

None means not said: a lower layer (file, environment, default) decides.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from skilltrial.records.plan import Budgets, Hooks, Network
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import SideEffectLevel


class TargetConfig(Record):
    """One target. Keys that only one backend knows go into `options`."""

    backend: str
    """What kind of target: claude-code, openai, adapter, …"""
    model: str | None = None
    """The value after the colon: a model, a path to an executable or a weights file."""
    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$")
    """Its name in folders and reports: letters, digits, '.', '_', '-'. Default: backend and model."""
    base_url: str | None = None
    """Address of the endpoint, of HTTP backends and of programs that take one."""
    api_key_env: str | None = None
    """Name of the variable that holds the key; never the key."""
    params: JsonObject = {}
    """Request parameters of HTTP backends, as temperature; never model or messages."""
    headers: dict[str, str] = {}
    """HTTP headers to send as well."""
    env: tuple[str, ...] = ()
    """Names of variables let through to this program; their values are never stored."""
    args: tuple[str, ...] = ()
    """More arguments for the program or adapter."""
    allowed_tools: tuple[str, ...] = ()
    """Tools the agent may use, where its program can be told."""
    reasoning_effort: str | None = None
    """How hard the model is to think, where it can be told."""
    pricing: dict[str, float] | None = None
    """US dollars per token: prompt, completion, input_cache_read, input_cache_write."""
    timeout_s: float | None = None
    """Seconds one run may take."""
    options: JsonObject = {}
    """Settings that only this backend knows."""


class SuiteConfig(Record):
    """A skill with a suite that lies elsewhere."""

    skill: str
    """Folder of the skill."""
    evals: str
    """Suite file."""


class GateConfig(Record):
    """Conditions of the gate; None: not said."""

    cases: Literal["majority", "every", "none"] | None = None
    """Which repetitions of a case must pass its required checks. Default majority."""
    checks: Literal["required", "all"] | None = None
    """all: rubric sentences count too. Default required: deterministic checks alone."""
    minimum_lift: float | None = None
    """Smallest lift that is green, as a share: 0.1 is ten points."""
    minimum_pass_rate: float | None = None
    """Smallest pass rate that is green, from 0 to 1; replaces the rule for cases."""
    on: Literal["interval", "point"] | None = None
    """Whether the interval (default) or the estimate alone decides about minimum_lift."""
    scope: Literal["these", "like"] | None = None
    """Whose interval: a rerun of these cases (default), or cases like these."""
    allow_unmeasured: str | int | None = None
    """Cells that may end unmeasured under every: a number, or a share as 5%. Default 0."""
    count_as_failed: tuple[Literal["agent_error", "timeout"], ...] | None = None
    """Outcomes counted as failed cells instead of missing ones."""


class ReportConfig(Record):
    """Where reports go besides the experiment's folder."""

    title: str | None = None
    """Title of the HTML page."""
    output: tuple[str, ...] = ()
    """Files by suffix: .xml .md .json .html .csv."""
    tree: bool | None = None
    """Write a folder per cell. Default: for everything but HTTP targets."""
    html: bool | None = None
    """Write the HTML page into the experiment's folder. Default true."""
    layout: Literal["iteration", "flat"] | None = None
    """Write the results once more as agent-skills-eval lays them out: iteration, into the experiment's folder, or flat, into
    a folder per skill in the workspace, anew each time. Default: neither."""


class LoggingConfig(Record):
    """What is said while it runs."""

    format: Literal["pretty", "jsonl", "silent"] | None = None
    """For people, one JSON object a line, or nothing. Default pretty."""
    file: str | None = None
    """Where jsonl lines go; `-` is the output stream. Default: the error stream."""
    verbose: bool | None = None
    """Show each run's prompts, answer and what the judge was asked and said; no list of the report is cut."""
    color: bool | Literal["auto"] | None = None
    """Colors; auto: on a terminal unless NO_COLOR is set."""
    listeners: tuple[str, ...] = ()
    """Installed listeners that hear all news as well, by name."""
    snippet_length: int | None = None
    """Characters of each answer shown as its run ends. Default: none, with verbose all."""


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
    changed_only: bool | None = None
    """Only skills that changed since the branch left `base_ref`, or have changes not committed."""
    base_ref: str | None = None
    """Commit or branch; default `origin/main`."""
    last_failed: str | None = None
    """Only cases that failed or were not measured in this experiment: `latest`, a number, a name, a path, a foreign tree."""
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
    network: Network | None = None
    image: str | None = None
    env: tuple[str, ...] = ()
    keep_workspaces: Literal["never", "failed", "all"] | None = None
    workspaces_dir: str | None = None
    workspace: str | None = None
    """Folder of experiments; default `skilltrial-workspace`."""
    run_id: str | None = None
    source_repo: str | None = None
    source_commit: str | None = None
    """Found out, never asked for."""
    pricing: dict[str, dict[str, float]] = {}
    """Model name -> US dollars per token: prompt, completion, input_cache_read, input_cache_write."""
    report: ReportConfig = ReportConfig()
    logging: LoggingConfig = LoggingConfig()
    strict: bool | None = None
    skip_invalid: bool | None = None
    library: bool | None = None
    grade_later: bool | None = None
    reuse: bool | None = None
    user_home: bool | None = None
    """Run agent programs in the caller's own home, with its settings and login; every report says so."""
    certify: bool | None = None
    """Prove on a canary that an agent program's baseline sees no skill, before its first cell (default true)."""
    replay: str | None = None
    seed: int | None = None
    shard: str | None = None
    """`i/n`, from 1."""
    yes: bool | None = None
    adapter_rules: bool | None = None
    """Set by `--adapter`: gate every, point, metric cases."""
    options: dict[str, JsonValue] = {}
    """Options given to every target that has them (`--base-url`, `--temperature`, …)."""
