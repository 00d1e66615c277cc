"""One task typed by hand becomes a suite of one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from skilltrial import load
from skilltrial.errors import BadInput, UsageError
from skilltrial.flows.prepare import Material, Prepared
from skilltrial.plan.notes import judge_notes
from skilltrial.records.config import Config
from skilltrial.records.plan import WITHOUT_SKILL
from skilltrial.records.problems import Where
from skilltrial.records.suite import EMPTY_TREE, Case, Check, FileRef, Skill, Stage, Suite, Tree
from skilltrial.system.files import digest

MAX_BYTES = 16 * 1024 * 1024
TYPED = Where(file="<command line>")
NO_SKILL = Skill(id="task", name="task", description="", body="", tree=EMPTY_TREE, frontmatter={}, where=TYPED)


def material(
    prompt: str, skill: str | None, assertions: Sequence[str], expected: str | None, files: Sequence[str], stage: Stage, cwd: Path
) -> Material:
    """The task with its skill; without one, a stand-in that has only a baseline.

    Raises:
        UsageError: no prompt, a file that is not there, a skill that cannot be read.
    """
    if not prompt.strip():
        raise UsageError("the task is empty", 'write it in quotes: skilltrial task "Summarise notes.txt"')
    fixtures, sources = _fixtures(files, cwd)
    if skill is None:
        subject = NO_SKILL
    else:
        subject, more = _skill(skill, cwd)
        sources = {**sources, **more}
    case = Case(
        id="task",
        prompt=prompt,
        expected_output=expected,
        checks=_checks(assertions, expected),
        fixtures=fixtures,
        stage=stage,
        where=TYPED,
    )
    suite = Suite(skill=subject.id, dialect="task", cases=(case,), digest=digest(case.to_json().encode()), where=TYPED)
    return Material((subject,), (suite,), sources)


def _checks(assertions: Sequence[str], expected: str | None) -> tuple[Check, ...]:
    """Rubric sentences; else the expectation as one; else a quality score."""
    if assertions:
        return tuple(Check(id=f"assertion-{n}", type="rubric", text=text) for n, text in enumerate(assertions, 1))
    if expected:
        return (Check(id="expected", type="rubric", text=f"The output satisfies this expectation: {expected}"),)
    return (Check(id="quality", type="quality", text="Overall quality, 0 to 10"),)


def _skill(given: str, cwd: Path) -> tuple[Skill, Mapping[str, Path | bytes]]:
    loaded = load.project(Config(paths=(str(Path(cwd, given)),)), cwd, digests=True, suites_needed=False)
    if loaded.errors:
        raise BadInput(loaded.errors)
    if len(loaded.skills) != 1:
        raise UsageError(f"--skill {given}: a task needs one skill, found {len(loaded.skills)}")
    return loaded.skills[0], loaded.sources


def _fixtures(files: Sequence[str], cwd: Path) -> tuple[Tree, dict[str, Path | bytes]]:
    refs: list[FileRef] = []
    sources: dict[str, Path | bytes] = {}
    for name in files:
        path = Path(cwd, name)
        if not path.is_file():
            raise UsageError(f"--file {name}: there is no such file")
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"--file {name}: larger than {MAX_BYTES // 2**20} MiB")
        data = path.read_bytes()
        reference = FileRef(path=path.name, size=len(data), digest=digest(data))
        if any(other.path == reference.path for other in refs):
            raise UsageError(f"--file {name}: another file is called {path.name} too")
        refs.append(reference)
        sources[reference.digest] = path
    whole = digest("\n".join(f"{ref.path} {ref.digest}" for ref in refs).encode())
    return (Tree(digest=whole, files=tuple(refs)) if refs else EMPTY_TREE), sources


def without_a_skill(prepared: Prepared) -> Prepared:
    """Only the baseline is run: targets are compared, and there is no lift."""
    plan = prepared.plan
    kept = plan.model_copy(
        update={
            "arms": tuple(arm for arm in plan.arms if arm.name == WITHOUT_SKILL),
            "groups": tuple(group for group in plan.groups if group.arm == WITHOUT_SKILL),
            "contrasts": (),
            "gate": plan.gate.model_copy(update={"cases": "none"}),
            "warnings": tuple(judge_notes(plan.judge, plan.targets)),
        }
    )
    return replace(prepared, plan=kept)
