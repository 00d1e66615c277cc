"""Suites, targets and settings to plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from skilltrial.plan import Candidate, Made, make
from skilltrial.records.checks import JUDGED, NEEDS_TOOLS
from skilltrial.records.config import Config
from skilltrial.records.plan import Judge, Target
from skilltrial.records.problems import Where
from skilltrial.records.suite import Case, Check, FileRef, Skill, Suite, Tree
from skilltrial.seams import Capabilities

CONTAINS = Check(id="k1", type="contains", text="says 4", options={"value": "4"})
RUBRIC = Check(id="k2", type="rubric", text="It is polite.")
HTTP = Capabilities(skills=True, judge=True, timeout_s=120.0, concurrency=16)
PROGRAM = Capabilities(skills=True, files=True, tools=True, program=True, timeout_s=600.0, concurrency=2)
ADAPTER = Capabilities(skills=True, files=True, stage="inputs", concurrency=1)


def case(name: str = "sum", **more: Any) -> Case:
    return Case.model_validate(
        {
            "id": name,
            "prompt": f"What is 2 + 2, in {name}?",
            "checks": (CONTAINS,),
            "where": Where(file="evals.json", pointer=name),
        }
        | more
    )


def skill(name: str = "demo", **more: Any) -> Skill:
    tree = Tree(digest="sha256:tree-" + name)
    about = {"id": name, "name": name, "description": "Adds.", "body": "Add.", "tree": tree, "frontmatter": {}}
    return Skill.model_validate(about | {"where": Where(file=f"{name}/SKILL.md")} | more)


def suite(*cases: Case, of: str = "demo") -> Suite:
    return Suite(skill=of, dialect="standard", cases=cases or (case(),), digest="sha256:0", where=Where(file=f"{of}/evals.json"))


def tree(*paths: str) -> Tree:
    return Tree(digest="sha256:f", files=tuple(FileRef(path=path, size=1, digest="sha256:" + path) for path in paths))


def target(name: str = "one", backend: str = "openai", value: str | None = "small", **more: Any) -> Target:
    return Target(name=name, backend=backend, value=value, **more)


def judge(value: str = "big") -> Judge:
    return Judge(target=target("judge", value=value))


def cannot_grade(check: Check, has: Capabilities, judged: bool) -> str | None:
    if check.type in JUDGED and not judged:
        return "there is no judge"
    return "no record of tool calls" if check.type in NEEDS_TOOLS and not has.tools else None


Plan_ = Callable[..., Made]


@pytest.fixture
def planned() -> Plan_:
    """`make` with defaults: one skill, one case, one HTTP target, no judge."""

    def build(
        *cases: Case,
        skills: Any = None,
        suites: Any = None,
        targets: Any = None,
        judge: Judge | None = None,
        more: Any = None,
        **config: Any,
    ) -> Made:
        return make(
            skills=skills or (skill(),),
            suites=suites or (suite(*cases),),
            targets=targets or (Candidate(target(), HTTP),),
            judge=judge,
            config=Config.model_validate(config),
            cannot_grade=cannot_grade,
            **(more or {}),
        )

    return build
