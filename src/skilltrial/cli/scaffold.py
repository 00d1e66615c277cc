"""What `init` writes: a skill with a suite, a suite for a skill, a settings file. Decides only; writes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from skilltrial.cli.init import TEMPLATES
from skilltrial.errors import UsageError
from skilltrial.load.skill import SkillFile
from skilltrial.load.skill import read as read_skill
from skilltrial.load.trees import Digests

SETTINGS = "skilltrial.yaml"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class NewFile(NamedTuple):
    """A file to write, and what goes into it."""

    path: Path
    text: str


def scaffold(
    where: str | None, cwd: Path, *, template: str | None = None, config: bool = False, plugin: str | None = None
) -> tuple[NewFile, ...]:
    """The files of a new skill `where`, of a suite where a SKILL.md is already, and of the settings.

    Args:
        where: a name or a path; None means the working folder when it is a skill, or nothing but the settings.
        template: what a new skill starts from (None: `basic`), or whose suite a skill that is there gets (None: a plain one).
        plugin: the plugin that the skill is for, in a folder of that name: its manifest is made unless it is there.
    Raises:
        UsageError: the name is no name of a skill or plugin, the template is unknown, or a file would be overwritten.
    """
    made: list[NewFile] = []
    if template is not None and template not in TEMPLATES:
        raise UsageError(f"no template called '{template}'", f"there are: {', '.join(TEMPLATES)}")
    if config:
        made.append(NewFile(cwd / SETTINGS, _template(SETTINGS).read_text(encoding="utf-8")))
    if plugin is not None:
        if not where:
            raise UsageError("a skill of a plugin needs a name", f"skilltrial init NAME --plugin {plugin}")
        made += _manifest(cwd / plugin)
        cwd = cwd / plugin / "skills"
    folder = cwd / where if where else cwd
    if (folder / "SKILL.md").is_file():
        made += _suite_for(folder.resolve(), template)
    elif where:
        made += _new_skill(folder.resolve(), template or TEMPLATES[0])
    elif not config:
        raise UsageError(f"{cwd} has no SKILL.md", "skilltrial init NAME makes a new skill; run it inside a skill to add evals/")
    taken = [str(file.path) for file in made if file.path.exists() or file.path.is_symlink()]
    if taken:
        raise UsageError(
            f"nothing is written, as these are there already: {', '.join(taken)}", "init never overwrites; move them away first"
        )
    return tuple(made)


def _manifest(folder: Path) -> list[NewFile]:
    """The plugin's manifest, unless it has one already."""
    path = folder / ".claude-plugin" / "plugin.json"
    _check_name(folder.name, "plugin")
    text = _template("plugin").joinpath("plugin.json").read_text(encoding="utf-8")
    return [] if path.is_file() else [NewFile(path, text.replace("__NAME__", folder.name))]


def _new_skill(folder: Path, template: str) -> list[NewFile]:
    name = folder.name
    _check_name(name, "skill")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file")
    return [NewFile(folder / path, text.replace("__NAME__", name)) for path, text in _texts(_template(template), "")]


def _check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > 64:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:64].strip("-")
        hint = f"for example '{slug}'" if slug else None
        raise UsageError(f"'{name}' is no name for a {what}: lower-case letters, digits and single hyphens, at most 64", hint)


def _suite_for(folder: Path, template: str | None) -> list[NewFile]:
    skill, _ = read_skill(
        SkillFile(str(folder), "SKILL.md", folder.name, str(folder)), level="load", profile=None, digests=Digests(wanted=False)
    )
    name = skill.name if skill else folder.name
    description = skill.description if skill else "the skill's task"
    found = _texts(_template("suite") if template is None else _template(template).joinpath("evals"), "evals/")
    made = []
    for path, text in found:
        for mark, value in (("__NAME__", name), ("__DESCRIPTION__", " ".join(description.split()))):
            text = text.replace(mark, json.dumps(value, ensure_ascii=False)[1:-1])
        made.append(NewFile(folder / path, text))
    return made


def _template(name: str) -> Traversable:
    return files("skilltrial.cli") / "templates" / name


def _texts(folder: Traversable, below: str) -> Iterator[tuple[str, str]]:
    """Every file of a template with its path below it, in order."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name == "__pycache__":
            continue  # installers compile every .py of a package, those of our templates too
        if entry.is_dir():
            yield from _texts(entry, f"{below}{entry.name}/")
        else:
            yield f"{below}{entry.name}", entry.read_text(encoding="utf-8")
