"""The table of docs/reference/parity.md: read from docs/parity/*.yaml, checked, and written as Markdown.

A file of docs/parity/ holds one tool; docs/parity/README.md describes its keys. tests/parity/test_table.py walks all of
them: each test named there exists, each command line parses, and nothing that the tool is known to have is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "parity"

INTRO = """# What other tools do, and what does it here

Every command, option, key, file, event, variable and exit code of four other tools, of the standard's own files and of
Claude Code's `claude plugin eval`: what does the same here, and the test that shows it. **Deliberately different** marks what we do in another way, with the
reason. Made by `make docs` from [docs/parity/](../parity/README.md); a test walks it, so no row is there without proof and
nothing known is left out."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_min_length=1)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Row(_Strict):
    """One thing of theirs, or a few close relatives."""

    theirs: tuple[str, ...] = Field(min_length=1)
    """As they spell it."""
    ours: str
    """What does it here: short Markdown."""
    test: tuple[str, ...] = ()
    """`path::function` or `path::Class::method`, from the root of the repository."""
    accepts: tuple[str, ...] = ()
    """Our command lines, without the leading `skilltrial`, that must parse as they stand."""
    different: str | None = None
    """Why we do it in another way, on purpose."""
    keys: tuple[str, ...] = ()
    """`file.json: path.to.key` of the samples which this row speaks of; `*` is any one name, `**` all below."""

    _lists = field_validator("theirs", "test", "accepts", "keys", mode="before")(_listed)

    @model_validator(mode="after")
    def _shown(self) -> Row:
        if not self.test and self.different is None:
            raise ValueError(f"{self.theirs[0]}: neither a test nor the reason of a difference")
        return self


class Section(_Strict):
    """Rows of one kind, shown as one table."""

    title: str
    rows: tuple[Row, ...] = Field(min_length=1)


class Tool(_Strict):
    """One file of docs/parity/."""

    tool: str
    guide: str | None = None
    """A page for newcomers, relative to docs/reference/."""
    samples: tuple[str, ...] = ()
    """Folders and files below tests/data/ whose JSON keys must all be named by a row."""
    inventory: dict[str, tuple[str, ...]] = Field(min_length=1)
    """By kind, the names of all that the tool has; each must stand in some row's `theirs`."""
    sections: tuple[Section, ...] = Field(min_length=1)

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for section in self.sections for row in section.rows)


def files() -> list[Path]:
    """The data files, in the order of the page."""
    return sorted(FOLDER.glob("*.yaml"))


def load(path: Path) -> Tool:
    """One data file, checked strictly."""
    return Tool.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def page() -> str:
    """The whole of docs/reference/parity.md."""
    tools = [load(path) for path in files()]
    contents = "\n".join(f"- [{tool.tool}](#{_anchor(tool.tool)}): {len(tool.rows)} rows" for tool in tools)
    return "\n\n".join([INTRO, contents, *(_part(tool) for tool in tools)]) + "\n"


def _anchor(heading: str) -> str:
    kept = "".join(letter for letter in heading.lower() if letter.isascii() and (letter.isalnum() or letter in " _-"))
    return kept.strip().replace(" ", "-")


def _part(tool: Tool) -> str:
    parts = [f"## {tool.tool}"]
    if tool.guide:
        parts.append(f"A way in of five minutes: [{Path(tool.guide).stem.replace('-', ' ')}]({tool.guide}).")
    return "\n\n".join([*parts, *(f"### {section.title}\n\n{_table(section)}" for section in tool.sections)])


def _table(section: Section) -> str:
    return "\n".join(["| theirs | ours | shown by |", "|---|---|---|", *map(_line, section.rows)])


def _line(row: Row) -> str:
    theirs = ", ".join(map(_spelt, row.theirs))
    ours = row.ours if row.different is None else f"{row.ours}. **Deliberately different:** {row.different}"
    return f"| {_cell(theirs)} | {_cell(ours)} | {_cell(', '.join(map(_link, row.test)))} |"


def _spelt(name: str) -> str:
    """What is theirs to spell in a code span, words about it outside: "`--retries N` (default 1)"."""
    end = re.search(r": | \(|$", name)
    head = name[: end.start()] if end else name
    return name if "`" in name or (len(head.split()) > 3 and head[0] != "-") else f"`{head}`{name[len(head) :]}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../../{path})"
