"""What a user of the handbook's harness expects beyond its faults: refusals, files, and the keys in them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from .test_table import key_paths

DATA = Path(__file__).parents[1] / "data"
BODY = """#!{python}
import json, os, sys
request = json.load(sys.stdin)
open(os.environ["SEEN"], "a").write(request["prompt"] + "\\n")
open("summary.json", "w").write("{{}}")
text = "Rain. Done." if "weather" in request["prompt"] else "Summary of goal and result. Done."
events = [{{"type": "skill_loaded", "name": request["skill"]["name"]}}] if request["skill"] else []
print(json.dumps({{"output": text if request["skill"] else "No.", "events": events,
    "usage": {{"input_tokens": 12, "output_tokens": 3, "cost_usd": 0.5}}}}))
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The prompts that the adapter was given, one a line."""
    monkeypatch.setenv("SEEN", str(tmp_path / "seen.txt"))
    (tmp_path / "seen.txt").touch()
    return tmp_path / "seen.txt"


@pytest.fixture
def repository(tmp_path: Path, seen: Path) -> Path:
    """The handbook's form of a repository: skills/, and an adapter that answers well with the skill only."""
    shutil.copytree(DATA / "suites" / "handbook", tmp_path / "skills")
    (tmp_path / "agent.py").write_text(BODY.format(python=sys.executable), encoding="utf-8")
    (tmp_path / "agent.py").chmod(0o755)
    return tmp_path


def add_skill(repository: Path, name: str, evals: list[dict[str, Any]], description: str = "A sample.") -> None:
    folder = repository / "skills" / name
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nText.\n", encoding="utf-8")
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": name, "evals": evals}), encoding="utf-8")


PLAIN = {"id": 1, "prompt": "One.", "expected_output": "x", "checks": [{"id": "a", "type": "contains", "value": "done"}]}
UNUSABLE = [
    ("--iterations", "0"),
    ("--timeout-seconds", "0"),
    ("--max-output-bytes", "0"),
    ("--minimum-lift", "1.5"),
    ("--run-id", "-first"),
    ("--run-id", "a/b"),
    ("--skill", "nobody"),
]


@pytest.mark.parametrize("option", UNUSABLE, ids=" ".join)
def test_a_value_out_of_range_is_exit_2_before_the_adapter_is_asked(
    skilltrial: Any, repository: Path, seen: Path, option: tuple[str, str]
) -> None:
    said = skilltrial("run", "--adapter", "./agent.py", *option)
    assert said.code == 2 and said.err.strip() and "Traceback" not in said.err
    assert seen.read_text() == ""


def test_an_adapter_that_is_not_there_or_cannot_be_executed_is_exit_2(skilltrial: Any, repository: Path) -> None:
    (repository / "plain.py").write_text("print(1)")
    for name in ("nowhere.py", "plain.py"):
        said = skilltrial("run", "--adapter", repository / name)
        assert said.code == 2 and name in said.err


def test_one_skill_that_cannot_be_used_stops_the_run_before_the_adapter_is_asked(
    skilltrial: Any, repository: Path, seen: Path
) -> None:
    add_skill(repository, "broken", [{**PLAIN, "prompt": ""}])
    said = skilltrial("run", "--adapter", "./agent.py")
    assert said.code == 2 and "broken/evals/evals.json" in said.err
    assert seen.read_text() == ""


def test_all_suites_run_unless_skills_are_named_and_one_named_twice_runs_once(
    skilltrial: Any, repository: Path, seen: Path
) -> None:
    add_skill(repository, "other", [PLAIN])
    skilltrial("run", "--adapter", "./agent.py", "--skill", "other", "--skill", "other")
    assert seen.read_text().splitlines() == ["One.", "One."]
    seen.write_text("")
    skilltrial("run", "--adapter", "./agent.py")
    assert set(seen.read_text().splitlines()) == {"One.", "Write the summary.", "A question about the weather."}


def test_a_case_without_checks_is_valid_and_refused_by_run(skilltrial: Any, repository: Path, seen: Path) -> None:
    add_skill(repository, "words", [{"id": 1, "prompt": "One.", "expected_output": "x", "assertions": ["It is good."]}])
    assert skilltrial("validate").code == 0
    said = skilltrial("run", "--adapter", "./agent.py", "--skill", "words")
    assert said.code == 2 and "words::1" in said.err
    assert seen.read_text() == ""


def test_an_unknown_field_is_no_error_and_is_told(skilltrial: Any, repository: Path) -> None:
    add_skill(repository, "noted", [{**PLAIN, "owner": "me", "checks": [{**PLAIN["checks"][0], "why": "because"}]}])  # type: ignore[index]
    said = skilltrial("validate", "skills/noted")
    assert said.code == 0
    assert "'why'" in said.out + said.err and "'owner'" in said.out + said.err


@pytest.mark.parametrize(("skill", "code"), [(None, 0), ("other", 1)])
def test_loaded_skill_means_its_own_skill_unless_another_is_named(
    skilltrial: Any, repository: Path, skill: str | None, code: int
) -> None:
    named = {"skill": skill} if skill else {}
    add_skill(repository, "mine", [{**PLAIN, "checks": [*PLAIN["checks"], {"id": "l", "type": "loaded_skill", **named}]}])  # type: ignore[misc]
    assert skilltrial("run", "--adapter", "./agent.py", "--skill", "mine").code == code


def test_a_lift_that_is_not_above_zero_is_a_warning_when_no_minimum_was_asked_for(skilltrial: Any, repository: Path) -> None:
    checks = [{"id": "a", "type": "not_contains", "value": "zebra"}]
    add_skill(repository, "idle", [{**PLAIN, "checks": checks}])
    said = skilltrial("run", "--adapter", "./agent.py", "--skill", "idle", "--format", "json")
    assert said.code == 0
    assert any("no lift at all" in text for text in said.summary["warnings"])
    assert skilltrial("run", "--adapter", "./agent.py", "--skill", "idle", "--minimum-lift", "0.1").code == 1


def test_rates_lift_and_the_place_of_the_report_are_printed(skilltrial: Any, repository: Path) -> None:
    said = skilltrial("run", "--adapter", "./agent.py", "--skill", "report-style")
    assert "50 % of runs pass without the skill, 100 % with it" in " ".join(said.out.split())
    assert "skilltrial-workspace/iteration-1/report/index.html" in said.err


def test_numbers_of_the_later_version_stand_in_the_summary(skilltrial: Any, repository: Path) -> None:
    summary = skilltrial("run", "--adapter", "./agent.py", "--iterations", 2, "--format", "json").summary
    (lift,) = summary["lifts"]
    assert (lift["better"], lift["equal"], lift["worse_cases"]) == (1, 1, [])
    for rate in summary["rates"]:
        assert rate["time_seconds"]["median"] > 0
        assert (rate["tokens"]["input"], rate["cost_usd"]["total"]) == (12, 2.0)
    (activation,) = summary["activation"]
    assert (activation["activated"], activation["unknown"]) == (4, 0)


def keys_of(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.json"):
        found.setdefault(path.name, set()).update(key_paths(json.loads(path.read_text(encoding="utf-8"))))
    return found


def test_a_tree_written_in_its_form_has_every_file_and_key_that_its_own_has(skilltrial: Any, repository: Path) -> None:
    own = DATA / "foreign" / "handbook" / "20260101T000000Z" / "sample-skill"
    skilltrial("run", "--adapter", "./agent.py", "--iterations", 2, "--minimum-lift", "0.2")
    assert skilltrial("export", "latest", "--format", "handbook", "--output", "out").code == 0
    written = repository / "out" / "report-style"
    shape = {path.relative_to(own) for path in own.rglob("*.*") if path.name != "output.txt"}
    assert {path.relative_to(written) for path in written.rglob("*.*") if path.name != "output.txt"} == shape
    assert len(list(written.rglob("output.txt"))) == 8
    ours, theirs = keys_of(written), keys_of(own)
    assert {name: keys - ours[name] for name, keys in theirs.items()} == {name: set() for name in theirs}
    told = json.loads((written / "benchmark.json").read_text(encoding="utf-8"))
    assert (told["minimum_lift"], told["effectiveness_passed"], told["pass_rate_lift"]) == (0.2, True, 0.5)
    assert (told["with_skill"]["passed"], told["with_skill"]["total"]) == (4, 4)


def test_a_name_that_ends_in_a_hyphen_is_an_error(skilltrial: Any, repository: Path) -> None:
    add_skill(repository, "notes-", [PLAIN])
    said = skilltrial("validate")
    assert said.code == 1 and "'notes-'" in said.out + said.err


# ---------------------------------------------------------------- what may cost money
@pytest.mark.parametrize(
    ("runs", "more", "started"), [(50, [], 50), (52, [], 0), (52, ["--yes"], 52), (52, ["--max-cost", "9"], 52)]
)
def test_more_than_fifty_runs_that_may_cost_money_are_not_started_unasked(
    skilltrial: Any, repository: Path, runs: int, more: list[str], started: int
) -> None:
    add_skill(repository, "many", [PLAIN])
    (repository / "mine.sh").write_text('echo done; echo x >> "$COUNT"\n'.replace("$COUNT", str(repository / "count.txt")))
    (repository / "count.txt").touch()
    said = skilltrial("run", "skills/many", "--runners", "mine", "-n", runs // 2, "--no-tree", *more)
    assert len((repository / "count.txt").read_text().splitlines()) == started
    if not started:
        assert said.code == 2 and "52 runs that may cost money" in said.err and "--yes" in said.err


def test_what_cost_much_before_is_not_started_unasked(skilltrial: Any, repository: Path, seen: Path) -> None:
    """Half a dollar a run: four runs are 2 USD, twelve are 6."""
    assert skilltrial("run", "--adapter", "./agent.py").code == 0
    seen.write_text("")
    said = skilltrial("run", "--adapter", "./agent.py", "--iterations", 3)
    assert said.code == 2 and "12 runs that may cost money, about 6.00 USD by earlier ones" in said.err
    assert seen.read_text() == ""
    assert skilltrial("run", "--adapter", "./agent.py", "--iterations", 2).code == 0
