"""`agent-skills-eval.yaml` as it lies: every key does what it did there, and its options too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.cli.given import from_options
from skilltrial.cli.run import command
from skilltrial.records.config import Config

from .npm import Home, asks_for_a_verdict, model, text_of

RUBRIC = {"id": 1, "prompt": "How many rows?", "assertions": ["It says how many."]}


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------- whole runs
def test_settings_as_they_lie_run_several_skills_with_that_tools_defaults(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    home.skill("tables", RUBRIC)
    home.skill("lists", RUBRIC)
    home.settings(server.url)
    said = home.run("--format", "json")
    assert said.code == 0, said.err
    assert {(row["skill"], row["arm"]) for row in said.summary["rates"]} == {("tables", "with_skill"), ("lists", "with_skill")}
    assert {request["model"] for request in server.requests} == {"gpt-4o-mini"}
    assert said.summary["judge"][0]["calls"] == 2, "the judge is the target's model at the target's endpoint"
    assert (home.workspace / "iteration-1" / "summary.json").is_file()


def test_a_root_of_one_dot_is_none_and_any_other_wins(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    assert home.run(".", "--format", "json").summary["rates"][0]["skill"] == "tables"
    elsewhere = home.folder / "other"
    (home.folder / "skills" / "tables").rename(elsewhere)
    (elsewhere / "SKILL.md").write_text("---\nname: other\ndescription: Another one, for tables.\n---\nx\n")
    assert home.run("other", "--format", "json").summary["rates"][0]["skill"] == "other"


def test_an_option_wins_over_the_file_and_the_file_keeps_the_endpoint(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    home.skill("tables", RUBRIC)
    home.skill("lists", RUBRIC)
    home.settings(server.url, include=["tables"], targetParams={"temperature": 0.5}, judgeParams={"seed": 1}, judge="judge-1")
    said = home.run("--target", "other-model", "--include", "lists", "--baseline", "--format", "json")
    assert said.code in (0, 3), said.err
    assert {row["skill"] for row in said.summary["rates"]} == {"lists"}
    assert {row["arm"] for row in said.summary["rates"]} == {"with_skill", "without_skill"}
    tasks = [request for request in server.requests if not asks_for_a_verdict(request)]
    questions = [request for request in server.requests if asks_for_a_verdict(request)]
    assert {(task["model"], task["temperature"]) for task in tasks} == {("other-model", 0.5)}
    assert {(question["model"], question["seed"]) for question in questions} == {("judge-1", 1)}


@pytest.mark.parametrize("pattern", ["tables", "skills/**", "./skills/tables", "t*", "**/tables"])
def test_patterns_match_below_the_root_and_below_the_working_folder(home: Home, serve: Callable[..., Any], pattern: str) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url, include=[pattern])
    assert home.run("--format", "json").summary["coverage"]["planned"] == 1
    home.settings(serve(model()).url, exclude=[pattern])
    assert home.run().code == 2


@pytest.mark.parametrize("key", ["model", "messages"])
@pytest.mark.parametrize("params", ["targetParams", "judgeParams"])
def test_parameters_never_replace_model_or_messages(home: Home, serve: Callable[..., Any], params: str, key: str) -> None:
    server = serve(model())
    home.skill("tables", RUBRIC)
    home.settings(server.url, **{params: {key: "x"}})
    said = home.run()
    assert said.code == 2 and f"'{key}' is never overwritten" in said.err and "agent-skills-eval.yaml:1" in said.err
    assert server.requests == []


def test_parameters_of_an_eval_win_over_those_of_its_suite_and_those_over_the_settings(
    home: Home, serve: Callable[..., Any]
) -> None:
    server = serve(model())
    home.skill(
        "tables", {**RUBRIC, "params": {"max_tokens": 5}}, {**RUBRIC, "id": 2},
        defaults={"target": {"params": {"max_tokens": 7, "top_p": 0.5}}, "judge": {"params": {"seed": 4}}},
    )  # fmt: skip
    home.settings(server.url, targetParams={"max_tokens": 9, "seed": 3}, judgeParams={"seed": 1, "top_p": 0.1})
    assert home.run().code == 0
    tasks = [request for request in server.requests if not asks_for_a_verdict(request)]
    assert sorted((task["max_tokens"], task["top_p"], task["seed"]) for task in tasks) == [(5, 0.5, 3), (7, 0.5, 3)]
    questions = [request for request in server.requests if asks_for_a_verdict(request)]
    assert {(question["seed"], question["top_p"]) for question in questions} == {(4, 0.1)}


def test_strict_settings_stop_before_any_call(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    place = home.skill("tables", RUBRIC)
    (place / "SKILL.md").write_text("---\nname: Another_Name\ndescription: d\n---\nx\n")
    home.settings(server.url)
    assert home.run().code == 0
    calls = len(server.requests)
    home.settings(server.url, strict=True)
    said = home.run()
    assert said.code == 2 and "Another_Name" in said.err
    assert len(server.requests) == calls


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_every_assertion_with_the_skill_decides_the_exit_code(
    home: Home, serve: Callable[..., Any], passed: bool, code: int
) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model(passed=passed)).url)
    assert home.run().code == code


# ---------------------------------------------------------------- report
def test_a_report_has_its_title_and_a_copy_in_the_folder_that_was_named(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url, report={"title": "Ours & yours", "output": "pages"})
    assert home.run().code == 0
    for page in (home.folder / "pages" / "index.html", home.workspace / "iteration-1" / "report" / "index.html"):
        assert "Ours &amp; yours" in page.read_text(encoding="utf-8")
    assert home.run("--report-title", "Mine", "--report-output", "more").code == 0
    assert ">Mine<" in (home.folder / "more" / "index.html").read_text(encoding="utf-8")
    assert home.call("report", "-o", "again.html").code == 0
    assert ">Mine<" in (home.folder / "again.html").read_text(encoding="utf-8"), "the title stays with the experiment"


@pytest.mark.parametrize(
    ("keys", "option"), [({"report": False}, []), ({"report": {"enabled": False}}, []), ({}, ["--no-report"])]
)
def test_no_report_is_no_page(home: Home, serve: Callable[..., Any], keys: dict[str, Any], option: list[str]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url, **keys)
    said = home.run(*option)
    assert said.code == 0 and "index.html" not in said.err
    assert not (home.workspace / "iteration-1" / "report").exists()
    assert (home.workspace / "iteration-1" / "report.md").is_file()


# ---------------------------------------------------------------- layouts
def test_the_iteration_layout_lies_in_the_experiment(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", {**RUBRIC, "name": "Count them"}, {**RUBRIC, "id": 2})
    home.settings(serve(model()).url, baseline=True)
    home.run()
    files = tree(home.workspace / "iteration-1")
    assert {"meta.json", "benchmark.json"} <= files
    for folder in ("eval-count-them", "eval-2"):
        for arm in ("with_skill", "without_skill"):
            names = ("grading.json", "timing.json", "prompts.json", "outputs/response.txt", "outputs/output.txt")
            assert {f"{folder}/{arm}/{name}" for name in names} <= files
    read = home.call("report", "--format", "json")
    assert read.summary["coverage"]["planned"] == 4, "it is still an experiment of ours"


def test_the_flat_layout_lies_in_the_workspace_and_is_written_anew(home: Home, serve: Callable[..., Any]) -> None:
    place = home.skill("tables", RUBRIC, {**RUBRIC, "id": 2})
    home.settings(serve(model()).url, layout="flat")
    home.run()
    assert (home.workspace / "tables" / "eval-2" / "with_skill" / "grading.json").is_file()
    (place / "evals" / "evals.json").write_text(json.dumps({"skill_name": "tables", "evals": [RUBRIC]}))
    home.run()
    assert not (home.workspace / "tables" / "eval-2").exists()
    assert (home.workspace / "tables" / "eval-1" / "with_skill" / "grading.json").is_file()
    assert not (home.workspace / "iteration-2" / "meta.json").exists()
    assert (home.workspace / "iteration-1" / "results.jsonl").is_file(), "experiments stay"


def test_the_flat_layout_never_removes_anything_else(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    mine = home.workspace / "tables" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    said = home.run("--layout", "flat")
    assert said.code == 0 and "layout flat is not written" in said.err
    assert mine.read_text() == "mine"


def test_ours_writes_neither_layout_unless_asked(home: Home, serve: Callable[..., Any]) -> None:
    place = home.skill("tables", RUBRIC)
    url = serve(model()).url
    home.call("run", place, "--target", "openai:m", "--base-url", url, "--no-baseline")
    assert not (home.folder / "skilltrial-workspace" / "iteration-1" / "meta.json").exists()


# ---------------------------------------------------------------- what is said
def test_silent_is_silent(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.skill("lists", RUBRIC)
    home.settings(serve(model()).url, basline=True, logging={"format": "silent"})
    said = home.run()
    assert (said.code, said.out, said.err) == (0, "", "")
    home.settings(serve(model()).url)
    said = home.run("--log-format", "silent", "--format", "json")
    assert said.summary["coverage"]["graded"] == 2 and said.err == "", "data that was asked for is still printed"
    home.settings(serve(model()).url, concurrency="2x")
    assert "concurrency" in home.run("--log-format", "silent").err, "an error is not news"


@pytest.mark.parametrize("where", ["stderr", "stdout", "file"])
def test_lines_of_json_are_mixed_with_nothing(home: Home, serve: Callable[..., Any], where: str) -> None:
    home.skill("tables", RUBRIC)
    home.settings(
        serve(model()).url, basline=True, logging={"format": "jsonl", **({"file": "log.jsonl"} if where == "file" else {})}
    )
    said = home.run(*(["--log-file", "-"] if where == "stdout" else []))
    text = {"stderr": said.err, "stdout": said.out, "file": ""}[where] or (home.folder / "log.jsonl").read_text()
    types = [json.loads(line)["type"] for line in text.splitlines()]
    assert types.count("cell_finished") == 1 and types.index("cell_started") < types.index("cell_finished")
    if where == "stderr":
        assert types[0] == "note" and "basline" in said.err and "with skill" in said.out, "the report has the other stream"
    if where == "stdout":
        assert home.run("--log-file", "-", "--log-format", "jsonl", "--format", "json").code == 2


def test_a_log_file_is_added_to(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url)
    for _ in range(2):
        home.run("--log-format", "jsonl", "--log-file", "log.jsonl")
    assert (home.folder / "log.jsonl").read_text().count('"experiment_finished"') == 2


def test_a_verbose_run_shows_prompts_answers_and_what_the_judge_said(home: Home, serve: Callable[..., Any]) -> None:
    answer = "There are three rows in it. " + "x" * 500
    home.skill("tables", RUBRIC)
    home.settings(serve(model(answer)).url)
    plain = home.run()
    assert answer not in plain.err and "How many rows?" not in plain.err
    for said in (home.run("--verbose"), home.run("--log-format", "pretty", "--verbose")):
        assert answer in said.err and "How many rows?" in said.err
        assert "COUNT THE ROWS." in said.err, "the system message"
        assert "asked the judge:" in said.err and "It says how many." in said.err and "the judge said:" in said.err


def test_a_snippet_of_each_answer_is_shown_where_a_length_is_set(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model("abcdefghijklmnopqrstuvwxyz")).url, logging={"snippetLength": 10})
    said = home.run()
    assert "abcdefgh" in said.err and "klm" not in said.err


def test_terminal_controls_of_an_answer_do_not_reach_the_terminal(home: Home, serve: Callable[..., Any]) -> None:
    home.skill("tables", RUBRIC)
    home.settings(serve(model("\x1b[31mred\x1b[0m")).url)
    said = home.run("--verbose")
    assert "red" in said.err and "\x1b" not in said.err + said.out


@pytest.mark.parametrize(
    ("variable", "keys", "option", "coloured"),
    [
        (None, {}, [], False),
        (None, {"logging": {"color": True}}, [], True),
        (None, {"logging": {"color": "auto"}}, [], False),
        (None, {"logging": {"color": False}}, [], False),
        (None, {"logging": {"color": True}}, ["--no-color"], False),
        ("1", {"logging": {"color": True}}, [], False),
    ],
)
def test_colour_is_as_the_option_the_variable_and_the_file_say(
    home: Home, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch,
    variable: str | None, keys: dict[str, Any], option: list[str], coloured: bool,
) -> None:  # fmt: skip
    monkeypatch.delenv("NO_COLOR", raising=False)
    if variable:
        monkeypatch.setenv("NO_COLOR", variable)
    home.skill("tables", RUBRIC)
    home.settings(serve(model()).url, **keys)
    assert ("\x1b[" in home.run(*option).out) is coloured


# ---------------------------------------------------------------- what the model receives
def test_the_skill_its_references_and_its_scripts_stand_in_the_system_message(home: Home, serve: Callable[..., Any]) -> None:
    server = serve(model())
    home.skill(
        "tables", {**RUBRIC, "files": ["evals/files/rows.csv"]},
        files={
            "references/deep/more.md": "REFERENCE TEXT", "scripts/count.sh": "#!/bin/sh\necho SECRET BODY\n",
            "assets/logo.txt": "ASSET TEXT", "evals/files/rows.csv": "a,b\n1,2\n",
        },
    )  # fmt: skip
    home.settings(server.url, baseline=True)
    home.run()
    tasks = [request for request in server.requests if not asks_for_a_verdict(request)]
    (given,) = [task for task in tasks if task["messages"][0]["role"] == "system"]
    (bare,) = [task for task in tasks if task is not given]
    system = given["messages"][0]["content"]
    for text in ("COUNT THE ROWS.", "REFERENCE TEXT", "scripts/count.sh", "#!/bin/sh", "assets/logo.txt"):
        assert text in system
    assert "SECRET BODY" not in system and "ASSET TEXT" not in system
    assert "a,b" in text_of(given) and "a,b" in text_of(bare), "both arms get the fixture"
    assert "COUNT THE ROWS." not in text_of(bare)


# ---------------------------------------------------------------- its options for agent programs
@pytest.mark.parametrize(
    ("words", "targets", "judge"),
    [
        (("--runtime", "codex"), [("codex", None)], None),
        (("--runtime", "claude", "--target", "haiku"), [("claude-code", "haiku")], None),
        (("--runtime", "provider", "--target", "a/b:free"), [("openai", "a/b:free")], None),
        (("--runtime", "codex", "--judge-runtime", "none"), [("codex", None)], "none"),
        (("--runtime", "codex", "--judge-runtime", "provider", "--judge", "j"), [("codex", None)], ("openai", "j")),
        (("--target", "m", "--judge-runtime", "claude"), [("openai", "m")], ("claude-code", None)),
    ],
)
def test_its_runtimes_are_targets_and_judges_of_ours(
    words: tuple[str, ...], targets: list[tuple[str, str | None]], judge: Any, tmp_path: Path
) -> None:
    config = from_words(tmp_path, *words)
    assert [(target.backend, target.model) for target in config.targets] == targets
    assert (config.judge if isinstance(config.judge, str | None) else (config.judge.backend, config.judge.model)) == judge


def test_its_executable_and_time_limit_reach_the_program(tmp_path: Path) -> None:
    words = ("--runtime", "codex", "--executable", "/opt/codex", "--timeout-ms", "1500", "--no-allow-writes")
    config = from_words(tmp_path, *words)
    assert (config.targets[0].options, config.timeout_s) == ({"path": "/opt/codex"}, 1.5)


def from_words(folder: Path, *words: str) -> Config:
    context = command.make_context("run", list(words))
    config: Config = from_options(context.params, folder, lambda _note: None)
    return config
