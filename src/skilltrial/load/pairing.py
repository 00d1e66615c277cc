"""Which suite belongs to which skill: by place first, then by the name a suite gives."""

# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH206
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import os
import re
from collections.abc import Iterator

from skilltrial.errors import UsageError
from skilltrial.load import json_text, suite_file
from skilltrial.load.case_folders import case_folders
from skilltrial.load.checks import safe_path
from skilltrial.load.dialects._unread import keys_of
from skilltrial.load.discover import ENDINGS, SUITE_NAMES, Disk, discover, skill_at
from skilltrial.load.document import Fault, Notes, decode, name_text, read_bytes
from skilltrial.load.entries import is_file, is_folder
from skilltrial.load.reading import TRIGGER
from skilltrial.load.skill import SkillFile
from skilltrial.load.suite_file import SuiteFile
from skilltrial.load.trees import SUITES_INSIDE
from skilltrial.records.problems import Problem

_SUITE = re.compile(
    r"(?:.*[.\-_])?(?:evals?|(?:trigger|eval)[\-_]?(?:evals?|queries|cases|eval[\-_]set|set)|queries|triggers)\.(?:json|ya?ml)"
)
_OWN = frozenset({"evals", "evaluations", *SUITES_INSIDE})
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
        self._plugins: dict[str, list[str]] = {}

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
            for place in self._places(above, skill, name):
                files = [path for path in place if self.file(path)]
                if files:
                    return self._take([self.file(path) for path in files])
        return []

    def at(self, path: str) -> list[SuiteFile]:
        """The suites that a path names: a file, or a folder that holds some or is one.

        Raises:
            UsageError: there is none.
        """
        if self.disk.listing(path) is None:
            if os.path.isfile(path):
                return [self.file(path)]
            raise UsageError(f"{self.disk.label(path)}: there is no such suite file")
        files = self._evals_folder(path, told=False)
        if not files:
            raise UsageError(f"{self.disk.label(path)}: there is no suite in this folder")
        return files

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
        if self.disk.listing(path) is not None:
            below = self._everywhere(os.path.dirname(path))
            if len(below) == 1:
                return below[0]
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
        """Suites in the skill's own `evals/`, else where some repositories keep them; None where there are none."""
        folders = {entry.name: entry.path for entry in skill.entries or () if entry.name in _OWN and is_folder(entry)}
        for name in ("evals", "evaluations"):
            if name in folders and self.disk.listing(folders[name]) is None:
                notes = Notes(self.disk.label(folders[name]))
                notes.error("unreadable", "cannot be listed", hint="give yourself the right to read it, or move it away")
                self.problems += notes.problems
            files = self._evals_folder(folders[name]) if name in folders else None
            if files:
                return files
        for name, suites in SUITES_INSIDE.items():
            found = [
                os.path.join(folders[name], suite) for suite in suites if name in folders and self._has(folders[name], suite)
            ]
            if found and suite_file.dialect(self.file(found[0])) is not None:
                return [self.file(found[0])]
        return None

    def _evals_folder(self, folder: str, *, told: bool = True) -> list[SuiteFile] | None:
        """The suites of a folder; None where it has none. What is there and cannot be read is told."""
        expected: list[str] = []
        possible: list[str] = []
        entries = self.disk.listing(folder) or ()
        for entry in sorted(entries, key=lambda entry: entry.name):
            if _is_suite_name(entry.name) and not is_folder(entry):
                expected.append(entry.path)  # whatever it is: a pipe or a broken link by this name is told, not passed over
            elif entry.name.endswith(ENDINGS) and is_file(entry):
                possible.append(entry.path)
        whole = any(os.path.basename(path) in SUITE_NAMES for path in expected)
        files = [self.file(path) for path in expected]
        strangers, singles = [], []
        for path in possible:
            file = self.file(path)
            dialect = suite_file.dialect(file)
            if dialect is not None and not (dialect.single and whole):
                files.append(file)
            elif dialect is not None:
                singles.append(file)
            elif not file.document.broken:
                strangers.append(file)
        cases = case_folders(entries)
        if cases and not whole and not any(_is_whole(file) for file in files):
            files.append(self.file(folder))
        elif cases or singles:
            self._passed_over(folder, cases or [file.path for file in singles], told)
        if not files and told:
            self._strange(folder, strangers)
        return files or None

    def _passed_over(self, folder: str, paths: list[str], told: bool) -> None:
        notes = Notes(self.disk.label(folder))
        names = ", ".join(name_text(os.path.basename(path)) for path in paths[:3]) + (", …" if len(paths) > 3 else "")
        notes.info("not-read", f"{names}: not read, since evals.json beside them is")
        self.problems += notes.problems if told else []

    def _strange(self, folder: str, files: list[SuiteFile]) -> None:
        notes = Notes(self.disk.label(folder))
        for file in files:
            notes.error(
                "unknown-dialect",
                f"{os.path.basename(file.label)} is no form of suite that is read; keys seen: {keys_of(file.document.value)}",
                hint='a suite is {"evals": [{"prompt": …}]} in evals.json',
            )
        self.problems += notes.problems

    def _plugin_cases(self, above: str) -> list[str]:
        """The folder of cases of a plugin that has one skill; of one with several, nobody can say which is meant."""
        if above not in self._plugins:
            folder = os.path.join(above, self._eval_dir(above))
            entries = self.disk.listing(folder)
            named = any(entry.name in SUITE_NAMES for entry in entries or ())
            found = [folder] if not named and case_folders(entries) else []
            skills = self._everywhere(above) if found else []
            if len(skills) > 1:
                notes = Notes(self.disk.label(folder))
                some = ", ".join(skill.folder_name for skill in skills[:5]) + (", …" if len(skills) > 5 else "")
                notes.warn(
                    "several-skills",
                    f"these cases are of a plugin with {len(skills)} skills ({some}) and are paired with none of them",
                    hint=f"say which: skilltrial run --skill DIR --evals {self.disk.label(folder)}",
                )
                self.problems += notes.problems
                found = []
            self._plugins[above] = found
        return self._plugins[above]

    def _eval_dir(self, above: str) -> str:
        """Where a plugin keeps its cases: `experimental.evals` of its manifest, else `evals`."""
        if not self._has(above, ".claude-plugin"):
            return "evals"
        data = read_bytes(os.path.join(above, ".claude-plugin", "plugin.json"), json_text.SIZE_CAP)
        text = data if isinstance(data, Fault) else decode(data)
        value = None if isinstance(text, Fault) else json_text.parse(text).value
        experimental = value.get("experimental") if isinstance(value, dict) else None
        given = experimental.get("evals") if isinstance(experimental, dict) else None
        return given if isinstance(given, str) and safe_path(given) is None else "evals"

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

    def _places(self, above: str, skill: SkillFile, skill_name: str) -> Iterator[list[str]]:
        """Suite files at each place for a skill, in order of precedence."""
        present = self._folders(above)
        for name in dict.fromkeys((skill.folder_name, skill_name)):
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
            if "tests" in present:
                yield self._suites_in(self._grouped(os.path.join(above, "tests"), name, skill))
        yield self._plugin_cases(above)

    def _grouped(self, tests: str, name: str, skill: SkillFile) -> str:
        """`tests/<plugin>/<skill>`; of several the one whose plugin the skill lies in. A path that is not there: none."""
        groups = [entry.name for entry in self.disk.listing(tests) or () if is_folder(entry) and self._has(entry.path, name)]
        if len(groups) > 1:
            groups = [group for group in groups if group in skill.folder.split(os.sep)]
        return os.path.join(tests, groups[0], name) if len(groups) == 1 else os.path.join(tests, name, name)

    def _folders(self, above: str) -> frozenset[str]:
        if above not in self._present:
            wanted = ("tests", "evals", "skills-test", "examples")
            entries = self.disk.listing(above) or ()
            self._present[above] = frozenset(entry.name for entry in entries if entry.name in wanted and is_folder(entry))
        return self._present[above]

    def _has(self, folder: str, name: str) -> bool:
        if folder not in self._inside:
            self._inside[folder] = frozenset(entry.name for entry in self.disk.listing(folder) or ())
        return name in self._inside[folder]

    def _suites_in(self, folder: str) -> list[str]:
        entries = self.disk.listing(folder) or ()
        return sorted(entry.path for entry in entries if _is_suite_name(entry.name) and not is_folder(entry))

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
                if inner == "evals" and entry.name.endswith(ENDINGS) and is_file(entry):
                    yield entry.path
                elif is_folder(entry):
                    if inner in ("tests", "evals"):
                        yield from self._suites_in(entry.path)
                    if inner == "evals" and entry.name == "skills":
                        yield from (one.path for one in self.disk.listing(entry.path) or () if one.name.endswith(ENDINGS))
                    yield from self._suites_in(os.path.join(entry.path, "evals"))


def _is_suite_name(name: str) -> bool:
    return name in SUITE_NAMES or (name.endswith(ENDINGS) and _SUITE.fullmatch(name.lower()) is not None)


def _is_whole(file: SuiteFile) -> bool:
    """Whether the file is a suite of output cases of its own, and no trigger list."""
    dialect = suite_file.dialect(file)
    return dialect is None or (dialect.name != TRIGGER and not dialect.single)
