"""Suites of any form as one value of the shared form, `{"evals": [...]}`, that loads to the same cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from skilltrial.load import prose
from skilltrial.load.assertions import stand_in
from skilltrial.load.cases import KNOWN_KEYS
from skilltrial.load.checks import WITH_SKILL, is_indicator, label
from skilltrial.load.dialects.standard import TOP_KEYS, markers_of
from skilltrial.records.checks import JUDGED
from skilltrial.records.mocks import MockServer
from skilltrial.records.suite import Case, Check, FileRef, SideEffects, Stage, Suite, landing

Entry = Callable[[FileRef, str], Any]
"""How a fixture is listed under a path: as that path, or as an object that says where it comes from."""
REVIEWED = "reviewed"
_ARMS_TOLD: dict[tuple[str, ...], str] = {(WITH_SKILL,): "with-only"}


def standard_form(suites: Sequence[Suite], skill_name: str, entry: Entry) -> tuple[dict[str, Any], list[str]]:
    """The value, and what it cannot say."""
    lost: list[str] = []
    cases = [case for suite in suites for case in suite.cases]
    stages = {case.stage for case in cases if case.fixtures.files} or {case.stage for case in cases}
    stage: Stage = stages.pop() if len(stages) == 1 else "keep"
    written = [_case(case, number, stage, entry, lost) for number, case in enumerate(cases, 1)]
    top: dict[str, Any] = {"skill_name": skill_name}
    marked = "ase-py" in markers_of({}, written)
    if stage != "flat" or marked:
        top["stage"] = stage
    if marked and any(_would_be_routed(case) for case in written):
        top["prose_checks"] = "off"
    for suite in suites:
        for key, value in suite.extra.items():
            if key == REVIEWED:
                top[key] = top.get(key, True) and value  # one draft makes the whole a draft
            elif key in TOP_KEYS or key in top:
                lost.append(f"'{key}' of {suite.where.file}")
            else:
                top[key] = value
    return {**top, "evals": written}, lost


def _case(case: Case, number: int, stage: Stage, entry: Entry, lost: list[str]) -> dict[str, Any]:
    given = case.given_id if case.given_id is not None or case.id == str(number) else case.id
    made: dict[str, Any] = {
        "id": given,
        "name": case.name,
        "prompt": case.prompt,
        "expected_output": case.expected_output,
        "files": [entry(ref, ref.path if case.stage == stage else landing(ref.path, case.stage)) for ref in case.fixtures.files],
        "should_trigger": None if case.should_trigger else False,
        "force_skill_invocation": case.forced or None,
        "stage_files": case.stage_files or None,
        **_side_effects(case.side_effects),
        **_checks(case, lost),
        "limits": {key: _plain(value) for key, value in case.limits if value is not None},
        "params": case.params,
        "judge_params": case.judge_params,
        "tools": list(case.tools),
        "tool_choice": case.tool_choice,
        "mocks": {server.name: _mock(server) for server in case.mocks},
        "weight": _plain(case.weight) if case.weight != 1 else None,
        "cluster": case.cluster,
        "tags": list(case.tags),
    }
    kept = {key: value for key, value in made.items() if value is not None and value not in ({}, [])}
    for key, value in case.extra.items():
        if key in KNOWN_KEYS:
            lost.append(f"'{key}' of the case '{case.id}'")
        else:
            kept[key] = value
    return kept


def _mock(server: MockServer) -> dict[str, Any]:
    tools: dict[str, Any] = {}
    for tool in server.tools:
        told = tool.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
        tools[tool.name] = tool.answer if told.keys() == {"answer"} else told
    return {"tools": tools, **({"files": server.files} if server.files else {})}


def _plain(number: float) -> float:
    """2 for 2.0."""
    return int(number) if number == int(number) else number


def _side_effects(effects: SideEffects | None) -> dict[str, Any]:
    return {} if effects is None else {"side_effect_level": effects.level, "side_effect_contract": effects.contract}


def _checks(case: Case, lost: list[str]) -> dict[str, list[Any]]:
    """The checks in their order: those before the first sentence, then sentences and what stands between them."""
    stands_in = stand_in(case.expected_output)
    listed = [check for check in case.checks if check != stands_in]
    first = next((number for number, check in enumerate(listed) if check.type in JUDGED), len(listed))
    head, tail = listed[:first], listed[first:]
    return {
        "checks": [_check(check, f"check-{number}", case, lost) for number, check in enumerate(head, 1)],
        "assertions": [_check(check, f"assertion-{number}", case, lost) for number, check in enumerate(tail, 1)],
    }


def _check(check: Check, usual_id: str, case: Case, lost: list[str]) -> Any:
    common: dict[str, Any] = {} if check.id == usual_id else {"id": check.id}
    if not check.required:
        common["required"] = False
    if check.weight != 1:
        common["weight"] = _plain(check.weight)
    common |= _arm(check, case, lost)
    if check.type == "rubric":
        if not case.should_trigger and prose.git_kind(check.text):
            common["type"] = "rubric"  # as a bare sentence it would be taken for one that has to be turned round
        return {**common, "text": check.text} if common else check.text
    said = {} if check.text == label(check.type, check.options) else {"text": check.text}
    return {"type": check.type, **common, **check.options, **said}


def _arm(check: Check, case: Case, lost: list[str]) -> dict[str, Any]:
    indicator = is_indicator(check.type, check.options)
    if check.arms is None:
        if check.scored == (not indicator):
            return {}
        if check.scored:
            return {"arm": "both"}
        lost.append(f"that the check '{check.id}' of the case '{case.id}' counts in no rate")
        return {}
    told = _ARMS_TOLD.get(check.arms)
    return {"arm": told} if told else {"arms": list(check.arms)}


def _would_be_routed(case: dict[str, Any]) -> bool:
    """Whether a sentence would be turned into a check of the program when it is read again."""
    return any(isinstance(item, str) and prose.route(item) is not None for item in case.get("assertions", ()))
