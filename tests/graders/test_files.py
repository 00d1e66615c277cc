"""Files that a run created, changed, deleted or left alone."""

from __future__ import annotations

from typing import Any

import pytest

from skilltrial.records.evidence import GitDelta
from skilltrial.records.suite import FileRef, Tree


def test_a_file_the_run_created_or_changed_exists(run: Any) -> None:
    view = run.view(created={"result.json": b"{}"}, changed={"in.txt": b"new"}, fixtures={"in.txt": b"old"})
    assert run.grade("file_exists", view, path="result.json").state == "passed"
    assert run.grade("file_exists", view, path="./in.txt").state == "passed"


def test_a_fixture_left_alone_does_not_count_as_created(run: Any) -> None:
    grade = run.grade("file_exists", run.view(fixtures={"in.txt": b"old"}), path="in.txt")
    assert grade.state == "failed"
    assert "fixture" in grade.reason


def test_a_missing_file_is_reported_with_its_namesake(run: Any) -> None:
    grade = run.grade("file_exists", run.view(created={"out/Result.json": b"{}"}), path="result.json")
    assert grade.state == "failed"
    assert "there is 'out/Result.json'" in grade.reason


def test_a_folder_is_asked_for_with_a_slash(run: Any) -> None:
    view = run.view(created={"out/a.txt": b"a"})
    assert run.grade("file_exists", view, path="out/").state == "passed"
    assert run.grade("file_exists", view, path="out").state == "failed"


def test_a_file_may_be_asked_for_in_whatever_folder(run: Any) -> None:
    view = run.view(created={"deep/down/report.md": b"a"}, fixtures={"data/in.csv": b"1"})
    assert run.grade("file_exists", view, path="report.md").state == "failed"
    assert run.grade("file_exists", view, path="report.md", anywhere=True).state == "passed"
    assert run.grade("file_exists", view, path="port.md", anywhere=True).state == "failed"
    assert run.grade("file_not_exists", view, path="in.csv", anywhere=True).state == "failed"
    assert run.grade("file_unchanged", view, path="in.csv", anywhere=True).state == "passed"


def test_absence_is_about_what_lies_there_whoever_made_it(run: Any) -> None:
    view = run.view(created={"made/a.txt": b""}, fixtures={"given.txt": b"", "gone.txt": b""}, deleted=["gone.txt"])
    states = {path: run.grade("file_not_exists", view, path=path).state for path in ("made", "given.txt", "gone.txt", "never")}
    assert states == {"made": "failed", "given.txt": "failed", "gone.txt": "passed", "never": "passed"}


def test_unchanged_holds_for_a_fixture_that_is_what_it_was(run: Any) -> None:
    fixtures = {"same.txt": b"1", "changed.txt": b"1", "gone.txt": b"1"}
    view = run.view(changed={"changed.txt": b"2"}, deleted=["gone.txt"], fixtures=fixtures)
    assert run.grade("file_unchanged", view, path="same.txt").state == "passed"
    assert run.grade("file_unchanged", run.view(fixtures={"d/a": b"", "d/b": b""}, deleted=["d/b"]), path="d").state == "failed"
    assert run.grade("file_unchanged", view, path="changed.txt").state == "failed"
    assert run.grade("file_unchanged", view, path="gone.txt").state == "failed"


def test_unchanged_gives_no_verdict_on_what_is_no_fixture(run: Any) -> None:
    assert run.grade("file_unchanged", run.view(), path="never.txt").state == "ungraded"


def test_text_in_a_file_ignores_case(run: Any) -> None:
    view = run.view(created={"a.md": b"\xef\xbb\xbfHello World"})
    assert run.grade("file_contains", view, path="a.md", contains="hello").state == "passed"
    assert run.grade("file_not_contains", view, path="a.md", contains="world").state == "failed"


def test_a_missing_file_fails_both_ways_and_says_so(run: Any) -> None:
    view = run.view()
    assert run.grade("file_contains", view, path="a.md", contains="x").state == "failed"
    grade = run.grade("file_not_contains", view, path="a.md", contains="x")
    assert grade.state == "failed"
    assert "missing file fails this check too" in grade.reason


def test_without_a_path_the_final_text_is_meant(run: Any) -> None:
    view = run.view("the answer", folder=False)
    assert run.grade("file_contains", view, contains="Answer").state == "passed"
    assert run.grade("file_not_contains", view, contains="Answer").state == "failed"


@pytest.mark.parametrize("type_", ["file_exists", "file_not_exists", "file_contains"])
def test_absence_from_a_cut_list_proves_nothing(run: Any, type_: str) -> None:
    options = {"contains": "x"} if type_ == "file_contains" else {}
    assert run.grade(type_, run.view(truncated=True), path="a.md", **options).state == "ungraded"


@pytest.mark.parametrize("type_", ["file_exists", "file_not_exists", "file_unchanged", "file_contains", "git_clean"])
def test_a_run_without_a_folder_gives_no_verdict_on_files(run: Any, type_: str) -> None:
    options: dict[str, Any] = {} if type_ == "git_clean" else {"path": "a.md"}
    if type_ == "file_contains":
        options["contains"] = "x"
    assert run.grade(type_, run.view("a.md x", folder=False), **options).state == "ungraded"


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b"])
def test_a_path_that_leaves_the_workspace_is_never_looked_at(run: Any, path: str) -> None:
    assert run.grade("file_exists", run.view(created={"a": b""}), path=path).state == "ungraded"


def test_git_is_clean_when_its_status_is_empty(run: Any) -> None:
    assert run.grade("git_clean", run.view(git=GitDelta())).state == "passed"
    grade = run.grade("git_clean", run.view(git=GitDelta(status=(" M a.py", "?? b.py"))))
    assert grade.state == "failed"
    assert "b.py" in grade.quote


def test_git_without_a_record_gives_no_verdict(run: Any) -> None:
    assert run.grade("git_clean", run.view()).state == "ungraded"


# ---------------------------------------------------------------- forms of paths
@pytest.mark.parametrize(
    ("type_", "options", "state"),
    [
        ("file_exists", {"path": "*.csv"}, "passed"),
        ("file_exists", {"path": "out/*.csv"}, "failed"),
        ("file_exists", {"path": "**/*.txt"}, "passed"),
        ("file_exists", {"path": "tabl?.csv"}, "passed"),
        ("file_exists", {"path": "*.md"}, "failed"),
        ("file_not_exists", {"path": "*.csproj"}, "passed"),
        ("file_not_exists", {"path": "**/*.md"}, "failed"),
        ("file_contains", {"path": "**/*.txt", "contains": "two"}, "passed"),
        ("file_contains", {"path": "**/*.txt", "contains": "three"}, "failed"),
        ("file_contains", {"path": "*.log", "contains": "two"}, "failed"),
        ("file_not_contains", {"path": "**/*.txt", "contains": "two"}, "failed"),
        ("file_not_contains", {"path": "**/*.txt", "contains": "three"}, "passed"),
        ("file_unchanged", {"path": "*.md"}, "passed"),
        ("regex", {"pattern": "^tw", "path": "out/*.txt"}, "passed"),
        ("regex", {"pattern": "^tw", "files": True}, "passed"),
        ("regex", {"pattern": "read me", "files": True}, "failed"),
        ("not_regex", {"pattern": "^tw", "files": True}, "failed"),
        ("regex", {"pattern": "o", "files": True, "count": 2}, "passed"),
        ("regex", {"pattern": "o", "files": True, "count": 1}, "failed"),
    ],
)
def test_a_path_with_wildcards_stands_for_every_file_of_that_form(run: Any, type_: str, options: Any, state: str) -> None:
    created = {"table.csv": b"a,b", "out/one.txt": b"one", "out/deep/two.txt": b"two", "out/two.txt": b"tw"}
    view = run.view(created=created, fixtures={"README.md": b"read me"})
    assert run.grade(type_, view, **options).state == state


@pytest.mark.parametrize("type_", ["regex", "not_regex"])
def test_a_search_in_the_files_made_needs_a_file(run: Any, type_: str) -> None:
    assert run.grade(type_, run.view(), pattern="x", files=True).state == "failed"
    assert run.grade(type_, run.view(folder=False), pattern="x", files=True).state == "ungraded"


@pytest.mark.parametrize(
    ("paths", "state"),
    [(("out/**", "notes.md"), "passed"), (("out/*",), "failed"), (("**",), "passed"), ((), "failed"), (("out/**",), "failed")],
)
def test_only_changed_looks_at_all_that_was_touched(run: Any, paths: tuple[str, ...], state: str) -> None:
    view = run.view(
        created={"out/a/b.txt": b"x"},
        changed={"out/c.txt": b"y"},
        deleted=["notes.md"],
        fixtures={"notes.md": b"n", "other": b"o"},
    )
    assert run.grade("only_changed", view, paths=list(paths)).state == state


def test_a_run_that_touched_nothing_has_only_changed_what_it_may(run: Any) -> None:
    assert run.grade("only_changed", run.view(), paths=[]).state == "passed"
    assert run.grade("only_changed", run.view(truncated=True), paths=["**"]).state == "ungraded"
    assert run.grade("only_changed", run.view(folder=False), paths=["**"]).state == "ungraded"


# ---------------------------------------------------------------- a target that puts fixtures elsewhere
LIES, SAID = "inputs/evals/files/src/a.py", "src/a.py"
CHANGED = (("changed", {"changed": {LIES: b"new"}}), ("left alone", {}), ("deleted", {"deleted": [LIES]}))


@pytest.mark.parametrize("path", [LIES, SAID])
@pytest.mark.parametrize(("how", "delta"), CHANGED, ids=[how for how, _ in CHANGED])
def test_a_fixture_is_found_by_the_name_the_suite_has_for_it_and_by_where_it_lies(
    run: Any, path: str, how: str, delta: dict[str, Any]
) -> None:
    """Adapters get fixtures below `inputs/`; agent programs where the suite lays them: one suite holds for both."""
    view = run.view(fixtures={LIES: b"old"}, **delta)
    case = {"fixtures": Tree(digest="sha256:1", files=(FileRef(path="evals/files/src/a.py", size=3, digest="sha256:1"),))}
    checks = {
        "made": run.check("file_exists", id="made", path=path),
        "gone": run.check("file_not_exists", id="gone", path=path),
        "same": run.check("file_unchanged", id="same", path=path),
        "only": run.check("only_changed", id="only", paths=[path]),
        "text": run.check("file_contains", id="text", path=path, contains="n"),
        "form": run.check("file_contains", id="form", path=path.replace("a.py", "*.py"), contains="new"),
    }
    found = {grade.check: grade.state for grade in run.grades(list(checks.values()), view, **case)}
    passed = {"changed": {"made", "only", "text", "form"}, "left alone": {"same", "only"}, "deleted": {"gone", "only"}}[how]
    assert {name for name, state in found.items() if state == "passed"} == passed
    assert set(found.values()) == {"passed", "failed"}


def test_a_file_beside_the_suites_own_name_is_meant_first(run: Any) -> None:
    view = run.view(created={SAID: b"mine"}, fixtures={LIES: b"theirs"})
    tree = Tree(digest="sha256:1", files=(FileRef(path="evals/files/src/a.py", size=3, digest="sha256:1"),))
    check = run.check("file_contains", path=SAID, contains="mine")
    assert run.grades([check], view, fixtures=tree)[0].state == "passed"


@pytest.mark.parametrize(
    ("paths", "said"),
    [([], "the run touched 1 file, none was to be touched"), (["out/*"], "the run touched 1 file beside out/*")],
)
def test_only_changed_says_what_was_touched_beside(run: Any, paths: list[str], said: str) -> None:
    assert run.grade("only_changed", run.view(changed={"a.txt": b"y"}, fixtures={"a.txt": b"x"}), paths=paths).reason == said
