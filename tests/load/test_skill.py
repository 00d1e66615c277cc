"""SKILL.md as people write it, at three levels of strictness."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skilltrial.load import project
from skilltrial.load.document import Level
from skilltrial.load.skill_rules import allowed_tools
from skilltrial.load.validate import Checked, examine
from skilltrial.records.config import Config

Write = Callable[[Mapping[str, Any]], Path]
HEAD = "---\nname: demo\ndescription: Formats tables.\n"


def look(root: Path, level: Level = "standard") -> Checked:
    return examine(("demo",), root, level)


def rules(checked: Checked, severity: str | None = None) -> set[str]:
    return {problem.rule for problem in checked.problems if severity in (None, problem.severity)}


def test_a_good_skill_has_no_problem_at_any_level(write: Write) -> None:
    root = write({"demo/SKILL.md": None})
    for level in ("load", "standard", "strict"):
        assert examine(("demo",), root, level).problems == ()


BODY = "→ – ü 表\n"
BROKEN = "---\nname: demo\ndescription: Use this when: the user asks for tables\n{more}---\n" + BODY


@pytest.mark.parametrize("form", ["plain", "bom", "crlf", "tools-list", "tools-comma", "metadata"])
def test_frontmatter_that_yaml_refuses_still_loads(write: Write, form: str) -> None:
    more = {
        "tools-list": "allowed-tools:\n  - Read\n  - Bash(git add:*, git status)\n",
        "tools-comma": "allowed-tools: Read, Bash(git add:*, git status)\n",
        "metadata": "metadata:\n  tags: [a, b]\n  date: 2024-05-01\n",
    }.get(form, "")
    text = BROKEN.format(more=more)
    data = text.replace("\n", "\r\n").encode() if form == "crlf" else text.encode()
    root = write({"demo/SKILL.md": (b"\xef\xbb\xbf" if form == "bom" else b"") + data})
    checked = look(root)
    (skill,) = checked.skills
    assert skill.name == "demo"
    assert skill.description == "Use this when: the user asks for tables"
    assert skill.body == BODY.strip()
    (warning,) = [problem for problem in checked.problems if problem.rule == "salvaged-yaml"]
    assert (warning.severity, warning.where.line) == ("warning", 3)
    assert 'description: "Use this when: the user asks for tables"' in (warning.hint or "")
    if form.startswith("tools"):
        assert allowed_tools(skill.frontmatter["allowed-tools"]) == ("Read", "Bash(git add:*, git status)")
    if form == "metadata":
        assert skill.frontmatter["metadata"] == {"tags": ["a", "b"], "date": "2024-05-01"}
    assert "salvaged-yaml" in rules(look(root, "strict"), "error")


def test_everything_loads_where_the_locale_is_not_utf8(write: Write) -> None:
    root = write(
        {
            "demo/SKILL.md": BROKEN.format(more=""),
            "demo/ü/表.txt": "x",
            "demo/evals/evals.json": {"evals": [{"prompt": "ü?", "files": ["ü/表.txt"], "assertions": ["ä"]}]},
        }
    )
    code = (
        "from pathlib import Path\nfrom skilltrial.load import project\nfrom skilltrial.records.config import Config\n"
        "loaded = project(Config(paths=('demo',)), Path('.'))\n"
        "print(ascii((loaded.skills[0].body, [f.path for f in loaded.suites[0].cases[0].fixtures.files], loaded.errors)))\n"
    )
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code],
        cwd=root,
        env={**environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ascii((BODY.strip(), ["ü/表.txt"], ()))


@pytest.mark.parametrize(
    ("front", "key", "value"),
    [
        ("allowed-tools:\n  - @tool\n  - `x`\n", "allowed-tools", ["@tool", "`x`"]),
        ("argument-hint: [file\n", "argument-hint", "[file"),
        ('pattern: "a\\Users"\n', "pattern", "a\\Users"),
        ("glob: *.py\n", "glob", "*.py"),
        ("text: > on this line\n", "text", "on this line"),
    ],
)
def test_other_yaml_faults_are_salvaged_key_by_key(write: Write, front: str, key: str, value: object) -> None:
    root = write({"demo/SKILL.md": f"{HEAD}{front}---\nBody.\n"})
    (skill,) = look(root).skills
    assert skill.frontmatter[key] == value
    assert skill.description == "Formats tables."


@pytest.mark.parametrize(
    ("text", "rule", "word"),
    [
        ("# Title\n\n---\nname: demo\ndescription: d\n---\nBody\n", "frontmatter-late", "# Title"),
        ("<!-- c -->\n---\nname: demo\n---\nBody\n", "frontmatter-late", "<!-- c -->"),
        ("---\nname: demo\ndescription: d\nBody\n", "frontmatter-open", "closing"),
        ("# Only a body\n", "no-frontmatter", "# Only a body"),
        ("", "empty-file", "empty"),
        ("---\nname: demo\n---\nBody\n", "description-missing", "description"),
        ("---\nname: demo\ndescription: ''\n---\nBody\n", "description-missing", "description"),
        ("---\n- a\n- b\n---\nBody\n", "frontmatter-form", "key: value"),
        ("---\nname: demo\ndescription: d\n---\n \n", "empty-body", "nothing below"),
    ],
)
def test_what_no_agent_can_use_is_an_error_at_every_level(write: Write, text: str, rule: str, word: str) -> None:
    root = write({"demo/SKILL.md": text})
    for level in ("load", "standard", "strict"):
        errors = [problem for problem in examine(("demo",), root, level).problems if problem.severity == "error"]
        assert rule in {problem.rule for problem in errors}
        assert any(word in problem.found for problem in errors)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("---\ndescription: d\n---\nBody\n", "name-missing"),
        ("---\nname: yes\ndescription: d\n---\nBody\n", "name-form"),
        ("---\nname: Other_Name\ndescription: d\n---\nBody\n", "name-form"),
        ("---\nname: a--b\ndescription: d\n---\nBody\n", "name-form"),
        ("---\nname: other\ndescription: d\n---\nBody\n", "name-folder"),
        (f"---\nname: {'a' * 65}\ndescription: d\n---\nBody\n", "name-length"),
        (f"---\nname: demo\ndescription: {'d' * 1025}\n---\nBody\n", "description-length"),
        (f"{HEAD}compatibility: ''\n---\nBody\n", "compatibility"),
        (f"{HEAD}license: a\nlicense: b\n---\nBody\n", "duplicate-key"),
        (f"{HEAD}allowed-tools: 3\n---\nBody\n", "allowed-tools"),
    ],
)
def test_the_standards_rules_are_errors_but_never_stop_a_run(write: Write, text: str, rule: str) -> None:
    root = write({"demo/SKILL.md": text, "demo/evals/evals.json": {"evals": [{"prompt": "p", "assertions": ["a"]}]}})
    assert rule in rules(look(root), "error")
    assert rule in rules(look(root, "load"), "warning")
    loaded = project(Config(paths=("demo",)), root)
    assert loaded.errors == ()
    assert len(loaded.skills) == 1
    assert project(Config(paths=("demo",), strict=True), root).errors != ()


@pytest.mark.parametrize(
    ("more", "body", "rule", "severity"),
    [
        ("disable-model-invocation: true\n", "Body", "no-automatic-trigger", "info"),
        ("argument-hint: x\n", "Body", "unknown-key", "info"),
        ("metadata: {a: [1]}\n", "Body", "metadata-text", "info"),
        ("allowed-tools: [Read]\n", "Body", "allowed-tools-form", "info"),
        ("", "Do $ARGUMENTS now", "arguments", "info"),
        ("", "State: !`git status`", "load-time-command", "warning"),
        ("", "See [guide](references/guide.md).", "broken-link", "warning"),
        ("", "See [up](../../other/SKILL.md).", "link-leaves-skill", "warning"),
        ("", "Run scripts/fix.py first.", "missing-file", "warning"),
    ],
)
def test_advice_is_given_with_its_place(write: Write, more: str, body: str, rule: str, severity: str) -> None:
    root = write({"demo/SKILL.md": f"{HEAD}{more}---\n\n{body}\n"})
    (problem,) = [problem for problem in look(root).problems if problem.rule == rule]
    assert problem.severity == severity
    assert problem.where.line == (4 if more else 6)


def test_a_long_body_is_advised_against(write: Write) -> None:
    assert "body-length" in rules(look(write({"demo/SKILL.md": f"{HEAD}---\n" + "x\n" * 501})), "info")


def test_links_and_scripts_that_are_there_are_fine(write: Write) -> None:
    body = "[g](references/guide.md#part) [w](https://x.y/z) [s](scripts/) [d](./references/guide.md)\nRun scripts/fix.py\n```\n[not](a-link.md)\n```\n"
    root = write({"demo/SKILL.md": f"{HEAD}---\n{body}", "demo/references/guide.md": "g", "demo/scripts/fix.py": "1"})
    assert look(root, "strict").problems == ()


def test_a_profile_knows_its_clients_keys(write: Write) -> None:
    root = write({"demo/SKILL.md": f"{HEAD}argument-hint: x\n---\nBody\n"})
    assert "unknown-key" in rules(examine(("demo",), root, "strict"))
    assert "unknown-key" not in rules(examine(("demo",), root, "strict", "claude-code"))


def test_a_lower_case_file_name_is_read_with_a_warning(write: Write) -> None:
    checked = look(write({"demo/skill.md": f"{HEAD}---\nBody\n"}))
    assert [skill.name for skill in checked.skills] == ["demo"]
    assert "file-name" in rules(checked, "warning")


@pytest.mark.parametrize("data", [b"\xff\xfe-\x00-\x00", HEAD.encode() + b"x: \xe9\n---\nB\n", HEAD.encode() + b"---\na\0b\n"])
def test_bytes_that_are_no_utf8_text_are_an_error(write: Write, data: bytes) -> None:
    checked = look(write({"demo/SKILL.md": data}))
    assert rules(checked, "error") & {"not-utf8", "not-text"}


def test_evals_caches_and_results_are_never_part_of_a_skill(write: Write) -> None:
    root = write(
        {
            "demo/SKILL.md": None,
            "demo/evals/evals.json": {"evals": [{"prompt": "p", "assertions": ["the secret answer"]}]},
            "demo/scripts/run.py": "1",
            "demo/scripts/__pycache__/run.pyc": b"1",
            "demo/.git/config": "x",
            "demo/skilltrial-workspace/iteration-1/experiment.json": "the secret answer",
            "demo/demo-workspace/iteration-1/grading.json": "the secret answer",
        }
    )
    loaded = project(Config(paths=("demo",)), root)
    files = loaded.skills[0].tree.files
    assert [file.path for file in files] == ["SKILL.md", "scripts/run.py"]
    assert all(b"the secret answer" not in loaded.sources[file.digest].read_bytes() for file in files)


def test_links_are_followed_inside_the_repository_only(write: Write) -> None:
    root = write(
        {
            "repo/.git/HEAD": "x",
            "repo/demo/SKILL.md": None,
            "repo/shared/guide.md": "shared",
            "outside.md": "secret",
            "repo/demo/evals/evals.json": {"evals": []},
        }
    )
    demo = root / "repo/demo"
    (demo / "guide.md").symlink_to("../shared/guide.md")
    (demo / "folder").symlink_to("../shared")
    (demo / "answers.json").symlink_to("evals/evals.json")
    (demo / "gone.md").symlink_to("nowhere.md")
    (demo / "loop").symlink_to(".")
    checked = examine(("repo/demo",), root)
    assert [file.path for file in checked.skills[0].tree.files] == ["SKILL.md", "folder/guide.md", "guide.md"]
    assert {"link-to-evals", "dangling-link"} <= rules(checked, "warning")
    assert "link-cycle" in rules(checked, "error")
    (demo / "loop").unlink()
    (demo / "leak.md").symlink_to(root / "outside.md")
    assert "link-outside" in rules(examine(("repo/demo",), root), "error")


def test_a_linked_skill_file_is_read_inside_the_repository_and_refused_outside(write: Write) -> None:
    root = write(
        {
            "repo/.git/HEAD": "x",
            "repo/source/SKILL.md": f"{HEAD}---\nBody\n",
            "repo/a/demo/x": "",
            "repo/b/demo/x": "",
            "outside.md": f"{HEAD}---\nSecret\n",
        }
    )
    (root / "repo/a/demo/SKILL.md").symlink_to("../../source/SKILL.md")
    assert [skill.body for skill in examine(("repo/a/demo",), root).skills] == ["Body"]
    (root / "repo/b/demo/SKILL.md").symlink_to(root / "outside.md")
    checked = examine(("repo/b/demo",), root)
    assert checked.skills == ()
    assert "link-outside" in rules(checked, "error")


def test_a_pipe_in_a_skill_is_left_out_and_nothing_waits_for_it(write: Write) -> None:
    root = write({"demo/SKILL.md": None})
    os.mkfifo(root / "demo/pipe")
    checked = look(root)
    assert "special-file" in rules(checked, "warning")
    assert [file.path for file in checked.skills[0].tree.files] == ["SKILL.md"]


def test_nested_skills_are_files_of_the_outer_one(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/examples/inner/SKILL.md": None})
    checked = examine((".",), root)
    assert [skill.name for skill in checked.skills] == ["demo"]
    assert "nested-skill" in rules(checked, "info")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("Read Bash(git:*) Edit", ("Read", "Bash(git:*)", "Edit")),
        ("Read, Bash(git add:*, git status)", ("Read", "Bash(git add:*, git status)")),
        (["Read", "Bash(a:*, b:*)"], ("Read", "Bash(a:*, b:*)")),
        ("", ()),
        (None, ()),
    ],
)
def test_allowed_tools_split_outside_brackets_only(value: object, names: tuple[str, ...]) -> None:
    assert allowed_tools(value) == names
