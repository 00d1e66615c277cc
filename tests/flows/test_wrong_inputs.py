"""What commands on results, suites and packets are given by mistake: one clear message, exit 2, nothing on stdout, nothing written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from skilltrial.cli import exit_code_of

from .conftest import SKILL

FOREIGN = Path(__file__).parent.parent / "data" / "foreign"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment `iteration-1`, a workspace with packets, two experiments nobody can read, a link, files, an empty folder."""
    root = tmp_path_factory.mktemp("desk")
    skill = root / "colours"
    (skill / "evals").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL.format(name="colours"))
    case = {"id": 1, "prompt": "Which colour?", "checks": [{"type": "contains", "value": "BLUE"}]}
    (skill / "evals" / "evals.json").write_text(json.dumps({"skill_name": "colours", "evals": [case]}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        exit_code_of(["run", "colours", "--target", "fake", "-n", "2"])
        exit_code_of(["run", "colours", "--target", "manual", "-n", "1", "-w", "by-hand"])
    broken = root / "broken"
    broken.mkdir()
    (broken / "experiment.json").write_text('{"schema": "skilltrial.plan/1", "experiment": 3')
    newer = root / "newer"
    newer.mkdir()
    (newer / "experiment.json").write_text(json.dumps({"schema": "skilltrial.plan/9", "experiment": "iteration-1"}))
    (root / "empty").mkdir()
    (root / "notes.txt").write_text("not JSON at all")
    (root / "list.json").write_text("[1, 2]")
    (root / "lone.json").write_text(json.dumps({"skill_name": "nobody", "evals": [case]}))
    (root / "loop").symlink_to("loop")
    bare = root / "bare"
    (bare / "evals").mkdir(parents=True)
    (bare / "SKILL.md").write_text("# no frontmatter\n")
    good = root / "good"
    good.mkdir()
    (good / "SKILL.md").write_text("---\nname: good\ndescription: d\n---\nBody.\n")
    return root


@pytest.fixture
def desk(made: Path, tmp_path: Path, skilltrial: Any) -> Path:
    """A copy of it, to be in."""
    shutil.copytree(made, tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


WRONG = [
    ("import absent", "absent"),
    ("import empty", "ase-npm"),
    ("import notes.txt", "notes.txt"),
    ("import list.json", "list.json"),
    ("import skilltrial-workspace/iteration-1", "already"),
    ("import loop", "loop"),
    ("import", "Missing argument"),
    ("export absent --format sab", "absent"),
    ("export 9 --format sab", "9"),
    ("export latest --format sab --output notes.txt", "notes.txt"),
    ("export latest --format nosuch", "nosuch"),
    ("export broken --format sab", "broken"),
    ("export newer", "another version"),
    ("convert absent", "absent"),
    ("convert empty", "empty"),
    ("convert notes.txt", "notes.txt"),
    ("convert list.json", "list.json"),
    ("convert lone.json", "skilltrial run --skill DIR --evals FILE"),
    ("convert colours -o colours/evals/evals.json", "left as it is"),
    ("convert good", "no suite"),
    ("convert colours --to sab", "sab"),
    ("submit absent", "absent"),
    ("submit latest -w by-hand", "no answer yet"),
    ("submit latest -w by-hand --answer nosuch notes.txt", "nosuch"),
    ("submit latest -w by-hand --answer PACKET absent.md", "absent.md"),
    ("submit latest -w by-hand --answer PACKET notes.txt", "context"),
    ("submit broken", "broken"),
    ("history absent", "absent"),
    ("history empty", "empty"),
    ("history notes.txt", "notes.txt"),
    ("history broken", "broken"),
    ("history --skill nosuch", "nosuch"),
    ("history --target nosuch", "nosuch"),
    ("generate absent --judge fake", "absent"),
    ("generate empty --judge fake", "SKILL.md"),
    ("generate colours --judge fake", "evals.json"),
    ("generate good", "--judge"),
    ("generate good --judge nosuch:", "nosuch"),
    ("generate bare --judge fake", "SKILL.md"),
    ("merge absent", "absent"),
    ("merge skilltrial-workspace/iteration-1", "no shard"),
    ("merge broken newer", "broken"),
    ("merge FOREIGN/sab", "experiment"),
    ("report absent", "absent"),
    ("report empty", "empty"),
    ("report broken", "broken"),
    ("report newer", "another version"),
    ("report notes.txt", "notes.txt"),
    ("report latest --output notes.txt/out.json", "notes.txt"),
    ("report latest --output out.docx", "out.docx"),
    ("convert colours --output notes.txt/evals.json", "notes.txt"),
    ("convert colours --output empty", "is a folder"),
    ("generate good --judge fake --output notes.txt/evals.json", "notes.txt"),
    ("import FOREIGN/sab -w notes.txt", "notes.txt"),
    ("merge loop", "loop"),
    ("import FOREIGN/sab --run-id ../up", "../up"),
    ("run colours --target fake -w notes.txt", "notes.txt"),
    ("run colours --target fake -o notes.txt/out.xml", "notes.txt"),
    ("show nosuch", "nosuch"),
    ("show colours", "fits"),
    ("show nosuch FOREIGN/sab/run-two-sides", "nosuch"),
    ("status absent", "absent"),
    ("compare latest absent", "absent"),
    ("compare latest empty", "empty"),
    ("compare 1 9", "9"),
    ("grade absent", "absent"),
    ("grade broken", "broken"),
    ("grade FOREIGN/handbook", "skilltrial import"),
    ("resume FOREIGN/handbook", "skilltrial import"),
    ("resume empty", "empty"),
    ("cleanup absent", "absent"),
    ("run colours --target fake -n 99999999999999999999", "100,000 or less"),
    *(
        (f"run colours --target {words}base-url {url}", f"'{url}' is no address")
        for words in ("openai:m --", "fake --judge openai:m --judge-")
        for url in ("http://[::", "http://x:99999/v1", "http://x:abc")
    ),
    (f"run colours --target openai:m --base-url http://{'a' * 80}.example/v1 --api-key-env none", "is not a known host"),
    ("plan colours --target fake --timeout 1e308", "less than"),
    *(
        (f"{words} LONG", "too long")
        for words in ("report", "status", "resume", "show x", "import", "history", "init", "adapter check")
    ),
]
LONG = "x" * 5000


def contents(folder: Path) -> dict[Path, bytes]:
    """All files but those that say who is writing."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "run.owner"}


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[words for words, _ in WRONG])
def test_a_wrong_input_is_one_clear_message(skilltrial: Any, desk: Path, words: str, said: str) -> None:
    packet = next((desk / "by-hand" / "iteration-1" / "packets").iterdir()).name
    before = contents(desk)
    call = [word.replace("PACKET", packet).replace("FOREIGN", str(FOREIGN)).replace("LONG", LONG) for word in words.split()]
    found = skilltrial(*call)
    assert (found.code, found.out) == (2, ""), found.err
    assert said in found.err and "Traceback" not in found.err
    assert len(found.err) < 3000
    assert contents(desk) == before
