"""What will be run: the Plan is written first and never changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from pydantic import Field

from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import Limits, Skill, Suite, Tree

WITH_SKILL = "with_skill"
WITHOUT_SKILL = "without_skill"


Network = Literal["on", "model-only", "off"]
"""What a program may reach."""


class Arm(Record):
    """One variant under comparison for one skill: which skill folders a run may see."""

    name: str
    skill: str
    """Id of the skill under test."""
    trees: tuple[Tree, ...] = ()
    """Staged skill folders; () in `without_skill`."""
    subject: str | None = None
    """Name of the staged skill that this arm tests; None in a baseline."""
    forced: bool = False


class Target(Record):
    """A backend with a value and settings, under a name that is unique and path-safe."""

    name: str
    backend: str
    value: str | None = None
    """What stands after the first colon, verbatim: a model, a path, a script name."""
    options: JsonObject = {}
    """Fields of the backend's own record (base_url, api_key_env, params, …). Never a secret, only names of variables."""
    params: JsonObject = {}
    env: tuple[str, ...] = ()
    """Names of variables let through to the program."""
    args: tuple[str, ...] = ()
    pricing: dict[str, float] | None = None
    """US dollars per token: prompt, completion, input_cache_read, input_cache_write."""
    timeout_s: float | None = None
    program_version: str | None = None
    delivery: Literal["installed", "injected", "body_only"] | None = None
    """How the skill reaches it."""
    user_home: bool = False
    """Its runs use the caller's own home, settings and login in place of clean ones."""
    sandbox: str = "none"
    """Level its runs are started at, decided when the plan was made."""
    network: Network = "on"
    """What its runs may reach; anything but `on` needs walls."""
    image: str | None = None
    """Image of its runs, for docker and podman."""
    deferred: bool = False
    """Its answers come later, to packets."""


class Judge(Record):
    """Who grades rubrics."""

    target: Target
    mode: Literal["single", "pairwise"] = "single"
    digest: str = ""
    home_field: bool = False
    """The judge's model is a target's own, or of the same maker."""


class Contrast(Record):
    """Which arm is compared with which baseline."""

    skill: str
    arm: str = WITH_SKILL
    baseline: str = WITHOUT_SKILL
    primary: bool = True


class CellGroup(Record):
    """All repetitions of one case, arm and target: they share their inputs."""

    skill: str
    case: str
    target: str
    arm: str
    repetitions: int
    inputs: str
    """Digest of what can change the run: prompt, delivered fixtures, the arm's trees (none in a baseline), target without its name, program version, limits, sandbox level."""
    checks: str
    """Digest of the checks and the expected output."""
    expected_s: float | None = None
    """Seconds one cell took in earlier experiments; longest first."""


class Cell(NamedTuple):
    """One case, arm, target and repetition. Derived from a CellGroup, made when needed, never kept in a list."""

    skill: str
    case: str
    target: str
    arm: str
    repetition: int
    """From 1."""
    inputs: str
    seed: int

    @property
    def id(self) -> str:
        """`skill/case/target/arm/repetition`; every part is a safe name."""
        return f"{self.skill}/{self.case}/{self.target}/{self.arm}/{self.repetition}"

    @property
    def block(self) -> str:
        """All arms of one case, target and repetition: the unit of pairing, sharding and early stopping."""
        return f"{self.skill}/{self.case}/{self.target}/{self.repetition}"


class SetAside(Record):
    """A check that cannot be graded here; known before the first call and counted in nothing."""

    check: str
    skill: str
    case: str
    target: str | None = None
    """None: on every target."""
    reason: str


class Gate(Record):
    """When a run ends green. All conditions must hold, per skill and target."""

    cases: Literal["majority", "every", "none"] = "majority"
    checks: Literal["required", "all"] = "required"
    """`all` adds rubric sentences to the deterministic checks that decide whether a cell passed."""
    minimum_lift: float | None = None
    minimum_pass_rate: float | None = None
    on: Literal["interval", "point"] = "interval"
    scope: Literal["these", "like"] = "these"
    metric: Literal["checks", "cases", "score"] = "checks"
    allow_unmeasured: str = "0"
    """A number of cells, or a share as `5%`."""
    count_as_failed: tuple[str, ...] = ()
    """Outcomes counted as failed cells: agent_error, timeout."""


class StopRule(Record):
    """When to stop early."""

    kind: Literal["none", "until_sure", "looks"] = "none"
    looks: int | None = None
    margin: float | None = None
    alpha: float = 0.05


class Budgets(Record):
    """Caps on the whole experiment and limits per cell. None: no cap; unknown values never trip one."""

    max_cost_usd: float | None = None
    """US dollars the whole experiment may cost."""
    max_calls: int | None = None
    """Model calls and agent runs it may make."""
    max_duration_s: float | None = None
    """Seconds it may take."""
    per_case: dict[str, float] = {}
    """input_tokens, non_cached_input_tokens, output_tokens, reasoning_tokens, total_tokens, cost_usd, duration_s, tool_calls."""
    action: Literal["warn", "fail", "stop-suite"] = "fail"
    """What a limit per case does when a run exceeded it."""


class Hooks(Record):
    """Shell commands around a run."""

    pre_run: tuple[str, ...] = ()
    """Before the first run; a failure stops everything."""
    post_grade: tuple[str, ...] = ()
    """After each graded cell; a JSON list of {text, passed} it prints becomes grades."""
    post_run: tuple[str, ...] = ()
    """At the end; a failure is recorded."""
    timeout_s: float | None = None
    """Seconds one hook may take; None: 600."""


class Shard(Record):
    """Part `index` of `count`, both from 1, by block."""

    index: int
    count: int


class Options(Record):
    """Settings that hold for every cell of the experiment."""

    repetitions: int = 1
    concurrency: int | None = None
    """None: the backend's own default."""
    retries: int = 1
    limits: Limits = Limits()
    sandbox: str = "auto"
    network: Network = "on"
    image: str | None = None
    env: tuple[str, ...] = ()
    keep_workspaces: Literal["never", "failed", "all"] = "never"
    workspaces_dir: str | None = None
    grade_later: bool = False
    tree: bool | None = None
    """Write the per-cell folder view; None: on for programs, off for HTTP targets."""
    layout: Literal["iteration", "flat"] | None = None
    """Write the results once more as agent-skills-eval lays them out."""
    report_title: str | None = None
    """Heading of the HTML page; None: the skills and the experiment."""
    report_html: bool = True
    """Write the HTML page."""
    reuse: bool = False
    certify: bool = True
    """Prove on a canary that an agent program's baseline sees no skill, before its first cell."""
    max_output_bytes: int = 1_048_576
    """Of an adapter or runner, per stream."""
    adapter_rules: bool = False
    """The handbook's rules: gate every, point, metric cases, baseline first."""
    tags: dict[str, tuple[str, ...]] = {}
    xfail: tuple[str, ...] = ()
    """`skill::case` names expected to fail."""
    skipped_skills: tuple[str, ...] = ()
    """Skills found without a suite."""
    invalid_skills: dict[str, str] = {}
    """Folder of each skill left out because of errors -> the first of them."""
    source_repo: str | None = None
    """Repository, by address or path, that every case starts from."""
    source_commit: str | None = None
    """Where it stood when the trial was planned."""


class Plan(Record):
    """Everything an experiment set out to do. `experiment.json` on disk."""

    schema_: str = Field(default="skilltrial.plan/1", alias="schema")
    experiment: str
    """Name of the folder, as `iteration-3`."""
    created_at: str
    """UTC, ISO 8601."""
    skilltrial: str
    """Version that made it."""
    skills: tuple[Skill, ...]
    suites: tuple[Suite, ...]
    arms: tuple[Arm, ...]
    targets: tuple[Target, ...]
    judge: Judge | None = None
    contrasts: tuple[Contrast, ...] = ()
    groups: tuple[CellGroup, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    gate: Gate = Gate()
    gates: dict[str, Gate] = {}
    """Gates of single skills, over `gate`."""
    stop: StopRule = StopRule()
    budgets: Budgets = Budgets()
    hooks: Hooks = Hooks()
    options: Options = Options()
    seed: int = 0
    shard: Shard | None = None
    warnings: tuple[str, ...] = ()
    redactions: int = 0
    """Places masked when it was stored: a masked prompt is not the one that ran, so `resume` takes it from the user's files."""
    digest: str = ""
    """Of everything above but the name, the time and the seed."""


def in_shard(block: str, shard: Shard | None) -> bool:
    """Whether this part of the experiment runs that block; all arms of a block fall into the same part."""
    from zlib import crc32

    return shard is None or crc32(block.encode()) % shard.count == shard.index - 1


def cells(plan: Plan) -> Iterator[Cell]:
    """All cells that this plan runs, in plan order: group by group, repetitions in order, the shard's own only."""
    for group in plan.groups:
        for cell in cells_of(group, plan.seed):
            if in_shard(cell.block, plan.shard):
                yield cell


def cell_of(group: CellGroup, repetition: int, seed: int) -> Cell:
    """One repetition of a group, with its own seed derived from the experiment's; all arms of a block share it."""
    from zlib import crc32

    number = crc32(f"{seed}/{group.skill}/{group.case}/{group.target}/{repetition}".encode()) & 0x7FFFFFFF
    return Cell(group.skill, group.case, group.target, group.arm, repetition, group.inputs, number)


def cells_of(group: CellGroup, seed: int) -> Iterator[Cell]:
    """The repetitions of a group in order."""
    for repetition in range(1, group.repetitions + 1):
        yield cell_of(group, repetition, seed)
