"""Files that cases list: bases, links, folders, collisions, and prompts that name them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skilltrial.load import project
from skilltrial.load.validate import examine
from skilltrial.records.config import Config
from skilltrial.records.suite import landing

Write = Callable[[Mapping[str, Any]], Path]


def suite(*cases: tuple[str, list[Any]], **top: Any) -> dict[str, Any]:
    return {"evals": [{"prompt": prompt, "files": files, "assertions": ["a"]} for prompt, files in cases], **top}


def test_paths_resolve_against_skill_suite_and_repository(write: Write) -> None:
    root = write(
        {
            "repo/.git/HEAD": "x",
            "repo/top.txt": "top",
            "repo/demo/SKILL.md": None,
            "repo/demo/evals/files/a.csv": "1,2",
            "repo/demo/evals/folder/x/one.txt": "1",
            "repo/demo/evals/folder/two.sh": "2",
            "repo/demo/evals/evals.json": suite(
                ("p", ["evals/files/a.csv"]), ("p", ["files/a.csv"]), ("p", ["top.txt"]), ("p", ["evals/folder"])
            ),
        }
    )
    (root / "repo/demo/evals/folder/two.sh").chmod(0o755)
    loaded = project(Config(paths=("repo/demo",)), root)
    assert loaded.errors == ()
    one, two, three, four = (case.fixtures.files for case in loaded.suites[0].cases)
    assert one[0].digest == two[0].digest
    assert landing(one[0].path, "flat") == landing(two[0].path, "flat") == "a.csv"
    source = loaded.sources[three[0].digest]
    assert isinstance(source, Path) and source.read_text() == "top"
    assert [(file.path, file.executable) for file in four] == [("evals/folder/two.sh", True), ("evals/folder/x/one.txt", False)]


def test_a_missing_file_is_an_error_that_names_the_bases_and_where_it_might_be(write: Write) -> None:
    root = write(
        {
            ".git/HEAD": "x",
            "demo/SKILL.md": None,
            "demo/evals/fixtures/a.csv": "1",
            "demo/evals/evals.json": suite(("Read a.csv", ["a.csv"])),
        }
    )
    (error,) = project(Config(paths=("demo",)), root).errors
    assert error.rule == "file-missing"
    for base in ("the skill's folder (demo)", "the suite's folder (demo/evals)", "the repository (.)"):
        assert base in error.found
    assert "evals/fixtures/a.csv exists" in (error.hint or "")


def test_two_hits_with_other_bytes_are_an_error_that_files_base_settles(write: Write) -> None:
    files = {
        "demo/SKILL.md": None,
        "demo/a.txt": "one",
        "demo/evals/a.txt": "two",
        "demo/evals/evals.json": suite(("p", ["a.txt"])),
    }
    root = write(files)
    (error,) = examine(("demo",), root).errors
    assert error.rule == "file-ambiguous"
    root = write({"demo/evals/evals.json": suite(("p", ["a.txt"]), files_base="evals")})
    loaded = project(Config(paths=("demo",)), root)
    assert loaded.sources[loaded.suites[0].cases[0].fixtures.files[0].digest].read_text() == "two"
    root = write({"demo/a.txt": "two", "demo/evals/evals.json": suite(("p", ["a.txt"]))})
    assert examine(("demo",), root).errors == ()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "~/x", "C:\\x", "a\\b", "", " ", "a\nb"])
def test_paths_that_leave_are_refused(write: Write, path: str) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": suite(("p", [path]))})
    assert [problem.rule for problem in examine(("demo",), root).errors] == ["file-path"]


def test_links_inside_are_content_and_links_outside_are_refused(write: Write) -> None:
    root = write(
        {
            "repo/.git/HEAD": "x",
            "repo/demo/SKILL.md": None,
            "repo/data/real.txt": "real",
            "secret.txt": "secret",
            "repo/demo/evals/d/x.txt": "x",
        }
    )
    evals = root / "repo/demo/evals"
    (evals / "in.txt").symlink_to("../../data/real.txt")
    (evals / "out.txt").symlink_to(root / "secret.txt")
    (evals / "gone.txt").symlink_to("nowhere")
    (evals / "d/out.txt").symlink_to(root / "secret.txt")
    (evals / "d2").symlink_to(root)
    write(
        {
            "repo/demo/evals/evals.json": suite(
                ("p", ["in.txt"]), ("p", ["out.txt"]), ("p", ["gone.txt"]), ("p", ["d"]), ("p", ["d2/secret.txt"])
            )
        }
    )
    checked = examine(("repo/demo",), root)
    assert [(problem.rule, problem.where.pointer) for problem in checked.errors] == [
        ("link-outside", "evals[1].files[0]"),
        ("dangling-link", "evals[2].files[0]"),
        ("link-outside", "evals[3].files[0]"),
        ("link-outside", "evals[4].files[0]"),
    ]
    assert [case.fixtures.files[0].path for case in checked.suites[0].cases] == ["in.txt"]


def test_special_files_are_refused_without_waiting(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/d/x": "", "demo/evals/evals.json": suite(("p", ["pipe"]), ("p", ["d"]))})
    os.mkfifo(root / "demo/evals/pipe")
    os.mkfifo(root / "demo/evals/d/pipe")
    assert [problem.rule for problem in examine(("demo",), root).errors] == ["special-file", "special-file"]


def test_two_files_that_would_land_at_one_place_are_an_error(write: Write) -> None:
    files = {"demo/SKILL.md": None, "demo/evals/files/a.txt": "1", "demo/evals/fixtures/a.txt": "2"}
    listed = ["evals/files/a.txt", "evals/fixtures/a.txt"]
    root = write({**files, "demo/evals/evals.json": suite(("p", listed))})
    assert [problem.rule for problem in examine(("demo",), root).errors] == ["files-collide"]
    root = write({"demo/evals/evals.json": suite(("p", listed), stage="keep")})
    checked = examine(("demo",), root)
    assert checked.errors == ()
    assert checked.suites[0].cases[0].stage == "keep"
    root = write({"demo/evals/evals.json": suite(("p", listed), stage="keeep")})
    assert "did you mean 'keep'?" in [problem.hint for problem in examine(("demo",), root).errors]


@pytest.mark.parametrize(
    ("prompt", "warned"),
    [
        ("Sum up a.csv.", False),
        ("Sum up ./a.csv, please", False),
        ("Sum up {{a.csv}}", False),
        ("Sum up inputs/evals/files/a.csv", False),
        ("Sum up evals/files/a.csv", True),
        ("Sum up data/a.csv", True),
        ("Sum up what is there", False),
    ],
)
def test_a_prompt_that_names_a_file_by_another_path_is_warned_about(write: Write, prompt: str, warned: bool) -> None:
    root = write(
        {"demo/SKILL.md": None, "demo/evals/files/a.csv": "1", "demo/evals/evals.json": suite((prompt, ["evals/files/a.csv"]))}
    )
    problems = examine(("demo",), root).problems
    assert [(problem.rule, problem.severity) for problem in problems] == ([("file-place", "warning")] if warned else [])


def test_the_users_placement_wins_over_the_suites(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": suite(("p", []), stage="keep")})
    assert project(Config(paths=("demo",), stage="inputs"), root).suites[0].cases[0].stage == "inputs"


def test_digests_are_left_out_where_nobody_needs_them(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/a": "1", "demo/evals/evals.json": suite(("p", ["a"]))})
    loaded = project(Config(paths=("demo",)), root, digests=False)
    assert loaded.sources == {}
    assert loaded.suites[0].cases[0].fixtures.files[0].size == 1
    assert loaded.suites[0].cases[0].fixtures.files[0].digest == ""


# ---------------------------------------------------------------- files under another name, and texts in the suite itself
def test_a_file_may_be_called_otherwise_than_where_it_lies(write: Write) -> None:
    listed = [{"path": "in/data.csv", "source": "shared/rows.csv"}, {"path": "all", "source": "shared"}, {"source": "one.txt"}]
    files = {"demo/shared/rows.csv": "1", "demo/shared/deep/x": "2", "demo/one.txt": "3"}
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": suite(("p", listed), stage="keep"), **files})
    (case,) = project(Config(paths=("demo",)), root).suites[0].cases
    assert [file.path for file in case.fixtures.files] == ["all/deep/x", "all/rows.csv", "in/data.csv", "one.txt"]


def test_a_fixtures_text_may_stand_in_the_suite(write: Write) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": suite(("p", [{"path": "a/b.txt", "content": "Grüße\n"}]))})
    found = project(Config(paths=("demo",)), root)
    (ref,) = found.suites[0].cases[0].fixtures.files
    assert (ref.path, ref.size) == ("a/b.txt", 8)
    assert found.sources[ref.digest] == "Grüße\n".encode()


@pytest.mark.parametrize(
    "entry",
    [
        7,
        {},
        {"path": 7},
        {"path": "../x", "content": "c"},
        {"path": "/x", "content": "c"},
        {"content": "c"},
        {"path": "x", "source": "../y"},
    ],
)
def test_a_listed_object_that_says_too_little_or_leaves_is_an_error(write: Write, entry: object) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/evals.json": suite(("p", [entry]))})
    assert project(Config(paths=("demo",)), root).errors


@pytest.mark.parametrize("listed", ["evals", "evals/evals.json", "link.json"])
def test_the_suite_itself_is_never_a_fixture(write: Write, listed: str) -> None:
    root = write({"demo/SKILL.md": None, "demo/evals/files/a.csv": "1", "demo/evals/evals.json": suite(("p", [listed]))})
    (root / "demo/link.json").symlink_to("evals/evals.json")
    errors = project(Config(paths=("demo",)), root).errors
    assert [error.rule for error in errors] == ["lists-itself"]
