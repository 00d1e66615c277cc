"""What is run: a skill with cases for a trial, and a library of skills for `validate`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measure import SENTENCE

BODY = "Follow these instructions. " * 75
"""About 2 KB, as in the skills people publish."""


def write_skill(folder: Path, cases: int) -> Path:
    """A skill whose every case has one deterministic check and one sentence for a judge."""
    evals = [
        {
            "id": number,
            "prompt": f"question {number}: how many apples are there if I have {number} and take one more?",
            "expected_output": "a number",
            "assertions": [{"type": "contains", "value": "answer"}, SENTENCE],
        }
        for number in range(1, cases + 1)
    ]
    _write(folder, "Answers questions about numbers briefly.", evals)
    return folder


def write_library(folder: Path, skills: int) -> Path:
    """Skills of 2 KB with three evals each."""
    for number in range(skills):
        evals = [{"id": k, "prompt": f"task {k}", "expected_output": "done", "assertions": [SENTENCE]} for k in (1, 2, 3)]
        _write(folder / f"skill-{number:05d}", f"Does task {number} and nothing else.", evals)
    return folder


def _write(folder: Path, description: str, evals: Sequence[Mapping[str, object]]) -> None:
    (folder / "evals").mkdir(parents=True)
    head = f"---\nname: {folder.name}\ndescription: {description} Use it for tasks of that kind.\nlicense: MIT\n---\n"
    (folder / "SKILL.md").write_text(f"{head}\n# {folder.name}\n\n{BODY}\n")
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": folder.name, "evals": evals}, indent=2))
