"""Writes what is made from the source: schemas/, the tables of docs/reference/, and the settings that `init` writes.

Run by `make docs`; the tests say when it has to be run.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from skilltrial.records.schema import as_text, schemas

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- made by docs/regenerate.py: begin -->", "<!-- made by docs/regenerate.py: end -->"


def settings_tables() -> str:
    """One table of all keys, and one per key that is a mapping, from the schema of the settings."""
    schema = schemas()["config"]
    parts = [_table(schema["properties"])]
    inner = {"targets, judge": "TargetConfig", "suites": "SuiteConfig", "arms": "ArmsFile", "gate, gates": "GateConfig",
             "budgets": "Budgets", "hooks": "Hooks", "report": "ReportConfig", "logging": "LoggingConfig"}  # fmt: skip
    for key, record in inner.items():
        parts.append(f"### {key}\n\n{_table(schema['$defs'][record]['properties'])}")
    return "\n\n".join(parts)


def _table(properties: dict[str, Any]) -> str:
    rows = [f"| `{key}` | {_kind(field)} | {_cell(field.get('description', ''))} |" for key, field in properties.items()]
    return "\n".join(["| key | value | what it does |", "|---|---|---|", *rows])


def _kind(field: dict[str, Any]) -> str:
    """The values a key takes, in a few words."""
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    for several in ("anyOf", "oneOf"):
        if several in field:
            kinds = [_kind(one) for one in field[several] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true, false", "object": "mapping"}
    return words.get(field.get("type", ""), "mapping" if "$ref" in field else "any")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def with_made_part(page: str, made: str) -> str:
    """The page with what stands between the two marks replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def command_pages() -> str:
    """Every command with its usage, what it does, and its options."""
    from skilltrial.cli import FIRST, MORE, skilltrial

    parts = []
    for name in [*FIRST, *MORE]:
        context = click.Context(skilltrial, info_name="skilltrial")
        command = skilltrial.get_command(context, name)
        assert command is not None, name
        parts += _command_page(name, command, context)
    return "\n\n".join(parts)


def _command_page(title: str, command: click.Command, parent: click.Context) -> list[str]:
    """The command's part, and those of its subcommands."""
    inner = click.Context(command, info_name=command.name, parent=parent)
    options = [option for option in command.get_params(inner) if isinstance(option, click.Option) and "--help" not in option.opts]
    rows = [row for option in options if (row := option.get_help_record(inner))]
    usage = command.get_usage(inner).removeprefix("Usage: ").replace("\n", " ")
    table = "\n".join(
        ["| option | what it does |", "|---|---|", *(f"| `{_cell(first)}` | {_cell(second)} |" for first, second in rows)]
    )
    about = " ".join((command.help or "").partition("\b")[0].split())
    parts = [f"### {title}\n\n    {' '.join(usage.split())}\n\n{about}" + (f"\n\n{table}" if rows else "")]
    for name, below in command.commands.items() if isinstance(command, click.Group) else ():
        parts += _command_page(f"{title} {name}", below, inner)
    return parts


def parity_table() -> ModuleType:
    """The module beside this one, which is no package."""
    spec = importlib.util.spec_from_file_location("parity_table", Path(__file__).parent / "parity_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pages() -> dict[Path, str]:
    """Every made file with the text it ought to have."""
    made = {ROOT / "schemas" / f"{name}.schema.json": as_text(schema) + "\n" for name, schema in schemas().items()}
    settings = ROOT / "docs" / "reference" / "configuration.md"
    made[settings] = with_made_part(settings.read_text(encoding="utf-8"), settings_tables())
    commands = ROOT / "docs" / "reference" / "cli.md"
    made[commands] = with_made_part(commands.read_text(encoding="utf-8"), command_pages())
    template = ROOT / "src" / "skilltrial" / "cli" / "templates" / "skilltrial.yaml"
    made[template] = (ROOT / "examples" / "skilltrial.yaml").read_text(encoding="utf-8")  # what `init --config` writes
    made[ROOT / "docs" / "reference" / "parity.md"] = parity_table().page()
    return made


def main() -> int:
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
