"""What a command loads: the light ones need three packages, none needs numpy, and an import of ours does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NEEDED = ["click", "pydantic", "yaml"]
BELOW = ["pydantic_core", "annotated_types", "typing_extensions", "typing_inspection", "_yaml", "colorama"]
"""What those three need themselves."""
OTHERS = {"urllib3", "rich", "jinja2", "psutil", "filelock", "regex", "jsonschema", "numpy", "scipy"}

CALL = """
import json, sys

class Block:
    '''Nothing of a third party can be imported but what is named.'''
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if allowed and not top.startswith("_sysconfigdata") and top not in allowed and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"blocked: {name}", name=name)

allowed = json.loads(sys.argv[1])
sys.meta_path.insert(0, Block())
from skilltrial.cli import exit_code_of
code = exit_code_of(sys.argv[2:])
tops = {name.partition(".")[0] for name in sys.modules}
print()
print(json.dumps({"code": code, "loaded": sorted(top for top in tops - sys.stdlib_module_names if top[:4] != "_sys")}))
"""


def python(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**kept, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def called(folder: Path, *arguments: str, allowed: list[str] | None = None) -> dict[str, Any]:
    """Exit code of a command, the packages it loaded, and what it printed."""
    ended = python(folder, CALL, json.dumps(allowed or []), *arguments)
    assert ended.returncode == 0, ended.stderr
    said, _, told = ended.stdout.rstrip().rpartition("\n")
    found: dict[str, Any] = {**json.loads(told), "said": said, "err": ended.stderr}
    return found


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A folder with a skill of two cases."""
    folder = tmp_path / "colours"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: colours\ndescription: Names colours. Use it for colours.\n---\nSay BLUE.\n")
    checks = [{"id": "blue", "type": "contains", "value": "sky"}, {"id": "sure", "type": "not_contains", "value": "perhaps"}]
    evals = [{"id": n, "prompt": f"Colour of sky {n}?", "checks": checks} for n in (1, 2)]
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "colours", "evals": evals}))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["validate", "colours"],
        ["validate", "colours", "--format", "json"],
        ["validate", "colours", "--level", "strict"],
        ["list"],
        ["list", "--format", "json"],
        ["--help"],
        ["validate", "--help"],
        ["run", "--help"],
    ],
    ids=" ".join,
)
def test_the_light_commands_need_click_pydantic_and_yaml_only(skill: Path, command: list[str]) -> None:
    told = called(skill, *command, allowed=["skilltrial", *NEEDED, *BELOW])
    assert told["code"] == 0, told["err"]
    assert not OTHERS & set(told["loaded"])
    assert told["said"].strip()


def test_validate_finds_the_same_without_the_other_packages(skill: Path) -> None:
    """A file with problems, so that the code that words them is loaded too."""
    (skill / "colours" / "evals" / "evals.json").write_text(
        '{"skill_name": "colours", "evals": [{"id": 1, "checks": [{"type": "contian"}]}]}'
    )
    (skill / "colours" / "SKILL.md").write_text("---\nname: Colours\ndescription: a: b\n---\n")
    light = called(skill, "validate", "colours", allowed=["skilltrial", *NEEDED, *BELOW])
    whole = called(skill, "validate", "colours")
    assert (light["code"], light["said"]) == (1, whole["said"])
    assert "contian" in light["said"]


@pytest.mark.parametrize("missing", NEEDED)
def test_the_blocker_of_these_tests_does_block(skill: Path, missing: str) -> None:
    ended = python(
        skill, CALL, json.dumps(["skilltrial", *BELOW, *(name for name in NEEDED if name != missing)]), "validate", "colours"
    )
    assert "blocked" in ended.stderr


def test_running_and_reporting_load_neither_numpy_nor_scipy(skill: Path) -> None:
    """They may be installed, as they are where these tests are developed."""
    ran = called(skill, "run", "colours", "--target", "fake", "-n", "2")
    assert ran["code"] == 0, ran["err"]
    told = [ran]
    told += [
        called(skill, *command) for command in (["status"], ["report"], ["report", "--format", "markdown"], ["compare", "1", "1"])
    ]
    for one in told:
        assert not {"numpy", "scipy", "pandas"} & set(one["loaded"])
    assert "urllib3" not in told[1]["loaded"]


@pytest.mark.parametrize("module", ["skilltrial", "skilltrial.__main__"])
def test_an_import_prints_nothing_reads_no_variable_and_makes_no_folder(tmp_path: Path, module: str) -> None:
    code = f"""
import os, sys

class Unread(dict):
    def __getitem__(self, name):
        sys.exit(f"reads {{name}}")
    get = __contains__ = __getitem__

os.environ = Unread()
os.getenv = Unread().get
import {module}
heavy = {{"pydantic", "yaml", "urllib3", "rich", "jinja2", "psutil", "numpy", "scipy"}} & set(sys.modules)
sys.exit(f"loads {{heavy}}" if heavy else 0)
"""
    ended = python(tmp_path, code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_the_names_of_the_library_are_there_when_asked_for(tmp_path: Path) -> None:
    ended = python(tmp_path, "import skilltrial; print(sorted(name for name in skilltrial.__all__ if getattr(skilltrial, name)))")
    assert ended.stderr == ""
    assert "evaluate" in ended.stdout
