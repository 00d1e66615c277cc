"""What `init` would write, and when it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from skilltrial.cli.scaffold import SETTINGS, TEMPLATES, NewFile, _texts, scaffold
from skilltrial.errors import UsageError
from skilltrial.load.skill import SkillFile
from skilltrial.load.skill import read as read_skill
from skilltrial.load.trees import Digests
from skilltrial.records.schema import schemas


def put(files: tuple[NewFile, ...]) -> None:
    for file in files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(file.text, encoding="utf-8")


def suite_of(files: tuple[NewFile, ...]) -> dict[str, object]:
    suite = json.loads(next(file.text for file in files if file.path.name == "evals.json"))
    jsonschema.validate(suite, schemas()["evals"])
    assert isinstance(suite, dict)
    return suite


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_skill_is_valid_under_the_strict_rules(tmp_path: Path, template: str) -> None:
    made = scaffold("meeting-notes", tmp_path, template=template)
    put(made)
    folder = tmp_path / "meeting-notes"
    skill, problems = read_skill(
        SkillFile(str(folder), "SKILL.md", "meeting-notes", str(tmp_path)),
        level="strict",
        profile=None,
        digests=Digests(wanted=False),
    )
    assert skill is not None and skill.name == "meeting-notes"
    assert not [str(problem) for problem in problems if problem.severity != "info"]
    assert "__NAME__" not in "".join(file.text for file in made)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_suite_has_a_positive_a_near_miss_and_a_safe_stop_case(tmp_path: Path, template: str) -> None:
    made = scaffold("notes", tmp_path, template=template)
    suite = suite_of(made)
    cases = suite["evals"]
    assert isinstance(cases, list) and len(cases) == 3
    assert [case.get("should_trigger", True) for case in cases] == [True, False, True]
    assert cases[2]["id"] == "safe-stop"
    for case in cases:
        for path in case.get("files", []):
            assert tmp_path / "notes" / path in [file.path for file in made]


def test_a_skill_that_is_there_only_gains_evals(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text('---\nname: my-skill\ndescription: Says "hi" in\\two ways.\n---\n\nGo.\n')
    made = scaffold(None, tmp_path)
    assert [file.path for file in made] == [tmp_path / "evals" / "evals.json"]
    assert suite_of(made)["skill_name"] == "my-skill"
    assert 'Says \\"hi\\" in' in made[0].text


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    put(scaffold("notes", tmp_path, config=True))
    with pytest.raises(UsageError) as caught:
        scaffold("notes", tmp_path, config=True)
    assert "evals.json" in str(caught.value) and SETTINGS in str(caught.value)


def test_settings_alone_and_with_a_skill(tmp_path: Path) -> None:
    (only,) = scaffold(None, tmp_path, config=True)
    assert only.path == tmp_path / SETTINGS
    assert only.text == (Path(__file__).parents[2] / "examples" / "skilltrial.yaml").read_text(encoding="utf-8")
    assert len(scaffold("notes", tmp_path, config=True)) == 4


@pytest.mark.parametrize(
    ("where", "said"), [("My Skill", "for example 'my-skill'"), ("a--b", "for example 'a-b'"), ("ü", "no name")]
)
def test_a_name_that_breaks_the_standard_is_refused_with_a_better_one(tmp_path: Path, where: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        scaffold(where, tmp_path)


def test_other_misuse_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for where, template, said in (
        (None, "basic", "has no SKILL.md"),
        ("x", "fancy", "there are: basic"),
        ("file", "basic", "is a file"),
    ):
        with pytest.raises(UsageError, match=said):
            scaffold(where, tmp_path, template=template)


def test_a_skill_that_is_there_can_have_the_suite_of_a_template(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: my-review\ndescription: Reviews.\n---\n\nGo.\n")
    made = scaffold(None, tmp_path, template="review-diff")
    assert {file.path.relative_to(tmp_path).parts[0] for file in made} == {"evals"}
    assert suite_of(made)["skill_name"] == "my-review"
    assert tmp_path / "evals" / "files" / "change.diff" in [file.path for file in made]


# ---------------------------------------------------------------- plugins
def test_a_skill_of_a_plugin_lies_among_its_skills_and_the_plugin_gets_a_manifest(tmp_path: Path) -> None:
    made = scaffold("notes", tmp_path, plugin="office")
    manifest = json.loads(next(file.text for file in made if file.path == tmp_path / "office" / ".claude-plugin" / "plugin.json"))
    assert manifest["name"] == "office"
    assert tmp_path / "office" / "skills" / "notes" / "SKILL.md" in [file.path for file in made]


def test_a_second_skill_leaves_the_manifest_as_it_is(tmp_path: Path) -> None:
    put(scaffold("notes", tmp_path, plugin="office"))
    manifest = tmp_path / "office" / ".claude-plugin" / "plugin.json"
    manifest.write_text("mine")
    put(scaffold("letters", tmp_path, plugin="office"))
    assert manifest.read_text() == "mine"
    assert (tmp_path / "office" / "skills" / "letters" / "SKILL.md").is_file()


def test_what_is_no_name_for_a_plugin_is_refused(tmp_path: Path) -> None:
    for where, plugin, said in (("notes", "My Office", "no name for a plugin"), (None, "office", "needs a name")):
        with pytest.raises(UsageError, match=said):
            scaffold(where, tmp_path, plugin=plugin)


def test_what_an_installer_compiles_is_no_part_of_a_template(tmp_path: Path) -> None:
    (tmp_path / "evals" / "__pycache__").mkdir(parents=True)
    (tmp_path / "evals" / "__pycache__" / "task.cpython-311.pyc").write_bytes(b"\xa7\r\r\n")
    (tmp_path / "evals" / "task.py").write_text("pass\n", encoding="utf-8")
    assert list(_texts(tmp_path, "")) == [("evals/task.py", "pass\n")]
