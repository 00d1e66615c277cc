"""`skilltrial.yaml` and `[tool.skilltrial]`, key by key, as a user writes them.

`load/config.py` turns this into a Config. The strings under the fields become the descriptions in
`schemas/config.schema.json` and the page docs/reference/configuration.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, JsonValue, Tag

from skilltrial.records.config import GateConfig, LoggingConfig, ReportConfig, SuiteConfig, TargetConfig
from skilltrial.records.plan import Budgets, Hooks, Network
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import SideEffectLevel, Stage


def _written_as(value: Any) -> str:
    return "text" if isinstance(value, str) else "mapping"


def _one_or_many(value: Any) -> str:
    return "text" if isinstance(value, str) else "list"


Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
Texts = Annotated[Annotated[str, Tag("text")] | Annotated[tuple[str, ...], Tag("list")], Discriminator(_one_or_many)]
"""One text, or a list of them."""
TargetEntry = Annotated[Annotated[str, Tag("text")] | Annotated[TargetConfig, Tag("mapping")], Discriminator(_written_as)]
"""`backend:value`, or a mapping of the target's settings."""
CaseRule = Literal["majority", "every", "none"]
GateEntry = Annotated[Annotated[CaseRule, Tag("text")] | Annotated[GateConfig, Tag("mapping")], Discriminator(_written_as)]
"""The rule for cases alone, or a mapping of all conditions."""


class ArmsFile(Record):
    """The arms of the trial."""

    baseline: bool | None = None
    """Run every case without the skill as well. Default true; false measures no lift."""


class ConfigFile(Record):
    """All keys of `skilltrial.yaml`. Every key is optional; an option of the command line wins over the file."""

    schema_: str | None = Field(default=None, alias="$schema")
    """Address of this schema, for editors."""
    skills: Texts = ()
    """Skills, folders of skills or suite files. Default: the skill in the working folder."""
    suites: tuple[SuiteConfig, ...] = ()
    """Pairs of a skill and a suite that lies elsewhere."""
    evals: Texts = ()
    """Suite files that are run with every skill given."""
    skill_names: tuple[str, ...] = ()
    """Only skills of these names."""
    eval_ids: tuple[str | int, ...] = ()
    """Only these cases: an id, or skill::case."""
    include: tuple[str, ...] = ()
    """Only skills whose folder matches one of these patterns."""
    exclude: tuple[str, ...] = ()
    """No skills whose folder matches one of these patterns."""
    side_effect_levels: tuple[SideEffectLevel, ...] = ()
    """Only cases of these side-effect levels."""
    with_tags: tuple[str, ...] = ()
    """Only cases that carry one of these tags."""
    library: bool | None = None
    """Take every folder inside a given folder as a skill, so that one without a SKILL.md is an error."""
    strict: bool | None = None
    """Stop when a skill breaks a must-rule of the standard."""
    skip_invalid: bool | None = None
    """Leave invalid skills out and run the others."""
    source_repo: str | None = None
    """Git repository, by address or path, that every case starts from."""
    targets: tuple[TargetEntry, ...] = ()
    """What runs the tasks: backend, backend:value, or a mapping with settings."""
    options: dict[str, JsonValue] = {}
    """Settings given to every target that has them."""
    judge: TargetEntry | None = None
    """Who grades rubric sentences: backend:value, a mapping, or none. Default: the first target's model if it can."""
    judge_base_url: str | None = None
    """Endpoint of the judge. Default: the target's when both are openai."""
    judge_api_key_env: str | None = None
    """Name of the variable that holds the judge's key; never the key."""
    judge_params: JsonObject = {}
    """Request parameters of the judge. Its temperature is 0 unless said here or refused."""
    judge_mode: Literal["single", "pairwise"] | None = None
    """Grade each answer alone, or both arms side by side."""
    arms: ArmsFile = ArmsFile()
    """The arms of the trial."""
    repetitions: Positive | None = None
    """Runs of each case in each arm on each target. Default 1."""
    concurrency: Positive | None = None
    """Cells at once, per target; agent programs share one such limit over all of them. Default 16 for HTTP, up to 4 for programs, 1 for adapters and runners."""
    timeout_s: Seconds | None = None
    """Seconds one run may take. Default 120, for agent programs 600."""
    retries: Annotated[int, Field(ge=0)] | None = None
    """Tries more after an infrastructure error. Default 1."""
    max_output_bytes: Positive | None = None
    """Most bytes an adapter or runner may write to a stream. Default 1048576."""
    stage: Stage | None = None
    """Where fixtures land in the workspace. Default flat; adapters always use inputs."""
    prose_checks: Literal["auto", "ase", "off"] | None = None
    """Route sentences such as 'a commit was created' to git checks. Default auto."""
    metric: Literal["checks", "cases", "score"] | None = None
    """What a cell's rate is: share of required checks, all of them or not, or the judge's score. Default checks."""
    margin: Share | None = None
    """Smallest lift that matters to you, as a share. Default 0.10."""
    gate: GateEntry = GateConfig()
    """When the run ends green: a rule for cases, or a mapping of all conditions."""
    gates: dict[str, GateEntry] = {}
    """Gates of single skills, over the gate above."""
    tags: dict[str, tuple[str, ...]] = {}
    """Tag -> the cases that carry it, as skill::case."""
    xfail: tuple[str, ...] = ()
    """Cases expected to fail, as skill::case."""
    budgets: Budgets = Budgets()
    """Caps on the whole experiment and limits per case."""
    hooks: Hooks = Hooks()
    """Shell commands before the first run, after each grading and at the end."""
    sandbox: str | None = None
    """Isolation of agent programs: auto, none, bwrap, docker or podman. Default auto."""
    network: Network | bool | None = None
    """What agent programs behind walls may reach: on, model-only or off. Default on. YAML reads on and off as true and false."""
    image: str | None = None
    """Image for docker and podman; it holds the agent program, or the libraries that the installed one needs."""
    env: tuple[str, ...] = ()
    """Names of variables let through to agent programs; their values are never stored."""
    keep_workspaces: Literal["never", "failed", "all"] | None = None
    """Which workspaces stay after their run. Default never."""
    workspaces_dir: str | None = None
    """Folder in which workspaces are made. Default: a temporary one."""
    workspace: str | None = None
    """Folder of experiments. Default skilltrial-workspace."""
    run_id: str | None = None
    """Label of this run, kept with the results."""
    pricing: dict[str, dict[str, Annotated[float, Field(ge=0)]]] = {}
    """Model -> US dollars per token: prompt, completion, input_cache_read, input_cache_write."""
    report: ReportConfig = ReportConfig()
    """Where reports go besides the experiment's folder."""
    logging: LoggingConfig = LoggingConfig()
    """What is said while it runs."""
    grade_later: bool | None = None
    """Run cases that nothing can grade yet, to be graded by `grade`."""
    reuse: bool | None = None
    """Take finished baseline cells with equal inputs, up to 7 days old."""
    user_home: bool | None = None
    """Run agent programs in your own home, with its settings, skills and login; every report says so."""
    certify: bool | None = None
    """Prove on a canary that an agent program's baseline sees no skill, before its first cell. Default true."""
    replay: str | None = None
    """Folder of recorded answers to use in place of the targets."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of everything random in the plan. Default 0."""
    shard: Annotated[str, Field(pattern=r"^[1-9][0-9]*/[1-9][0-9]*$")] | None = None
    """Part i of n, as i/n from 1."""
    yes: bool | None = None
    """Do not ask before an expensive run."""
    adapter_rules: bool | None = None
    """The handbook's rules: gate every, on point, metric cases. Set by --adapter."""
