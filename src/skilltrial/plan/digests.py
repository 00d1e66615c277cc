"""What a cell is known by: its inputs can change the run, its checks only the grade."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from skilltrial.plan.limits import limits_of
from skilltrial.records.plan import Arm, CellGroup, Judge, Options, Target
from skilltrial.records.suite import Case, Skill, Stage, is_live, landing


def of(value: Any) -> str:
    """`sha256:` over canonical JSON: equal for equal values, whatever the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def target_part(target: Target) -> dict[str, Any]:
    """A target without its name, and without prices, which change no run."""
    return target.model_dump(mode="json", exclude={"name", "pricing", "timeout_s", "delivery", "sandbox", "deferred"})


def inputs_part(case: Case, stage: Stage, target: Target, level: str, options: Options) -> dict[str, Any]:
    """All that every arm of a case on a target shares."""
    return {
        "prompt": case.prompt,
        "fixtures": sorted([landing(file.path, stage), file.digest, file.executable] for file in case.fixtures.files),
        "stage_files": case.stage_files,
        "forced": case.forced,
        "params": case.params,
        "tools": case.tools,
        "tool_choice": case.tool_choice,
        **({"mocks": [server.model_dump(mode="json") for server in case.mocks]} if case.mocks else {}),
        "target": target_part(target),
        "env": options.env,
        "limits": limits_of(case, target, options).model_dump(mode="json"),
        "sandbox": level,
        **({"source": [options.source_commit, is_live(case)]} if options.source_commit else {}),
    }


def inputs_digest(shared: dict[str, Any], arm: Arm, skill: Skill) -> str:
    """Digest of what can change the run of one arm. A baseline's knows nothing of the skill."""
    seen = {
        "trees": [tree.digest for tree in arm.trees],
        "name": skill.name,
        "description": skill.description,
        "forced": arm.forced,
    }
    return of({**shared, "arm": seen if arm.trees else None})


def checks_digest(case: Case) -> str:
    """Digest of what the grade is given by."""
    return of(
        {
            "checks": [check.model_dump(mode="json") for check in case.checks],
            "expected_output": case.expected_output,
            "judge_params": case.judge_params,
            **({"contract": case.side_effects.contract} if case.side_effects and case.side_effects.contract else {}),
        }
    )


def judge_digest(judge: Judge) -> str:
    return of({"target": target_part(judge.target), "mode": judge.mode})


def plan_digest(groups: Sequence[CellGroup], judge: Judge | None, rest: Any) -> str:
    """Of what is run and how it is judged: the same on another machine, in another folder, at another time."""
    cells = [[g.skill, g.case, g.target, g.arm, g.repetitions, g.inputs, g.checks] for g in groups]
    return of({"cells": cells, "judge": judge.digest if judge else None, "rest": rest})
