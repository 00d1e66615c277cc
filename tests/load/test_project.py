"""What PATH means, how suites pair with skills, and that a choice is never silently empty."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skilltrial.errors import UsageError
from skilltrial.load import project
from skilltrial.load.listing import rows
from skilltrial.load.validate import examine
from skilltrial.records.config import Config, SuiteConfig

Write = Callable[[Mapping[str, Any]], Path]
SUITE = {"evals": [{"id": "one", "prompt": "p", "assertions": ["a"]}]}


def named(name: str, *ids: str) -> dict[str, Any]:
    return {"skill_name": name, "evals": [{"id": id_, "prompt": "p", "assertions": ["a"]} for id_ in ids or ("one",)]}


def pairs(root: Path, *paths: str, **config: Any) -> list[tuple[str, str]]:
    loaded = project(Config(paths=paths, **config), root)
    assert loaded.errors == (), [str(problem) for problem in loaded.errors]
    return [(suite.skill, suite.where.file) for suite in loaded.suites]


# ---------------------------------------------------------------- PATH
def test_a_path_is_a_skill_a_folder_of_skills_or_a_suite(write: Write) -> None:
    root = write(
        {
            "lib/a/SKILL.md": None,
            "lib/a/evals/evals.json": SUITE,
            "lib/deep/b/SKILL.md": None,
            "lib/deep/b/evals/evals.json": SUITE,
        }
    )
    assert [skill for skill, _ in pairs(root, "lib")] == ["a", "b"]
    assert [skill for skill, _ in pairs(root, "lib/a")] == ["a"]
    assert [skill for skill, _ in pairs(root, "lib/a/SKILL.md")] == ["a"]
    assert [skill for skill, _ in pairs(root, "lib/a/evals/evals.json")] == ["a"]
    assert [skill for skill, _ in pairs(root, "lib/a/evals")] == ["a"]
    assert [skill for skill, _ in pairs(root / "lib/a")] == ["a"]
    assert [skill for skill, _ in pairs(root, "lib", "lib/a", "./lib/a")] == ["a", "b"]


def test_without_a_path_the_error_lists_what_is_below(write: Write) -> None:
    root = write({"x/one/SKILL.md": None, "x/two/SKILL.md": None})
    with pytest.raises(UsageError, match="x/one, x/two"):
        project(Config(), root)
    with pytest.raises(UsageError, match=r"no SKILL\.md"):
        project(Config(), write({"empty/x": ""}) / "empty")


def test_a_path_that_is_not_there_is_an_error(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "nothing/x.txt": ""})
    with pytest.raises(UsageError, match="no such file") as caught:
        project(Config(paths=("dmo",)), root)
    assert "did you mean 'demo'?" in str(caught.value)
    with pytest.raises(UsageError, match=r"no SKILL\.md"):
        project(Config(paths=("nothing",)), root)


def test_every_child_of_a_library_is_a_skill(write: Write) -> None:
    root = write(
        {
            "skills/a/SKILL.md": None,
            "skills/b/README.md": "no skill",
            "skills/group/c/SKILL.md": None,
            "skills/README.md": "",
            "skills/.hidden/x": "",
            "other/d/SKILL.md": None,
            "other/e/x": "",
        }
    )
    checked = examine(("skills",), root)
    assert [skill.name for skill in checked.skills] == ["a", "c"]
    assert [(problem.rule, problem.where.file) for problem in checked.errors] == [("no-skill-file", "skills/b")]
    assert examine(("other",), root).errors == ()
    assert [problem.where.file for problem in examine(("other",), root, config=Config(library=True)).errors] == ["other/e"]
    assert checked.without_suite == ("a", "c")


@pytest.mark.parametrize(
    "folder",
    ["node_modules", ".git", "dist", ".next", ".venv", "skilltrial-workspace", "agent-skills-workspace", "demo-workspace"],
)
def test_folders_of_others_are_not_searched(write: Write, folder: str) -> None:
    root = write({"lib/a/SKILL.md": None, f"lib/{folder}/b/SKILL.md": None})
    assert [skill.name for skill in examine(("lib",), root).skills] == ["a"]


def test_links_to_folders_are_followed_inside_the_repository_and_never_twice(write: Write) -> None:
    root = write({"repo/.git/HEAD": "", "repo/lib/a/SKILL.md": None, "repo/real/b/SKILL.md": None, "out/c/SKILL.md": None})
    (root / "repo/lib/b").symlink_to("../real/b")
    (root / "repo/lib/up").symlink_to("..")
    (root / "repo/lib/again").symlink_to("a")
    (root / "repo/lib/c").symlink_to(root / "out/c")
    assert [skill.name for skill in examine(("repo/lib",), root).skills] == ["a", "b"]
    (root / "repo/skills").symlink_to("lib")
    assert ("link-outside", "repo/skills/c") in [
        (problem.rule, problem.where.file) for problem in examine(("repo/skills",), root).problems
    ]


# ---------------------------------------------------------------- pairing
PLACES = [
    "demo/evals/evals.json",
    "tests/demo/evals.json",
    "tests/demo/eval.json",
    "tests/demo/evals/evals.json",
    "evals/demo/evals.json",
    "evals/demo/evals/evals.yaml",
    "evals/skills/demo.json",
    "skills-test/demo/evals/evals.json",
    "examples/demo/evals/evals.json",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("depth", ["", "plugins/x/"])
def test_suites_are_found_at_their_places_up_to_the_repository(write: Write, place: str, depth: str) -> None:
    if depth and place.startswith("demo/"):
        return
    root = write(
        {
            "repo/.git/HEAD": "",
            f"repo/{depth}demo/SKILL.md": None,
            f"repo/{place}": SUITE,
            "tests/demo/evals.json": named("demo", "outside"),
        }
    )
    assert pairs(root, f"repo/{depth}demo") == [("demo", f"repo/{place}")]
    assert pairs(root, f"repo/{place}") == [("demo", f"repo/{place}")] or depth


def test_the_skills_own_folder_wins_and_nearer_places_win(write: Write) -> None:
    root = write({".git/HEAD": "", "p/demo/SKILL.md": None, "tests/demo/evals.json": SUITE})
    assert pairs(root, "p/demo") == [("demo", "tests/demo/evals.json")]
    write({"p/evals/demo/evals.json": SUITE})
    assert pairs(root, "p/demo") == [("demo", "p/evals/demo/evals.json")]
    write({"p/demo/evals/evals.json": SUITE})
    assert pairs(root, "p/demo") == [("demo", "p/demo/evals/evals.json")]


def test_a_suite_elsewhere_pairs_by_the_skills_name(write: Write) -> None:
    root = write(
        {
            ".git/HEAD": "",
            "skills/a/SKILL.md": None,
            "skills/b/SKILL.md": None,
            "evals/whatever.json": named("a"),
            "tests/stuff/evals.json": named("b"),
        }
    )
    assert pairs(root, "skills") == [("a", "evals/whatever.json"), ("b", "tests/stuff/evals.json")]
    assert pairs(root, "evals/whatever.json") == [("a", "evals/whatever.json")]


def test_place_wins_over_name(write: Write) -> None:
    root = write({".git/HEAD": "", "skills/a/SKILL.md": None, "skills/b/SKILL.md": None, "tests/a/evals.json": named("b")})
    loaded = project(Config(paths=("skills",)), root)
    assert [(suite.skill, suite.where.file) for suite in loaded.suites] == [("a", "tests/a/evals.json")]
    assert loaded.skipped == ("b",)


def test_evals_pairs_any_skill_with_any_suite(write: Write) -> None:
    root = write({"a/SKILL.md": None, "a/evals/evals.json": SUITE, "b/SKILL.md": None, "far/x.json": named("other", "far")})
    assert pairs(root, "a", "b", evals=("far/x.json",)) == [("a", "far/x.json"), ("b", "far/x.json")]
    assert pairs(root, skill_names=("./a",), evals=("far/x.json",)) == [("a", "far/x.json")]
    assert pairs(root, skill_names=("a",), evals=("far/x.json", "a/evals/evals.json")) == [
        ("a", "far/x.json"),
        ("a", "a/evals/evals.json"),
    ]
    assert pairs(root, suites=(SuiteConfig(skill="b", evals="far/x.json"),)) == [("b", "far/x.json")]
    with pytest.raises(UsageError, match="no such suite"):
        pairs(root, "a", evals=("far/y.json",))


def test_a_suite_without_a_skill_says_how_to_pair_it(write: Write) -> None:
    root = write({"far/x.json": SUITE})
    (problem,) = examine(("far/x.json",), root).errors
    assert problem.rule == "no-skill"
    assert "--skill DIR --evals FILE" in (problem.hint or "")


def test_equal_case_ids_in_two_suites_of_a_skill_are_an_error(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": SUITE, "demo/evals/more.evals.json": SUITE})
    (error,) = project(Config(paths=("demo",)), root).errors
    assert error.rule == "duplicate-id"
    assert "demo/evals/evals.json" in error.found


def test_skills_of_one_name_are_told_apart_by_their_folder(write: Write) -> None:
    text = "---\nname: same\ndescription: d\n---\nBody\n"
    root = write(
        {
            "x/a/same/SKILL.md": text,
            "x/b/same/SKILL.md": text,
            "x/a/same/evals/evals.json": SUITE,
            "x/b/same/evals/evals.json": SUITE,
        }
    )
    assert [skill for skill, _ in pairs(root, "x")] == ["x/a/same", "x/b/same"]


def test_sites_say_where_everything_lies(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": SUITE})
    site = project(Config(paths=("demo",)), root).sites["demo"]
    assert (site.folder, site.suites) == (root / "demo", (root / "demo/evals/evals.json",))


# ---------------------------------------------------------------- filters
@pytest.fixture
def library(write: Write) -> Path:
    cases = [
        {"id": 1, "prompt": "p", "assertions": ["a"], "side_effect_level": "static", "tags": ["fast"]},
        {"id": 2, "prompt": "p", "assertions": ["a"]},
    ]
    return write(
        {
            "lib/a/SKILL.md": None,
            "lib/a/evals/evals.json": {"evals": cases},
            "lib/x/b/SKILL.md": None,
            "lib/x/b/evals/evals.json": named("b", "one"),
            "lib/c/SKILL.md": None,
        }
    )


@pytest.mark.parametrize(
    ("config", "chosen"),
    [
        ({}, ["a::1", "a::2", "b::one"]),
        ({"eval_ids": ("2",)}, ["a::2"]),
        ({"eval_ids": ("a::1", "one")}, ["a::1", "b::one"]),
        ({"side_effect_levels": ("static",)}, ["a::1"]),
        ({"side_effect_levels": ("local-only",)}, ["a::2", "b::one"]),
        ({"with_tags": ("fast",)}, ["a::1"]),
        ({"with_tags": ("slow",), "tags": {"slow": ("b::one",)}}, ["b::one"]),
        ({"skill_names": ("b",)}, ["b::one"]),
        ({"include": ("x/**",)}, ["b::one"]),
        ({"include": ("lib/*",)}, ["a::1", "a::2"]),
        ({"exclude": ("**/b",)}, ["a::1", "a::2"]),
    ],
)
def test_filters_choose_cases(library: Path, config: dict[str, Any], chosen: list[str]) -> None:
    loaded = project(Config(paths=("lib",), **config), library)
    assert [f"{suite.skill}::{case.id}" for suite in loaded.suites for case in suite.cases] == chosen
    assert {skill.id for skill in loaded.skills} == {name.split("::")[0] for name in chosen}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"eval_ids": ("9",)}, "a::1, a::2, b::one"),
        ({"eval_ids": ("b::1",)}, "no case has the id 'b::1'"),
        ({"side_effect_levels": ("live-external",)}, "leave none of 3 cases"),
        ({"with_tags": ("none",)}, "leave none of 3 cases"),
        ({"skill_names": ("zzz",)}, "there are: a, b, c"),
        ({"include": ("nothing/*",)}, "leave none of 3 skills"),
        ({"skill_names": ("c",)}, "no suite for c"),
    ],
)
def test_an_empty_choice_is_an_error_and_never_zero_cases(library: Path, config: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        project(Config(paths=("lib",), **config), library)
    assert words in str(caught.value)


def test_a_skill_without_a_suite_is_skipped_and_counted(library: Path) -> None:
    assert project(Config(paths=("lib",)), library).skipped == ("c",)
    assert [skill.id for skill in project(Config(paths=("lib/c",)), library, suites_needed=False).skills] == ["c"]


def test_invalid_skills_are_left_out_when_asked(write: Write) -> None:
    root = write(
        {
            "lib/a/SKILL.md": None,
            "lib/a/evals/evals.json": SUITE,
            "lib/b/SKILL.md": "no frontmatter",
            "lib/c/SKILL.md": None,
            "lib/c/evals/evals.json": "{",
        }
    )
    assert len(project(Config(paths=("lib",)), root).errors) == 2
    loaded = project(Config(paths=("lib",), skip_invalid=True), root)
    assert loaded.errors == ()
    assert [skill.id for skill in loaded.skills] == ["a"]
    assert list(loaded.invalid) == ["lib/b", "lib/c"]
    assert "lib/c/evals/evals.json" in loaded.invalid["lib/c"]


# ---------------------------------------------------------------- validate and list
def test_validate_can_look_at_one_case_only(write: Write) -> None:
    cases = [{"id": "good", "prompt": "p"}, {"id": "bad", "prompt": ""}]
    root = write({"demo/SKILL.md": "---\nname: other\ndescription: d\n---\nB\n", "demo/evals/evals.json": {"evals": cases}})
    assert {problem.rule for problem in examine(("demo",), root).problems} == {"name-folder", "prompt-empty"}
    assert {problem.rule for problem in examine(("demo",), root, suite_only=True).problems} == {"prompt-empty"}
    assert examine(("demo",), root, suite_only=True, eval_id="good").problems == ()
    assert {problem.rule for problem in examine(("demo",), root, suite_only=True, eval_id="bad").problems} == {"prompt-empty"}
    with pytest.raises(UsageError, match="no case has the id"):
        examine(("demo",), root, eval_id="ugly")
    with pytest.raises(UsageError, match="no profile"):
        examine(("demo",), root, profile="nobody")


def test_validate_says_which_checks_need_a_judge(write: Write) -> None:
    root = write(
        {
            "demo/SKILL.md": None,
            "demo/evals/evals.json": {
                "evals": [{"prompt": "p", "assertions": ["a"], "checks": [{"type": "contains", "value": "x"}]}]
            },
        }
    )
    assert [(case.id, one.text) for _, case, one in examine(("demo",), root).judged] == [("1", "a")]


def test_the_list_shows_how_everything_pairs(write: Write) -> None:
    root = write(
        {
            "s/a/SKILL.md": None, "s/a/evals/evals.json": SUITE, "s/b/SKILL.md": None, "s/c/SKILL.md": None, "s/c/evals/evals.json": "{",
            "s/lost/evals.json": SUITE,
        }
    )  # fmt: skip
    shown = [(row.status, row.skill, row.suite, row.cases) for row in rows(("s",), root)]
    assert shown == [
        ("paired", "a", "s/a/evals/evals.json", 1),
        ("no-suite", "b", None, None),
        ("problem", "c", "s/c/evals/evals.json", None),
        ("external-suite", None, "s/lost/evals.json", None),
    ]


def test_only_click_pydantic_and_yaml_are_needed(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": SUITE})
    code = (
        "import sys\n"
        "blocked = {'urllib3', 'rich', 'jinja2', 'psutil', 'filelock', 'regex', 'jsonschema', 'numpy', 'scipy'}\n"
        "class Block:\n    def find_spec(self, name, *_):\n        if name.partition('.')[0] in blocked: raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "from pathlib import Path\nfrom skilltrial.load.validate import examine\nfrom skilltrial.load.listing import rows\n"
        "print(examine(('demo',), Path('.')).problems, len(rows((), Path('.'))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "() 1", "")


def test_a_new_dialect_is_one_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    from skilltrial.load import dialects

    names = {dialect.name for dialect in dialects.all_dialects()}
    assert {"standard", "trigger", "plugin-eval", "scenarios"} <= names
    assert len(names) == len(dialects.all_dialects())
    assert all(isinstance(dialect.rank, int) for dialect in dialects.all_dialects())


@pytest.mark.parametrize("pattern", ["skills/**", "skills/*", "tools/*", "./skills/*", "*", "lib/skills/*"])
@pytest.mark.parametrize("inside", [False, True])
def test_patterns_are_relative_to_the_root_to_the_root_by_its_name_or_to_the_working_folder(
    write: Write, pattern: str, inside: bool
) -> None:
    root = write({"lib/skills/tools/SKILL.md": None, "lib/skills/tools/evals/evals.json": SUITE})
    paths, cwd = (("skills",), root / "lib") if inside else (("lib/skills",), root)
    fits = pattern != "tools/*" and not (inside and pattern == "lib/skills/*")
    config = Config(paths=paths, include=(pattern,))
    if fits:
        assert [skill.id for skill in project(config, cwd).skills] == ["tools"]
    else:
        with pytest.raises(UsageError, match="leave none"):
            project(config, cwd)
