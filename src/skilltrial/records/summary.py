"""The numbers of an experiment: `summary.json`. None is unknown, never 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skilltrial.records.record import Record

Verdict = Literal["helps", "hurts", "no meaningful effect", "inconclusive", "not measured"]
ReasonCode = Literal[
    "too_few_cells",
    "too_few_cases",
    "one_case",
    "two_cases",
    "includes_zero",
    "exact_test",
    "missing",
    "below_margin",
    "multiplicity",
    "narrower_scope",
    "futility",
    "budget",
    "no_pair",
    "excludes_zero",
    "inside_margin",
]


class SkillRow(Record):
    """A skill that was on trial: which version, and how large."""

    skill: str
    hash: str | None = None
    """SHA-256 over path, NUL, bytes, NUL of its files, as agent-skill-eval makes it; None: not known."""
    files: int | None = None
    bytes: int | None = None
    words: int | None = None
    """Of all its text files."""
    skill_md_words: int | None = None
    """Of SKILL.md alone."""


class Coverage(Record):
    """How much of the plan became a measurement."""

    planned: int
    finished: int
    """Cells with evidence that wait for no answer."""
    graded: int
    """Measured: the run was ok and every required check passed or failed."""
    set_aside: int
    """Checks, not cells."""
    failed_measurements: dict[str, int]
    """By state: outcome of the run, judge_error, contaminated, not_run, waiting."""
    by_arm: dict[str, dict[str, int]]
    """arm -> planned, finished, graded."""


class Spread(Record):
    """Seconds, tokens or dollars over cells that reported them."""

    mean: float | None = None
    stddev: float | None = None
    """n - 1; None below two values."""
    median: float | None = None
    total: float | None = None


class Tokens(Record):
    """Mean per cell over cells that reported each."""

    input: float | None = None
    cached: float | None = None
    non_cached_input: float | None = None
    output: float | None = None
    reasoning: float | None = None
    total: float | None = None


class Cost(Record):
    """US dollars over cells that reported a cost."""

    mean: float | None = None
    median: float | None = None
    total: float | None = None
    cells_with_cost: int = 0


class Interval(Record):
    """A value with its 95 % limits; limits are None where the rules give none."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Rate(Record):
    """One arm of one skill on one target."""

    skill: str
    target: str
    arm: str
    activation: Literal["natural", "forced"] = "natural"
    """Cases whose skill is forced on have a row of their own, after the natural one."""
    cases: int
    cells: int
    graded: int
    ungraded: int
    pass_rate: float | None = None
    low: float | None = None
    high: float | None = None
    like_these: Interval = Interval()
    full_pass_rate: float | None = None
    any_of_k: float | None = None
    """Share of cases with at least one fully passing repetition (agent-skill-eval's pass@k)."""
    pass_at_k: dict[str, Interval] = {}
    pass_hat_k: dict[str, Interval] = {}
    mean_score: float | None = None
    """Judge's quality score, 0 to 1."""
    delivery: Literal["installed", "injected", "body_only", "forced", "none"] | None = None
    time_seconds: Spread | None = None
    tokens: Tokens | None = None
    cost_usd: Cost | None = None
    cost_per_success: float | None = None
    failures: dict[str, int] = {}
    """Failed measurements of this arm by state."""


class Bound(Record):
    """The lift when every missing cell goes one way."""

    lift: float | None = None
    low: float | None = None
    high: float | None = None
    low90: float | None = None
    high90: float | None = None


class LikeThese(Record):
    """The second scope: cases random."""

    units: int = 0
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    verdict: Verdict = "not measured"
    reason: str = ""
    pseudo_cases: bool = False


class Ratio(Record):
    """Typical ratio with / without over cases (geometric mean), and the ratio of totals as a point."""

    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    of_totals: float | None = None
    cases: int = 0
    left_out: int = 0


class Lift(Record):
    """One arm against its baseline, for one skill on one target. `low high p_value verdict` speak of these cases."""

    skill: str
    target: str
    arm: str
    baseline: str
    activation: Literal["natural", "forced"] = "natural"
    cases: int = 0
    """Cases with a graded cell in both arms."""
    cases_dropped: int = 0
    """Planned cases without a graded cell in one of the arms; the bounds fill them in."""
    repetitions: int = 0
    cells: dict[str, int] = {}
    """Graded cells by arm."""
    lift: float | None = None
    low: float | None = None
    high: float | None = None
    low90: float | None = None
    high90: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict = "not measured"
    reason: str = ""
    point_label: Literal["clear positive", "marginal", "no measurable effect", "negative"] | None = None
    margin: float = 0.10
    coverage: dict[str, float] = {}
    worst: Bound = Bound()
    best: Bound = Bound()
    bounds_rule: bool = False
    """The verdict had to survive the bounds."""
    better: int = 0
    equal: int = 0
    worse_cases: tuple[str, ...] = ()
    like_these: LikeThese = LikeThese()
    time_delta: float | None = None
    """Seconds, mean paired difference."""
    token_delta: float | None = None
    cost_delta: float | None = None
    time_ratio: Ratio = Ratio()
    token_ratio: Ratio = Ratio()
    cost_ratio: Ratio = Ratio()
    lift_per_usd: Interval = Interval()


class CaseRow(Record):
    """One case in one arm on one target."""

    skill: str
    case: str
    target: str
    arm: str
    rate: float | None = None
    passes: int
    """Cells in which every required deterministic check passed."""
    measured: int
    planned: int = 0
    state: Literal["pass", "fail", "open"] | None = None
    flaky: bool = False
    squares: str = ""
    """One letter a repetition: P passed, F failed, U ungraded, X not measured, . not run."""


class LeaderRow(Record):
    """One target on the leaderboard; overlapping intervals share ranks."""

    target: str
    arm: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    note: str = ""
    """What differs from the first row's setup besides one thing, so that the rank has no single cause."""


class PairRow(Record):
    """Two-way judgements of one skill on one target: how often the judge, blind to arms, chose which."""

    skill: str
    target: str
    arm: str
    baseline: str
    wins: int = 0
    """Of the arm."""
    losses: int = 0
    ties: int = 0
    """Close calls that turned with the order are ties."""
    not_judged: int = 0
    """Planned pairs of which an arm is lost, or whose judge gave no choice."""
    win_rate: float | None = None
    """Ties count half; with exact 95 % limits."""
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    """Exact sign test of wins against losses."""


class JudgeRow(Record):
    """What judging took, counted apart from the runs."""

    backend: str
    model: str | None = None
    calls: int = 0
    tokens: int | None = None
    cost_usd: float | None = None
    temperature: float | None = None
    home_field: bool = False


class ActivationRow(Record):
    """How often the skill was seen to be used."""

    skill: str
    target: str
    arm: str
    activated: int = 0
    read: int = 0
    forced: int = 0
    not_seen: int = 0
    unknown: int = 0
    indicators_passed: int = 0
    indicators_failed: int = 0


class IsolationRow(Record):
    """Whether the baseline was free of the skill and the other arm had exactly it."""

    target: str
    level: str
    clean: bool | None = None
    reason: str = ""


class Totals(Record):
    """Everything spent, superseded attempts included."""

    cells: int = 0
    attempts: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    non_cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    cached_pct: float | None = None
    """Share of the input tokens that was read from a cache, over the runs that told; 0 to 100."""
    cost_usd: float | None = None
    cells_with_cost: int = 0
    judge_cost_usd: float | None = None
    duration_s: float | None = None
    """Summed over cells."""
    wall_s: float | None = None


class FailureRow(Record):
    """One cell that failed a check, or could not be measured."""

    cell: str
    state: str
    reason: str
    checks: tuple[str, ...] = ()


class BudgetRow(Record):
    """Limits and who exceeded them."""

    limits: dict[str, float] = {}
    action: str = "fail"
    exceeded: tuple[str, ...] = ()


class HookRow(Record):
    """One hook command that ran."""

    stage: Literal["pre_run", "post_grade", "post_run"]
    command: str
    exit_code: int | None = None
    timed_out: bool = False
    cell: str | None = None


class StabilityRow(Record):
    """Repetitions of one case in one arm that do not agree."""

    skill: str
    case: str
    target: str
    arm: str
    repetitions: int
    full_passes: int
    failures: int
    flaky: bool
    failed_checks: dict[str, int] = {}


class GateRow(Record):
    """The conditions of one skill on one target."""

    skill: str
    target: str
    exit_code: int
    passed: bool | None
    reasons: tuple[str, ...] = ()


class GateResult(Record):
    """0: green; 1: a condition is false; 2: nothing measured; 3: open."""

    exit_code: int
    passed: bool | None
    reasons: tuple[str, ...] = ()
    by_skill: tuple[GateRow, ...] = ()


class Summary(Record):
    """All numbers of an experiment. Reports print them and compute nothing."""

    schema_: str = Field(default="skilltrial.summary/1", alias="schema")
    experiment: str
    skilltrial: str = ""
    created_at: str = ""
    metric: Literal["checks", "cases", "score"] = "checks"
    scope: Literal["these", "like"] = "these"
    margin: float = 0.10
    skills: tuple[SkillRow, ...] = ()
    coverage: Coverage
    rates: tuple[Rate, ...] = ()
    lifts: tuple[Lift, ...] = ()
    cases: tuple[CaseRow, ...] = ()
    leaderboard: tuple[LeaderRow, ...] = ()
    pairwise: tuple[PairRow, ...] = ()
    judge: tuple[JudgeRow, ...] = ()
    activation: tuple[ActivationRow, ...] = ()
    isolation: tuple[IsolationRow, ...] = ()
    totals: Totals = Totals()
    failures: tuple[FailureRow, ...] = ()
    """Cells that failed a required check in the arm under test."""
    errors: tuple[FailureRow, ...] = ()
    """Failed measurements."""
    skipped: tuple[FailureRow, ...] = ()
    """Cells planned and not run; before them whole skills, by folder or id, with state `invalid` or `no_suite`."""
    set_aside: tuple[FailureRow, ...] = ()
    budget: BudgetRow = BudgetRow()
    hooks: tuple[HookRow, ...] = ()
    cleanup: dict[str, int] = {}
    stability: tuple[StabilityRow, ...] = ()
    reused: int = 0
    stopped: str | None = None
    gate: GateResult
    warnings: tuple[str, ...] = ()
