"""Checks on JSON in the final text or in a file. The text is read as it stands: a fence around it is no JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from skilltrial.graders._json import MISSING, NotJson, at, loads, same, short
from skilltrial.graders._patterns import Unsearchable, search
from skilltrial.graders._source import source
from skilltrial.graders._verdict import QUOTE, ByType, Scene, Verdict
from skilltrial.records.checks import JsonDocument, JsonPath, JsonSchemaCheck


class Document(NamedTuple):
    """A JSON value and where it came from."""

    value: Any
    label: str
    masked: bool


def _document(path: str | None, scene: Scene) -> Document | Verdict:
    seen = source(path, scene)
    if isinstance(seen, Verdict):
        return seen
    if seen.cut:
        return Verdict.ungraded(f"{seen.label} is too large to be read as JSON", masked=seen.masked)
    try:
        return Document(loads(seen.text), seen.label, seen.masked)
    except NotJson as error:
        hint = " (it is wrapped in a code fence)" if seen.text.lstrip().startswith("```") else ""
        reason = f"{seen.label} is no JSON: {error}{hint}"
        return Verdict.failed(reason, " ".join(seen.text[:200].split()) or None, masked=seen.masked)


def valid_json(options: JsonDocument, scene: Scene) -> Verdict:
    found = _document(options.path, scene)
    if isinstance(found, Verdict):
        return found
    return Verdict.passed(f"{found.label} is JSON", short(found.value, QUOTE), masked=found.masked)


def json_path(options: JsonPath, scene: Scene) -> Verdict:
    """Passed when something lies at the path and, where `equals` is given, equals it deeply."""
    found = _document(options.path, scene)
    if isinstance(found, Verdict):
        return found
    value = at(found.value, options.json_path)
    if value is MISSING:
        reason = f"nothing lies at '{options.json_path}' in {found.label}"
        return Verdict.failed(reason, short(found.value), masked=found.masked)
    quote = f"{options.json_path} = {short(value)}"
    if options.equals is None:
        return Verdict.passed(f"'{options.json_path}' is there in {found.label}", quote, masked=found.masked)
    wanted = short(options.equals)
    if same(value, options.equals):
        return Verdict.passed(f"'{options.json_path}' is {wanted}", quote, masked=found.masked)
    return Verdict.failed(f"'{options.json_path}' is {short(value)}, expected {wanted}", quote, masked=found.masked)


def json_path_not_exists(options: JsonPath, scene: Scene) -> Verdict:
    """Passed when the JSON can be read and nothing lies at the path; text that is no JSON fails, since it shows nothing."""
    found = _document(options.path, scene)
    if isinstance(found, Verdict):
        return found
    value = at(found.value, options.json_path)
    if value is MISSING:
        return Verdict.passed(f"nothing lies at '{options.json_path}' in {found.label}", masked=found.masked)
    quote = f"{options.json_path} = {short(value)}"
    return Verdict.failed(f"'{options.json_path}' is there in {found.label}", quote, masked=found.masked)


def json_schema(options: JsonSchemaCheck, scene: Scene) -> Verdict:
    """Passed when the JSON satisfies the schema; a schema that cannot be used gives no verdict. Nothing is fetched."""
    found = _document(options.path, scene)
    if isinstance(found, Verdict):
        return found
    from jsonschema.exceptions import SchemaError, best_match
    from referencing.exceptions import Unresolvable

    try:
        validator = _validator(options.json_schema)
        error = best_match(validator.iter_errors(found.value))
    except SchemaError as broken:
        return Verdict.ungraded(f"the schema itself is wrong: {broken.message[:200]}")
    except (Unresolvable, Unsearchable, RecursionError) as broken:
        return Verdict.ungraded(f"the schema cannot be used: {str(broken)[:200]}", masked=found.masked)
    if error is None:
        return Verdict.passed(f"{found.label} satisfies the schema", short(found.value), masked=found.masked)
    spot = "/".join(str(part) for part in error.absolute_path) or "the top"
    return Verdict.failed(f"at {spot}: {error.message[:300]}", short(error.instance), masked=found.masked)


def _validator(schema: dict[str, Any]) -> Any:
    """A validator by the schema's own `$schema`, with patterns under a time limit and no retrieval of references."""
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry

    draft = validators.validator_for(schema, default=Draft202012Validator)
    draft.check_schema(schema)
    extend: Any = validators.extend
    return extend(draft, {"pattern": _pattern})(schema, registry=Registry())


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and search(pattern, value) is None:
        yield ValidationError(f"{value[:80]!r} does not match {pattern!r}")


class Json(ByType):
    """Paths, syntax and schemas."""

    rules: ClassVar = {
        "json_path": json_path,
        "json_path_not_exists": json_path_not_exists,
        "valid_json": valid_json,
        "json_schema": json_schema,
    }


plugin = Json()
