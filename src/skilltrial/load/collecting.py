"""Everything below the given paths, read and paired, with nothing filtered by case and nothing raised for a file's fault."""

# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from skilltrial.errors import UsageError
from skilltrial.load import skill as skills
from skilltrial.load import suite_file
from skilltrial.load.discover import Discovery, Disk, discover, skill_at
from skilltrial.load.document import Level, Notes, name_text
from skilltrial.load.pairing import Pairing
from skilltrial.load.skill import SkillFile
from skilltrial.load.suite_file import Owner, SuiteFile, SuiteOptions
from skilltrial.load.trees import Digests
from skilltrial.records.config import Config
from skilltrial.records.problems import Problem
from skilltrial.records.suite import Skill, Suite


@dataclass(slots=True)
class Found:
    """One skill with its suites."""

    file: SkillFile
    skill: Skill | None
    """None: its SKILL.md cannot be used."""
    problems: list[Problem] = field(default_factory=list)
    files: list[SuiteFile] = field(default_factory=list)
    named: bool = False
    """Its suites were given by the user."""
    suites: list[Suite] = field(default_factory=list)
    suite_problems: list[Problem] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.skill.id if self.skill else self.file.label

    @property
    def name(self) -> str:
        return self.skill.name if self.skill else self.file.folder_name

    @property
    def broken(self) -> bool:
        return self.skill is None or any(problem.severity == "error" for problem in (*self.problems, *self.suite_problems))


@dataclass(slots=True)
class Collection:
    """All skills with their suites, and what belongs to none."""

    found: list[Found]
    problems: list[Problem]
    """Of folders and suites that belong to no skill."""
    loose: list[str]
    """Labels of suites without a skill."""
    digests: Digests
    disk: Disk


@contextmanager
def without_collector() -> Iterator[None]:
    """Keeps Python's cycle collector off: records make no cycles, and its passes over a growing heap cost more than all the reading."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@without_collector()
def collect(config: Config, cwd: Path, *, level: Level, profile: str | None, digests: bool) -> Collection:
    """Skills and suites as the configuration and its filters on skills ask.

    Raises:
        UsageError: a path or a name leads nowhere.
    """
    disk = Disk(os.fspath(cwd))
    bytes_of = Digests(digests)
    named_dirs, names = _split_names(config.skill_names, disk)
    paths = [*config.paths, *named_dirs]
    pairs = [(disk.absolute(pair.skill), disk.absolute(pair.evals)) for pair in config.suites]
    discovery = discover(paths, disk, library=config.library) if paths or not pairs else Discovery()
    pairing = Pairing(disk)
    files = _with_owners(discovery, pairs, pairing)
    found = [
        Found(file, *skills.read(file, level=level, profile=profile, digests=bytes_of))
        for file in _selected(files, paths, config, disk)
    ]
    found = _named_only(found, names)
    _give_ids(found)
    _pair(found, discovery.suites, pairs, [disk.absolute(path) for path in config.evals], pairing)
    options = SuiteOptions(level, config.prose_checks or "auto", config.stage)
    for one in found:
        _read_suites(one, disk, bytes_of, options)
    loose = [disk.label(path) for path in discovery.loose if path not in pairing.taken]
    return Collection(found, [*discovery.problems, *pairing.problems], loose, bytes_of, disk)


def _split_names(values: Sequence[str], disk: Disk) -> tuple[list[str], list[str]]:
    """`--skill` values that are folders, and those that are names."""
    folders: list[str] = []
    names: list[str] = []
    for value in values:
        path = disk.absolute(value)
        is_folder = ("/" in value or os.sep in value or value in (".", "..") or skill_at(path, disk) is not None) and Path(
            path
        ).is_dir()
        (folders if is_folder else names).append(value)
    return folders, names


def _with_owners(discovery: Discovery, pairs: list[tuple[str, str]], pairing: Pairing) -> list[SkillFile]:
    """The skills found, with those that a given suite or a pair of the configuration belongs to."""
    disk = pairing.disk
    known = {file.folder_name: file for file in discovery.skills}
    files = {file.folder: file for file in discovery.skills}
    for path in discovery.suites:
        owner = pairing.skill_of(path, known)
        if owner is None:
            notes = Notes(disk.label(path))
            notes.error(
                "no-skill",
                "no skill was found for this suite",
                hint="put it into the evals/ of its skill, or say which: skilltrial run --skill DIR --evals FILE",
            )
            discovery.problems += notes.problems
        else:
            files.setdefault(owner.folder, owner)
    for folder, _ in pairs:
        owner = skill_at(folder, disk)
        if owner is None:
            raise UsageError(f"{disk.label(folder)}: there is no SKILL.md in this folder")
        files.setdefault(owner.folder, owner)
    return sorted(files.values(), key=lambda file: file.label)


def _selected(files: list[SkillFile], paths: Sequence[str], config: Config, disk: Disk) -> list[SkillFile]:
    """Skills that `include` and `exclude` leave. Patterns match the folder relative to a path given, to the folder that this lies
    in, or to the working folder."""
    if not config.include and not config.exclude:
        return files
    bases = [disk.absolute(path) for path in paths] or [disk.cwd]
    included = [_glob(pattern) for pattern in config.include]
    excluded = [_glob(pattern) for pattern in config.exclude]

    def matches(file: SkillFile, patterns: list[re.Pattern[str]]) -> bool:
        names = {file.label, file.folder_name}
        # A base counts with its own name too: `skills/**` is meant below ./skills, wherever that lies.
        for base in (*bases, *(os.path.dirname(base) for base in bases)):  # noqa: PTH120
            names.add(name_text(os.path.relpath(file.folder, base)).replace(os.sep, "/"))
        return any(pattern.fullmatch(name) for pattern in patterns for name in names)

    kept = [file for file in files if (not included or matches(file, included)) and not matches(file, excluded)]
    if files and not kept:
        raise UsageError(f"include and exclude leave none of {len(files)} skills", f"patterns match folders, as {files[0].label}")
    return kept


def _glob(pattern: str) -> re.Pattern[str]:
    """`**` is anything, `*` anything but '/', all else itself."""
    parts = re.split(r"(\*\*/?|\*)", pattern.removeprefix("./").strip("/"))
    return re.compile(
        "".join(
            "(?:.*/)?" if part == "**/" else ".*" if part == "**" else "[^/]*" if part == "*" else re.escape(part)
            for part in parts
        )
    )


def _named_only(found: list[Found], names: list[str]) -> list[Found]:
    if not names:
        return found
    kept = []
    for name in names:
        hits = [one for one in found if name in (one.name, one.file.folder_name, one.file.label)]
        if not hits:
            known = sorted({one.name for one in found})
            raise UsageError(
                f"no skill called '{name}'", f"there are: {', '.join(known[:20])}" if known else "no skill was found at all"
            )
        kept += [one for one in hits if one not in kept]
    return kept


def _give_ids(found: list[Found]) -> None:
    """An id is the name, or the folder where two skills share a name (capitals apart: ids become folders)."""
    counts = Counter(one.skill.name.casefold() for one in found if one.skill)
    for one in found:
        if one.skill and counts[one.skill.name.casefold()] > 1:
            one.skill = one.skill.model_copy(update={"id": one.file.label})


def _pair(found: list[Found], given: list[str], pairs: list[tuple[str, str]], evals: list[str], pairing: Pairing) -> None:
    by_folder = {one.file.folder: one for one in found}
    named = {path: pairing.at(path) for path in [*evals, *(evals_path for _, evals_path in pairs)]}
    for path in given:
        known = {one.name: one.file for one in found}
        owner = pairing.skill_of(path, known)
        if owner and owner.folder in by_folder:
            _attach(by_folder[owner.folder], pairing.file(path))
    for folder, path in pairs:
        for file in named[path] if folder in by_folder else ():
            _attach(by_folder[folder], file)
    for one in found:
        for path in evals:
            for file in named[path]:
                _attach(one, file)
    waiting = [one for one in found if not one.named]
    for one in waiting:
        one.files = pairing.by_place(one.file, one.name)
    for one in waiting:
        if not one.files:
            one.files = pairing.by_name(one.file, one.name)


def _attach(one: Found, file: SuiteFile) -> None:
    one.named = True
    if file not in one.files:
        one.files.append(file)


def _read_suites(one: Found, disk: Disk, digests: Digests, options: SuiteOptions) -> None:
    owner = Owner(one.skill.id if one.skill else "", one.name, one.file.folder)
    for file in one.files:
        suite, problems = suite_file.read(file, owner, disk, digests, options)
        one.suite_problems += problems
        if suite is not None:
            one.suites.append(suite)
    if len(one.suites) > 1:
        _across(one)


def _across(one: Found) -> None:
    """Equal case ids in two suites of a skill: `skill::case` would name two cases."""
    seen: dict[str, Suite] = {}
    for suite in one.suites:
        notes = Notes(suite.where.file)
        for case in suite.cases:
            other = seen.setdefault(case.id.casefold(), suite)
            if other is not suite:
                notes.error(
                    "duplicate-id",
                    f"the case id '{case.id}' is also used in {other.where.file}",
                    hint="give one of the two cases another id",
                )
        one.suite_problems += notes.problems
