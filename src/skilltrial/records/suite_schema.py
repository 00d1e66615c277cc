"""The JSON Schema of `evals.json` for editors: the forms of all dialects that the file may take, in one.

It helps while writing; `skilltrial validate` is the judge. Unknown keys are kept and warned about, so nothing is closed.
"""

from __future__ import annotations

from typing import Any, get_args

from pydantic import TypeAdapter

from skilltrial.records.checks import CHECKS
from skilltrial.records.mocks import MockTool
from skilltrial.records.suite import Limits, SideEffectLevel, Stage

Schema = dict[str, Any]
"""A JSON Schema."""
_TOOL_TYPES = tuple(name for name in CHECKS if name.startswith("tool_"))
_SPELLED = {"json_schema": "schema"}
"""Options under the name that suites use."""


def suite_schema() -> Schema:
    """The schema, without the address of its draft."""
    return {
        "title": "skilltrial suite",
        "description": "`evals/evals.json`: the cases of one skill, in the Agent Skills form and the dialects we read.",
        "type": "object",
        "required": ["evals"],
        "properties": {
            "$schema": _text("Address of this schema, for editors."),
            "skill_name": _text("Name of the skill the suite belongs to."),
            "reviewed": {"type": "boolean", "default": True, "description": "false: a draft that nobody has looked at; `validate` says so and looks closer."},
            "stage": {"enum": list(get_args(Stage)), "description": "Where fixtures land: without a leading evals/, files/ or fixtures/ (flat), as listed (keep), or below inputs/."},
            "files_base": {"enum": ["skill", "evals", "repository"], "description": "The folder that fixtures are listed from, where more than one would fit."},
            "prose_checks": {"enum": ["auto", "ase", "off"], "description": "Whether known sentences become checks of the program, as in agent-skill-eval; auto: where other keys of that tool are used."},
            "defaults": _defaults(),
            "evals": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/case"}, "description": "The cases."},
        },
        "$defs": {"case": _case(), "check": _check(), "assertion": _assertion(), "toolAssertion": _tool_assertion(), "tool": _tool(), "file": _file(), "JsonValue": {}},
    }  # fmt: skip


def _case() -> Schema:
    params = {"type": "object", "not": {"anyOf": [{"required": ["model"]}, {"required": ["messages"]}]}}
    return {
        "type": "object",
        "required": ["prompt"],
        "properties": {
            "id": {"type": ["string", "integer"], "description": "Unique in the suite; the position when absent."},
            "name": _text("A label for people."),
            "prompt": {"type": "string", "minLength": 1, "description": "The task, as a user would put it."},
            "expected_output": _text("What a good answer does. The judge sees it, the agent never."),
            "files": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/file"}]}, "description": "Fixtures: relative to the skill's folder, else the suite's, else the repository's root."},
            "checks": {"type": "array", "items": {"$ref": "#/$defs/check"}, "description": "Deterministic checks."},
            "assertions": _many("#/$defs/assertion", "Sentences for the judge, or checks with a type."),
            "expectations": _many("#/$defs/assertion", "Another name for assertions."),
            "tool_assertions": _many("#/$defs/toolAssertion", "What tool calls must or must not be requested."),
            "should_trigger": {"type": "boolean", "default": True, "description": "false: a negative control; the skill should stay out."},
            "force_skill_invocation": {"type": "boolean", "default": False, "description": "Tell the agent to use the skill. Shown in a lift row of its own."},
            "params": {**params, "description": "Request parameters for HTTP targets."},
            "judge_params": {**params, "description": "Request parameters for the judge."},
            "limits": {"type": "object", "properties": {name: {"type": "number", "exclusiveMinimum": 0} for name in Limits.model_fields}, "description": "Caps on one run."},
            "weight": {"type": "number", "exclusiveMinimum": 0, "default": 1, "description": "Its share in the pass rate."},
            "cluster": _text("Cases of one cluster are not independent; they count as one unit."),
            "tags": _texts("Tags to choose cases by."),
            "tools": _many("#/$defs/tool", "Function tools offered to HTTP targets; calls are recorded, not executed."),
            "tool_choice": {"description": "auto, none, required, or one function."},
            "mocks": _mocks(),
            "stage_files": {"type": "boolean", "default": False, "description": "Put the fixtures into git's index before the run."},
            "side_effect_level": {"enum": list(get_args(SideEffectLevel)), "description": "What the case may touch outside its answer."},
            "side_effect_contract": {"type": "object", "additionalProperties": {"type": "boolean"}, "description": "allow_new_local_branches, allow_new_remote_branches, allow_new_commits, allow_new_review_requests, allow_worktree_changes."},
        },
    }  # fmt: skip


def _mocks() -> Schema:
    tool = TypeAdapter(MockTool).json_schema()["properties"]
    options = {key: {k: v for k, v in field.items() if k != "title"} for key, field in tool.items() if key != "name"}
    about = "Stand-in MCP servers for agent programs: server -> tools, each with its answer. Their tools are called mcp__SERVER__TOOL."
    answer = {
        "anyOf": [
            {"type": "string"},
            {"type": "object", "properties": options, "required": ["answer"], "additionalProperties": False},
        ]
    }
    server = {
        "type": "object",
        "required": ["tools"],
        "properties": {
            "tools": {"type": "object", "minProperties": 1, "additionalProperties": answer},
            "files": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Texts for {{file:PATH}} in answers.",
            },
        },
        "additionalProperties": False,
    }
    return {"type": "object", "additionalProperties": server, "description": about}


def _check() -> Schema:
    kinds = [_typed(name) for name in CHECKS if name not in ("quality", *_TOOL_TYPES)]
    kinds += [_typed(name) for name in _TOOL_TYPES]
    return {"description": "One thing to verify without a judge.", "type": "object", "required": ["type"], "oneOf": kinds}


def _typed(name: str) -> Schema:
    """One type of check with its own options."""
    record = CHECKS[name]
    made = TypeAdapter(record).json_schema()
    options = {
        _SPELLED.get(key, key): {k: v for k, v in field.items() if k != "title"}
        for key, field in made.get("properties", {}).items()
    }
    return {
        "description": made.get("description", ""),
        "properties": {
            "type": {"const": name},
            "id": _text("Unique in the case."),
            "text": _text("What a person reads."),
            "required": {"type": "boolean", "default": True, "description": "false: shown, counted nowhere."},
            "weight": {"type": "number", "exclusiveMinimum": 0, "default": 1, "description": "Its share in the cell's rate."},
            **options,
        },
        "required": ["type", *(_SPELLED.get(key, key) for key in made.get("required", ()))],
    }


def _assertion() -> Schema:
    keys = ("text", "value", "criterion")
    sentence = {
        "type": "object",
        "properties": {key: {"type": "string", "minLength": 1} for key in keys},
        "anyOf": [{"required": [key]} for key in keys],
        "not": {"required": ["type"]},
    }
    return {"anyOf": [{"type": "string", "minLength": 1}, sentence, {"$ref": "#/$defs/check"}]}  # fmt: skip


def _tool_assertion() -> Schema:
    kinds = []
    for name in _TOOL_TYPES:
        kind = _typed(name)
        kind["properties"]["type"] = {"enum": [name.replace("_", "-"), name]}
        kinds.append(kind)
    return {"type": "object", "required": ["type"], "oneOf": kinds}


def _file() -> Schema:
    return {
        "type": "object",
        "description": "A fixture under another name, or with its text.",
        "properties": {
            "path": _text("What the case calls it."),
            "source": _text("Where it lies."),
            "content": _text("Its text, instead of a source."),
        },
        "anyOf": [{"required": ["path"]}, {"required": ["source"]}],
    }


def _tool() -> Schema:
    function = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "description": {"type": "string"}, "parameters": {"type": "object"}},
    }
    return {"type": "object", "required": ["type", "function"], "properties": {"type": {"const": "function"}, "function": function}}  # fmt: skip


def _defaults() -> Schema:
    holder = {"type": "object", "properties": {"params": {"type": "object"}}}
    return {
        "type": "object",
        "description": "What holds for every case unless it says otherwise.",
        "properties": {"target": holder, "judge": holder, "tools": _many("#/$defs/tool", "Tools of every case.")},
    }


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}


def _texts(about: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": about}


def _many(of: str, about: str) -> Schema:
    return {"type": "array", "items": {"$ref": of}, "description": about}
