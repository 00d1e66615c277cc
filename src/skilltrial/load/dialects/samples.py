"""`[{sample_id, prompt, context, rubric, assertions: [{type, value, weight}], dimensions}]`, or the same under `samples`."""

from __future__ import annotations

from typing import Any

from skilltrial.load.dialects.standard import unique_ids
from skilltrial.load.document import Pointer
from skilltrial.load.draft import Draft, left_over, texts
from skilltrial.load.reading import Reading
from skilltrial.records.suite import Case, Suite

_KEYS = frozenset({"sample_id", "name", "prompt", "context", "rubric", "assertions", "dimensions", "metadata", "tags", "files"})
_PLAIN = {"contains": "value", "not_contains": "value", "regex": "pattern", "not_regex": "pattern", "json_schema": "schema"}
_NO_COUNTERPART = {
    "turns_max": "the number of turns is no check; 'max_turns' of 'limits' ends a run there",
    "cost_max": "cost is no check; --max-cost-per-case fails a run beyond it",
    "latency_max": "time is no check; --max-duration-per-case fails a run beyond it",
}


class Samples:
    """Samples with weighted assertions and a rubric."""

    name = "samples"
    rank = 20
    single = False

    def claims(self, value: Any) -> bool:
        listed = _listed(value)[1]
        return bool(listed) and isinstance(listed[0], dict) and "sample_id" in listed[0]

    def read(self, reading: Reading) -> Suite | None:
        key, listed = _listed(reading.value)
        cases = [_case(raw, number, (key, number - 1) if key else (number - 1,), reading) for number, raw in enumerate(listed, 1)]
        kept = [case for case in cases if case is not None]
        unique_ids(kept, reading.notes)
        extra = left_over(reading.value, ("samples", "skill_name", "skill")) if key else {}
        return reading.suite(self.name, kept, (), extra)


def _listed(value: Any) -> tuple[str | None, list[Any]]:
    if isinstance(value, dict):
        inner = value.get("samples")
        return "samples", inner if isinstance(inner, list) else []
    return None, value if isinstance(value, list) else []


def _case(raw: Any, position: int, at: Pointer, reading: Reading) -> Case | None:
    if not isinstance(raw, dict):
        reading.notes.error("case-form", "a sample is an object with a prompt", at)
        return None
    draft = Draft(reading, at)
    for item, spot in draft.each(raw, "assertions"):
        _assertion(item, spot, draft)
    draft.say_all(raw, at, "rubric")
    dimensions = raw.get("dimensions")
    for name, text in dimensions.items() if isinstance(dimensions, dict) else ():
        draft.say(f"{name}: {text}" if isinstance(text, str) else text, (*at, "dimensions", name), name)
    prompt, context = raw.get("prompt"), raw.get("context")
    if isinstance(prompt, str) and isinstance(context, str) and context.strip():
        prompt = f"{prompt}\n\n{context}"
    return draft.case(
        {
            "id": raw.get("sample_id"),
            "name": raw.get("name"),
            "prompt": prompt,
            "files": raw.get("files"),
            "tags": raw.get("tags"),
            **({"_metadata": raw["metadata"]} if "metadata" in raw else {}),
            **left_over(raw, _KEYS),
        },
        position,
        stage="flat",
    )


def _assertion(item: Any, at: Pointer, draft: Draft) -> None:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(kind, str):
        draft.say(item, at)
        return
    value = item.get("value")
    rest = left_over(item, ("type", "value"))
    if kind in _PLAIN:
        draft.add({"type": kind, **({_PLAIN[kind]: value} if "value" in item else {}), **rest}, at)
    elif kind in ("tools_called", "tools_not_called"):
        for name in texts(value):
            draft.add({"type": "tool_called" if kind == "tools_called" else "tool_not_called", "name": name, **rest}, at)
    elif kind in ("tools_count_min", "tools_count_max"):
        draft.add({"type": "tool_call_count", kind[-3:]: value, **rest}, at)
    elif kind in ("min_length", "max_length") and type(value) is int and value >= 0:
        bounds = f"{{{value},}}" if kind == "min_length" else f"{{0,{value}}}"
        draft.add(
            {"type": "regex", "pattern": rf"\A.{bounds}\Z", "flags": "s", "text": f"{kind.replace('_', ' ')} {value}", **rest}, at
        )
    elif kind == "json_valid":
        draft.add({"type": "valid_json", **rest}, at)
    else:
        draft.set_aside(kind, _NO_COUNTERPART.get(kind, "there is no such check here"), at)


plugin = Samples()
