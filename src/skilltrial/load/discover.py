"""Skills and suite files below the paths a user gave, in one pass over the folders."""

# ruff: noqa: PTH100, PTH112, PTH113, PTH118, PTH119, PTH120, PTH208
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skilltrial.errors import UsageError
from skilltrial.load.case_folders import case_folders
from skilltrial.load.document import Notes, name_text
from skilltrial.load.entries import is_file, is_folder, real_path
from skilltrial.load.skill import SkillFile
from skilltrial.load.trees import inside, is_workspace
from skilltrial.records.problems import Problem

SKIPPED = frozenset(
    {
        "node_modules", ".git", ".hg", ".svn", "dist", "build", ".next", ".venv", "venv", ".tox", "site-packages", "__pycache__",
        ".mypy_cache", ".pytest_cache", ".ruff_cache", ".cache",
    }
)  # fmt: skip
"""Folders that nobody keeps skills of their own in."""
SUITE_NAMES = frozenset({"evals.json", "evals.yaml", "evals.yml"})
SUITE_FOLDERS = frozenset({"evals", "evaluations", "scenarios", "tasks"})
"""Folders whose files are cases where they have the form of one."""
ENDINGS = (".json", ".yaml", ".yml")
Entries = tuple[os.DirEntry[str], ...]


class Root(NamedTuple):
    """The folder that links may not leave and that suites are looked for up to."""

    folder: str
    """Resolved."""
    is_repository: bool


@dataclass(slots=True)
class Discovery:
    """What lies below the given paths."""

    skills: list[SkillFile] = field(default_factory=list)
    suites: list[str] = field(default_factory=list)
    """Suite files that were given by name."""
    loose: list[str] = field(default_factory=list)
    """Files called evals.json outside of any skill."""
    problems: list[Problem] = field(default_factory=list)
    linked: bool = False
    """A link to a folder was followed, so a skill may have been reached twice."""


class Disk:
    """Listings and repository roots, each looked up once."""

    def __init__(self, cwd: str) -> None:
        self.cwd = os.path.abspath(cwd)
        self._prefix = self.cwd.rstrip(os.sep) + os.sep
        self._listings: dict[str, Entries | None] = {}
        self._roots: dict[str, Root | None] = {}
        self._here = Root(os.path.realpath(self.cwd), False)

    def listing(self, folder: str) -> Entries | None:
        """The entries of a folder; None when it cannot be listed."""
        if folder not in self._listings:
            try:
                with os.scandir(folder) as entries:
                    self._listings[folder] = tuple(entries)
            except OSError:
                self._listings[folder] = None
        return self._listings[folder]

    def label(self, path: str) -> str:
        """A path as messages name it: relative to the working folder where it lies below it, with '/'."""
        if path == self.cwd:
            return "."
        text = path[len(self._prefix) :] if path.startswith(self._prefix) else path
        return name_text(text).replace(os.sep, "/")

    def absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, path))

    def root(self, folder: str) -> Root:
        """The repository around a folder; else the working folder when it is around it; else the folder itself."""
        found = self._repository(folder)
        if found:
            return found
        if inside(folder, self.cwd):
            return self._here
        return Root(os.path.realpath(folder), False)

    def _repository(self, folder: str) -> Root | None:
        chain = []
        current = folder
        while current not in self._roots:
            chain.append(current)
            if self._holds_git(current):
                self._roots[current] = Root(os.path.realpath(current), True)
                break
            above = os.path.dirname(current)
            if above == current:
                self._roots[current] = None
                break
            current = above
        for part in chain:
            self._roots[part] = self._roots[current]
        return self._roots[current]

    def _holds_git(self, folder: str) -> bool:
        entries = self._listings.get(folder)
        if entries is not None:
            return any(entry.name == ".git" for entry in entries)
        return os.path.lexists(os.path.join(folder, ".git"))


def discover(paths: Sequence[str], disk: Disk, *, library: bool | None = None) -> Discovery:
    """Skills and suite files at the paths; the skill in the working folder when none is given.

    Raises:
        UsageError: a path does not exist, or there is no skill at all below one.
    """
    found = Discovery()
    if not paths:
        _default(disk, found, library)
    for path in paths:
        _at(path, disk, found, library)
    unique: dict[str, SkillFile] = {}
    for skill in sorted(found.skills, key=lambda skill: skill.label):
        unique.setdefault(skill.folder, skill)
    found.skills = _without_twins(list(unique.values())) if found.linked or len(paths) > 1 else list(unique.values())
    found.suites = list(dict.fromkeys(found.suites))
    return found


def skill_at(folder: str, disk: Disk, root: Root | None = None) -> SkillFile | None:
    """The skill in exactly this folder."""
    entries = disk.listing(folder)
    name = _skill_name(entries) if entries else None
    if entries is None or name is None:
        return None
    root = root or disk.root(folder)
    return SkillFile(folder, name, disk.label(folder), root.folder, at_root=folder == root.folder, entries=entries)


def _default(disk: Disk, found: Discovery, library: bool | None) -> None:
    skill = skill_at(disk.cwd, disk)
    if skill:
        found.skills.append(skill)
        return
    if library or os.path.basename(disk.cwd) == "skills":
        _library(disk.cwd, disk, found)
        return
    below = Discovery()
    _tree(disk.cwd, disk, below, disk.root(disk.cwd))
    names = sorted(skill.label for skill in below.skills)
    if not names:
        raise UsageError(
            "there is no SKILL.md in this folder, nor below it",
            "name a skill: skilltrial validate PATH, or make one: skilltrial init NAME",
        )
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    raise UsageError(
        f"this folder is no skill; below it are {len(names)}: {', '.join(names[:10])}{more}",
        f"name one, or take all: skilltrial COMMAND {'.' if len(names) > 1 else names[0]}",
    )


def _at(given: str, disk: Disk, found: Discovery, library: bool | None) -> None:
    path = disk.absolute(given)
    if os.path.isfile(path):
        if os.path.basename(path).lower() == "skill.md":
            path = os.path.dirname(path)
        else:
            found.suites.append(path)
            return
    elif not os.path.isdir(path):
        raise UsageError(f"{name_text(given)}: there is no such file or folder", _near(path))
    skill = skill_at(path, disk)
    if skill:
        found.skills.append(skill)
        return
    before = len(found.skills) + len(found.suites) + len(found.problems)
    if library or os.path.basename(path) == "skills":
        _library(path, disk, found)
    else:
        _tree(path, disk, found, disk.root(path))
    if len(found.skills) + len(found.suites) + len(found.problems) == before:
        suites = _suites_at(path, disk)
        if not suites:
            raise UsageError(
                f"{disk.label(path)}: there is no SKILL.md in this folder, nor below it", "make a skill: skilltrial init NAME"
            )
        found.suites += suites
        found.loose = [loose for loose in found.loose if loose not in suites]


def _suites_at(folder: str, disk: Disk) -> list[str]:
    """Suites that a folder without a skill holds, or is."""
    entries = disk.listing(folder) or ()
    suites = [entry.path for entry in entries if entry.name in SUITE_NAMES]
    if suites:
        return suites
    if case_folders(entries):
        return [folder]
    if os.path.basename(folder) in SUITE_FOLDERS:
        return sorted(entry.path for entry in entries if entry.name.endswith(ENDINGS) and is_file(entry))
    return []


def _near(path: str) -> str | None:
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        close = get_close_matches(name, os.listdir(folder), 1)
    except OSError:
        return None
    return f"did you mean '{name_text(close[0])}'?" if close else None


def _library(folder: str, disk: Disk, found: Discovery) -> None:
    """Every child is a skill, or a folder of skills; a child that is neither is an error."""
    root = disk.root(folder)
    for entry in sorted(disk.listing(folder) or (), key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.name in SKIPPED or is_workspace(entry.name) or not is_folder(entry):
            continue
        label = disk.label(entry.path)
        if entry.is_symlink() and not inside(real_path(entry.path), root.folder):
            _problem(found, label, "link-outside", "is a link to a place outside the repository", "copy the skill here")
            continue
        before = len(found.skills)
        _tree(entry.path, disk, found, root)
        if len(found.skills) == before:
            _problem(
                found,
                label,
                "no-skill-file",
                "every folder of a skill library is a skill, but this one has no SKILL.md",
                "add one, or move the folder elsewhere",
            )


def _tree(top: str, disk: Disk, found: Discovery, root: Root) -> None:
    """All skills at or below a folder; a skill is not descended into."""
    waiting = [top]
    linked: set[str] = set()
    while waiting:
        folder = waiting.pop()
        entries = disk.listing(folder)
        if entries is None:
            _problem(found, disk.label(folder), "unreadable", "cannot be listed", None)
            continue
        name = _skill_name(entries)
        if name is not None:
            found.skills.append(
                SkillFile(folder, name, disk.label(folder), root.folder, at_root=folder == root.folder, entries=entries)
            )
            continue
        for entry in entries:
            if entry.is_symlink():
                real = real_path(entry.path)
                if real not in linked and inside(real, root.folder) and os.path.isdir(real) and not inside(folder, real):
                    linked.add(real)
                    found.linked = True
                    waiting.append(entry.path)
            elif is_folder(entry):
                if entry.name not in SKIPPED and not is_workspace(entry.name):
                    waiting.append(entry.path)
            elif entry.name in SUITE_NAMES:
                found.loose.append(entry.path)


def _skill_name(entries: Sequence[os.DirEntry[str]]) -> str | None:
    name = None
    for entry in entries:
        if entry.name == "SKILL.md":
            return entry.name
        if len(entry.name) == 8 and entry.name.lower() == "skill.md":
            name = entry.name
    return name


def _without_twins(skills: list[SkillFile]) -> list[SkillFile]:
    """Drops a skill that is the same folder as one before it, reached by a link."""
    seen: set[str] = set()
    kept = []
    for skill in skills:
        real = os.path.realpath(skill.folder)
        if real not in seen:
            seen.add(real)
            kept.append(skill)
    return kept


def _problem(found: Discovery, label: str, rule: str, text: str, hint: str | None) -> None:
    notes = Notes(label)
    notes.error(rule, text, hint=hint)
    found.problems += notes.problems
