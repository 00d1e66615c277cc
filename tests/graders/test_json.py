"""JSON paths, syntax and schemas."""

from __future__ import annotations

from typing import Any

import pytest

TEXT = '{"items": [{"name": "a", "n": 1}, {"name": "b"}], "ok": true, "a.b": 5, "none": null}'
PATHS = [
    ({"json_path": "items.1.name", "equals": "b"}, "passed"),
    ({"json_path": "items[0].n", "equals": 1.0}, "passed"),
    ({"json_path": "$.items[0].n", "equals": True}, "failed"),
    ({"json_path": "ok", "equals": 1}, "failed"),
    ({"json_path": "items", "equals": [{"n": 1, "name": "a"}, {"name": "b"}]}, "passed"),
    ({"json_path": "items", "equals": [{"name": "b"}, {"n": 1, "name": "a"}]}, "failed"),
    ({"json_path": "items.7"}, "failed"),
    ({"json_path": "items.-1"}, "failed"),
    ({"json_path": "a.b", "equals": 5}, "passed"),
    ({"json_path": "none"}, "passed"),
    ({"json_path": "nothing.at.all"}, "failed"),
]


@pytest.mark.parametrize(("options", "state"), PATHS)
def test_a_path_is_looked_up_and_compared_deeply(run: Any, options: dict[str, Any], state: str) -> None:
    assert run.grade("json_path", TEXT, **options).state == state


def test_a_path_must_be_absent_from_json_that_can_be_read(run: Any) -> None:
    assert run.grade("json_path_not_exists", TEXT, json_path="error").state == "passed"
    assert run.grade("json_path_not_exists", TEXT, json_path="ok").state == "failed"
    assert run.grade("json_path_not_exists", "no json", json_path="error").state == "failed"


def test_the_json_of_a_file_is_read(run: Any) -> None:
    view = run.view("prose", created={"out.json": b'{"a": 1}'})
    assert run.grade("json_path", view, path="out.json", json_path="a", equals=1).state == "passed"
    assert run.grade("valid_json", view, path="out.json").state == "passed"
    assert run.grade("valid_json", view).state == "failed"


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "NaN", '{"a": 1} and more', "[" * 100_000, "9" * 5_000])
def test_what_is_no_json_fails_with_a_reason(run: Any, text: str) -> None:
    grade = run.grade("valid_json", text)
    assert grade.state == "failed"
    assert "no JSON" in grade.reason


def test_fenced_json_is_not_json_and_the_reason_says_why(run: Any) -> None:
    assert "code fence" in run.grade("valid_json", '```json\n{"a": 1}\n```').reason


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string", "pattern": "^a"}}, "required": ["n"]}


def test_a_schema_decides_and_names_the_place(run: Any) -> None:
    assert run.grade("json_schema", '{"n": 1, "s": "ab"}', json_schema=SCHEMA).state == "passed"
    grade = run.grade("json_schema", '{"n": "one"}', json_schema=SCHEMA)
    assert grade.state == "failed"
    assert "at n:" in grade.reason
    assert run.grade("json_schema", '{"n": 1, "s": "b"}', json_schema=SCHEMA).state == "failed"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no such type"},
        {"$ref": "https://example.invalid/schema.json"},
        {"properties": {"s": {"pattern": r"^(a|aa)+$"}}},
    ],
)
def test_a_schema_that_cannot_be_used_gives_no_verdict_and_fetches_nothing(run: Any, schema: dict[str, Any]) -> None:
    text = '{"s": "' + "a" * 60 + '!"}'
    assert run.grade("json_schema", text, json_schema=schema).state == "ungraded"
