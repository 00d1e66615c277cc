"""What the files of the folder view hold, for those who read them; `formats/native.py` writes them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skilltrial.records.evidence import Activation, Inventory, Outcome, Source
from skilltrial.records.grades import Comparison, JudgeCall
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import SideEffectLevel
from skilltrial.records.summary import Cost


class GradedRow(Record):
    """One check and its verdict."""

    id: str
    text: str
    passed: bool | None
    """None: nobody could decide, which is neither passed nor failed."""
    evidence: str
    method: str
    """check, judge, hook, budget, contract or human."""
    skipped: bool
    """The same as `passed` null."""
    required: bool
    score: float | None
    """0 to 1 where the method gives more than yes or no."""


class GradedSummary(Record):
    """Required checks by outcome."""

    passed: int
    failed: int
    skipped: int
    total: int
    pass_rate: float | None
    """Of those decided; None when none was."""


class GradingFile(Record):
    """`grading.json`."""

    assertion_results: tuple[GradedRow, ...]
    """As the standard's guide and agent-skills-eval name it."""
    expectations: tuple[GradedRow, ...]
    """The same rows, as skill-creator names them."""
    summary: GradedSummary


class TimingFile(Record):
    """`timing.json`: what a run took. None means not reported, never zero."""

    duration_ms: int | None
    total_duration_seconds: float | None
    total_tokens: int | None
    input_tokens: int | None
    cached_tokens: int | None
    cache_creation_tokens: int | None
    non_cached_input_tokens: int | None
    output_tokens: int | None
    reasoning_output_tokens: int | None
    cost_usd: float | None
    cost_usd_source: str | None
    turns: int | None
    model_requests: int | None
    timed_out: bool
    retries: int
    """Attempts before this one."""
    budget_exceeded: bool
    budget_reason: str | None


class RunMetaFile(Record):
    """`run_meta.json`: how a run was made. Written last: where it stands, the folder is whole."""

    cell: str
    eval_id: int | str
    """As the suite has it."""
    skill_name: str
    skill_hash: str | None
    """As agent-skill-eval makes it; None: not known."""
    run_id: str
    """Name of the experiment."""
    side_effect_level: SideEffectLevel
    source_repo: str | None
    source_commit: str | None
    agent: str
    """The target's backend."""
    target: str
    arm: str
    with_skill: bool
    run_index: int
    attempt: int
    outcome: Outcome
    reason: str | None
    activation: Activation
    inventory: Inventory
    model_requested: str | None
    model: str | None
    reasoning_effort: str | None
    base_url: str | None
    delivery: Literal["installed", "injected", "body_only"] | None
    """How the skill reaches the target."""
    home: Literal["clean", "user"]
    settings: JsonObject
    """Options of the target, with `params`, `env` (names) and `args`."""
    agent_cli_version: str | None
    harness_version: str
    sandbox: str
    inputs: str
    """Digest of all that can change the run."""
    warnings: tuple[str, ...]
    source: Source
    redactions: int
    started_at: str


class PairFile(Comparison):
    """`pair-<baseline>.json`: a judge's choice between two arms of a block."""

    calls: tuple[JudgeCall, ...]  # type: ignore[assignment]
    """The questions and replies, masked."""


class StateFile(Record):
    """`pre_state.json`, `post_state.json`: the repository before and after a run."""

    local_branches: tuple[str, ...]
    remote_branches: tuple[str, ...]
    """Without the remote's name."""
    current_branch: str | None
    head_sha: str | None
    commit_count: int | None
    """Commits that HEAD reaches. None: to tell would have taken a third git process."""
    commits: tuple[str, ...]
    """The newest 20, as short hash and subject; () also where the count is not known."""
    remote_names: tuple[str, ...]
    open_prs: tuple[JsonObject, ...] | None
    """Open pull or merge requests: number, headRefName, baseRefName, url, state. None: nobody asked the provider."""
    branch_heads: dict[str, str]
    remote_branch_heads: dict[str, str]
    commit_shas: tuple[str, ...]
    """The newest 50."""
    status_porcelain: tuple[str, ...]
    changed_files: tuple[str, ...]


class HookOfRun(Record):
    """One row of `outputs/post_grade_hooks.json`."""

    command: str
    exit_code: int | None
    timed_out: bool
    duration_s: float
    stdout: str
    stderr: str


class Mean(Record):
    """A mean, with its spread or its interval where there is one."""

    mean: float | None
    stddev: float | None = None
    """n - 1, over cells; that of `pass_rate` over cases. None: fewer than two, or not known where this was written."""
    low: float | None = None
    high: float | None = None


class BenchmarkSide(Record):
    """One arm."""

    pass_rate: Mean
    time_seconds: Mean
    tokens: Mean
    cost_usd: Cost | None
    cells: int
    graded: int
    any_of_k: float | None


class BenchmarkDelta(Record):
    """With the skill minus without."""

    pass_rate: float | None
    time_seconds: float | None
    tokens: float | None


class BenchmarkSummary(Record, extra="allow"):
    """Arms by name, or by `<target>_<arm>` for several targets."""

    __pydantic_extra__: dict[str, BenchmarkSide] = Field(init=False)
    delta: BenchmarkDelta | None = None
    """For one target."""


class BenchmarkFile(Record):
    """`<skill>/benchmark.json`."""

    skill_name: str
    run_summary: BenchmarkSummary
    deltas: dict[str, BenchmarkDelta] | None = None
    """By target, for several."""
