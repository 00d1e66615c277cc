"""Every JSON file that an experiment writes has a published schema, and fits it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from skilltrial.records.schema import schemas

from .conftest import script

MADE = {name: jsonschema.Draft202012Validator(schema) for name, schema in schemas().items()}
FILES = {
    "experiment.json": "plan",
    "results.jsonl": "journal",
    "evidence/*.jsonl": "evidence",
    "progress.jsonl": "news",
    "summary.json": "summary",
    "hooks.jsonl": "hooks",
    "cleanup.json": "cleanup",
    "certificates.json": "certificates",
    "packets.jsonl": "packets",
    "*/benchmark.json": "benchmark",
    "*/grading.json": "grading",
    "*/timing.json": "timing",
    "*/run_meta.json": "run_meta",
    "*/judge.json": "judge",
    "*/pair-*.json": "pair",
    "*/events.jsonl": "event",
    "*/pre_state.json": "state",
    "*/post_state.json": "state",
    "*/outputs/post_grade_hooks.json": "post_grade_hooks",
}
NOT_OURS = ("blobs/*", "*/prompt.json", "*/outputs/*", "packets/*/files/*")
"""Copies of what users gave, of what was sent to a backend, and of what runs left."""


def documents(path: Path) -> Iterator[Any]:
    text = path.read_text(encoding="utf-8")
    yield from (json.loads(line) for line in text.splitlines()) if path.suffix == ".jsonl" else [json.loads(text)]


def checked(folder: Path) -> set[str]:
    """The schemas of all JSON files of an experiment, each line of which was found to fit."""
    found = set()
    for path in sorted(folder.rglob("*.json*")):
        name = path.relative_to(folder).as_posix()
        schema = next((schema for pattern, schema in FILES.items() if fnmatch(name, pattern)), None)
        if schema is None:
            assert any(fnmatch(name, pattern) for pattern in NOT_OURS), f"{name} has no published schema"
            continue
        for document in documents(path):
            if schema == "evidence" and isinstance(document, list):  # judge's calls lie in the same pack
                MADE["judge"].validate(document)
            else:
                MADE[schema].validate(document)
        found.add(schema)
    return found


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake backend takes the part of an agent program, so that canaries are made."""
    from skilltrial.backends.fake import Fake

    monkeypatch.setattr(Fake, "capabilities", Fake.capabilities.model_copy(update={"program": True}))


@pytest.mark.usefixtures("program")
def test_of_a_run_with_canaries_hooks_budgets_judged_pairs_and_a_repository(
    skilltrial: Any, new_skill: Any, tmp_path: Path
) -> None:
    checks = [{"type": "git_clean"}, {"type": "contains", "value": "BLUE", "id": "blue"}]
    skill = new_skill([{"id": 1, "prompt": "What is the colour?", "checks": checks, "assertions": ["It names a colour."]}])
    answers = [
        {"when": {"arm": arm, "judge": False}, "text": text, "files": {"left.txt": "x"}, "run": ["ls"]}
        for arm, text in (("with_skill", "BLUE"), ("without_skill", "no idea"))
    ]
    targets = [script(tmp_path / f"t{number}.json", *answers) for number in (1, 2)]
    judge = script(tmp_path / "judge.json", {"when": {"judge": True}, "prefers": "BLUE"})
    hook = tmp_path / "hook.sh"
    hook.write_text('#!/bin/sh\necho \'{"text": "kept short", "passed": true}\'\n')
    hook.chmod(0o755)
    common = (
        "--target", f"fake:{targets[0]}", "--target", f"fake:{targets[1]}", "--format", "json", "--keep-workspaces", "all",
        "--pre-run-command", "true", "--post-grade-command", str(hook), "--post-run-command", "true", "--max-total-tokens-per-case", "1",
        "--workspaces-dir", tmp_path / "places",
    )  # fmt: skip
    (tmp_path / "places").mkdir()
    said = skilltrial("run", skill, *common, "--judge", f"fake:{judge}", "--judge-mode", "pairwise")
    assert said.code != 2, said.err
    assert said.summary["pairwise"]
    found = checked(tmp_path / "skilltrial-workspace" / "iteration-1")
    assert found == set(FILES.values()) - {"packets", "judge"}


def test_of_runs_by_hand_and_of_a_judge_that_says_what_it_thinks(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    skill = new_skill([{"id": 1, "prompt": "What is the colour?", "assertions": ["It names a colour."]}])
    skilltrial("run", skill, "--target", "manual", "--judge", "manual", "-n", "1")
    for _ in range(2):
        for packet in map(Path, skilltrial("submit", "--list").out.splitlines()):
            ids = re.findall(r'"id": "([^"]+)", "statement"', (packet / "prompt.md").read_text())
            told = json.dumps({"verdicts": [{"id": name, "passed": True, "evidence": "BLUE"} for name in ids]}) if ids else "BLUE"
            (packet / "answer.md").write_text(f"context: {packet.name}\n\n{told}\n")
        said = skilltrial("submit")
    assert said.code == 0, said.err
    found = checked(tmp_path / "skilltrial-workspace" / "iteration-1")
    assert {"packets", "judge", "plan", "journal", "evidence", "summary", "grading"} <= found
    kinds = {line["kind"] for line in documents(tmp_path / "skilltrial-workspace" / "iteration-1" / "packets.jsonl")}
    assert kinds >= {"packet", "answer"}


def test_of_what_compare_and_history_print(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    for _ in range(2):
        skilltrial("run", new_skill(colours) if not Path("colours").exists() else "colours", "--target", "fake")
    MADE["compared"].validate(json.loads(skilltrial("compare", "--format", "json").out))
    MADE["history"].validate(json.loads(skilltrial("history", "--format", "json").out))


def test_a_file_with_a_wrong_value_does_not_fit() -> None:
    assert not MADE["packets"].is_valid({"kind": "packet", "packet": 3})
    assert not MADE["benchmark"].is_valid({"skill_name": "s", "run_summary": {"with_skill": {"pass_rate": 1.0}}})
    assert not MADE["grading"].is_valid({"assertion_results": [], "expectations": []})
