"""Folders of cases, as `claude plugin eval` takes them: which folders are some, before anything in them is read."""

# ruff: noqa: PTH118
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import os
from collections.abc import Sequence

from skilltrial.load.entries import is_folder

CASE_FOLDERS = "case_folders"
"""Key of the names of its case folders, in the value of a suite that is a folder."""
_CASE_FILES = ("case.yaml", "case.yml", "prompt.md")
_NOT_CASES = frozenset({"files", "fixtures", "results", "mocks", "scripts", "data", "assets", "graders", "workspaces", "outputs"})


def case_folders(entries: Sequence[os.DirEntry[str]] | None) -> list[str]:
    """Those of a folder's entries that are folders with a case, in order of name."""
    ordered = sorted(entries or (), key=lambda entry: entry.name)
    return [entry.path for entry in ordered if entry.name not in _NOT_CASES and is_folder(entry) and _is_case(entry.path)]


def _is_case(path: str) -> bool:
    return any(os.path.exists(os.path.join(path, name)) for name in _CASE_FILES)  # noqa: PTH110
