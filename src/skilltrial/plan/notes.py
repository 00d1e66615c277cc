"""What the user should know before the experiment starts: a design that cannot answer, arms that are not alike, …"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from skilltrial.plan.families import akin, family, same
from skilltrial.plan.limits import stage_of
from skilltrial.records.plan import Arm, CellGroup, Gate, Judge, Options, SetAside, Target
from skilltrial.records.suite import Case, Skill, Suite, landing
from skilltrial.seams import Capabilities
from skilltrial.wording.words import many

CELLS_FOR_A_WORD = 4
_FIXED = re.compile(r"(?:^|/)(?:o[1-9](?:$|[-:])|gpt-5)")
_SAMPLING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"})


def design_notes(groups: Sequence[CellGroup], baseline: bool, gate: Gate, options: Options) -> Iterator[str]:
    """Whether this many cells can answer at all."""
    count = options.repetitions
    if not baseline:
        yield "no baseline: there will be pass rates, and no lift"
    elif (cells := _fewest_cells(groups)) < CELLS_FOR_A_WORD:
        need = -(-CELLS_FOR_A_WORD * count // cells)
        yield f"{many(cells, 'run')} per arm cannot show that a skill helps: {CELLS_FOR_A_WORD} are needed (--repetitions {need})"
    if count == 1:
        yield "one repetition: a case that fails sometimes cannot be told from one that always does (--repetitions 3 can)"
    elif count % 2 == 0 and gate.cases == "majority":
        yield f"{count} repetitions can tie, and a tie leaves the gate open: {count + 1} cannot"


def _fewest_cells(groups: Sequence[CellGroup]) -> int:
    cells: dict[tuple[str, str, str], int] = {}
    for group in groups:
        key = (group.skill, group.target, group.arm)
        cells[key] = cells.get(key, 0) + group.repetitions
    return min(cells.values())


def judge_notes(judge: Judge | None, targets: Sequence[Target]) -> Iterator[str]:
    """The judge's home field: its own answers, or those of models by the same maker."""
    if judge is None or not judge.home_field:
        return
    kin = [target.name for target in targets if akin(judge.target, target) and not same(judge.target, target)]
    if kin:
        maker = family(judge.target)
        yield f"the judge {judge.target.name} is of the same maker ({maker}) as {', '.join(kin)}: it may favour its kin (--judge names another)"
    if not kin or any(same(judge.target, target) for target in targets):
        yield f"the judge {judge.target.name} is also under test: it may favour its own answers (--judge names another)"


def target_notes(targets: Sequence[Target]) -> Iterator[str]:
    """Parameters that a model refuses, and runs that are not kept apart from the user's own settings."""
    for target in targets:
        if target.user_home:
            yield f"{target.name}: runs in your own home with your own settings and skills (--user-home), in both arms"
        said = {**_params_in(target.options), **target.params}
        refused = sorted(_SAMPLING & said.keys())
        if refused and target.value and target.backend == "openai" and _FIXED.search(target.value):
            yield f"{target.name}: {target.value} refuses {', '.join(refused)}; sent without"


def _params_in(options: Mapping[str, object]) -> dict[str, object]:
    params = options.get("params")
    return dict(params) if isinstance(params, dict) else {}


def skill_notes(skills: Sequence[Skill], suites: Sequence[Suite]) -> Iterator[str]:
    forced = {suite.skill for suite in suites if all(case.forced for case in suite.cases)}
    for skill in skills:
        if skill.frontmatter.get("disable-model-invocation") is True and skill.id not in forced:
            yield f"{skill.name}: disable-model-invocation is set, so an agent never loads it by itself; only forced runs can show its effect"


def check_notes(suites: Sequence[Suite], arms: Sequence[Arm], set_aside: Sequence[SetAside]) -> Iterator[str]:
    """Checks that do not count alike in both arms or on all targets."""
    for suite in suites:
        names = {arm.name for arm in arms if arm.skill == suite.skill}
        for case in suite.cases:
            for check in case.checks:
                asked = names & set(check.arms if check.arms is not None else names)
                if check.required and check.scored and asked and asked != names:
                    yield f"{suite.skill}::{case.id}: check '{check.id}' counts only in {', '.join(sorted(asked))}: the arms are not graded alike"
    uneven = sorted({f"{row.skill}::{row.case}" for row in set_aside if row.target is not None})
    if uneven:
        shown = ", ".join(uneven[:5]) + (f" and {len(uneven) - 5} more" if len(uneven) > 5 else "")
        yield f"targets are not graded alike: checks are set aside on some targets only ({shown})"


def fixture_notes(suites: Sequence[Suite], capabilities: Mapping[str, Capabilities]) -> Iterator[str]:
    """Prompts that name a listed file by a path where it does not land, on targets that insist on another place.

    Where the suite decides, loading it has said so already.
    """
    for suite in suites:
        for case in suite.cases:
            for target, has in capabilities.items():
                if has.files and stage_of(case, has) != case.stage:
                    yield from _misnamed(suite, case, target, has)


def canary_notes(capabilities: Mapping[str, Capabilities], options: Options) -> Iterator[str]:
    """Agent programs whose baseline nobody proved clean before the suite."""
    programs = [target for target, has in capabilities.items() if has.program]
    if programs and not options.certify:
        yield f"no canary was run (--no-certify): that the baseline of {', '.join(programs)} sees no skill rests on what each run shows"


def mock_notes(suites: Sequence[Suite], capabilities: Mapping[str, Capabilities]) -> Iterator[str]:
    """Cases that are not what they were on a target that cannot be given their stand-in MCP servers."""
    named = [f"{suite.skill}::{case.id}" for suite in suites for case in suite.cases if case.mocks]
    for target, has in capabilities.items():
        if named and not has.mcp:
            shown = ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")
            yield f"{target} cannot be given MCP servers: the stand-ins of {shown} are not started there"


def _misnamed(suite: Suite, case: Case, target: str, has: Capabilities) -> Iterator[str]:
    for file in case.fixtures.files:
        lands = landing(file.path, stage_of(case, has))
        name = lands.rpartition("/")[2]
        found = re.findall(rf"[\w./-]*(?<![\w.-]){re.escape(name)}(?![\w-])", case.prompt)
        named = [path.removeprefix("./") for path in found if "//" not in path]
        if named and not {lands, name} & set(named):
            yield f"{suite.skill}::{case.id}: the prompt says '{named[0]}', but on {target} the file lies at '{lands}'"
