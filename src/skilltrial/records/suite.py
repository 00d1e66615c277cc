"""Skills and suites as the user wrote them, in one shape whatever the dialect."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from skilltrial.records.mocks import MockServer
from skilltrial.records.problems import Where
from skilltrial.records.record import JsonObject, Record

Stage = Literal["flat", "keep", "inputs"]
SideEffectLevel = Literal["static", "local-only", "live-safe", "live-external"]


class FileRef(Record):
    """A file by content. The bytes lie in the experiment's blobs under `digest`."""

    path: str
    """POSIX, relative to the root of its tree. Of a fixture: as its case calls it."""
    size: int
    """Bytes."""
    digest: str
    """`sha256:` and 64 hex digits."""
    executable: bool = False


class Tree(Record):
    """Files of a folder in order of path, and one digest over all of them."""

    digest: str
    files: tuple[FileRef, ...] = ()


EMPTY_TREE = Tree(digest="sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


class ContentFile(Record):
    """One file of a skill, measured."""

    path: str
    bytes: int
    words: int
    """0 for what is no text."""
    sha256: str


class SkillMdSize(Record):
    """How long a SKILL.md is."""

    bytes: int = 0
    words: int = 0
    body_words: int = 0
    """Below the frontmatter."""


class SkillSize(Record):
    """How large a skill is: what an agent may have to read."""

    files: int
    bytes: int
    words: int
    """Of all text files."""
    skill_md: SkillMdSize
    content_files: tuple[ContentFile, ...] = ()


class Skill(Record):
    """A folder with a SKILL.md."""

    id: str
    """The name, or the relative path where two skills share a name."""
    name: str
    description: str
    body: str
    tree: Tree
    """Everything that is staged: all files but `evals/`, caches and version control."""
    frontmatter: JsonObject
    hash: str | None = None
    """SHA-256 over path, NUL, bytes, NUL of each of these files in order of path, as agent-skill-eval makes it."""
    size: SkillSize | None = None
    """None: not measured."""
    where: Where


class Check(Record):
    """One thing to verify about a run."""

    id: str
    type: str
    """A key of `records.checks.CHECKS`, or a type that an installed grader brings."""
    text: str
    """What a person reads; for a rubric, the sentence that goes to the judge."""
    required: bool = True
    """False: diagnostic, shown and counted nowhere."""
    scored: bool = True
    """False: an indicator that only one arm can fulfil; it gates and shows under activation, never in a rate or lift."""
    weight: float = 1.0
    arms: tuple[str, ...] | None = None
    """Arms it is asked in; None means all."""
    options: JsonObject = {}


class SideEffects(Record):
    """What a case may change outside its answer (agent-skill-eval's levels and contract)."""

    level: SideEffectLevel = "local-only"
    contract: dict[str, bool] | None = None


class Limits(Record):
    """Caps on one run. None: the backend's default or no cap."""

    timeout_s: float | None = None
    output_bytes: int | None = None
    max_turns: int | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None


class Case(Record):
    """One task of a suite. A trigger query is a Case too."""

    id: str
    given_id: int | str | None = None
    """As written, JSON type kept; None where the position was used."""
    name: str | None = None
    prompt: str
    expected_output: str | None = None
    checks: tuple[Check, ...] = ()
    fixtures: Tree = EMPTY_TREE
    """Paths as listed in the suite; where they land follows from `stage`."""
    stage: Stage = "flat"
    stage_files: bool = False
    """`git add` the fixtures before the run (agent-skill-eval)."""
    should_trigger: bool = True
    forced: bool = False
    side_effects: SideEffects | None = None
    limits: Limits = Limits()
    params: JsonObject = {}
    """Request parameters for HTTP targets; never model or messages."""
    judge_params: JsonObject = {}
    tools: tuple[JsonObject, ...] = ()
    tool_choice: JsonValue = None
    mocks: tuple[MockServer, ...] = ()
    """Stand-in MCP servers that an agent program is given, in both arms."""
    cluster: str | None = None
    weight: float = 1.0
    tags: tuple[str, ...] = ()
    extra: JsonObject = {}
    """Unknown keys, kept."""
    where: Where


class Aside(Record):
    """A check of a suite that has no counterpart here, so that no case holds it."""

    case: str
    check: str
    """Its id or its type, as the suite calls it."""
    reason: str


class Suite(Record):
    """The cases of one skill, from one file or folder."""

    skill: str
    """Id of the skill it is paired with."""
    dialect: str
    cases: tuple[Case, ...]
    digest: str
    """Digest of the file's bytes."""
    markers: tuple[str, ...] = ()
    """Dialect markers seen, as `ase-py`; they switch compatibility defaults on."""
    set_aside: tuple[Aside, ...] = ()
    where: Where
    extra: JsonObject = {}


def is_live(case: Case) -> bool:
    """The case reaches the real remote of its source repository; others push to a private copy of it."""
    return case.side_effects is not None and case.side_effects.level in ("live-safe", "live-external")


def landing(path: str, stage: Stage) -> str:
    """Where a listed fixture lies in the workspace.

    flat: the listed path without a leading `evals/`, then `files/` or `fixtures/`; keep: as listed; inputs: below `inputs/`.
    """
    if stage == "inputs":
        return f"inputs/{path}"
    if stage == "keep":
        return path
    parts = path.split("/")
    for heads in (("evals",), ("files", "fixtures")):
        if len(parts) > 1 and parts[0] in heads:
            parts = parts[1:]
    return "/".join(parts)


def landed(fixtures: Tree, stage: Stage) -> dict[str, FileRef]:
    """Fixtures by the path they lie at in the workspace; of two for one place the first."""
    found: dict[str, FileRef] = {}
    for ref in fixtures.files:
        found.setdefault(landing(ref.path, stage), ref)
    return found
