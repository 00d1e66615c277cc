"""Which suite belongs to which skill: by place first, then by the name a suite gives."""

# ruff: noqa: PTH110, PTH118, PTH119, PTH120
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import os
import re
from collections.abc import Iterator

from skilltrial.errors import UsageError
from skilltrial.load import suite_file
from skilltrial.load.dialects._unread import PLUGIN_EVAL, keys_of
from skilltrial.load.discover import SUITE_NAMES, Disk, discover, skill_at
from skilltrial.load.document import Notes, name_text
from skilltrial.load.skill import SkillFile
from skilltrial.load.suite_file import ENDINGS, SuiteFile
from skilltrial.records.problems import Problem

_SUITE = re.compile(
    r"(?:.*[.\-_])?(?:evals?|(?:trigger|eval)[\-_]?(?:evals?|queries|cases|eval[\-_]set|set)|queries|triggers)\.(?:json|ya?ml)"
)
_NOT_CASES = frozenset({"files", "fixtures", "results", "mocks", "scripts", "data", "assets", "graders", "workspaces", "outputs"})
_INDEXED = 2_000
"""Files looked into for their `skill_name`, per folder."""


class Pairing:
    """Finds suites of skills and skills of suites; every file is parsed once."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.problems: list[Problem] = []
        self.taken: set[str] = set()
        """Suite files that a skill has by place."""
        self._files: dict[str, SuiteFile] = {}
        self._named: dict[str, dict[str, list[str]]] = {}
        self._skills: dict[str, list[SkillFile]] = {}
        self._present: dict[str, frozenset[str]] = {}
        self._inside: dict[str, frozenset[str]] = {}

    def file(self, path: str) -> SuiteFile:
        if path not in self._files:
            self._files[path] = suite_file.parse(path, self.disk)
        return self._files[path]

    def by_place(self, skill: SkillFile, name: str) -> list[SuiteFile]:
        """The suites in the skill's own `evals/`, else in the nearest place outside that has some."""
        own = self._own(skill)
        if own is not None:
            return self._take(own)
        for above in self._above(skill.folder, skill.root):
            for place in self._places(above, skill.folder_name, name):
                files = [path for path in place if self.file(path)]
                if files:
                    return self._take([self.file(path) for path in files])
        return []

    def by_name(self, skill: SkillFile, name: str) -> list[SuiteFile]:
        """Suites outside that call the skill by its name and lie at nobody else's place."""
        for above in self._above(skill.folder, skill.root):
            index = self._index(above)
            paths = [path for path in index.get(name, []) if path not in self.taken]
            if paths:
                return self._take([self.file(path) for path in paths])
        return []

    def skill_of(self, path: str, known: dict[str, SkillFile]) -> SkillFile | None:
        """The skill a suite file belongs to: the one it lies in, one named like it, or a known one of its `skill_name`."""
        folder = os.path.dirname(path)
        root = self.disk.root(folder)
        chain = list(self._chain(folder, root.folder))
        for above in chain:
            skill = skill_at(above, self.disk)
            if skill:
                return skill
        name = self.file(path).skill_name
        names = [name] if name else []
        names += [os.path.basename(path).split(".")[0], os.path.basename(folder), os.path.basename(os.path.dirname(folder))]
        for candidate in names:
            if candidate in known:
                return known[candidate]
            if "/" in candidate or candidate in ("", ".", ".."):
                continue
            for above in chain:
                for inner in ("skills", "", os.path.join(".claude", "skills"), os.path.join(".agents", "skills")):
                    skill = skill_at(
                        os.path.join(above, inner, candidate) if inner else os.path.join(above, candidate), self.disk
                    )
                    if skill:
                        return skill
        if root.is_repository:
            everywhere = {skill.folder_name: skill for skill in reversed(self._everywhere(root.folder))}
            return next((everywhere[candidate] for candidate in names if candidate in everywhere), None)
        return None

    def _everywhere(self, root: str) -> list[SkillFile]:
        """All skills of a repository."""
        if root not in self._skills:
            try:
                self._skills[root] = discover([root], self.disk, library=False).skills
            except UsageError:
                self._skills[root] = []
        return self._skills[root]

    def _take(self, files: list[SuiteFile]) -> list[SuiteFile]:
        self.taken.update(file.path for file in files)
        return files

    def _own(self, skill: SkillFile) -> list[SuiteFile] | None:
        """Suites in `<skill>/evals/`; None when there is no such folder. What is there and cannot be read is told."""
        for entry in skill.entries or ():
            if entry.name == "evals" and entry.is_dir():
                return self._evals_folder(entry.path)
        return None

    def _evals_folder(self, folder: str) -> list[SuiteFile] | None:
        expected: list[str] = []
        possible: list[str] = []
        case_folders: list[str] = []
        for entry in sorted(self.disk.listing(folder) or (), key=lambda entry: entry.name):
            if entry.name.endswith(ENDINGS):
                if entry.is_file():
                    (expected if _is_suite_name(entry.name) else possible).append(entry.path)
            elif entry.name not in _NOT_CASES and entry.is_dir() and _is_case_folder(entry.path):
                case_folders.append(entry.path)
        files = [self.file(path) for path in expected]
        strangers = []
        for path in possible:
            file = self.file(path)
            if suite_file.is_claimed(file):
                files.append(file)
            elif not file.document.broken:
                strangers.append(file)
        notes = Notes(self.disk.label(folder))
        if case_folders:
            names = ", ".join(name_text(os.path.basename(path)) for path in case_folders[:3])
            say = notes.warn if files else notes.error
            say(
                "unknown-dialect",
                f"{names}: this is the form '{PLUGIN_EVAL}', which is not read yet",
                hint="write evals.json beside them" if not files else None,
            )
        elif not files and strangers:
            for file in strangers:
                notes.error(
                    "unknown-dialect",
                    f"{os.path.basename(file.label)} is no form of suite that is read; keys seen: {keys_of(file.document.value)}",
                    hint='a suite is {"evals": [{"prompt": …}]} in evals.json',
                )
        self.problems += notes.problems
        return files or None

    def _above(self, folder: str, root: str) -> Iterator[str]:
        """Folders above a skill, nearest first, up to its root."""
        above = os.path.dirname(folder)
        if folder != root and above != folder:
            yield from self._chain(above, root)

    def _chain(self, folder: str, root: str) -> Iterator[str]:
        current = folder
        while True:
            yield current
            above = os.path.dirname(current)
            if current == root or above == current or os.path.realpath(current) == root:
                return
            current = above

    def _places(self, above: str, folder_name: str, skill_name: str) -> Iterator[list[str]]:
        """Suite files at each place for a skill, in order of precedence."""
        present = self._folders(above)
        for name in dict.fromkeys((folder_name, skill_name)):
            if not name or "/" in name or name in (".", ".."):
                continue
            for inner in ("tests", "evals"):
                if inner in present:
                    place = os.path.join(above, inner, name)
                    if self._has(os.path.join(above, inner), name):
                        yield self._suites_in(place)
                        yield self._suites_in(os.path.join(place, "evals"))
            if "evals" in present and self._has(os.path.join(above, "evals"), "skills"):
                yield self._named_files(os.path.join(above, "evals", "skills"), name)
            for inner in ("skills-test", "examples"):
                if inner in present and self._has(os.path.join(above, inner), name):
                    yield self._suites_in(os.path.join(above, inner, name, "evals"))

    def _folders(self, above: str) -> frozenset[str]:
        if above not in self._present:
            wanted = ("tests", "evals", "skills-test", "examples")
            entries = self.disk.listing(above) or ()
            self._present[above] = frozenset(entry.name for entry in entries if entry.name in wanted and entry.is_dir())
        return self._present[above]

    def _has(self, folder: str, name: str) -> bool:
        if folder not in self._inside:
            self._inside[folder] = frozenset(entry.name for entry in self.disk.listing(folder) or ())
        return name in self._inside[folder]

    def _suites_in(self, folder: str) -> list[str]:
        entries = self.disk.listing(folder) or ()
        return sorted(entry.path for entry in entries if _is_suite_name(entry.name) and entry.is_file())

    def _named_files(self, folder: str, name: str) -> list[str]:
        return [path for ending in ENDINGS if self._has(folder, name + ending) for path in [os.path.join(folder, name + ending)]]

    def _index(self, above: str) -> dict[str, list[str]]:
        """Suite files below a folder's places, by the name of the skill they give or by their own name."""
        if above not in self._named:
            index: dict[str, list[str]] = {}
            for number, path in enumerate(self._all_suites(above)):
                if number >= _INDEXED:
                    break
                file = self.file(path)
                if not file.document.broken and file.skill_name:
                    index.setdefault(file.skill_name, []).append(path)
                elif os.path.basename(os.path.dirname(path)) in ("evals", "skills"):
                    index.setdefault(os.path.basename(path).split(".")[0], []).append(path)
            self._named[above] = index
        return self._named[above]

    def _all_suites(self, above: str) -> Iterator[str]:
        for inner in sorted(self._folders(above)):
            folder = os.path.join(above, inner)
            for entry in sorted(self.disk.listing(folder) or (), key=lambda entry: entry.name):
                if inner == "evals" and entry.name.endswith(ENDINGS) and entry.is_file():
                    yield entry.path
                elif entry.is_dir():
                    if inner in ("tests", "evals"):
                        yield from self._suites_in(entry.path)
                    if inner == "evals" and entry.name == "skills":
                        yield from (one.path for one in self.disk.listing(entry.path) or () if one.name.endswith(ENDINGS))
                    yield from self._suites_in(os.path.join(entry.path, "evals"))


def _is_suite_name(name: str) -> bool:
    return name in SUITE_NAMES or (name.endswith(ENDINGS) and _SUITE.fullmatch(name.lower()) is not None)


def _is_case_folder(path: str) -> bool:
    return os.path.exists(os.path.join(path, "case.yaml")) or os.path.exists(os.path.join(path, "prompt.md"))
