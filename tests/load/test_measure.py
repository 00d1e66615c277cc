"""A skill's hash as agent-skill-eval makes it, and its size, in the plan, the Summary and every run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from skilltrial.cli import exit_code_of
from skilltrial.load import project
from skilltrial.records.config import Config

BODY = "Say BLUE, and nothing else.\n"
FILES = {
    "SKILL.md": f"---\nname: demo\ndescription: Names colours.\n---\n{BODY}".encode(),
    "references/a.md": b"three more words\n",
    "references/\xc3\xa9.txt".encode("latin-1").decode(): "zwei Wörter".encode(),
    "assets/x.bin": b"\x00\x01 not words",
}


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, data in {**FILES, "evals/evals.json": b"", "__pycache__/a.pyc": b"x"}.items():
        path = tmp_path / "demo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    suite = {"skill_name": "demo", "evals": [{"id": 7, "prompt": "p", "checks": [{"type": "contains", "value": "p"}]}]}
    (tmp_path / "demo/evals/evals.json").write_text(json.dumps(suite))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def known_hash() -> str:
    return hashlib.sha256(b"".join(name.encode() + b"\0" + FILES[name] + b"\0" for name in sorted(FILES))).hexdigest()


def test_the_hash_is_over_paths_and_bytes_and_leaves_suites_and_caches_out(demo: Path) -> None:
    (skill,) = project(Config(paths=("demo",)), demo).skills
    assert skill.hash == known_hash()
    assert skill.size is not None
    assert (skill.size.files, skill.size.bytes) == (4, sum(map(len, FILES.values())))
    assert (skill.size.words, skill.size.skill_md.words, skill.size.skill_md.body_words) == (17, 12, 5)
    assert {file.path: file.words for file in skill.size.content_files if file.path != "SKILL.md"} == {
        "references/a.md": 3, "references/é.txt": 2, "assets/x.bin": 0,
    }  # fmt: skip


def test_nothing_is_measured_where_no_file_is_read(demo: Path) -> None:
    (skill,) = project(Config(paths=("demo",)), demo, digests=False).skills
    assert (skill.hash, skill.size) == (None, None)


def test_summary_and_every_run_say_which_version_it_was(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "demo", "--target", "fake", "--tree", "--no-certify", "--format", "json"]
    assert exit_code_of(words) == 0
    summary = json.loads(capsys.readouterr().out)
    (row,) = summary["skills"]
    assert row == {"skill": "demo", "hash": known_hash(), "files": 4, "words": 17, "skill_md_words": 12} | {
        "bytes": sum(map(len, FILES.values()))
    }
    for path in (demo / "skilltrial-workspace/iteration-1").rglob("run_meta.json"):
        meta: dict[str, Any] = json.loads(path.read_text())
        assert (meta["eval_id"], meta["skill_name"], meta["skill_hash"]) == (7, "demo", known_hash())
        assert (meta["run_id"], meta["side_effect_level"], meta["home"]) == ("iteration-1", "local-only", "clean")
        assert meta["reasoning_effort"] is None and meta["base_url"] is None and meta["source_repo"] is None
    assert exit_code_of(["export", "--format", "ase-py", "-o", "theirs"]) == 0
    assert json.loads((demo / "theirs/summary.json").read_text())["skill_hash"] == known_hash()


def test_another_tools_hash_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    tree = Path(__file__).parents[1] / "data/foreign/ase-py/repeated-runs/iteration-1"
    told = json.loads((tree / "summary.json").read_text())["skill_hash"]
    assert exit_code_of(["report", str(tree), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["skills"]
    assert (row["hash"], row["words"]) == (told, None)
