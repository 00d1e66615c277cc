"""The parity table keeps its word: every row has its test, every command line parses, and nothing known is left out."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from skilltrial.cli import skilltrial as group

from .keys import key_paths

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("parity_table", ROOT / "docs" / "parity_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


table = _module()
TOOLS = {path.stem: table.load(path) for path in table.files()}
each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))


# ---------------------------------------------------------------- what a row claims
@cache
def functions(path: Path) -> frozenset[str]:
    """`name` and `Class::name` of all tests of a file, found without importing it."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return frozenset(name for name in found if name.split("::")[-1].startswith("test_"))


def missing(test: str) -> bool:
    path, _, name = test.partition("::")
    return not (ROOT / path).is_file() or name not in functions(ROOT / path)


@each_tool
def test_each_test_that_a_row_names_is_there(tool: Any) -> None:
    assert not [test for row in tool.rows for test in row.test if missing(test)]


def parse(line: str) -> None:
    """Raises when the command line is not one of ours; starts nothing."""
    context = click.Context(group, info_name="skilltrial")
    _, rest, _ = group.make_parser(context).parse_args(shlex.split(line))
    command: click.Command = group
    while isinstance(command, click.Group):
        name, inner, rest = command.resolve_command(context, list(rest))
        assert inner is not None
        command, context = inner, click.Context(inner, info_name=name, parent=context)
    command.make_context(command.name, list(rest), parent=context.parent)


@each_tool
def test_each_command_line_that_a_row_shows_parses(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for row in tool.rows:
        for line in row.accepts:
            try:
                parse(line)
            except click.ClickException as error:
                pytest.fail(f"skilltrial {line}: {error.format_message()}")


def every_option(command: click.Command = group, name: str = "skilltrial") -> Iterator[str]:
    """All spellings of all options of all our commands, hidden ones too."""
    context = click.Context(command, info_name=name)
    for option in command.get_params(context):
        yield from (*option.opts, *option.secondary_opts)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from every_option(found, inner)


@each_tool
def test_each_option_of_ours_that_a_row_speaks_of_is_one(tool: Any) -> None:
    known = set(every_option())
    spans = [span for row in tool.rows for span in re.findall(r"`([^`]+)`", f"{row.ours} {row.different or ''}")]
    assert not {word for span in spans for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span)} - known


@pytest.mark.parametrize("line", ["run --no-such-option", "no-such-command", "run --retries many"])
def test_a_command_line_that_is_not_ours_is_found_out(line: str) -> None:
    with pytest.raises(click.ClickException):
        parse(line)


@pytest.mark.parametrize("row", [
    {"theirs": "x", "ours": "y"},
    {"theirs": "x", "ours": "y", "tests": "tests/parity/test_table.py::test_x"},
    {"theirs": [], "ours": "y", "different": "z"},
    {"theirs": "x", "ours": "y", "different": ""},
])  # fmt: skip
def test_a_row_without_proof_and_one_with_a_misspelt_key_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        table.Row.model_validate(row)


def test_no_row_stands_twice() -> None:
    for name, tool in TOOLS.items():
        for section in tool.sections:
            seen = [row.theirs for row in section.rows]
            assert len(seen) == len(set(seen)), (name, section.title)


# ---------------------------------------------------------------- nothing is left out
def _names(tool: Any) -> str:
    return "\n".join(name for row in tool.rows for name in row.theirs)


@each_tool
def test_all_that_the_tool_is_known_to_have_stands_in_a_row(tool: Any) -> None:
    told = _names(tool)
    left_out = [
        f"{kind}: {name}"
        for kind, names in tool.inventory.items()
        for name in names
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told)
    ]
    assert not left_out


def sample_keys(folder: Path) -> set[tuple[str, str]]:
    """File name and key path of all JSON below a folder, or of one file."""
    found = set()
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.json*")):
        text = path.read_text(encoding="utf-8")
        values = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]
        found |= {(path.name, key) for value in values for key in key_paths(value)}
    return found


def fits(pattern: str, file: str, key: str) -> bool:
    """Is this key of this file meant by `file: path`, where `*` is one name and `**` all below?"""
    file_pattern, _, path = (part.strip() for part in pattern.partition(":"))
    one = re.escape(path).replace(r"\*\*", r".+").replace(r"\*", r"[^.\[\]]+")
    return fnmatchcase(file, file_pattern) and re.fullmatch(one, key) is not None


@each_tool
def test_every_key_of_the_samples_is_named_by_a_row(tool: Any) -> None:
    patterns = [pattern for row in tool.rows for pattern in row.keys]
    keys = {found for sample in tool.samples for found in sample_keys(DATA / sample)}
    assert bool(keys) == bool(tool.samples)
    unnamed = sorted(f"{file}: {key}" for file, key in keys if not any(fits(pattern, file, key) for pattern in patterns))
    assert not unnamed, "\n".join(unnamed)


@each_tool
def test_every_key_that_a_row_names_is_in_the_samples(tool: Any) -> None:
    keys = {found for sample in tool.samples for found in sample_keys(DATA / sample)}
    assert not [pattern for row in tool.rows for pattern in row.keys if not any(fits(pattern, file, key) for file, key in keys)]


@pytest.mark.parametrize(("pattern", "key", "expected"), [
    ("a.json: x.*", "x.y", True),
    ("a.json: x.*", "x.y.z", False),
    ("a.json: x.**", "x.y.z", True),
    ("a.json: x[].y", "x[].y", True),
    ("a.json: x[].y", "x.y", False),
    ("b.json: x", "x", False),
    ("*.json: x", "x", True),
])  # fmt: skip
def test_a_star_is_one_name(pattern: str, key: str, expected: bool) -> None:
    assert fits(pattern, "a.json", key) is expected
