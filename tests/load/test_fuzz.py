"""Whatever stands in a file, loading it gives problems and never anything but a UsageError."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilltrial.errors import UsageError
from skilltrial.load import project
from skilltrial.load.validate import examine
from skilltrial.records.config import Config

SETTINGS = settings(max_examples=400, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
GOOD_SKILL = "---\nname: demo\ndescription: d\n---\nBody\n"
GOOD_SUITE: dict[str, Any] = {
    "skill_name": "demo",
    "defaults": {"target": {"params": {"t": 0}}, "judge": {"params": {}}, "tools": []},
    "stage": "flat",
    "evals": [
        {
            "id": 1, "prompt": "Read a.txt", "expected_output": "e", "files": ["evals/a.txt"], "should_trigger": True, "force_skill_invocation": False,
            "assertions": ["One", {"text": "t"}, {"type": "file_exists", "path": "x"}, {"type": "regex-match", "pattern": "x", "flags": "gi", "target": {"file": "f"}}],
            "checks": [
                {"id": "c", "type": "contains", "value": "v", "required": True}, {"type": "number", "value": 1, "tolerance": 0.1},
                {"type": "command", "argv": ["a"]}, {"type": "json_schema", "schema": {}}, {"type": "contains_all", "values": ["a"]},
                {"type": "tool_used", "tool": "Skill", "min": 0, "arm": "both"},
            ],
            "tool_assertions": [{"type": "tool-arg-equals", "name": "n", "path": "a[0].b", "value": {"x": [1]}}, {"type": "tool-call-count", "max": 3}],
            "tools": [{"type": "function", "function": {"name": "n", "parameters": {}}}], "tool_choice": "auto", "params": {"k": 1},
            "side_effect_level": "static", "side_effect_contract": {"allow_new_commits": False}, "limits": {"max_turns": 1}, "tags": ["a"], "weight": 1,
        },
        {"query": "q", "expectations": ["A commit was created"], "should_trigger": False},
    ],
}  # fmt: skip
TRIGGERS: list[Any] = [{"query": "q", "should_trigger": True, "id": 1, "tags": ["x"]}, {"query": "r", "should_trigger": False}]
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
    st.sampled_from(["", " ", "\0", "../x", "/x", "(", "[a", "x" * 5000, "::", "tool-called", "regex", "quality", "rubric", "with-only", "ü/表", "\ud800".encode("utf-8", "replace").decode()]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "demo/evals").mkdir(parents=True)
        (root / "demo/evals/a.txt").write_text("a")
        yield root


def survives(root: Path, skill: bytes, suite: bytes, suite_name: str = "evals.json") -> None:
    for old in (root / "demo/evals").glob("evals.*"):
        old.unlink()
    (root / "demo/SKILL.md").write_bytes(skill)
    (root / "demo/evals" / suite_name).write_bytes(suite)
    checked = examine(("demo",), root, "strict")
    for problem in checked.problems:
        str(problem).encode("utf-8")
        problem.to_json()
    for prose in ("ase", "off"):
        try:
            loaded = project(Config(paths=("demo",), prose_checks=prose), root)
        except UsageError:
            continue
        for record in (*loaded.skills, *loaded.suites, *loaded.problems):
            json.loads(record.to_json())
        assert loaded.errors or all(suite.cases for suite in loaded.suites)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def changed(value: Any, at: tuple[Any, ...], new: Any, remove: bool) -> Any:
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(at) == 1 and remove:
        del copy[at[0]]
    else:
        copy[at[0]] = changed(copy[at[0]], at[1:], new, remove)
    return copy


@SETTINGS
@given(data=st.data())
def test_any_value_at_any_place_of_a_suite_is_survived(folder: Path, data: st.DataObject) -> None:
    suite: Any = data.draw(st.sampled_from([GOOD_SUITE, TRIGGERS]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(list(places(suite))))
        suite = changed(suite, at, data.draw(VALUES), data.draw(st.booleans()))
    survives(
        folder, GOOD_SKILL.encode(), json.dumps(suite, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    )


@SETTINGS
@given(data=st.data())
def test_any_text_edit_of_a_suite_is_survived(folder: Path, data: st.DataObject) -> None:
    text = json.dumps(GOOD_SUITE, indent=1).encode()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 40)))
        piece = data.draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from(
                    [b"{", b"[", b'"', b",", b"NaN", b"1e999", b"\\ud800", b'"a":1,"a":2', b"[" * 2000, b"&x", b"*x", b"- "]
                ),
            )
        )
        text = text[:start] + piece + text[end:]
    survives(folder, GOOD_SKILL.encode(), text, data.draw(st.sampled_from(["evals.json", "evals.yaml"])))


FRONT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["name: demo", "name: no", "name: [a]", "name:", "description: a: b", "description: >", "  folded", "- @x", "  - `y`", "metadata:", "  a: 2024-01-01", "allowed-tools: A, B(c:*, d)",
         "allowed-tools: {a: 1}", "x: &a 1", "y: *a", "---", "...", "\t", "? a", "key: [", "'", '"\\U', "compatibility: 3", "license: [1]", "disable-model-invocation: true", "a: b", "a: c"]
    ),
)  # fmt: skip


@SETTINGS
@given(lines=st.lists(FRONT, max_size=10), closed=st.booleans(), body=st.text(max_size=60), bom=st.booleans(), crlf=st.booleans())
def test_any_frontmatter_is_survived(folder: Path, lines: list[str], closed: bool, body: str, bom: bool, crlf: bool) -> None:
    text = "\n".join(["---", *lines, *(["---"] if closed else []), body])
    data = text.replace("\n", "\r\n" if crlf else "\n").encode("utf-8", "surrogatepass")
    survives(folder, (b"\xef\xbb\xbf" if bom else b"") + data, json.dumps(GOOD_SUITE).encode())


@SETTINGS
@given(skill=st.binary(max_size=120), suite=st.binary(max_size=120))
def test_any_bytes_are_survived(folder: Path, skill: bytes, suite: bytes) -> None:
    survives(folder, skill, suite)
