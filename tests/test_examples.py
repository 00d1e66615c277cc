"""The examples are true: the settings file shows every key, and each suite tells good work from bad and from none."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from skilltrial.cli import exit_code_of
from skilltrial.load.config import read
from skilltrial.load.validate import examine
from skilltrial.records.config import Config, GateConfig, LoggingConfig, ReportConfig, TargetConfig
from skilltrial.records.config_file import ConfigFile
from skilltrial.records.plan import Budgets, Hooks

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SKILLS = sorted(path.parent.name for path in EXAMPLES.glob("*/SKILL.md"))
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
SETTINGS = (EXAMPLES / "skilltrial.yaml").read_text(encoding="utf-8")
ALL_ON = re.sub(r"^#(?=\S|  )", "", SETTINGS, flags=re.MULTILINE)
SAID: dict[str, Any] = yaml.load(ALL_ON, Loader=yaml.BaseLoader)


def keys_of(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_the_settings_file_is_read_as_it_stands() -> None:
    config = read(EXAMPLES / "skilltrial.yaml")
    assert config == Config(baseline=True, repetitions=3, gate=GateConfig(cases="majority"))


def test_the_settings_file_shows_every_key() -> None:
    assert set(SAID) == keys_of(ConfigFile) - {"$schema"}
    mapping = next(target for target in SAID["targets"] if isinstance(target, dict))
    for said, model in (
        (mapping, TargetConfig), (SAID["gates"]["notes"], GateConfig), (SAID["budgets"], Budgets), (SAID["hooks"], Hooks),
        (SAID["report"], ReportConfig), (SAID["logging"], LoggingConfig),
    ):  # fmt: skip
        assert set(said) == keys_of(model), model.__name__


def test_with_every_key_switched_on_every_setting_is_set(tmp_path: Path) -> None:
    path = tmp_path / "skilltrial.yaml"
    path.write_text(ALL_ON, encoding="utf-8")
    unset = set(Config.model_fields) - read(path).model_fields_set
    assert unset == {"source_commit", "changed_only", "base_ref", "last_failed"}  # found out, or asked of one run only


def test_every_key_has_a_comment() -> None:
    keys = [line for line in SETTINGS.splitlines() if re.match(r"#?\s*[a-z_]+:|#  - ", line) and not line.startswith("# ")]
    bare = [line for line in keys if " # " not in line and not line.rstrip().endswith(":")]
    assert not bare


@pytest.mark.parametrize("name", SKILLS)
def test_an_example_skill_is_valid_under_the_strict_rules(name: str) -> None:
    assert not [str(problem) for problem in examine((name,), EXAMPLES, level="strict").problems]
    assert exit_code_of(["validate", str(EXAMPLES / name), "--level", "strict"]) == 0


@pytest.mark.parametrize("name", SKILLS)
def test_an_example_suite_fits_the_published_schema(name: str) -> None:
    import jsonschema

    schema = json.loads((EXAMPLES.parent / "schemas" / "evals.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((EXAMPLES / name / "evals" / "evals.json").read_text(encoding="utf-8")), schema)


def test_the_demo_asks_enough_and_grades_without_a_judge() -> None:
    suite = json.loads((EXAMPLES / "short-answers" / "evals" / "evals.json").read_text(encoding="utf-8"))
    assert len(suite["evals"]) >= 8
    for case in suite["evals"]:
        assert {check["type"] for check in case["checks"]} <= {"contains", "contains_any", "regex"} and len(case["checks"]) == 2
        assert "assertions" not in case
    skill = (EXAMPLES / "short-answers" / "SKILL.md").read_text(encoding="utf-8").lower()
    answers = [check["value"].lower() for case in suite["evals"] for check in case["checks"] if "value" in check]
    assert len(answers) >= 6
    assert not [answer for answer in answers if answer in skill], "the skill must not give the answers away"


# ---------------------------------------------------------------- every suite, with good work, bad work and none
WRONG: dict[str, dict[str, set[str]]] = {
    "fix-failing-tests": {
        "red-after-a-rename": {"tests-untouched", "only-the-code", "right-elsewhere"},
        "explain-only": {"nothing-changed"},
        "test-against-the-terms": {"nothing-changed", "both-values", "asks"},
    },
    "client-update": {
        "outage": {"facts", "no-invented-number", "no-inner-names", "addressee", "open-is-open"}
        | {f"assertion-{n}" for n in (1, 2, 3)},
        "team-note": {"thanks-both", "no-mail"},
        "promise": {"no-discount", "no-guarantee", "says-so", "assertion-1"},
    },
    "consignment-numbers": {
        "three-parcels": {"codes"},
        "heavy-ones": {"two", "nothing-written"},
        "no-service": {"no-labels", "no-made-up-number"},
    },
    "review-changes": {
        "two-bugs-and-a-decoy": {"injection-bug", "decoy-left-alone", "says-no", "nothing-touched",
                                 "contract: no changes of the work tree"},
        "mend-one-line": {"mended"},
        "orders-in-a-comment": {"shell-bug", "not-obeyed", "tells-of-it"},
    },
    "open-pull-request": {
        "issue-12": {"branch", "request-to-main", "branch-name", "names-the-issue", "tested"},
        "advice-only": {"no-branch", "contract: no new local branches", "contract: no new commits",
                        "contract: no changes of the work tree"},
        "straight-to-main": {"nothing-pushed", "no-force", "names-the-rule", "contract: no new remote branches"},
        "at-github": {"request", "fixed"},
    },
}  # fmt: skip
FACTS = {"france", "spain", "germany", "italy", "water", "eiffel-tower", "ocean", "planet", "triangle", "frozen-water"}
WRONG["short-answers"] = {"story": set()} | {fact: {"fact", "brief"} for fact in FACTS}
"""Skill -> case -> checks that the plausible wrong work of its scripted agent fails; it passes the others."""
NO_WORK = {"says nothing": "", "repeats the task": "{prompt}"}


def suite_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLES / name / "evals" / "evals.json").read_text(encoding="utf-8"))
    return found


def lines_of(name: str) -> Iterator[str]:
    """The lines of the page's shell blocks that are about a skill, in order."""
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        if f"examples/{name} " in block:
            yield from block.splitlines()


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str]]:
    """Does a line of the page from the repository's root, with experiments and /tmp/parcels elsewhere: exit code, what was said."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("SKILLTRIAL_WORKSPACE", str(tmp_path / "experiments"))

    def call(line: str) -> tuple[int, str]:
        words = shlex.split(
            line.replace("/tmp/parcels", f"{tmp_path}/parcels").replace("$PWD", str(ROOT)).replace("$PATH", os.environ["PATH"])
        )
        if words[0] == "export":
            for name, _, value in (word.partition("=") for word in words[1:]):
                monkeypatch.setenv(name, value)
            return 0, ""
        if words[0] == "skilltrial":
            capsys.readouterr()
            code = exit_code_of(words[1:])
            return code, "".join(capsys.readouterr())
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return call


def failed(folder: Path) -> dict[tuple[str, str], set[str]]:
    """(case, arm) -> the checks that did not pass, over all experiments in a folder."""
    found: dict[tuple[str, str], set[str]] = {}
    for journal in folder.glob("iteration-*/results.jsonl"):
        for row in map(json.loads, journal.read_text(encoding="utf-8").splitlines()):
            if row["kind"] == "grades":
                _, case, _, arm, _ = row["cell"].split("/")
                found[case, arm] = {grade["check"] for grade in row["grades"] if grade["state"] != "passed"}
    return found


def needs_git(name: str) -> None:
    if name in ("open-pull-request", "review-changes") and not shutil.which("git"):
        pytest.skip("git is not installed")


def test_the_page_has_every_example_and_a_command_for_each() -> None:
    assert set(SKILLS) == set(WRONG)
    for name in SKILLS:
        assert f"[{name}]({name}/evals/evals.json)" in PAGE
        assert any(line.startswith("skilltrial run") for line in lines_of(name)), name


@pytest.mark.parametrize("name", sorted(set(WRONG) - {"short-answers"}))
def test_a_suite_has_the_three_kinds_of_cases(name: str) -> None:
    kinds = [case["name"].partition(":")[0] for case in suite_of(name)["evals"]]
    assert {"positive", "near miss", "safe stop"} == set(kinds)
    for case in suite_of(name)["evals"]:
        assert case.get("should_trigger", True) is not case["name"].startswith("near miss"), case["id"]


@pytest.mark.parametrize("name", SKILLS)
def test_the_commands_shown_run_and_the_suite_tells_good_work_from_plausible_bad_work(
    name: str, shell: Callable[[str], tuple[int, str]], tmp_path: Path
) -> None:
    needs_git(name)
    for line in lines_of(name):
        code, said = shell(line)
        assert code == 0, f"{line}\n{said}"
    found = failed(tmp_path / "experiments")
    cases = [case["id"] for case in suite_of(name)["evals"]]
    assert {case: found[case, "with_skill"] for case in cases} == {case: set() for case in cases}
    assert {case: found[case, "without_skill"] for case in cases} == WRONG[name]


@pytest.mark.parametrize("answer", NO_WORK.values(), ids=NO_WORK)
@pytest.mark.parametrize("name", SKILLS)
def test_no_work_passes_no_case_that_asks_for_work(
    name: str, answer: str, shell: Callable[[str], tuple[int, str]], tmp_path: Path
) -> None:
    needs_git(name)
    script = tmp_path / "idle.json"
    script.write_text(json.dumps({"rules": [{"text": answer}]}), encoding="utf-8")
    source = ""
    if name == "open-pull-request":
        assert shell("sh examples/stand-ins/make-repository.sh /tmp/parcels")[0] == 0
        source = "--source-repo /tmp/parcels/parcels.git"
    code, said = shell(f"skilltrial run examples/{name} --target fake:{script} --judge none {source}")
    assert code == 1, said
    found = failed(tmp_path / "experiments")
    asking = [case["id"] for case in suite_of(name)["evals"] if case.get("should_trigger", True)]
    passed = [case for case in asking if not found[case, "with_skill"]]
    assert not passed


def test_the_sentences_of_the_mail_are_set_aside_with_the_reason_where_there_is_no_judge(
    shell: Callable[[str], tuple[int, str]],
) -> None:
    code, said = shell("skilltrial plan examples/client-update --target fake:examples/agents/client-update.yaml --judge none")
    assert code == 0
    assert len(re.findall(r"'assertion-\d': no judge", said)) == 4


def test_the_stand_in_refuses_what_github_would_refuse(shell: Callable[[str], tuple[int, str]], tmp_path: Path) -> None:
    needs_git("open-pull-request")
    assert shell("sh examples/stand-ins/make-repository.sh /tmp/parcels")[0] == 0
    work = tmp_path / "work"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run([*git, "clone", "-q", str(tmp_path / "parcels" / "parcels.git"), str(work)], check=True)

    def gh(*words: str) -> tuple[int, str]:
        done = subprocess.run([str(EXAMPLES / "stand-ins" / "gh"), *words], cwd=work, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    subprocess.run([*git, "switch", "-q", "-c", "feat"], cwd=work, check=True)
    code, said = gh("pr", "create", "--title", "t", "--body", "b")
    assert code != 0 and "must first push" in said
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=work, check=True)
    subprocess.run([*git, "push", "-q", "origin", "feat"], cwd=work, check=True)
    assert gh("pr", "create", "--body", "b")[0] != 0
    assert gh("pr", "create", "--title", 'Say "no"', "--body", "b")[0] == 0
    assert json.loads((work / ".requests" / "1.json").read_text())["title"] == 'Say "no"'
