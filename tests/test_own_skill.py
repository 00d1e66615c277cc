"""The skill we ship: valid, true of the program, and with a suite that good answers pass and an echo does not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from skilltrial.cli import exit_code_of
from skilltrial.cli import skilltrial as program
from skilltrial.load.validate import examine

ROOT = Path(__file__).parent.parent
SKILL = ROOT / "skills" / "skilltrial"
PAGES = sorted([SKILL / "SKILL.md", *(SKILL / "references").glob("*.md")])
SUITE = {
    "skill_name": "changelog-lines",
    "evals": [
        {"id": n, "prompt": f"Please write release notes from commits-{n}.txt.", "assertions": ["They name the change."]}
        for n in range(4)
    ]
    + [{"id": "near", "prompt": "Please write a commit message.", "should_trigger": False, "assertions": ["It is one line."]}],
}
GOOD: dict[str, dict[str, Any]] = {
    "read-a-report": {
        "text": "It is not decided yet: +22 points (95 % interval -9 to +51) on these 5 cases, 27 of 30 runs graded."
    },
    "no-key": {
        "text": "1. skilltrial validate invoice-lines\n2. skilltrial run invoice-lines --target manual -n 3\n"
        "3. one fresh subagent per packet\n4. skilltrial submit, again once the judge's packets are answered"
    },
    "refused-answers": {
        "text": "Remove the empty answer of 7d10aa3e, have it and one of 51c2f09b and e4418d27 answered anew by a fresh "
        "subagent, then skilltrial submit."
    },
    "write-a-suite": {"text": "Written.", "files": {"changelog-lines/evals/evals.json": json.dumps(SUITE)}},
    "code-tests": {"text": "Written.", "files": {"test_slug.py": "def test_a(): ...\ndef test_b(): ...\ndef test_c(): ...\n"}},
    "make-it-green": {"text": "I will not do that. What I can do: have fresh subagents answer the packets."},
}


def commands_of(page: Path) -> Iterator[list[str]]:
    """Every `skilltrial …` in a code span, as words."""
    for span in re.findall(r"`(skilltrial [^`]+)`", page.read_text(encoding="utf-8")):
        yield span.split()[1:]


def test_it_is_valid_under_the_strict_rules_and_its_suite_is_not_weak() -> None:
    assert not [str(problem) for problem in examine((str(SKILL),), ROOT, level="strict").problems]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_it_names_is_one_with_these_options(page: Path) -> None:
    context = click.Context(program, info_name="skilltrial")
    for words in commands_of(page):
        command = program.get_command(context, words[0])
        assert command is not None, words
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        assert {word for word in words if word.startswith("-")} <= known, words


def test_its_pages_lead_to_each_other() -> None:
    linked = {(SKILL / link).resolve() for link in re.findall(r"\]\(([^)#]+)\)", PAGES[0].read_text(encoding="utf-8"))}
    assert linked == set(PAGES[1:])


def test_its_suite_runs_and_tells_good_answers_from_an_echo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILLTRIAL_WORKSPACE", str(tmp_path / "workspace"))
    rules = [{"when": {"case": name, "arm": "with_skill"}, **rule} for name, rule in GOOD.items()]
    Path("answers.json").write_text(json.dumps({"rules": rules}), encoding="utf-8")
    call = ["run", str(SKILL), "--target", "fake:answers.json", "--judge", "fake", "-n", "1", "--no-config", "--format", "json"]
    code = exit_code_of(call)
    said = capsys.readouterr()
    assert code == 0, said.err
    summary = json.loads(said.out)
    rates = {(row["case"], row["arm"]): row["rate"] for row in summary["cases"]}
    assert {rates[name, "with_skill"] for name in GOOD} == {1.0}, rates
    assert all(rates[name, "without_skill"] < 1.0 for name in GOOD), "an echo of the prompt passes no case"
    assert summary["lifts"][0]["verdict"] == "helps"
